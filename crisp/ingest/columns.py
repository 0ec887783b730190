"""Collect traces into the columns of one batch, span by span but no slower than it must be.

This is the hottest Python of the project: each line runs once per span. Names are interned,
so that everything after this works on small integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec import Raw

from crisp.errors import Reject
from crisp.ingest.duplicates import Separated, separate
from crisp.ingest.jaeger import Bad, Process, Span, Trace
from crisp.ingest.names import Names
from crisp.ingest.tags import kinds
from crisp.stable import text_id

ROOT, ORPHAN = -1, -2
"""In the parent column: no reference to this trace, or only to spans that are missing."""

_NOWHERE = Process("(unknown)")
_CHILD, _FOLLOWS = "CHILD_OF", "FOLLOWS_FROM"
_UNDECIDED = -3


@dataclass(slots=True)
class Batch:
    """Columns of shape (n,) in document order, and one entry per trace."""

    trace_id: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """row of the first span of each trace"""
    ledger: dict[int, dict[str, int]] = field(default_factory=dict)
    """entries by trace, for the few traces that have any"""
    span_id: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    start_us: list[int] = field(default_factory=list)
    duration_us: list[int] = field(default_factory=list)
    endpoint: list[int] = field(default_factory=list)
    process: list[int] = field(default_factory=list)
    """index into `Names.hosts_of` and `Names.clocks_of`"""
    kind: list[int] = field(default_factory=list)
    tags: list[Raw] = field(default_factory=list)
    """not decoded, and still part of the document they were read from"""
    follows: list[int] = field(default_factory=list)
    """rows whose parent was found by FOLLOWS_FROM"""


def add(batch: Batch, names: Names, trace: Trace, source: str, position: int) -> Bad | None:
    """Append the spans of ``trace``; or say why the trace is no good, and append nothing."""
    spans = trace.spans
    if not spans:
        return Bad(Reject.NO_SPANS, "the list of spans is empty", trace.traceID or "")
    trace_id = trace.traceID or _id_in_references(spans) or _id_from(spans)
    processes = trace.processes or {}
    known: dict[str | None, tuple[dict[str, int], int, str]] = {
        name: names.process(process or _NOWHERE) for name, process in processes.items()
    }
    number, base = len(batch.trace_id), len(batch.span_id)
    ids = [span.spanID for span in spans]
    target = dict(zip(ids, range(base, base + len(ids)), strict=True))
    counts: dict[str, int] = {}
    separated = None
    if len(target) != len(ids):
        separated = separate(spans)
        spans, ids = separated.spans, separated.ids
        target = {span_id: base + place for span_id, place in separated.target.items()}
        _count_duplicates(counts, separated)
    batch.parent += _parents(batch, counts, spans, target, trace_id, base)
    if separated is not None:
        _hang_below_clients(batch, separated.shared_client, base)
    batch.trace_id.append(trace_id)
    batch.source.append(source)
    batch.position.append(position)
    batch.first.append(base)
    batch.span_id += ids
    batch.start_us += [span.startTime for span in spans]
    batch.duration_us += [span.duration for span in spans]
    tags = [span.tags for span in spans]
    batch.tags += tags
    batch.kind += kinds(tags)
    _name(batch, names, spans, known)
    if counts:
        batch.ledger[number] = counts
    return None


def _id_in_references(spans: Sequence[Span]) -> str:
    for span in spans:
        for reference in span.references or ():
            if reference.traceID:
                return reference.traceID
    return ""


def _id_from(spans: Sequence[Span]) -> str:
    """An id for a trace without one: the same for the same spans, in whatever order."""
    marks = sorted(f"{span.spanID} {span.startTime} {span.operationName}" for span in spans)
    return f"unnamed-{text_id(*marks) & (2**64 - 1):016x}"


def _count_duplicates(counts: dict[str, int], separated: Separated) -> None:
    found = {
        "duplicates_dropped": separated.dropped,
        "duplicates_split": separated.split,
        "duplicates_renamed": separated.renamed,
    }
    counts.update({entry: count for entry, count in found.items() if count})


def _hang_below_clients(batch: Batch, shared_client: Sequence[int], base: int) -> None:
    """Make each server that shared its id with a client the child of that client."""
    for place, client in enumerate(shared_client):
        if client >= 0:
            row = base + place
            batch.parent[row] = base + client
            if row in batch.follows[-len(shared_client) :]:
                batch.follows.remove(row)


def _parents(
    batch: Batch,
    counts: dict[str, int],
    spans: Sequence[Span],
    target: dict[str, int],
    trace_id: str,
    base: int,
) -> list[int]:
    """Row of each span's parent, `ROOT` or `ORPHAN` (DESIGN rule 5.2)."""
    find = target.get
    parents = [
        find(only.spanID, _UNDECIDED)  # type: ignore[arg-type]  # None is never a key
        if (references := span.references)
        and len(references) == 1
        and (only := references[0]).traceID == trace_id
        and only.refType == _CHILD
        else _UNDECIDED
        for span in spans
    ]
    if parents.count(_UNDECIDED):
        for place, parent in enumerate(parents):
            if parent == _UNDECIDED:
                link, parents[place] = _choose(counts, spans[place], target, trace_id)
                if link == _FOLLOWS:
                    batch.follows.append(base + place)
    return parents


def _choose(
    counts: dict[str, int], span: Span, target: dict[str, int], trace_id: str
) -> tuple[str, int]:
    """The parent among any references and how it is linked, or the reason why there is none."""
    links = _links(span, trace_id)
    if not links:
        return "", ROOT
    others = len({span_id for _, span_id in links}) - 1
    if others:
        counts["other_references"] = counts.get("other_references", 0) + others
    for wanted in (_CHILD, _FOLLOWS):
        for link, span_id in links:
            if link == wanted and span_id in target:
                return link, target[span_id]
    return "", ORPHAN


def _links(span: Span, trace_id: str) -> list[tuple[str, str]]:
    """(kind of link, span id) of the references to this trace, in order."""
    if not span.references:
        above = span.parentSpanID
        return [(_CHILD, above)] if above and above.strip("0") else []
    return [
        (reference.refType, span_id)
        for reference in span.references
        if (span_id := reference.spanID)
        and span_id.strip("0")
        and _same(reference.traceID, trace_id)
    ]


def _same(trace_id: str | None, own: str) -> bool:
    """Ids of one trace, also when leading zeros or case differ."""
    if not trace_id or trace_id == own:
        return True
    return trace_id.lstrip("0").lower() == own.lstrip("0").lower()


def _name(
    batch: Batch,
    names: Names,
    spans: Sequence[Span],
    known: dict[str | None, tuple[dict[str, int], int, str]],
) -> None:
    """Append endpoint and process of each span."""
    try:
        rows = [known[span.processID] for span in spans]
    except KeyError:
        nowhere = names.process(_NOWHERE)
        rows = [known.get(span.processID, nowhere) for span in spans]
    try:
        endpoints = [row[0][span.operationName] for row, span in zip(rows, spans, strict=True)]
    except KeyError:
        endpoints = [
            names.endpoint(row[2], span.operationName) if index is None else index
            for row, span in zip(rows, spans, strict=True)
            for index in [row[0].get(span.operationName)]
        ]
    batch.endpoint += endpoints
    batch.process += [row[1] for row in rows]
