"""The traces of an endpoint kept whole: what its heat map, violins and intervals are of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crisp.report.columns import Floats, Grouped, Ints, Rows, group
from crisp.report.paths import Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Some traces of one endpoint, slowest first, with their critical paths as cells.

    There are n traces and m cells; a cell is what one call path held in one trace on one host.
    A band that has more traces than are kept of it is represented by those with the smallest
    hashes, which is a random choice that is the same every time.
    """

    trace_id: list[str]
    span_id: list[str]
    """span at the top of the analysed tree, (n,)"""
    start_us: Ints
    latency_us: Ints
    band: Ints
    """number of the band, not its place among those that have traces, (n,)"""
    weight: Floats
    """traces of its band that each stands for, (n,): 1 where all are kept"""
    error: list[bool]
    version: list[str]
    """of the service that served the root, '' where unknown, (n,)"""
    trace: Ints
    """which trace a cell is of, ascending, (m,)"""
    path: Ints
    """which row of the endpoint's `Tree`, ascending in a trace, (m,)"""
    host: Ints
    """which of `hosts`, (m,)"""
    exclusive_us: Ints
    inclusive_us: Ints
    hosts: list[str]
    """names of hosts, those of other endpoints among them; '' stands for unknown"""

    def __len__(self) -> int:
        return len(self.trace_id)


@dataclass(frozen=True, slots=True)
class KeptTables:
    """The marts ``kept`` and ``kept_paths``, grouped once for all endpoints."""

    traces: Grouped
    cells: Grouped
    hosts: list[str]

    def of(self, endpoint_id: int, tree: Tree, in_band: Mapping[int, int]) -> Kept:
        """The kept traces of an endpoint; ``in_band`` counts all its traces by band."""
        rows = self.traces.of(endpoint_id)
        cells = self.cells.of(endpoint_id)
        ids = rows.ints("tree_id")
        trace_id, span_id = rows.list("trace_id"), rows.list("root_span_id")
        latency = rows.ints("latency_us")
        order = sorted(range(len(ids)), key=lambda i: (-latency[i], trace_id[i], span_id[i]))
        of_cell, path, sort = _placed(ids[order], cells.ints("tree_id"), tree, cells)
        band = rows.ints("band")[order]
        numbers, counts = np.unique(band, return_counts=True)
        each = {n: in_band[n] / c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}
        error, version = rows.list("error"), rows.list("version")
        return Kept(
            trace_id=[trace_id[i] for i in order],
            span_id=[span_id[i] for i in order],
            start_us=rows.ints("start_us")[order],
            latency_us=latency[order],
            band=band,
            weight=np.array([each[number] for number in band.tolist()], dtype=np.float64),
            error=[error[i] for i in order],
            version=[version[i] for i in order],
            trace=of_cell,
            path=path,
            host=cells.ints("host")[sort],
            exclusive_us=cells.ints("exclusive_us")[sort],
            inclusive_us=cells.ints("inclusive_us")[sort],
            hosts=self.hosts,
        )


def kept_tables(kept: pa.Table, kept_paths: pa.Table) -> KeptTables:
    """Both marts, host names as numbers."""
    host = kept_paths["host"].combine_chunks().dictionary_encode()
    numbered = kept_paths.set_column(
        kept_paths.schema.get_field_index("host"), "host", host.indices.cast(pa.int64())
    )
    return KeptTables(group(kept, ("tree_id",)), group(numbered), host.dictionary.to_pylist())


def _placed(ids: Ints, of_tree: Ints, tree: Tree, cells: Rows) -> tuple[Ints, Ints, Ints]:
    """Trace and path of every cell, and the order in which cells ascend by both, then by host."""
    by_id = np.argsort(ids)
    trace = by_id[np.searchsorted(ids[by_id], of_tree)]
    path = tree.rows_of(cells.ints("path_id"))
    order = np.lexsort((cells.ints("host"), path, trace))
    return trace[order], path[order], order
