"""Move subtrees whose clock disagrees with their caller's.

`by_edge` is Jaeger's adjustment: each span on another host is judged against its (already
moved) parent alone. `lone_servers` reproduces what Uber's released code does with the only
server span of a client call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.forest import Flags, Forest, Ints, Kind


@dataclass(frozen=True, slots=True)
class Moved:
    """Times after the moves, shape (n,) each."""

    start_us: Ints
    end_us: Ints
    delta_us: Ints
    """by how much each span was moved; 0 for most"""
    refused_us: Ints
    """moves that exceeded the limit and were not made"""


def unmoved(forest: Forest) -> Moved:
    """The times as recorded."""
    zeros = np.zeros(len(forest), np.int64)
    return Moved(forest.start_us, forest.end_us, zeros, zeros)


def by_edge(forest: Forest, limit_us: int) -> Moved:
    """Adjust clocks parent by parent, as Jaeger's query service does.

    A span on its parent's host inherits the parent's move. Otherwise: a span longer than its
    parent is moved only to not start before it; one that lies inside stays; any other is
    centred, half of the spare time (rounded down) before it. Spans without a known host are
    treated as on another host. A move beyond ``limit_us`` is refused, not shortened.
    """
    start, end = forest.start_us.copy(), forest.end_us.copy()
    delta = np.zeros(len(forest), np.int64)
    refused = np.zeros(len(forest), np.int64)
    for rows in forest.levels[1:]:
        parent = forest.parent[rows]
        same = (forest.clock[rows] == forest.clock[parent]) & (forest.clock[rows] != 0)
        inherited = delta[parent] + refused[parent]
        wanted = np.where(
            same, inherited, _needed(start[rows], end[rows], start[parent], end[parent])
        )
        allowed = np.abs(wanted) <= limit_us
        delta[rows] = np.where(allowed, wanted, 0)
        refused[rows] = np.where(allowed, 0, wanted)
        start[rows] += delta[rows]
        end[rows] += delta[rows]
    return Moved(start, end, delta, refused)


def _needed(start: Ints, end: Ints, parent_start: Ints, parent_end: Ints) -> Ints:
    spare = (parent_end - parent_start) - (end - start)
    centred = parent_start + spare // 2 - start
    inside = (start >= parent_start) & (end <= parent_end)
    longer = np.where(start < parent_start, parent_start - start, 0)
    return np.where(spare < 0, longer, np.where(inside, 0, centred))


def lone_servers(forest: Forest, moved: Moved) -> tuple[Moved, Flags]:
    """Move a client's only child, a server, into the client's interval, with its subtree.

    It goes to the nearer edge that it overlaps, and to the client's start when it is longer.
    Returns the new times and the servers that were moved.
    """
    count = len(forest)
    child = forest.parent >= 0
    children = np.bincount(forest.parent[child], minlength=count)
    lone = child & (forest.kind == Kind.SERVER)
    lone &= (forest.kind[forest.parent] == Kind.CLIENT) & (children[forest.parent] == 1)
    if not lone.any():
        return moved, lone
    start, end = moved.start_us.copy(), moved.end_us.copy()
    shift = np.zeros(count, np.int64)
    for rows in forest.levels[1:]:
        parent = forest.parent[rows]
        shift[rows] = shift[parent]
        first = start[rows] + shift[rows]
        last = np.maximum(start[parent], end[parent] - (end[rows] - start[rows]))
        inside = np.clip(first, start[parent], last)
        shift[rows] += np.where(lone[rows], inside - first, 0)
        start[rows] += shift[rows]
        end[rows] += shift[rows]
    lone &= shift != np.where(child, shift[forest.parent], 0)
    return Moved(start, end, moved.delta_us + shift, moved.refused_us), lone
