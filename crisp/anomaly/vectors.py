"""Traces of one endpoint as sparse rows over call paths (STV and SCPV, paper 4.6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crisp import arrow
from crisp.anomaly.sparse import edges_of, find

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SOUND, PROPAGATED, OWN = 0, 1, 2
"""Status of a call path in a trace: no failure; one that came from below; one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """``n`` traces of one endpoint in compressed sparse rows, ordered by (start_us, tree_id).

    An SCPV holds exclusive times on the critical path: each row sums to the latency. An STV
    holds durations of all call paths. Nothing is missing and nothing is NaN: a path that is
    not in a row has no cell there, which is not the same as one that took 0 µs.
    """

    endpoint_id: int
    tree_id: Ints
    """(n,)"""
    trace_id: Sequence[str]
    """(n,)"""
    root_span_id: Sequence[str]
    """(n,)"""
    start_us: Ints
    """(n,)"""
    latency_us: Ints
    """(n,)"""
    failed: Flags
    """(n,) the root failed"""
    edges: Ints
    """(n + 1,) cells of row i are ``edges[i]:edges[i + 1]``, ascending by path"""
    path_id: Ints
    """(cells,)"""
    time_us: Ints
    """(cells,)"""
    status: npt.NDArray[np.int8]
    """(cells,) `SOUND`, `PROPAGATED` or `OWN`"""

    def __len__(self) -> int:
        return len(self.tree_id)

    @property
    def row(self) -> Ints:
        """(cells,) row of each cell."""
        return np.repeat(np.arange(len(self)), np.diff(self.edges))

    def take(self, rows: npt.ArrayLike) -> Vectors:
        """The rows of these ascending numbers, or marked by these flags."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        lengths = np.diff(self.edges)[chosen]
        edges = edges_of(lengths)
        cells = np.repeat(self.edges[chosen] - edges[:-1], lengths) + np.arange(edges[-1])
        return replace(
            self,
            tree_id=self.tree_id[chosen],
            trace_id=[self.trace_id[i] for i in chosen.tolist()],
            root_span_id=[self.root_span_id[i] for i in chosen.tolist()],
            start_us=self.start_us[chosen],
            latency_us=self.latency_us[chosen],
            failed=self.failed[chosen],
            edges=edges,
            path_id=self.path_id[cells],
            time_us=self.time_us[cells],
            status=self.status[cells],
        )

    def matrix(self, paths: Ints) -> Any:
        """(n, len(paths)) scipy.sparse.csr_array of times, float64 µs; ``paths`` ascend. Cells of
        other paths are left out; a path that took 0 µs is a stored 0."""
        from scipy.sparse import csr_array

        column, known = find(paths, self.path_id)
        edges = edges_of(np.bincount(self.row[known], minlength=len(self)))
        cells = self.time_us[known].astype(np.float64)
        return csr_array((cells, column[known], edges), shape=(len(self), len(paths)))


def spread(rows: int, most: int) -> Ints:
    """(min(rows, most),) ascending numbers of rows, one drawn from each of ``most`` stretches of
    equal length; all where there are no more. The same every time.

    Every k-th row instead would be in step with whatever takes turns, two callers for instance.
    """
    if rows <= most:
        return np.arange(rows)
    edges = np.arange(most + 1) * rows // most
    shares = np.random.default_rng([rows, most]).random(most)
    drawn: Ints = edges[:-1] + (shares * np.diff(edges)).astype(np.int64)
    return drawn


CELLS = pa.schema(
    [
        *((name, pa.int64()) for name in ("endpoint_id", "tree_id", "start_us", "latency_us")),
        *((name, pa.string()) for name in ("trace_id", "root_span_id")),
        ("failed", pa.bool_()),
        *((name, pa.int64()) for name in ("path_id", "time_us", "status")),
    ]
)
"""One row a trace and call path, ordered by endpoint_id, start_us, tree_id and path_id."""


def vectors(cells: pa.Table) -> list[Vectors]:
    """The vectors of each endpoint in ``cells``, which have the columns and order of `CELLS`."""
    cells = cells.combine_chunks()
    if not cells.num_rows:
        return []
    endpoint = _numbers(cells, "endpoint_id")
    borders = np.flatnonzero(np.diff(endpoint)) + 1
    starts = [0, *borders.tolist()]
    lengths = np.diff([*starts, len(endpoint)]).tolist()
    return [_one(cells.slice(a, n)) for a, n in zip(starts, lengths, strict=True)]


def _one(cells: pa.Table) -> Vectors:
    tree = _numbers(cells, "tree_id")
    first = np.concatenate(([0], np.flatnonzero(np.diff(tree)) + 1))
    heads = cells.select(["trace_id", "root_span_id", "failed"]).take(arrow.ints(first))
    return Vectors(
        endpoint_id=int(_numbers(cells, "endpoint_id")[0]),
        tree_id=tree[first],
        trace_id=heads["trace_id"].to_pylist(),
        root_span_id=heads["root_span_id"].to_pylist(),
        start_us=_numbers(cells, "start_us")[first],
        latency_us=_numbers(cells, "latency_us")[first],
        failed=np.array(heads["failed"].to_pylist(), np.bool_),
        edges=np.append(first, len(tree)),
        path_id=_numbers(cells, "path_id"),
        time_us=_numbers(cells, "time_us"),
        status=_numbers(cells, "status").astype(np.int8),
    )


def _numbers(table: pa.Table, name: str) -> Ints:
    column = table[name].combine_chunks()
    chunk = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    found: Ints = arrow.numbers(chunk)
    return found
