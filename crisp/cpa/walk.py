"""The walk: who holds the request up at each moment (DESIGN rules 6.4 to 6.6).

From the root's end backwards: the child that finished last before t holds the path during its
own interval, the span itself the rest (paper, listing 4.1). Each child is looked at once, each
overlap costs two binary searches, so a trace takes O(n log n) however deep or wide it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from crisp.cpa.clip import Clipped
from crisp.cpa.groups import changes
from crisp.forest import Flags, Forest, Ints
from crisp.options import PathOptions

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Segments:
    """Stretches of the critical paths, in no order; they tile each root exactly. Shape (m,)."""

    row: Ints
    start_us: Ints
    end_us: Ints


@dataclass(frozen=True, slots=True)
class Walked:
    """The critical paths of a forest."""

    segments: Segments
    row: Ints
    """spans on the path, each once; shape (k,)"""
    end_us: Ints
    """where each was cut: it and all below it hold the path from its start to here"""
    tolerated_us: dict[int, int]
    """overlap by row of the spans that count as serial in spite of it"""


@dataclass(frozen=True, slots=True)
class _Children:
    """Children of every span, latest end first; plain lists, because loops read them."""

    first: list[int]
    """children of row r stand at first[r]:first[r + 1]"""
    row: list[int]
    start: list[int]
    end: list[int]


def critical_path(forest: Forest, clipped: Clipped, options: PathOptions) -> Walked:
    """Walk every tree of the forest.

    Ties on the end go to the longest child, then to the smallest span id, so the result does
    not depend on the order of the input.
    """
    children = _children_latest_first(forest, clipped)
    first, child_row = children.first, children.row
    child_start, child_end = children.start, children.end
    start, end = clipped.start_us.tolist(), clipped.end_us.tolist()
    segments: list[int] = []
    path: list[int] = []
    tolerated: dict[int, int] = {}
    serial_touch = options.touching == "serial"
    stack = [(row, end[row]) for row in range(len(forest.trees.trace_id))]
    while stack:
        row, cut = stack.pop()
        path += (row, cut)
        low, t = start[row], cut
        a, b = first[row], first[row + 1]
        if a < b and t > low:
            siblings = None
            places: range | list[int] = range(a, b)
            if child_end[a] > cut:
                siblings = _Siblings(children, a, b, cut)
                places = siblings.latest_first(forest)
            later = -1
            for place in places:
                begins, ends = child_start[place], child_end[place]
                if ends > cut:
                    ends = cut
                if begins >= ends or begins >= t:
                    continue  # of length zero, or not yet begun
                if ends > t or (ends == t and later >= 0 and not serial_touch):
                    if later < 0:
                        continue
                    siblings = siblings or _Siblings(children, a, b, cut)
                    if not siblings.serial(place, later, t, end[row] - low, options):
                        continue
                    tolerated[child_row[place]] = ends - t
                    ends = t
                if ends < t:
                    segments += (row, ends, t)
                stack.append((child_row[place], ends))
                t, later = begins, place
                if t <= low:
                    break
        if low < t:
            segments += (row, low, t)
    held = np.array(segments, np.int64).reshape(-1, 3)
    on_path = np.array(path, np.int64).reshape(-1, 2)
    return Walked(
        Segments(held[:, 0], held[:, 1], held[:, 2]), on_path[:, 0], on_path[:, 1], tolerated
    )


class _Siblings:
    """The children of one span that is cut at ``cut``: its children are cut with it."""

    __slots__ = ("_children", "_cut", "_ends", "_range", "_starts")

    def __init__(self, children: _Children, a: int, b: int, cut: int) -> None:
        self._children, self._range, self._cut = children, range(a, b), cut
        self._starts: list[int] | None = None
        self._ends: list[int] = []

    def latest_first(self, forest: Forest) -> list[int]:
        """Places in the order of the walk: several may end at the cut, so ties are decided anew."""
        children, cut = self._children, self._cut
        return sorted(
            self._range,
            key=lambda place: (
                -min(children.end[place], cut),
                children.start[place],
                forest.span_id(children.row[place]),
            ),
        )

    def serial(self, place: int, later: int, t: int, parent_us: int, options: PathOptions) -> bool:
        """The child at ``place`` happens before its sibling ``later`` although it ends at or
        after t, where that sibling starts (DESIGN rule 6.5)."""
        start, end = self._children.start, self._children.end
        child_end, later_end = min(end[place], self._cut), min(end[later], self._cut)
        overlap = child_end - t
        if options.touching == "parallel" or overlap > options.overlap_us:
            return False
        ratio = round(options.overlap_ratio * _MILLION)
        if options.overlap_of == "parent":
            if overlap * _MILLION >= parent_us * ratio or child_end >= later_end:
                return False
            return self._events_within(t, child_end) == 2
        shorter = min(child_end - start[place], later_end - t)
        if overlap * _MILLION > shorter * ratio:
            return False
        return self._others_inside(t, child_end, later_end) == 0

    def _others_inside(self, t: int, child_end: int, later_end: int) -> int:
        """Starts in [t, end) and ends in (t, end], without those of the two siblings."""
        starts, ends = self._events()
        began = bisect_left(starts, child_end) - bisect_left(starts, t)
        ended = bisect_right(ends, child_end) - bisect_right(ends, t)
        return began - 1 + ended - 1 - (later_end <= child_end)

    def _events_within(self, t: int, child_end: int) -> int:
        """Starts and ends in [t, end], those of the two siblings included."""
        starts, ends = self._events()
        began = bisect_right(starts, child_end) - bisect_left(starts, t)
        return began + bisect_right(ends, child_end) - bisect_left(ends, t)

    def _events(self) -> tuple[list[int], list[int]]:
        if self._starts is None:
            own = slice(self._range.start, self._range.stop)
            self._starts = sorted(self._children.start[own])
            self._ends = sorted(min(end, self._cut) for end in self._children.end[own])
        return self._starts, self._ends


def _children_latest_first(forest: Forest, clipped: Clipped) -> _Children:
    rows = np.flatnonzero(~clipped.off & (forest.parent >= 0))
    parent, start, end = forest.parent[rows], clipped.start_us[rows], clipped.end_us[rows]
    order = np.lexsort((start, -end, parent))
    tied = ~changes(parent[order], end[order], start[order])
    if tied.any():
        order = _by_id(forest, rows, order, tied)
    counts = np.bincount(parent, minlength=len(forest))
    return _Children(
        first=[0, *np.cumsum(counts).tolist()],
        row=rows[order].tolist(),
        start=start[order].tolist(),
        end=end[order].tolist(),
    )


def _by_id(forest: Forest, rows: Ints, order: Ints, tied: Flags) -> Ints:
    """``order`` with each run of equal intervals sorted by span id."""
    order = order.copy()
    run_start = np.flatnonzero(~tied & np.append(tied[1:], False))
    run_end = np.flatnonzero(tied & ~np.append(tied[1:], False)) + 1
    for a, b in zip(run_start.tolist(), run_end.tolist(), strict=True):
        run = sorted(order[a:b].tolist(), key=lambda place: forest.span_id(int(rows[place])))
        order[a:b] = run
    return order
