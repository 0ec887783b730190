"""Call paths: their ids, and the critical path summed over them.

A path id is a stable 64-bit hash of (id of the path one call shorter, endpoint id), so equal
call chains meet in one row on every machine, without a shared dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crisp.cpa.clip import Clipped
from crisp.cpa.groups import changes
from crisp.cpa.walk import Walked
from crisp.forest import Flags, Forest, Ints

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class PathRows:
    """One row per tree, call path and host on the critical path; columns of shape (p,)."""

    tree: Ints
    path_id: Ints
    host: Ints
    spans: Ints
    exclusive_us: Ints
    inclusive_us: Ints
    longest: Ints
    """row of the span with the largest exclusive time, ties to the smallest span id"""
    error: Flags


def path_ids(forest: Forest) -> Ints:
    """Call path of every span, shape (n,); never 0.

    child = mix(parent · 0x9E3779B97F4A7C15 + endpoint id) modulo 2^64 with the finaliser of
    splitmix64; the path above a root counts as 0. Shown as signed integers.
    """
    endpoint = forest.endpoint_ids[forest.endpoint].view(np.uint64)
    ids = np.zeros(len(forest), np.uint64)
    for level, rows in enumerate(forest.levels):
        above = ids[forest.parent[rows]] if level else np.zeros(rows.stop, np.uint64)
        ids[rows] = _mix(above * _GOLDEN + endpoint[rows])
    return ids.view(np.int64)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    x = x ^ (x >> np.uint64(31))
    return np.where(x == 0, np.uint64(1), x)


def exclusive_time(forest: Forest, walked: Walked) -> Ints:
    """Time each span itself holds the critical path, shape (n,)."""
    exclusive = np.zeros(len(forest), np.int64)
    segments = walked.segments
    np.add.at(exclusive, segments.row, segments.end_us - segments.start_us)
    return exclusive


def by_path(
    forest: Forest, clipped: Clipped, walked: Walked, paths: Ints, exclusive: Ints
) -> PathRows:
    """Sum the critical path over (tree, call path, host).

    Rows are ordered by tree, then path id, then host.
    """
    row = walked.row
    inclusive = walked.end_us - clipped.start_us[row]
    order = np.lexsort((-exclusive[row], forest.host[row], paths[row], forest.tree[row]))
    row, inclusive = row[order], inclusive[order]
    tree, path, host, own = forest.tree[row], paths[row], forest.host[row], exclusive[row]
    first = changes(tree, path, host)
    starts = np.flatnonzero(first)
    longest = row[starts]
    tied = ~first & _same_as_best(own, starts, first)
    if tied.any():
        longest = _smallest_ids(forest, row, starts, first, tied)
    if not len(starts):
        empty = np.zeros(0, np.int64)
        return PathRows(tree, path, host, empty, empty, empty, empty, np.zeros(0, np.bool_))
    return PathRows(
        tree=tree[starts],
        path_id=path[starts],
        host=host[starts],
        spans=np.diff(np.append(starts, len(row))),
        exclusive_us=np.add.reduceat(own, starts),
        inclusive_us=np.add.reduceat(inclusive, starts),
        longest=longest,
        error=np.logical_or.reduceat(forest.failed(row), starts),
    )


def _same_as_best(own: Ints, starts: Ints, first: Flags) -> Flags:
    """Rows whose exclusive time equals that of the first of their group."""
    return own == own[starts][np.cumsum(first) - 1] if len(starts) else first


def _smallest_ids(forest: Forest, row: Ints, starts: Ints, first: Flags, tied: Flags) -> Ints:
    group = np.cumsum(first) - 1
    longest = row[starts].copy()
    for place in np.flatnonzero(tied).tolist():
        number = group[place]
        if forest.span_id(row[place]) < forest.span_id(longest[number]):
            longest[number] = row[place]
    return longest
