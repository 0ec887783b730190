"""Give every span of a trace an id of its own (DESIGN rule 5.3).

Reached only by traces in which ids repeat; what is decided does not depend on the order of
the spans in the document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass

import msgspec

from crisp.forest import Kind
from crisp.ingest.jaeger import Span
from crisp.ingest.tags import kinds


@dataclass(frozen=True, slots=True)
class Separated:
    """Spans with unique ids, in document order; columns of the same length."""

    spans: list[Span]
    ids: list[str]
    shared_client: list[int]
    """for the server half of a split pair, the place of its client; else -1"""
    target: dict[str, int]
    """place that a reference to an id means"""
    dropped: int
    split: int
    renamed: int


def separate(spans: Sequence[Span]) -> Separated:
    """Split client/server pairs, drop identical copies, rename the rest.

    Of several different spans with one id, the earliest keeps it (ties: the longest, then by
    names); references to the id mean the server of a split pair, else the span that kept it.
    """
    count = Counter(span.spanID for span in spans)
    different: dict[bytes | str, int] = {}
    for place, span in enumerate(spans):
        alone = count[span.spanID] == 1
        different.setdefault(span.spanID if alone else msgspec.json.encode(span), place)
    kept = list(different.values())
    by_id: dict[str, list[int]] = defaultdict(list)
    for place in kept:
        by_id[spans[place].spanID].append(place)
    new_place = {old: new for new, old in enumerate(kept)}
    ids = {place: spans[place].spanID for place in kept}
    client_of: dict[int, int] = {}
    target: dict[str, int] = {}
    split = renamed = 0
    for span_id, unordered in by_id.items():
        places = sorted(unordered, key=lambda place: _order(spans[place]))
        pair = _shared_pair(spans, places)
        if pair:
            client, server = pair
            client_of[server] = client
            places = [client, server, *(p for p in places if p not in pair)]
            split += 1
        for number, place in enumerate(places[1:], start=2):
            ids[place] = _unused(f"{span_id}#{number}", by_id)
            renamed += place not in (pair or ())
        target[span_id] = new_place[pair[1] if pair else places[0]]
    return Separated(
        spans=[spans[place] for place in kept],
        ids=[ids[place] for place in kept],
        shared_client=[new_place[client_of[place]] if place in client_of else -1 for place in kept],
        target=target,
        dropped=len(spans) - len(kept),
        split=split,
        renamed=renamed,
    )


def _unused(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "#"
    return name


def _shared_pair(spans: Sequence[Span], places: Sequence[int]) -> tuple[int, int] | None:
    """The only client and the only server among spans of one id."""
    found = kinds([spans[place].tags for place in places])
    if found.count(Kind.CLIENT) != 1 or found.count(Kind.SERVER) != 1:
        return None
    return places[found.index(Kind.CLIENT)], places[found.index(Kind.SERVER)]


def _order(span: Span) -> tuple[int, int, str, str, bytes]:
    text = msgspec.json.encode(span)
    return (span.startTime, -span.duration, span.operationName, span.processID or "", text)
