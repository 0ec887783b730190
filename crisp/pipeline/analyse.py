"""From trace files to days of the lake."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from crisp import __version__, schema, store
from crisp.aggregate import sql
from crisp.engine import Engine, Table
from crisp.errors import InputError
from crisp.ingest.sources import shards
from crisp.ingest.templates import unbounded
from crisp.locations import Location, join
from crisp.options import MICROSECONDS_PER_DAY, IngestOptions, PathOptions
from crisp.pipeline import landing
from crisp.pipeline.mapping import COUNTS, MAPPED, dated, map_shard

_ORDER = {
    "traces": (),  # as they were read: sorting nested rows needs memory for many of them
    "call_paths": ("depth", "path_id"),
    "calls": ("caller_id", "endpoint_id"),
    "endpoint_names": ("service", "operation"),
    "hosts": ("host", "service", "attribute", "value"),
    "rejects": ("source", "position", "trace_id", "reason", "detail"),
}
_SLIM = pa.schema(
    [
        MAPPED["traces"].field(name)
        for name in (
            "date",
            "document",
            "tree_id",
            "endpoint_id",
            "trace_id",
            "start_us",
            "latency_us",
            "spans",
            "source",
            "position",
        )
    ]
)
_WINNERS = pa.schema(
    [_SLIM.field(name) for name in ("date", "document", "tree_id", "endpoint_id", "spans")]
)
_DAYS = pa.schema(
    [("date", pa.string()), *((name, pa.int64()) for name in ("analysed", "trees", "spans"))]
)
_ENDPOINTS = pa.schema([("endpoints", pa.int64())])
_COPIES = pa.schema([("copies", pa.int64())])
_REASONS = pa.schema([("reason", pa.string()), ("documents", pa.int64())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """What the analysis of some sources did; ``read = analysed + rejected`` always."""

    read: int
    analysed: int
    rejected: int
    filtered: int
    endpoints: int
    trees: int
    spans: int
    bytes: int
    days: list[str]
    reasons: dict[str, int]
    """documents left out, by reason"""
    warnings: list[str] = field(default_factory=list)


def analyse(
    sources: Sequence[str],
    lake: Location,
    engine: Engine,
    ingest: IngestOptions,
    path: PathOptions,
    *,
    clock: Callable[[], float],
) -> Analysed:
    """Analyse every trace in ``sources`` and replace in ``lake`` the days they fall on.

    ``clock`` gives seconds since 1970, for the run record alone.

    Raises:
        InputError: a source is missing, or nothing in them could be analysed.
    """
    began = clock()
    work = shards(landing.files(sources))
    mapped = engine.map(work, partial(map_shard, ingest=ingest, path=path), MAPPED)
    tables, winners, order = _merge(engine, mapped)
    days = engine.collect(engine.sql(sql("lake_days"), _DAYS, winners=winners)).to_pylist()
    result = _result(engine, mapped, tables, winners, days)
    _refuse_empty(sources, result)
    record = {
        "crisp_version": __version__,
        "schema_version": schema.VERSION,
        "policy": path.policy,
        "options": json.dumps({"path": asdict(path), "ingest": asdict(ingest)}, sort_keys=True),
        "started_us": int(began * 1_000_000),
    }
    replaced = sorted(set(store.days(lake)) & set(result.days))
    with store.staging(lake) as folder:
        for day in sorted(days, key=lambda day: str(day["date"])):
            date = str(day["date"])
            for name, table in tables.items():
                engine.write(
                    engine.sql(_ONE_DAY.format(date=date), schema.LAKE[name], rows=table),
                    join(folder, date, name),
                    order[name],
                )
            counts = _of_day(result, day)
            seconds = round(clock() - began, 3)
            store.commit(lake, date, join(folder, date), {**record, **counts, "seconds": seconds})
    warnings = [*landing.unfinished(sources), *result.warnings, *_narrowed(replaced, ingest)]
    return replace(result, warnings=warnings)


def _of_day(result: Analysed, day: dict[str, Any]) -> dict[str, Any]:
    """What a day's run record counts. What belongs to no day stands with the last one."""
    last = day["date"] == result.days[-1]
    rejected = result.rejected if last else 0
    return {
        **day,
        "read": day["analysed"] + rejected,
        "rejected": rejected,
        "filtered": result.filtered if last else 0,
        "bytes": result.bytes if last else 0,
    }


def _narrowed(replaced: Sequence[str], ingest: IngestOptions) -> list[str]:
    """A warning when days that were there before now hold only part of their traces."""
    edges = (ingest.start_us or 0, ingest.end_us or 0)
    by_name = ingest.service is not None or ingest.operation is not None
    if not replaced or not (by_name or any(edge % MICROSECONDS_PER_DAY for edge in edges)):
        return []
    return [
        (
            f"{', '.join(replaced)}: replaced by a selection of traces; to have all of them back,"
            " analyse again without the selection, and select into another folder"
        )
    ]


_ONE_DAY = "SELECT * FROM rows WHERE date = '{date}'"


def _merge(
    engine: Engine, mapped: dict[str, Table]
) -> tuple[dict[str, Table], Table, Mapping[str, Sequence[str]]]:
    """The lake's tables with their day, which copy of each tree counts, and orders of rows."""
    slim = engine.keep(engine.sql(sql("lake_slim"), _SLIM, traces=mapped["traces"]))
    winners = engine.keep(engine.sql(sql("lake_winners"), _WINNERS, slim=slim))
    copies = engine.collect(engine.sql(sql("lake_copies"), _COPIES, slim=slim, winners=winners))
    once, order = mapped["traces"], _ORDER
    if copies.to_pylist()[0]["copies"]:
        once = engine.sql(
            sql("lake_traces"), MAPPED["traces"], traces=mapped["traces"], winners=winners
        )
        order = {**_ORDER, "traces": ("trace_id", "root_span_id")}  # a join keeps none
    tables = {
        "traces": once,
        "calls": engine.sql(sql("lake_calls"), MAPPED["calls"], calls=mapped["calls"]),
        "rejects": engine.keep(
            engine.sql(
                sql("lake_rejects"),
                dated(schema.REJECTS),
                rejects=mapped["rejects"],
                slim=slim,
                winners=winners,
            )
        ),
    }
    for name in ("call_paths", "endpoint_names", "hosts"):
        tables[name] = engine.sql(sql("lake_distinct"), MAPPED[name], rows=mapped[name])
    return tables, winners, order


def _result(
    engine: Engine,
    mapped: dict[str, Table],
    tables: dict[str, Table],
    winners: Table,
    days: list[dict[str, int]],
) -> Analysed:
    counted = engine.sql(sql("lake_counts"), COUNTS, counts=mapped["counts"])
    counts = engine.collect(counted).to_pylist()[0]
    analysed = sum(day["analysed"] for day in days)
    found = engine.sql(sql("lake_endpoints"), _ENDPOINTS, winners=winners)
    rejects = tables["rejects"] if days else mapped["rejects"]
    reasons = engine.collect(engine.sql(sql("lake_reasons"), _REASONS, rejects=rejects))
    names = engine.collect(tables["endpoint_names"]).select(["service", "operation"]).to_pylist()
    return Analysed(
        read=counts["read"],
        analysed=analysed,
        rejected=counts["rejected"] + counts["analysed"] - analysed,
        filtered=counts["filtered"],
        endpoints=engine.collect(found).to_pylist()[0]["endpoints"],
        trees=sum(day["trees"] for day in days),
        spans=sum(day["spans"] for day in days),
        bytes=counts["bytes"],
        days=sorted(str(day["date"]) for day in days),
        reasons=_by_count(reasons.to_pylist()),
        warnings=unbounded({(row["service"], row["operation"]) for row in names}),
    )


def _by_count(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Reasons and counts, the most frequent first."""
    ordered = sorted(rows, key=lambda row: (-row["documents"], row["reason"]))
    return {row["reason"]: row["documents"] for row in ordered}


def _refuse_empty(sources: Sequence[str], result: Analysed) -> None:
    """Nothing to show is an error that says why."""
    if result.days:
        return
    where = ", ".join(sources)
    if not result.read and not result.filtered:
        raise InputError(f"{where}: no traces in there")
    reasons = ", ".join(f"{count} × {reason}" for reason, count in result.reasons.items())
    parts = [f"{result.read} documents left out ({reasons})"] if result.read else []
    if result.filtered:
        parts.append(f"{result.filtered} traces outside the selection by endpoint or time")
    raise InputError(f"{where}: nothing to analyse: " + ", ".join(parts))
