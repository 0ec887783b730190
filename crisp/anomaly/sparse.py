"""What is done to the cells of sparse rows: find, merge, add up, take the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_Ints = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


def find(known: _Ints, wanted: _Ints) -> tuple[_Ints, _Flags]:
    """Where each of ``wanted`` is in ``known``, which ascends, and whether it is there at all;
    of one that is not, the place is len(known), so that a table with one row more answers."""
    place = np.searchsorted(known, wanted)
    there = place < len(known)
    there[there] = known[place[there]] == wanted[there]
    return np.where(there, place, len(known)), there


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Cells of the same row and column made one; ordered by row and column."""

    edges: _Ints
    """(n + 1,)"""
    column: _Ints
    """(merged,)"""
    time_us: _Ints
    """(merged,) sums"""
    status: npt.NDArray[np.int8]
    """(merged,) the worst"""
    of: _Ints
    """(cells,) the merged cell that each cell went into"""


def merge(row: _Ints, column: _Ints, time_us: _Ints, status: npt.NDArray[Any], rows: int) -> Merged:
    """Make one of all cells of the same row and column. ``row`` ascends from 0 to below
    ``rows``; columns are any numbers, such as path ids."""
    by_row_then_column = np.lexsort((column, row))
    row_of, column_of = row[by_row_then_column], column[by_row_then_column]
    new = np.ones(len(row), np.bool_)
    new[1:] = (np.diff(row_of) != 0) | (np.diff(column_of) != 0)
    starts = np.flatnonzero(new)
    of = np.empty(len(row), np.int64)
    of[by_row_then_column] = np.cumsum(new) - 1
    if not len(starts):
        empty = np.empty(0, np.int64)
        return Merged(
            edges=np.zeros(rows + 1, np.int64),
            column=empty,
            time_us=empty,
            status=np.empty(0, np.int8),
            of=of,
        )
    return Merged(
        edges=edges_of(np.bincount(row_of[starts], minlength=rows)),
        column=column_of[starts],
        time_us=np.add.reduceat(time_us[by_row_then_column], starts),
        status=np.maximum.reduceat(status[by_row_then_column], starts).astype(np.int8),
        of=of,
    )


def edges_of(lengths: npt.NDArray[Any]) -> _Ints:
    """(n + 1,) edges of rows that hold so many cells each."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))


def row_sums(edges: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(n,) sum of each row's cells, 0 where it has none; integers wrap around."""
    full = np.flatnonzero(np.diff(edges))
    sums = np.zeros(len(edges) - 1, values.dtype)
    if len(full):
        sums[full] = np.add.reduceat(values, edges[full])
    return sums


def row_largest(
    edges: npt.NDArray[Any], values: npt.NDArray[Any], otherwise: Any
) -> npt.NDArray[Any]:
    """(n,) largest of each row's cells, ``otherwise`` where it has none."""
    full = np.flatnonzero(np.diff(edges))
    largest = np.full(len(edges) - 1, otherwise, values.dtype)
    if len(full):
        largest[full] = np.maximum.reduceat(values, edges[full])
    return largest
