"""The spans of made-up requests as vectors, by crisp's own critical path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.anomaly.requests import Spans
from benchmarks.anomaly.services import Flags, Ints, Service
from crisp.anomaly.vectors import SOUND, Vectors
from crisp.cpa.clip import clip_to_parent
from crisp.cpa.paths import exclusive_time, path_ids
from crisp.cpa.walk import critical_path
from crisp.forest import Forest, Trees
from crisp.options import PathOptions

BLOCK = 1_000
"""Requests whose spans are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """The same requests, seen twice."""

    scpv: Vectors
    """exclusive times on the critical path"""
    stv: Vectors
    """durations of all call paths"""
    spans: Ints
    """(n,) spans of each request"""
    endpoints: Ints
    """distinct endpoints of all requests, ascending"""


def views_of(spans: Spans, first: int = 0) -> Views:
    """Both vectors of each request; ids of trees count from ``first``."""
    forest = forest_of(spans)
    nothing = np.zeros(len(spans), np.bool_)
    clipped = clip_to_parent(
        forest, forest.start_us, forest.end_us, nothing, drop_overhanging=False
    )
    walked = critical_path(forest, clipped, PathOptions())
    exclusive, path = exclusive_time(forest, walked), path_ids(forest)
    duration = spans.end_us - spans.start_us
    rows = np.sort(walked.row)
    return Views(
        scpv=vectors_of(spans, first, spans.trace[rows], path[rows], exclusive[rows]),
        stv=vectors_of(spans, first, spans.trace, path, duration),
        spans=np.bincount(spans.trace, minlength=spans.traces),
        endpoints=np.unique(spans.service.endpoint[spans.site]),
    )


def in_blocks(starts_us: Ints, make: Callable[[Ints], Spans], block: int = BLOCK) -> Views:
    """The views of many requests, ``block`` at a time: ``make`` gets some of ``starts_us``."""
    return joined(list(_blocks(starts_us, make, block)))


def _blocks(starts_us: Ints, make: Callable[[Ints], Spans], block: int) -> Iterator[Views]:
    for low in range(0, len(starts_us), block):
        yield views_of(make(starts_us[low : low + block]), first=low)


def joined(parts: Sequence[Views]) -> Views:
    """The requests of all parts, in order of the parts."""
    return Views(
        scpv=joined_vectors([part.scpv for part in parts]),
        stv=joined_vectors([part.stv for part in parts]),
        spans=np.concatenate([part.spans for part in parts]),
        endpoints=np.unique(np.concatenate([part.endpoints for part in parts])),
    )


def joined_vectors(parts: Sequence[Vectors]) -> Vectors:
    """The rows of all parts, in order of the parts."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.concatenate([np.diff(part.edges) for part in parts])
    columns: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Vectors)
        if field.name not in {"endpoint_id", "trace_id", "root_span_id", "edges"}
    }
    return replace(
        parts[0],
        trace_id=[name for part in parts for name in part.trace_id],
        root_span_id=[name for part in parts for name in part.root_span_id],
        edges=np.concatenate(([0], np.cumsum(sizes))),
        **columns,
    )


def vectors_of(spans: Spans, first: int, trace: Ints, path: Ints, time_us: Ints) -> Vectors:
    """Cells summed by (request, path)."""
    order = np.lexsort((path, trace))
    trace, path, time_us = trace[order], path[order], time_us[order]
    heads = np.ones(len(trace), np.bool_)
    heads[1:] = (trace[1:] != trace[:-1]) | (path[1:] != path[:-1])
    starts = np.flatnonzero(heads)
    count = spans.traces
    roots = spans.levels[0]
    return Vectors(
        endpoint_id=spans.service.root_endpoint_id,
        tree_id=first + 1 + np.arange(count),
        trace_id=[f"{number:032x}" for number in range(first + 1, first + count + 1)],
        root_span_id=[f"{number:016x}" for number in range(first + 1, first + count + 1)],
        start_us=spans.start_us[roots],
        latency_us=(spans.end_us - spans.start_us)[roots],
        failed=np.zeros(count, np.bool_),
        edges=np.searchsorted(trace[starts], np.arange(count + 1)),
        path_id=path[starts],
        time_us=np.add.reduceat(time_us, starts),
        status=np.full(len(starts), SOUND, np.int8),
    )


def forest_of(spans: Spans) -> Forest:
    """What ingest would have made of these spans."""
    count, traces, service = len(spans), spans.traces, spans.service
    zeros = np.zeros(count, np.int64)
    names = [f"{number:032x}" for number in range(traces)]
    blank = [""] * traces
    return Forest(
        trees=Trees(names, blank, [0] * traces, ["entry"] * traces, [1.0] * traces, [{}] * traces),
        tree=spans.trace,
        parent=spans.parent,
        levels=spans.levels,
        start_us=spans.start_us,
        end_us=spans.end_us,
        endpoint=service.endpoint[spans.site],
        host=zeros,
        clock=zeros,
        kind=zeros,
        failed=_none_failed,
        follows=np.zeros(count, np.bool_),
        span_ids=[f"{number:016x}" for number in range(count)],
        origin=np.arange(count),
        endpoint_ids=service.endpoint_ids,
        endpoint_services=np.arange(len(service.endpoint_ids)) % 61,
        hosts=[""],
    )


def _none_failed(rows: Ints) -> Flags:
    return np.zeros(len(rows), np.bool_)


def path_of_site(service: Service) -> Ints:
    """(sites,) path id of each site."""
    depth = np.zeros(len(service.parent), np.int64)
    for site in range(1, len(depth)):
        depth[site] = depth[service.parent[site]] + 1
    order = np.argsort(depth, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    edges = np.searchsorted(depth[order], np.arange(depth.max() + 2))
    parent = np.where(service.parent < 0, -1, place[service.parent])[order]
    one_each = Spans(
        service=service,
        levels=[slice(a, b) for a, b in pairwise(edges.tolist())],
        trace=np.zeros(len(order), np.int64),
        parent=parent,
        site=order,
        start_us=np.zeros(len(order), np.int64),
        end_us=np.ones(len(order), np.int64),
    )
    found: Ints = path_ids(forest_of(one_each))[place]
    return found
