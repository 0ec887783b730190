"""Pull traces from a Jaeger."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.cli.settings import load_settings
from crisp.errors import ConfigError, FetchError

if TYPE_CHECKING:
    from crisp.ingest.fetch.books import Gap
    from crisp.ingest.fetch.options import FetchOptions
    from crisp.ingest.fetch.scope import Scope
    from crisp.pipeline.fetch import Fetched

HOUR_US = 3_600_000_000
"""Progress is told in hours of endpoints or services."""

Landing = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="LANDING", help="Folder or URL for days of traces, as date=DAY."
    ),
]
Jaeger = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Address of Jaeger's query service."),
]
Day = Annotated[
    str,
    typer.Option(metavar="YYYY-MM-DD", help="The UTC day to fetch."),
]
Service = Annotated[
    str | None, typer.Option(help="Only traces with a span of this service. Default: all.")
]
Operation = Annotated[
    str | None, typer.Option(help="… and of this operation of it. Needs --service.")
]
Endpoints = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Only traces with a span of these: one service::operation a line."
    ),
]
Api = Annotated[
    str | None,
    typer.Option(help="Interface of Jaeger: v1, v3, or auto (default), what the server has."),
]
Limit = Annotated[
    int | None,
    typer.Option(help="Traces to ask for at once; a reply so long halves its window. Default 500."),
]
Concurrency = Annotated[
    int | None, typer.Option(help="Requests under way at the same time. Default 4.")
]
Rate = Annotated[
    float | None,
    typer.Option(metavar="PER_S", help="Most requests a second. Default: as fast as it goes."),
]
Sample = Annotated[
    int | None,
    typer.Option(metavar="N", help="Only N traces of each endpoint, stratified by latency."),
]
Refetch = Annotated[
    bool, typer.Option("--refetch", help="Fetch the day afresh, then replace the old one.")
]


def fetch(
    *,
    out: Landing,
    date: Day,
    jaeger: Jaeger = None,
    service: Service = None,
    operation: Operation = None,
    endpoints: Endpoints = None,
    api: Api = None,
    limit: Limit = None,
    concurrency: Concurrency = None,
    rate: Rate = None,
    sample: Sample = None,
    refetch: Refetch = False,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Pull the traces of a day from a Jaeger.

    Writes LANDING/date=DAY, which crisp analyse reads. What is on disk already is not asked for
    again.
    """
    from crisp.pipeline import engines
    from crisp.pipeline.fetch import fetch as stage

    began = time.time()
    options = _options(
        settings,
        jaeger=jaeger,
        api=api,
        limit=limit,
        concurrency=concurrency,
        rate=rate,
        sample=sample,
    )
    where = a.engine_options(
        settings, engine=engine, master=master, conf=spark_conf, workers=None, memory_limit=None
    )
    out = engines.reachable(out, where)
    scope = _scope(service, operation, endpoints)
    day = windows.parse_day(date)
    with (
        show.progress("fetching", quiet=quiet or as_json, unit="share") as on_progress,
        # the searches of one machine wait for the network, not for its processors
        engines.engine(out, where, on_progress) if where.name == "spark" else nullcontext() as made,
    ):
        result = stage(
            out,
            day,
            options,
            scope,
            now=datetime.now(UTC),
            refetch=refetch,
            engine=made,
            on_progress=lambda done, total: on_progress(done // HOUR_US, total // HOUR_US),
            on_trouble=_remark(quiet=quiet),
        )
    _show(result, time.time() - began, as_json=as_json)
    if result.gaps:
        raise FetchError(
            f"{result.folder}: more traces than --limit {options.limit} lets through in"
            f" {len(result.gaps):,} windows of 1 ms; all others are there"
        )


def _options(settings: Path | None, **given: object) -> FetchOptions:
    from crisp.ingest.fetch.options import FetchOptions

    merged = load_settings(settings)["fetch"] | a.given(given)
    if "jaeger" not in merged:
        raise ConfigError("which Jaeger? Give --jaeger URL, or fetch.jaeger in the settings")
    return FetchOptions(**merged)


def _scope(service: str | None, operation: str | None, endpoints: Path | None) -> Scope:
    from crisp.ingest.fetch.endpoints import Endpoint, read_endpoints
    from crisp.ingest.fetch.scope import Scope

    if operation and not service:
        raise ConfigError("--operation needs --service")
    if service and endpoints:
        raise ConfigError("give --service or --endpoints, not both")
    if endpoints:
        return Scope(tuple(read_endpoints(endpoints)))
    return Scope((Endpoint(service, operation or ""),) if service else None)


def _remark(*, quiet: bool) -> Callable[[str], None]:
    """Says what is wrong with the server, at most every ten seconds."""
    last = float("-inf")

    def remark(text: str) -> None:
        nonlocal last
        if not quiet and time.monotonic() - last >= 10:
            last = time.monotonic()
            typer.echo(f"crisp: {show.plain(text)}", err=True)

    return remark


def _show(result: Fetched, seconds: float, *, as_json: bool) -> None:
    record = asdict(result) | {
        "gaps": [_gap(gap) for gap in result.gaps],
        "seconds": round(seconds, 3),
    }
    text = (
        f"{result.folder}: {result.traces:,} traces fetched, {result.traces_on_disk:,} on disk;"
        f" {result.endpoints:,} endpoints of {result.services:,} services,"
        f" {_megabytes(result.written_bytes)} written, {_megabytes(result.received_bytes)}"
        f" received, {result.requests:,} requests, {result.retries:,} retries,"
        f" {result.splits:,} splits, {result.duplicates:,} duplicates, {seconds:.1f} s"
    )
    if not result.requests:
        text = (
            f"{result.folder}: {result.traces_on_disk:,} traces, complete since an earlier fetch;"
            " nothing was asked"
        )
    show.result(record, text, as_json=as_json)
    for warning in _warnings(result):
        typer.echo(f"warning: {show.plain(warning)}", err=True)


def _warnings(result: Fetched) -> list[str]:
    found = [f"the server does not know {name!r}" for name in result.unknown]
    found += [
        f"gap: {gap['endpoint']} from {gap['start']} to {gap['end']}: {gap['limit']:,} traces or"
        " more; a greater --limit fills it"
        for gap in map(_gap, result.gaps)
    ]
    if not result.complete:
        found.append(f"{result.folder}: the day is not over; fetch it again for the rest")
    return found


def _gap(gap: Gap) -> dict[str, str | int]:
    start, end = (
        (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)).isoformat()
        for time_us in (gap.start_us, gap.end_us)
    )
    return {"endpoint": gap.endpoint.text, "start": start, "end": end, "limit": gap.limit}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
