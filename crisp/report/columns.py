"""Marts as columns, sorted once and cut into one slice per endpoint: no page scans a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crisp import arrow

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Column = Any  # numpy array for numbers, Arrow array for text: both can be sliced and listed


@dataclass(frozen=True, slots=True)
class Grouped:
    """A table in a fixed order and where the rows of each endpoint lie in it."""

    columns: Mapping[str, Column]
    bounds: Mapping[int, tuple[int, int]]

    def of(self, endpoint_id: int) -> Rows:
        """The rows of one endpoint; none when it has none."""
        low, high = self.bounds.get(endpoint_id, (0, 0))
        return Rows({name: column[low:high] for name, column in self.columns.items()})


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table by column."""

    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def ints(self, name: str) -> Ints:
        """A column of whole numbers."""
        return np.asarray(self.columns[name], dtype=np.int64)

    def floats(self, name: str) -> Floats:
        """A column of fractions."""
        return np.asarray(self.columns[name], dtype=np.float64)

    def list(self, name: str) -> list[Any]:
        """A column as Python values."""
        found: list[Any] = self.columns[name].tolist()
        return found


def rows_of(table: pa.Table, order: Sequence[str] = ()) -> Rows:
    """All rows of a table, ascending by the columns of ``order``."""
    ordered = table
    if len(order) > 1 or (order and not _ascends(table[order[0]])):
        ordered = table.sort_by([(name, "ascending") for name in order])
    return Rows({name: _column(ordered[name]) for name in ordered.column_names})


def group(table: pa.Table, order: Sequence[str] = ()) -> Grouped:
    """The table sorted by ``endpoint_id``, then by the columns of ``order``."""
    rows = rows_of(table, ("endpoint_id", *order))
    keys, starts = np.unique(rows.ints("endpoint_id"), return_index=True)
    edges = [*starts.tolist(), table.num_rows]
    bounds = dict(zip(keys.tolist(), pairwise(edges), strict=True))
    return Grouped(rows.columns, bounds)


def dicts(rows: Rows) -> Iterator[dict[str, Any]]:
    """Each row as a dict, for tables of few rows."""
    names = list(rows.columns)
    for values in zip(*(rows.list(name) for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def hex_id(number: int) -> str:
    """A signed 64-bit id as 16 hex digits, the only form in which ids reach a page."""
    return f"{number & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _ascends(column: pa.ChunkedArray) -> bool:
    """Whether a column of numbers is in order already, as in marts; sorting takes far longer."""
    if column.type != pa.int64() or column.null_count:
        return False
    values = _column(column)
    return bool((values[1:] >= values[:-1]).all())


def _column(column: pa.ChunkedArray) -> Column:
    whole = column.combine_chunks()
    if whole.type in {pa.int64(), pa.float64()}:
        return arrow.numbers(whole) if not whole.null_count else whole.to_numpy(False)
    return whole
