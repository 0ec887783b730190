"""Bring every span inside its parent (DESIGN rule 6.3, paper section 4.5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.forest import Flags, Forest, Ints


@dataclass(frozen=True, slots=True)
class Clipped:
    """Times inside the parents', and what was done; shape (n,) each."""

    start_us: Ints
    end_us: Ints
    off: Flags
    """rows out of the path: pruned, dropped, or below such a row; their times are as given"""
    dropped: Flags
    """tops of dropped subtrees"""
    cut_start_us: Ints
    """what was cut off before the parent's start"""
    cut_end_us: Ints
    """… and after its end"""


def clip_to_parent(
    forest: Forest, start_us: Ints, end_us: Ints, pruned: Flags, *, drop_overhanging: bool
) -> Clipped:
    """Clip each span to its (clipped) parent, parents first.

    A span that shares no moment with its parent is dropped with its subtree; intervals are
    half-open, so one that ends where the parent starts is outside. A span of length zero stays
    when it lies inside or on an edge. With ``drop_overhanging`` one that sticks out on both
    sides is dropped too. ``pruned`` rows are out already.
    """
    start, end, off = start_us.copy(), end_us.copy(), pruned.copy()
    dropped = np.zeros(len(forest), np.bool_)
    cut_start = np.zeros(len(forest), np.int64)
    cut_end = np.zeros(len(forest), np.int64)
    for rows in forest.levels[1:]:
        parent = forest.parent[rows]
        low, high = start[parent], end[parent]
        first, last = start[rows], end[rows]
        before, after = first < low, last > high
        gone = off[parent] | off[rows]
        empty = first == last
        outside = np.where(empty, before | after, (last <= low) | (first >= high))
        if drop_overhanging:
            outside |= before & after
        outside &= ~gone
        dropped[rows] = outside
        gone |= outside
        off[rows] = gone
        before &= ~gone
        after &= ~gone
        cut_start[rows] = np.where(before, low - first, 0)
        cut_end[rows] = np.where(after, last - high, 0)
        start[rows] = np.where(before, low, first)
        end[rows] = np.where(after, high, last)
    return Clipped(start, end, off, dropped, cut_start, cut_end)
