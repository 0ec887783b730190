"""Rows of many models as tensors, a batch at a time, straight from their cells.

A dense copy of the rows of a large endpoint does not fit in memory several times; its cells do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crisp.anomaly.vectors import OWN, Flags, Floats, Ints
from crisp.anomaly.vocabulary import Encoded

_MOST_CODE = 1e6
"""Standardised times are cut here, so that sums of squares stay finite in single precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """``n`` rows over the columns of one model, in compressed rows."""

    edges: Ints
    """(n + 1,)"""
    column: Ints
    """(cells,)"""
    value: npt.NDArray[np.float32]
    """(cells,) the time as the network takes it: standardised, finite"""
    own: Flags
    """(cells,) the path has a failure of its own"""

    def __len__(self) -> int:
        return len(self.edges) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """``n`` rows of each of ``m`` models; models with fewer have empty rows at the end."""

    shape: tuple[int, int, int]
    """m, n, width"""
    column: Tensor
    """(cells,) of the stack: model × width + column"""
    bag: Tensor
    """(cells,) row of the stack: model × n + row; ascending"""
    place: Tensor
    """(cells,) of each cell in a flattened (m, n, width)"""
    value: Tensor
    """(cells,)"""
    own: Tensor
    """(cells,) 1.0 where the path has a failure of its own"""
    nodes: Tensor
    """(m, n) cells of each row"""
    weight: Tensor
    """(m, n) 1 for rows, 0 for filling"""

    def per_row(self, of_cells: Tensor) -> Tensor:
        """(m, n) sums over the cells of each row."""
        models, rows, _ = self.shape
        zeros = of_cells.new_zeros(models * rows)
        return zeros.index_add(0, self.bag, of_cells).view(models, rows)


def cells(rows: Encoded, mean: Floats, std: Floats, *, logarithm: bool) -> Cells:
    """The rows with times as (time − mean) / std of their column, of log(1 + µs) if asked."""
    time: Floats = rows.time_us.data
    column = np.asarray(rows.time_us.indices, np.int64)
    if logarithm:
        time = np.log1p(time)
    value = np.clip((time - mean[column]) / std[column], -_MOST_CODE, _MOST_CODE)
    return Cells(
        edges=np.asarray(rows.time_us.indptr, np.int64),
        column=column,
        value=value.astype(np.float32),
        own=np.asarray(rows.status) == OWN,
    )


def joined(parts: Sequence[Cells], width: int) -> Cells:
    """The rows of several models after each other, columns counted through the stack, and one
    empty row at the end."""
    sizes = np.cumsum([0, *(len(part.column) for part in parts)])
    edges = [part.edges[:-1] + size for part, size in zip(parts, sizes[:-1], strict=True)]
    columns = [part.column + width * model for model, part in enumerate(parts)]
    return Cells(
        edges=np.concatenate([*edges, [sizes[-1], sizes[-1]]]),
        column=np.concatenate(columns),
        value=np.concatenate([part.value for part in parts]),
        own=np.concatenate([part.own for part in parts]),
    )


def batch(pool: Cells, rows: Ints, width: int, device: torch.device) -> Batch:
    """The (m, n) chosen rows of what `joined` gave; −1 stands for filling."""
    chosen = rows.ravel()
    starts, lengths = pool.edges[:-1][chosen], np.diff(pool.edges)[chosen]
    edges = np.cumsum(lengths) - lengths
    which = np.repeat(starts - edges, lengths) + np.arange(int(lengths.sum()))

    def tensor(array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(device)

    column, bag = pool.column[which], np.repeat(np.arange(rows.size), lengths)
    return Batch(
        shape=(rows.shape[0], rows.shape[1], width),
        column=tensor(column),
        bag=tensor(bag),
        place=tensor(bag * width + column % width),
        value=tensor(pool.value[which]),
        own=tensor(pool.own[which].astype(np.float32)),
        nodes=tensor(lengths.reshape(rows.shape).astype(np.float32)),
        weight=tensor((rows >= 0).astype(np.float32)),
    )


def moments(rows: Encoded, least_std: float, *, logarithm: bool) -> tuple[Floats, Floats, Ints]:
    """(d,) mean and standard deviation of the times of each column over the rows that have it,
    of log(1 + µs) if asked, and how many have it. Columns in no row take those of all cells."""
    time: Floats = rows.time_us.data
    if logarithm:
        time = np.log1p(time)
    column, width = rows.time_us.indices, rows.time_us.shape[1]
    count = np.bincount(column, minlength=width)
    some = np.maximum(count, 1)
    mean = np.bincount(column, time, width) / some
    off = time - mean[column]
    std = np.sqrt(np.bincount(column, off * off, width) / some)
    mean[count == 0] = time.mean() if len(time) else 0.0
    std[count == 0] = time.std() if len(time) else 0.0
    return mean, np.maximum(std, least_std), count
