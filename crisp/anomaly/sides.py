"""Two sets of traces of an endpoint over the same call paths, rare ones folded upwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crisp.anomaly.rank import in_order
from crisp.anomaly.vectors import OWN, Flags, Floats, Ints, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Cells of the reference and of the day, one for each trace and path."""

    paths: Ints
    """(p,) ascending"""
    row: Ints
    """(cells,) trace; those of the day follow those of the reference"""
    path: Ints
    """(cells,) place in ``paths``"""
    time_us: Ints
    """(cells,)"""
    own: Flags
    """(cells,) the path failed by itself"""
    reference: int
    """traces before"""
    today: int
    """traces of the day"""

    @property
    def of_day(self) -> Flags:
        """(cells,)"""
        return self.row >= self.reference

    def totals(self, cells: Flags, weights: Floats | None = None) -> Floats:
        """(p,) number of these cells, or the sum of a number of theirs."""
        some = None if weights is None else weights[cells]
        return np.bincount(self.path[cells], some, len(self.paths)).astype(np.float64)


def sides(reference: Vectors, today: Vectors, parents: Mapping[int, int], least: int) -> Sides:
    """Both, where paths in fewer than ``least`` traces of them count for the nearest one above
    that is in more; the highest known one stays where there is none. Each row keeps its sum."""
    paths, path = np.unique(np.concatenate((reference.path_id, today.path_id)), return_inverse=True)
    kept = _kept(paths, np.bincount(path, minlength=len(paths)) < least, parents)
    paths, place = np.unique(kept, return_inverse=True)
    row = np.concatenate((reference.row, today.row + len(reference)))
    cell, merged = np.unique(row * len(paths) + place[path], return_inverse=True)
    time_us = np.zeros(len(cell), np.int64)
    np.add.at(time_us, merged, np.concatenate((reference.time_us, today.time_us)))
    own = np.zeros(len(cell), np.bool_)
    own[merged[np.concatenate((reference.status, today.status)) == OWN]] = True
    return Sides(
        paths=paths,
        row=cell // len(paths),
        path=cell % len(paths),
        time_us=time_us,
        own=own,
        reference=len(reference),
        today=len(today),
    )


def _kept(paths: Ints, rare: Flags, parents: Mapping[int, int]) -> Ints:
    """(p,) the path that each counts for."""
    common = set(paths[~rare].tolist())
    kept = paths.copy()
    for place in np.flatnonzero(rare).tolist():
        path = int(paths[place])
        while path not in common and (above := parents.get(path, 0)):
            path = above
        kept[place] = path
    return kept


def topped_means(group: Ints, value: Ints, groups: int) -> Floats:
    """(g,) means where the topmost 0.5 % of a group, at least one value, count as the largest
    one below them, so that no single request moves them far; 0 for an empty group."""
    size = np.bincount(group, minlength=groups)
    last = np.cumsum(size) - 1
    ordered = value[in_order(group, value)].astype(np.float64)
    top = np.where(size > 1, np.ceil(size * 0.005).astype(np.int64), 0)
    most = np.zeros(groups)
    some = size > 0
    most[some] = ordered[last[some] - top[some]]
    sums = np.bincount(group, np.minimum(value, most[group]), groups)
    return sums / np.maximum(size, 1)
