"""Jaeger traces to write into files: what tests of several packages start from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

DAY = 1_700_006_400_000_000
"""2023-11-15 00:00 UTC in microseconds."""
SECOND_DAY = DAY + 86_400_000_000

Json = dict[str, Any]


def span(
    span_id: str,
    start: int,
    end: int,
    *,
    parent: str = "",
    name: str = "op",
    process: str = "p1",
    trace_id: str = "t1",
    tags: Sequence[Json] = (),
) -> Json:
    """One span of a Jaeger document, in microseconds after `DAY`."""
    references = [{"refType": "CHILD_OF", "traceID": trace_id, "spanID": parent}] if parent else []
    return {
        "traceID": trace_id,
        "spanID": span_id,
        "operationName": name,
        "references": references,
        "startTime": DAY + start,
        "duration": end - start,
        "tags": list(tags),
        "logs": [],
        "processID": process,
        "warnings": None,
    }


def trace(trace_id: str = "t1", *, start: int = 0, latency: int = 1000, day: int = DAY) -> Json:
    """A shop asks two services one after the other; ``latency`` long, at least 4."""
    half = start + latency // 2
    made: Json = {
        "traceID": trace_id,
        "spans": [
            span("a", start, start + latency, name="GET /", trace_id=trace_id),
            span("b", start + 1, half, parent="a", name="find", process="p2", trace_id=trace_id),
            span("c", half, start + latency - 1, parent="a", name="pay", trace_id=trace_id),
        ],
        "processes": {
            "p1": {"serviceName": "shop", "tags": [{"key": "hostname", "value": "h1"}]},
            "p2": {"serviceName": "store", "tags": []},
        },
        "warnings": None,
    }
    for each in made["spans"]:
        each["startTime"] += day - DAY
    return made


def traces(count: int, *, first: int = 0) -> list[Json]:
    """Traces of different lengths, with ids in order."""
    return [
        trace(f"{n:08x}", start=1000 * n, latency=100 + 7 * (n * n % 101))
        for n in range(first, first + count)
    ]


def lines(documents: Sequence[Json]) -> bytes:
    """JSON lines."""
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def envelope(documents: Sequence[Json], indent: int | None = None) -> bytes:
    """``{"data": [...]}`` as Jaeger answers."""
    answer = {"data": list(documents), "total": 0, "limit": 0, "offset": 0, "errors": None}
    return json.dumps(answer, indent=indent).encode()
