"""What each path was expected to take in a trace of this pattern, and what it took instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crisp import arrow
from crisp.anomaly.detector import Frozen
from crisp.anomaly.sparse import edges_of, find
from crisp.anomaly.vectors import Flags, Ints
from crisp.anomaly.vocabulary import Encoded

_OFTEN = 50
"""Patterns of at least so many fit rows have expectations of their own."""
_TOP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Mean times over the fit rows, whole µs: of a pattern's own rows where these are many
    enough, else of all rows that have the column."""

    patterns: Ints
    """(often,) ascending"""
    keys: Ints
    """(cells,) ascending: place of the pattern · d + column"""
    of_pattern_us: Ints
    """(cells,) mean of the column over the pattern's rows"""
    of_column_us: Ints
    """(d,) mean over the rows that have the column; 0 where none has"""
    latency_of_pattern_us: Ints
    """(often + 1,) mean latency of the pattern's rows, and last of all rows"""

    def freeze(self) -> Frozen:
        """Its arrays."""
        return Frozen(about={}, arrays={name: getattr(self, name) for name in self.__slots__})


def thaw_expectation(frozen: Frozen) -> Expectation:
    """What `Expectation.freeze` gave."""
    return Expectation(**frozen.arrays)


def fit_expectation(rows: Encoded) -> Expectation:
    """Means over these rows."""
    cells = rows.time_us
    n, d = cells.shape
    patterns, counts = np.unique(rows.pattern, return_counts=True)
    patterns = patterns[counts >= _OFTEN]
    place, often = find(patterns, rows.pattern)
    row = np.repeat(np.arange(n), np.diff(cells.indptr))
    kept = often[row]
    keys, of, counted = np.unique(
        place[row[kept]] * d + cells.indices[kept], return_inverse=True, return_counts=True
    )
    sums = np.bincount(of, cells.data[kept], minlength=len(keys))
    present = np.maximum(np.bincount(cells.indices, minlength=d), 1)
    of_latency = np.bincount(place[often], rows.latency_us[often], minlength=len(patterns))
    over = np.append(counts[counts >= _OFTEN], max(n, 1))
    return Expectation(
        patterns=patterns,
        keys=keys,
        of_pattern_us=_whole(sums / counted),
        of_column_us=_whole(np.bincount(cells.indices, cells.data, minlength=d) / present),
        latency_of_pattern_us=_whole(np.append(of_latency, rows.latency_us.sum()) / over),
    )


def _whole(values: Any) -> Ints:
    return np.asarray(np.rint(values), np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """Changes of each trace; contributions and other_us add up to latency_us − expected_us."""

    expected_us: Ints
    """(n,)"""
    contributions: pa.Array
    """(n,) lists of (path_id, change_us): at most five, largest first, ties to the smaller path"""
    other_us: Ints
    """(n,)"""


def explained(rows: Encoded, expectation: Expectation, *, overlapping: bool) -> Explained:
    """What each path took less what it was expected to take.

    The time expected of a folded column is shared out over the paths that are in it, by their
    times, so that changes have the names of paths; paths never seen were expected to take none.
    ``overlapping`` says that times count others within them (STV): then expected_us is the mean
    latency of such traces instead of the sum over the paths.
    """
    vectors = rows.vectors
    place, often = find(expectation.patterns, rows.pattern)
    expected = _of_paths(rows, _of_cells(rows, expectation, place, often))
    change = vectors.time_us - expected
    if overlapping:
        expected_us = expectation.latency_of_pattern_us[place]
    else:
        edges = np.concatenate(([0], np.cumsum(expected)))[vectors.edges]
        expected_us = np.diff(edges)
    top = _largest(vectors.edges, vectors.row, np.abs(change))
    in_row = vectors.row[top]
    named = np.zeros(len(vectors), np.int64)
    np.add.at(named, in_row, change[top])
    lists = pa.ListArray.from_arrays(
        arrow.offsets(edges_of(np.bincount(in_row, minlength=len(vectors)))),
        pa.StructArray.from_arrays(
            [arrow.ints(vectors.path_id[top]), arrow.ints(change[top])], ["path_id", "change_us"]
        ),
    )
    return Explained(
        expected_us=expected_us,
        contributions=lists,
        other_us=vectors.latency_us - expected_us - named,
    )


def _of_cells(rows: Encoded, expectation: Expectation, place: Ints, often: Flags) -> Ints:
    """(nnz,) expected of each stored cell."""
    cells = rows.time_us
    expected: Ints = expectation.of_column_us[cells.indices]
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    kept = often[row]
    key, found = find(expectation.keys, place[row[kept]] * cells.shape[1] + cells.indices[kept])
    often_us = np.append(expectation.of_pattern_us, 0)[key]
    expected[kept] = np.where(found, often_us, expected[kept])
    return expected


def _of_paths(rows: Encoded, of_cells: Ints) -> Ints:
    """(cells,) expected of each path: a cell of several parts theirs by time, the rounded sums
    of the first i parts of it being those of the cell times their share; if they took no time
    at all, the first gets all."""
    time_us, merged = rows.vectors.time_us, rows.merged
    expected = of_cells[merged]
    parts = np.bincount(merged, minlength=len(of_cells))
    shared = np.flatnonzero(parts[merged] > 1)
    if not len(shared):
        return expected
    order = shared[np.argsort(merged[shared], kind="stable")]
    first = np.ones(len(order), np.bool_)
    first[1:] = np.diff(merged[order]) != 0
    group = np.cumsum(first) - 1
    running = np.cumsum(time_us[order])
    before = (running - time_us[order])[first]
    total = np.bincount(group, time_us[order])
    share = np.where(total[group] > 0, (running - before[group]) / np.maximum(total[group], 1), 1.0)
    upto = np.floor(expected[order] * share).astype(np.int64)
    expected[order] = upto - np.where(first, 0, np.concatenate(([0], upto[:-1])))
    return expected


def _largest(edges: Ints, row: Ints, size: Ints) -> Ints:
    """Cells with the largest size of each row, those of size 0 left out, ordered by row, then
    largest first; ties to the first. A few passes over all cells beat sorting them."""
    left = size.copy()
    full = np.flatnonzero(np.diff(edges))
    found = []
    for _ in range(_TOP if len(full) else 0):
        highest = np.zeros(len(edges) - 1, np.int64)
        highest[full] = np.maximum.reduceat(left, edges[full])
        here = np.flatnonzero((left == highest[row]) & (left > 0))
        here = here[np.append(True, np.diff(row[here]) != 0)] if len(here) else here
        left[here] = 0
        found.append(here)
    cells = np.concatenate([*found, np.empty(0, np.int64)])
    return cells[np.argsort(row[cells], kind="stable")]
