"""From days of the lake to the marts of one window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from crisp import schema, store
from crisp.aggregate import band_edges, day_edges, histogram_bins, limits, sql
from crisp.engine import Engine, Table
from crisp.errors import LakeError
from crisp.options import AggregateOptions

_I64, _TEXT = pa.int64(), pa.string()
_TREE_COLUMNS = (
    "tree_id",
    "endpoint_id",
    "trace_id",
    "root_span_id",
    "start_us",
    "latency_us",
    "weight",
    "error",
    "spans",
)
TREES = pa.schema([*(schema.TRACES.field(name) for name in _TREE_COLUMNS), pa.field("band", _I64)])
_SLIM = pa.schema(
    [
        schema.TRACES.field(name)
        for name in (
            *_TREE_COLUMNS,
            "unique_endpoints",
            "depth",
            "concurrency",
            "cp_spans",
            "cp_endpoints",
        )
    ]
)
PATH_USE = pa.schema(
    [
        ("endpoint_id", _I64),
        ("band", _I64),
        ("tree_id", _I64),
        ("path_id", _I64),
        ("weight", pa.float64()),
        ("spans", _I64),
        ("exclusive_us", _I64),
        ("inclusive_us", _I64),
        ("failed", _I64),
        ("span_id", _TEXT),
    ]
)
_ORDER = {
    "fleet": ("service", "operation"),
    "daily": ("endpoint_id", "day"),
    "bands": ("endpoint_id", "band"),
    "cct": ("endpoint_id", "path_id", "band"),
    "path_stats": ("endpoint_id", "path_id"),
    "exemplars": ("endpoint_id", "path_id", "place"),
    "bottom_up": ("place",),
    "histograms": ("metric", "lo"),
    "ledgers": ("endpoint_id", "entry"),
    "rejected": ("reason",),
    "call_paths": ("depth", "path_id"),
    "endpoint_names": ("service", "operation"),
}


def choose_days(lake: Path, first: str | None, last: str | None) -> list[str]:
    """Days of the lake from ``first`` to ``last``, both included; None means no limit.

    Raises:
        LakeError: there is no such day.
    """
    found = store.days(lake)
    if not found:
        raise LakeError(f"{lake}: no lake there; run crisp analyse first")
    days = [d for d in found if (first is None or d >= first) and (last is None or d <= last)]
    if not days:
        raise LakeError(
            f"{lake}: no day between {first or 'the beginning'} and {last or 'the end'};"
            f" it holds {found[0]} to {found[-1]}"
        )
    return days


def aggregate(
    lake: Path, target: Path, days: Sequence[str], engine: Engine, options: AggregateOptions
) -> dict[str, Any]:
    """Merge ``days`` of ``lake`` into the marts of the window that ends with the last of them.

    Returns the run record of the marts.
    """
    tables = _tables(engine, lake, days, options)
    record = {"days": list(days), "runs": [store.run_record(lake, day) for day in days]}
    with store.staging(target) as folder:
        version = folder / days[-1]
        for name, table in tables.items():
            engine.write(table, version / name, _ORDER[name])
        store.commit(target, days[-1], version, record)
    return record


def _tables(
    engine: Engine, lake: Path, days: Sequence[str], options: AggregateOptions
) -> dict[str, Table]:
    """Every mart of `crisp.schema.MARTS` but the run record."""

    def lake_table(name: str) -> Table:
        files = [file for day in days for file in store.files(lake, day, name)]
        return engine.read(files, schema.LAKE[name])

    def mart(name: str, **tables: Table) -> Table:
        return engine.sql(sql(name), schema.MARTS[name], **tables)

    traces = lake_table("traces")
    slim = engine.keep(engine.sql(sql("slim"), _SLIM, traces=traces))
    edges = engine.table(band_edges(options.edges))
    trees = engine.keep(engine.sql(sql("trees"), TREES, traces=slim, edges=edges))
    paths = engine.explode(traces, "paths", {"tree_id": "tree_id"})
    path_use = engine.keep(engine.sql(sql("path_use"), PATH_USE, paths=paths, trees=trees))
    uses = engine.keep(
        engine.explode(traces, "endpoints", {"entry_id": "endpoint_id", "weight": "weight"})
    )
    names = engine.keep(
        engine.sql(sql("lake_distinct"), schema.ENDPOINT_NAMES, rows=lake_table("endpoint_names"))
    )
    cct = engine.keep(mart("cct", path_use=path_use))
    kept = engine.table(limits(options.exemplars))
    entries = engine.explode(
        traces, "ledger", {"endpoint_id": "endpoint_id", "trace_id": "trace_id"}
    )
    return {
        "fleet": mart("fleet", trees=trees, uses=uses, endpoint_names=names),
        "daily": mart("daily", trees=trees, days=engine.table(day_edges(days))),
        "bands": mart("bands", trees=trees, edges=edges),
        "cct": cct,
        "path_stats": mart("path_stats", path_use=path_use, trees=trees),
        "exemplars": mart(
            "exemplars",
            path_use=path_use,
            trees=trees,
            limits=kept,
        ),
        "bottom_up": mart("bottom_up", uses=uses, trees=trees, endpoint_names=names),
        "histograms": mart(
            "histograms",
            traces=slim,
            uses=uses,
            calls=lake_table("calls"),
            bins=engine.table(histogram_bins()),
        ),
        "ledgers": mart("ledgers", entries=entries),
        "rejected": mart("rejected", rejects=lake_table("rejects")),
        "call_paths": engine.sql(
            sql("used_paths"), schema.CALL_PATHS, call_paths=lake_table("call_paths"), cct=cct
        ),
        "endpoint_names": names,
    }
