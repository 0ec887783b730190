"""Traces drawn as text, and what becomes of them.

A line is a span: its name, start and end in milliseconds, then any of these words. A span hangs
below the line above it that is indented less. Its service is its name, its id too unless given.

    client server producer consumer internal   kind
    follows                                    FOLLOWS_FROM the line above instead of CHILD_OF
    error                                      the span failed
    id=2 op=read                               span id; operation, else "work"
    host=h1                                    process tag "hostname"
    child_of=A follows_from=9/A                these references in this order and no others
    parent=A                                   parentSpanID and no references
    anything.else=x                            process tag of that name

In a reference ``9/A`` is span A of trace 9.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp.cpa.analysis import Analysis, analyse
from crisp.ingest.columns import Batch, add
from crisp.ingest.jaeger import Bad, Trace, decode
from crisp.ingest.names import Names
from crisp.ingest.trees import Planted, plant
from crisp.options import IngestOptions, path_options

START_US = 1_700_000_000_000_000
KINDS = ("client", "server", "producer", "consumer", "internal")


def jaeger(drawing: str, trace_id: str = "1") -> dict[str, Any]:
    """The drawn trace as the Jaeger API would return it."""
    spans: list[dict[str, Any]] = []
    processes: dict[str, Any] = {}
    above: list[tuple[int, str]] = []
    for line in drawing.splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        above = [(at, span_id) for at, span_id in above if at < depth]
        span, process = _span(line.split(), above[-1][1] if above else None, trace_id)
        above.append((depth, span["spanID"]))
        processes[span["processID"]] = process
        spans.append(span)
    return {"data": [{"traceID": trace_id, "spans": spans, "processes": processes}]}


def _span(words: list[str], above: str | None, trace_id: str) -> tuple[dict[str, Any], Any]:
    name, start, end, *rest = words
    flags = [word for word in rest if "=" not in word]
    values = [(key, value) for key, _, value in (w.partition("=") for w in rest if "=" in w)]
    known = dict(values)
    references = [
        _reference(key.upper(), value, trace_id)
        for key, value in values
        if key in ("child_of", "follows_from")
    ]
    if above is not None and not references and "parent" not in known:
        link = "FOLLOWS_FROM" if "follows" in flags else "CHILD_OF"
        references = [_reference(link, above, trace_id)]
    tags = [{"key": "span.kind", "value": flag} for flag in flags if flag in KINDS]
    if "error" in flags:
        tags.append({"key": "error", "value": True})  # type: ignore[dict-item]  # any JSON value
    unknown = set(flags) - {*KINDS, "follows", "error"}
    if unknown:
        raise ValueError(f"{name}: what is {', '.join(unknown)}?")
    own = {"id", "op", "child_of", "follows_from", "parent"}
    process_tags = [
        {"key": "hostname" if key == "host" else key, "value": value}
        for key, value in values
        if key not in own
    ]
    span = {
        "traceID": trace_id,
        "spanID": known.get("id", name),
        "operationName": known.get("op", "work"),
        "references": references,
        "startTime": START_US + us(start),
        "duration": us(end) - us(start),
        "tags": tags,
        "processID": " ".join([name, *(f"{tag['key']}={tag['value']}" for tag in process_tags)]),
    }
    if "parent" in known:
        span |= {"references": None, "parentSpanID": known["parent"]}
    return span, {"serviceName": name, "tags": process_tags}


def _reference(link: str, target: str, trace_id: str) -> dict[str, str]:
    other, slash, span_id = target.rpartition("/")
    return {"refType": link, "traceID": other if slash else trace_id, "spanID": span_id}


def us(milliseconds: str) -> int:
    """Microseconds of a drawn time."""
    return round(float(milliseconds) * 1000)


def ms(microseconds: int) -> str:
    """A time as it is drawn."""
    return f"{microseconds / 1000:.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class Analysed:
    """What became of some traces; texts name spans by id and count milliseconds."""

    batch: Batch
    names: Names
    planted: Planted
    analysis: Analysis

    @property
    def path(self) -> str:
        """The segments of each tree in order of time: ``A[0,10) B[10,40) | …``."""
        trees = self.segments()
        return " | ".join(
            " ".join(f"{i}[{ms(a - START_US)},{ms(b - START_US)})" for i, a, b in tree)
            for tree in trees
        )

    def segments(self) -> list[list[tuple[str, int, int]]]:
        """(span id, start, end) by tree in order of time."""
        forest, segments = self.analysis.forest, self.analysis.walked.segments
        trees: list[list[tuple[str, int, int]]] = [[] for _ in forest.trees.trace_id]
        for place in np.argsort(segments.start_us, kind="stable").tolist():
            row = int(segments.row[place])
            trees[int(forest.tree[row])].append(
                (forest.span_id(row), int(segments.start_us[place]), int(segments.end_us[place]))
            )
        return trees

    @property
    def ledger(self) -> dict[str, tuple[int, str]]:
        """Spans and milliseconds of each entry, over all trees."""
        return {
            entry: (int(spans.sum()), ms(int(amount.sum())))
            for entry, (spans, amount) in sorted(self.analysis.ledger.items())
        }

    @property
    def trees(self) -> str:
        """The analysis trees: ``A(B(C) D) | E``, children by span id."""
        forest = self.analysis.forest
        below: list[list[int]] = [[] for _ in range(len(forest))]
        for row, parent in enumerate(forest.parent.tolist()):
            if parent >= 0:
                below[parent].append(row)

        def show(row: int) -> str:
            children = " ".join(sorted(map(show, below[row])))
            return forest.span_id(row) + (f"({children})" if children else "")

        return " | ".join(sorted(show(row) for row in range(len(forest.trees.trace_id))))

    @property
    def rejects(self) -> list[str]:
        """Reason for each trace without a tree."""
        return [str(bad.reason) for _, bad in self.planted.rejected]

    def endpoint(self, row: int) -> str:
        """Service of the span in ``row``, with the operation where one was given."""
        return self._shown(int(self.analysis.forest.endpoint[row]))

    def _shown(self, endpoint: int) -> str:
        service, operation = self.names.endpoints[endpoint]
        return service if operation == "work" else f"{service}:{operation}"

    @property
    def call_paths(self) -> dict[str, tuple[int, str, str]]:
        """Spans, exclusive and inclusive time by call path ``A>B``, merged over hosts."""
        forest, paths = self.analysis.forest, self.analysis.paths
        chain: dict[int, str] = {}
        for row, parent in enumerate(forest.parent.tolist()):
            above = chain[int(self.analysis.path_id[parent])] + ">" if parent >= 0 else ""
            chain[int(self.analysis.path_id[row])] = above + self.endpoint(row)
        found: dict[str, tuple[int, str, str]] = {}
        for path, spans, exclusive, inclusive in zip(
            paths.path_id.tolist(),
            paths.spans.tolist(),
            paths.exclusive_us.tolist(),
            paths.inclusive_us.tolist(),
            strict=True,
        ):
            known = found.get(chain[path], (0, "0", "0"))
            found[chain[path]] = (
                known[0] + spans,
                ms(us(known[1]) + exclusive),
                ms(us(known[2]) + inclusive),
            )
        return found

    @property
    def endpoints(self) -> dict[str, tuple[int, int, str, str, int]]:
        """Spans, spans on the path, exclusive, inclusive, callers by endpoint; one tree only."""
        rows = self.analysis.endpoints
        return {
            self._shown(int(rows.endpoint[at])): (
                int(rows.spans[at]),
                int(rows.cp_spans[at]),
                ms(int(rows.exclusive_us[at])),
                ms(int(rows.inclusive_us[at])),
                int(rows.callers[at]),
            )
            for at in range(len(rows.endpoint))
        }


def analysed(
    *drawings: str,
    policy: str = "crisp",
    ingest: IngestOptions | None = None,
    **changes: Any,
) -> Analysed:
    """Decode, collect, plant and analyse some drawn traces together, with ids 1, 2, …"""
    traces: list[Trace] = []
    for number, drawing in enumerate(drawings, start=1):
        text = json.dumps(jaeger(drawing, str(number))).encode()
        for trace in decode(text):
            assert isinstance(trace, Trace), trace
            traces.append(trace)
    return analysed_traces(traces, policy=policy, ingest=ingest, **changes)


def analysed_traces(
    traces: Sequence[Trace],
    *,
    policy: str = "crisp",
    ingest: IngestOptions | None = None,
    **changes: Any,
) -> Analysed:
    """The same for decoded traces; each must have spans."""
    ingest = ingest or IngestOptions()
    batch, names = Batch(), Names(ingest)
    for position, trace in enumerate(traces):
        bad = add(batch, names, trace, "drawing", position)
        assert not isinstance(bad, Bad), bad
    planted = plant(batch, names, ingest)
    return Analysed(batch, names, planted, analyse(planted.forest, path_options(policy, **changes)))
