"""From days of the lake to the vectors of each endpoint, in shards that a worker can hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crisp import arrow, schema, store
from crisp.aggregate import sql
from crisp.anomaly.vectors import CELLS, Ints, Vectors, vectors
from crisp.engine import Engine, Table
from crisp.errors import LakeError
from crisp.locations import Location, filesystem, is_url, join
from crisp.options import Features

_I64 = pa.int64()
_CHOSEN = pa.schema(
    [
        *(CELLS.field(name) for name in CELLS.names[:7]),
        pa.field("part", _I64),
    ]
)
_CELL = pa.schema([CELLS.field(name) for name in ("tree_id", "path_id", "time_us", "status")])
_PARTED = pa.schema([*CELLS, pa.field("part", _I64)])
_CHARGED = pa.schema([("path_id", _I64), ("charged_id", _I64)])
_COUNTS = pa.schema([(name, _I64) for name in ("endpoint_id", "part", "cells", "traces")])
_MOST = pa.schema([("traces", _I64)])
EXCLUDED = pa.schema([(name, _I64) for name in ("endpoint_id", "start_us", "end_us")])
"""Days of endpoints whose traces are left out."""
_PATHS = pa.schema([schema.CALL_PATHS.field("path_id"), schema.CALL_PATHS.field("parent_id")])
_ORDER = ("endpoint_id", "part", "start_us", "tree_id", "path_id")
_MOST_CELLS, _SHARDS = 1_000_000, 16
"""Cells that a worker holds at a time, about 200 MB; fewer where that makes no 16 shards, so that
all workers have work. An endpoint's share is not cut further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointShard:
    """Endpoints that are worked on together: a range of ids, or a share of a single one."""

    files: tuple[str, ...]
    """Parquet files with the columns of `CELLS` and ``part``, in their order"""
    paths: tuple[str, ...]
    """Parquet files with the callers of call paths"""
    first: int
    last: int
    part: int
    cells: int
    traces: int

    @property
    def endpoints(self) -> Sequence[tuple[str, str, object]]:
        """Conditions on endpoint_id."""
        return [("endpoint_id", ">=", self.first), ("endpoint_id", "<=", self.last)]

    @property
    def size(self) -> int:
        """Cells, for balance and progress."""
        return self.cells


def endpoint_shards(
    engine: Engine,
    lake: Location,
    versions: Mapping[str, str],
    folder: str,
    *,
    features: Features = "scpv",
    charge_callee: bool = False,
    most: int,
    excluded: pa.Table | None = None,
) -> list[EndpointShard]:
    """Write the vectors of all endpoints into ``folder``, and say who works on what.

    ``versions`` names the days of the lake. Share 0 of an endpoint is a random sample of at most
    ``most`` of its traces, and others follow where it has more.

    Raises:
        LakeError: all call paths are wanted, and the lake does not hold them.
    """

    def lake_table(name: str) -> Table:
        files = [file for day, of in versions.items() for file in store.files(lake, day, name, of)]
        return engine.read(files, schema.LAKE[name])

    traces = lake_table("traces")
    call_paths = engine.keep(
        engine.sql(sql("lake_distinct"), schema.CALL_PATHS, rows=lake_table("call_paths"))
    )
    chosen = engine.keep(
        engine.sql(
            sql("chosen"),
            _CHOSEN,
            traces=traces,
            excluded=engine.table(EXCLUDED.empty_table() if excluded is None else excluded),
            most=engine.table(pa.Table.from_batches([arrow.batch({"traces": [most]}, _MOST)])),
        )
    )
    paths = engine.explode(traces, "paths", {"tree_id": "tree_id"})
    cells = engine.sql(sql("summed"), _CELL, paths=paths, call_paths=call_paths)
    if features == "stv":
        everything = engine.explode(traces, "all_paths", {"tree_id": "tree_id"})
        cells = engine.sql(sql("all_cells"), _CELL, all_paths=everything, summed=cells)
    if charge_callee:
        names = engine.sql(
            sql("lake_distinct"), schema.ENDPOINT_NAMES, rows=lake_table("endpoint_names")
        )
        charged = engine.keep(
            engine.sql(sql("charged"), _CHARGED, call_paths=call_paths, endpoint_names=names)
        )
        cells = engine.sql(sql("charged_cells"), _CELL, cells=cells, charged=charged)
    joined = engine.sql(sql("cells"), _PARTED, chosen=chosen, cells=cells)
    engine.write(joined, join(folder, "cells"), _ORDER)
    engine.write(
        engine.sql("SELECT path_id, parent_id FROM call_paths", _PATHS, call_paths=call_paths),
        join(folder, "paths"),
        ("path_id",),
    )
    written = tuple(store.written(join(folder, "cells")))
    counted = engine.sql(sql("cell_counts"), _COUNTS, cells=engine.read(written, _PARTED))
    counts = engine.collect(counted)
    if features == "stv" and not counts.num_rows and engine.collect(chosen).num_rows:
        raise LakeError(
            f"{lake}: holds critical paths only; for STVs run crisp analyse --all-paths for"
            f" {', '.join(versions)} again"
        )
    return list(_dealt(counts, written, tuple(store.written(join(folder, "paths")))))


def _dealt(
    counts: pa.Table, files: tuple[str, ...], paths: tuple[str, ...]
) -> Iterator[EndpointShard]:
    """Neighbouring endpoints until there are enough cells; shares of large endpoints alone."""
    rows = sorted(counts.to_pylist(), key=lambda row: (row["endpoint_id"], row["part"]))
    most = min(_MOST_CELLS, sum(row["cells"] for row in rows) // _SHARDS)
    divided = {row["endpoint_id"] for row in rows if row["part"]}
    group: list[dict[str, int]] = []

    def shard() -> EndpointShard:
        return EndpointShard(
            files=files,
            paths=paths,
            first=group[0]["endpoint_id"],
            last=group[-1]["endpoint_id"],
            part=group[0]["part"],
            cells=sum(row["cells"] for row in group),
            traces=sum(row["traces"] for row in group),
        )

    for row in rows:
        alone = row["endpoint_id"] in divided or (group and group[-1]["endpoint_id"] in divided)
        full = sum(each["cells"] for each in group) + row["cells"] > most
        if group and (alone or full):
            yield shard()
            group = []
        group.append(row)
    if group:
        yield shard()


def read_vectors(shard: EndpointShard) -> list[Vectors]:
    """The vectors of the endpoints of a shard."""
    return vectors(read_rows(shard.files, CELLS, [[*shard.endpoints, ("part", "==", shard.part)]]))


def read_parents(shard: EndpointShard) -> tuple[Ints, Ints]:
    """All call paths, ascending, and the paths of their callers."""
    rows = read_rows(shard.paths, _PATHS)
    found = [arrow.numbers(rows[name].combine_chunks()) for name in ("path_id", "parent_id")]
    order = np.argsort(found[0], kind="stable")
    return found[0][order], found[1][order]


Wanted = Sequence[Sequence[tuple[str, str, object]]]
"""Lists of conditions on columns; of one list, all hold."""


def read_rows(files: Sequence[str], table: pa.Schema, wanted: Wanted | None = None) -> pa.Table:
    """The wanted rows of some Parquet files, paths or URLs, in the columns of ``table``."""
    parts = [_rows(file, table, wanted) for file in files]
    return pa.concat_tables([table.empty_table(), *parts]).combine_chunks()


def _rows(file: str, table: pa.Schema, wanted: Wanted | None) -> pa.Table:
    system, path = filesystem(file) if is_url(file) else (None, file)
    filters = [list(group) for group in wanted] if wanted else None
    try:
        found = pq.read_table(path, columns=table.names, filters=filters, filesystem=system)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        reason = str(error).splitlines()[0]
        raise LakeError(f"{file}: damaged ({reason}); make its day again") from error
    return found.select(table.names).cast(table)
