"""Statistics of each tree's graph (paper, sections 4.6.2 and 4.7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crisp.cpa.clip import Clipped
from crisp.cpa.walk import Walked
from crisp.forest import Forest, Ints


@dataclass(frozen=True, slots=True)
class TreeStats:
    """One entry per tree, shape (t,)."""

    spans: Ints
    unique_endpoints: Ints
    services: Ints
    depth: Ints
    concurrency: Ints
    cp_spans: Ints
    cp_endpoints: Ints


@dataclass(frozen=True, slots=True)
class EndpointRows:
    """One row per tree and endpoint, ordered by tree; shape (e,)."""

    tree: Ints
    endpoint: Ints
    spans: Ints
    cp_spans: Ints
    exclusive_us: Ints
    inclusive_us: Ints
    callers: Ints


@dataclass(frozen=True, slots=True)
class CallRows:
    """One row per tree, caller and callee; shape (c,)."""

    tree: Ints
    caller: Ints
    endpoint: Ints
    spans: Ints


def call_rows(forest: Forest) -> CallRows:
    """How often each endpoint calls each other one, in each tree."""
    rows = np.flatnonzero(forest.parent >= 0)
    size = len(forest.endpoint_ids) or 1
    caller = forest.endpoint[forest.parent[rows]]
    pair, spans = np.unique(
        (forest.tree[rows] * size + forest.endpoint[rows]) * size + caller, return_counts=True
    )
    key, caller = np.divmod(pair, size)
    tree, endpoint = np.divmod(key, size)
    return CallRows(tree, caller, endpoint, spans)


def endpoint_rows(
    forest: Forest, clipped: Clipped, walked: Walked, exclusive: Ints, calls: CallRows
) -> EndpointRows:
    """Every endpoint of every tree, on the critical path or not."""
    size = len(forest.endpoint_ids) or 1
    key, place, spans = np.unique(
        forest.tree * size + forest.endpoint, return_inverse=True, return_counts=True
    )
    on_path = place[walked.row]
    held = np.zeros(len(key), np.int64)
    np.add.at(held, on_path, exclusive[walked.row])
    caller_of = np.searchsorted(key, calls.tree * size + calls.endpoint)
    return EndpointRows(
        tree=key // size,
        endpoint=key % size,
        spans=spans,
        cp_spans=np.bincount(on_path, minlength=len(key)),
        exclusive_us=held,
        inclusive_us=_inclusive(
            on_path, clipped.start_us[walked.row], walked.end_us, walked.row, len(key)
        ),
        callers=np.bincount(caller_of, minlength=len(key)),
    )


def _inclusive(group: Ints, start: Ints, end: Ints, row: Ints, groups: int) -> Ints:
    """Time covered by the spans of each group; nested ones count once (DESIGN rule 6.6).

    On a critical path two intervals are nested or disjoint, and a nested one that starts
    together with its ancestor has the larger row.
    """
    order = np.lexsort((row, -end, start, group))
    group, start, end = group[order], start[order], end[order]
    alone = np.ones(len(group), np.bool_)
    same = group[1:] == group[:-1]
    alone[1:] &= ~same
    alone[:-1] &= ~same
    inclusive = np.zeros(groups, np.int64)
    np.add.at(inclusive, group[alone], (end - start)[alone])
    several = np.flatnonzero(~alone)
    last_group, covered = -1, 0
    for g, a, b in zip(
        group[several].tolist(), start[several].tolist(), end[several].tolist(), strict=True
    ):
        if g != last_group or a >= covered:
            inclusive[g] += b - a
            last_group, covered = g, b
    return inclusive


def tree_stats(forest: Forest, walked: Walked, endpoints: EndpointRows) -> TreeStats:
    """Size, shape and concurrency of each tree."""
    trees = len(forest.trees.trace_id)
    services = np.unique(
        endpoints.tree * (len(forest.endpoint_ids) or 1)
        + (forest.endpoint_services[endpoints.endpoint] if len(endpoints.tree) else 0)
    ) // (len(forest.endpoint_ids) or 1)
    depth = np.ones(trees, np.int64)
    for level, rows in enumerate(forest.levels[1:], start=2):
        depth[forest.tree[rows]] = level
    return TreeStats(
        spans=np.bincount(forest.tree, minlength=trees),
        unique_endpoints=np.bincount(endpoints.tree, minlength=trees),
        services=np.bincount(services, minlength=trees),
        depth=depth,
        concurrency=concurrency(forest),
        cp_spans=np.bincount(forest.tree[walked.row], minlength=trees),
        cp_endpoints=np.bincount(endpoints.tree[endpoints.cp_spans > 0], minlength=trees),
    )


def concurrency(forest: Forest) -> Ints:
    """Largest number of spans of a tree open at the same moment, by recorded times; (t,).

    Intervals are half-open: a span that ends as another starts is not open with it, and one
    of length zero is never open.
    """
    trees = len(forest.trees.trace_id)
    by_start = np.lexsort((forest.start_us, forest.tree))
    by_end = np.lexsort((forest.end_us, forest.tree))
    edges = np.concatenate([[0], np.cumsum(np.bincount(forest.tree, minlength=trees))]).tolist()
    starts, ends = forest.start_us[by_start], forest.end_us[by_end]
    most = np.zeros(trees, np.int64)
    counts = np.arange(1, max(np.diff(edges).max(initial=0), 1) + 1)
    for number, (a, b) in enumerate(pairwise(edges)):
        ended = ends[a:b].searchsorted(starts[a:b], side="right")
        most[number] = (counts[: b - a] - ended).max(initial=0)
    return most
