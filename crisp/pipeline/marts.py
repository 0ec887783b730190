"""From days of the lake to the marts of one window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from crisp import schema, store
from crisp.aggregate import band_edges, day_edges, histogram_bins, limits, sql
from crisp.engine import Engine, Table
from crisp.locations import Location, join
from crisp.options import AggregateOptions
from crisp.pipeline.windows import Window

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
TREES = pa.schema(
    [
        *(schema.TRACES.field(name) for name in _TREE_COLUMNS),
        pa.field("bucket", _I64),
        pa.field("band", _I64),
    ]
)
SLIM = pa.schema(
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
_GROUP = (("endpoint_id", _I64), ("kind", _I64), ("part", _I64))
"""What values are of, see observed.sql."""
OBSERVED = pa.schema([*_GROUP, ("value", _I64), ("bucket", _I64)])
WANTED = pa.schema(
    [
        *_GROUP,
        *(
            (name, _I64)
            for name in ("bucket", "present", "total", "q", "side", "lo", "hi", "place", "hit")
        ),
    ]
)
PERCENTILES = pa.schema(
    [
        *_GROUP,
        ("present", _I64),
        ("p50_us", pa.float64()),
        ("p95_us", pa.float64()),
        ("p99_us", pa.float64()),
    ]
)
VERSIONS = pa.schema([("tree_id", _I64), ("version", _TEXT)])
MEMBERS = pa.schema(
    [
        ("endpoint_id", _I64),
        ("tree_id", _I64),
        ("latency_us", _I64),
        ("kind", _TEXT),
        ("label", _TEXT),
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
    "latencies": ("endpoint_id", "band", "bucket"),
    "groups": ("endpoint_id", "kind", "label"),
    "group_paths": ("endpoint_id", "kind", "label", "path_id"),
    "kept": ("endpoint_id", "tree_id"),
    "kept_paths": ("endpoint_id", "tree_id", "path_id", "host"),
    "errors": ("endpoint_id", "path_id"),
    "reach": ("endpoint_id", "place"),
    "hosts": ("host", "service", "attribute", "value"),
    "call_paths": ("depth", "path_id"),
    "endpoint_names": ("service", "operation"),
}


def aggregate(
    lake: Location, target: Location, shown: Window, engine: Engine, options: AggregateOptions
) -> dict[str, Any]:
    """Merge the days of ``lake`` in ``shown`` into the marts of the window that ends with the
    last of them.

    Returns the run record of the marts.
    """
    days = shown.days
    with store.reading(lake, days) as versions, store.staging(target) as folder:
        tables = _tables(engine, lake, versions, options)
        record = {
            "days": days,
            "first": shown.first,
            "versions": versions,
            "runs": [store.run_record(lake, day, of) for day, of in versions.items()],
        }
        version = join(folder, days[-1])
        for name, table in tables.items():
            engine.write(table, join(version, name), _ORDER[name])
        store.commit(target, days[-1], version, record)
    return record


def _tables(
    engine: Engine, lake: Location, days: Mapping[str, str], options: AggregateOptions
) -> dict[str, Table]:
    """Every mart of `crisp.schema.MARTS` but the run record; ``days`` names their versions."""

    def lake_table(name: str) -> Table:
        files = [
            file for day, version in days.items() for file in store.files(lake, day, name, version)
        ]
        return engine.read(files, schema.LAKE[name])

    def mart(name: str, **tables: Table) -> Table:
        return engine.sql(sql(name), schema.MARTS[name], **tables)

    traces = lake_table("traces")
    slim = engine.keep(engine.sql(sql("slim"), SLIM, traces=traces))
    edges = engine.table(band_edges(options.edges))
    trees = engine.keep(engine.sql(sql("trees"), TREES, traces=slim, edges=edges))
    paths = engine.explode(traces, "paths", {"tree_id": "tree_id"})
    path_use = engine.keep(engine.sql(sql("path_use"), PATH_USE, paths=paths, trees=trees))
    dated = engine.table(day_edges(list(days)))
    observed = engine.sql(sql("observed"), OBSERVED, trees=trees, days=dated, path_use=path_use)
    wanted = engine.keep(engine.sql(sql("wanted"), WANTED, observed=observed))
    percentiles = engine.keep(
        engine.sql(sql("percentiles"), PERCENTILES, observed=observed, wanted=wanted)
    )
    uses = engine.keep(
        engine.explode(traces, "endpoints", {"entry_id": "endpoint_id", "weight": "weight"})
    )
    names = engine.keep(
        engine.sql(sql("lake_distinct"), schema.ENDPOINT_NAMES, rows=lake_table("endpoint_names"))
    )
    cct = engine.keep(mart("cct", path_use=path_use))
    named_paths = engine.keep(
        engine.sql(
            sql("used_paths"), schema.CALL_PATHS, call_paths=lake_table("call_paths"), cct=cct
        )
    )
    hosts = engine.keep(engine.sql(sql("lake_distinct"), schema.HOSTS, rows=lake_table("hosts")))
    versions = engine.keep(
        engine.sql(
            sql("versions"),
            VERSIONS,
            paths=paths,
            call_paths=named_paths,
            endpoint_names=names,
            hosts=hosts,
        )
    )
    compared = dated if len(days) > 1 else engine.table(day_edges([]))
    members = engine.keep(
        engine.sql(sql("members"), MEMBERS, trees=trees, days=compared, versions=versions)
    )
    most = engine.table(limits(options.exemplars, options.kept))
    kept = engine.keep(mart("kept", trees=trees, versions=versions, limits=most))
    kept_paths = engine.keep(mart("kept_paths", paths=paths, kept=kept))
    entries = engine.explode(
        traces, "ledger", {"endpoint_id": "endpoint_id", "trace_id": "trace_id"}
    )
    return {
        "fleet": mart(
            "fleet", trees=trees, uses=uses, percentiles=percentiles, endpoint_names=names
        ),
        "daily": mart("daily", percentiles=percentiles, days=dated),
        "bands": mart("bands", trees=trees, edges=edges),
        "cct": cct,
        "path_stats": mart("path_stats", percentiles=percentiles),
        "exemplars": mart(
            "exemplars",
            path_use=path_use,
            trees=trees,
            limits=most,
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
        "latencies": mart("latencies", trees=trees),
        "groups": mart("groups", members=members),
        "group_paths": mart("group_paths", path_use=path_use, members=members),
        "kept": kept,
        "kept_paths": kept_paths,
        "errors": mart("errors", path_use=path_use, call_paths=named_paths),
        "reach": mart("reach", uses=uses, trees=trees, limits=most),
        "hosts": mart("hosts", hosts=hosts, kept_paths=kept_paths),
        "call_paths": named_paths,
        "endpoint_names": names,
    }
