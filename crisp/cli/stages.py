"""The main job and its stages, one command each."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.errors import ConfigError

if TYPE_CHECKING:
    from crisp.pipeline.windows import Window


def run(
    traces: a.Sources,
    *,
    out: a.Out,
    service: a.Service = None,
    operation: a.Operation = None,
    roots: a.Roots = None,
    date: a.Date = None,
    since: a.Since = None,
    start: a.Start = None,
    end: a.End = None,
    template: a.Templates = None,
    policy: a.Policy = None,
    skew: a.Skew = None,
    async_rule: a.Async = None,
    all_paths: a.AllPaths = None,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    title: a.Title = None,
    jaeger_url: a.JaegerUrl = None,
    owners: a.Owners = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Do the main job: from trace files to a site.

    Analyses TRACES, replaces the days they fall on in OUT/lake, merges these days (with --date
    the 14 days that end with it) into OUT/marts, and writes OUT/site/index.html.
    """
    from crisp.pipeline import engines
    from crisp.pipeline import run as job

    began, now = time.time(), datetime.now(UTC)
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, now),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
        report=a.report_options(settings, title=title, jaeger_url=jaeger_url, owners=owners),
    )
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    out = engines.reachable(out, place)
    with show.progress("analysing", quiet=quiet or as_json) as on_progress:
        analysed, site = job.run(
            [engines.reachable(source, place) for source in traces],
            out,
            lambda: engines.engine(out, place, on_progress),
            options,
            night=windows.parse_day(date) if date else None,
            clock=time.time,
        )
    result = job.summary(analysed, time.time() - began, site=site.index)
    show.summary(result, as_json=as_json)
    if not as_json:
        show.line(f"open {site.index}")


def analyse(
    traces: a.Sources,
    *,
    out: a.Out,
    service: a.Service = None,
    operation: a.Operation = None,
    roots: a.Roots = None,
    date: a.Date = None,
    since: a.Since = None,
    start: a.Start = None,
    end: a.End = None,
    template: a.Templates = None,
    policy: a.Policy = None,
    skew: a.Skew = None,
    async_rule: a.Async = None,
    all_paths: a.AllPaths = None,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Find the critical path of every trace.

    Writes one row a trace to OUT/lake. The days the traces fall on are replaced whole; other
    days stay as they are.
    """
    from crisp.pipeline import engines
    from crisp.pipeline import run as job
    from crisp.pipeline.analyse import analyse as stage
    from crisp.pipeline.places import places

    began = time.time()
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, datetime.now(UTC)),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
    )
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    out = engines.reachable(out, place)
    sources = [engines.reachable(source, place) for source in traces]
    lake = places(out).lake
    with (
        show.progress("analysing", quiet=quiet or as_json) as on_progress,
        engines.engine(out, place, on_progress) as made,
    ):
        analysed = stage(sources, lake, made, options.ingest, options.path, clock=time.time)
    show.summary(job.summary(analysed, time.time() - began, lake=lake), as_json=as_json)


def aggregate(
    out: a.Made,
    *,
    date: a.WindowEnd = None,
    since: a.Since = None,
    start: a.Start = None,
    end: a.End = None,
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh", help="Also merge later windows again whose days came or changed since."
        ),
    ] = False,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    as_json: a.Json = False,
) -> None:
    """Merge days into the tables that are shown.

    Reads OUT/lake, writes OUT/marts. Takes all days there are unless told otherwise.
    """
    from crisp.pipeline import engines, marts
    from crisp.pipeline.places import places
    from crisp.pipeline.windows import merged, nightly_window, outdated, window

    began = time.time()
    first, last = windows.window_days(since, start, end, datetime.now(UTC))
    if date is not None and (first or last):
        raise ConfigError("give one of --date, --since, or --start with --end")
    options = a.run_options(settings).aggregate
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    where = places(engines.reachable(out, place))
    asked = (
        nightly_window(where.lake, windows.parse_day(date))
        if date is not None
        else window(where.lake, first, last)
    )

    def merge(shown: Window) -> dict[str, Any]:
        with engines.engine(out, place) as made:
            return marts.aggregate(where.lake, where.marts, shown, made, options)

    days = merged(where.lake, asked, merge)
    later = outdated(where.lake, where.marts, days[-1]) if refresh else []
    also = [merged(where.lake, shown, merge)[-1] for shown in later]
    seconds = round(time.time() - began, 3)
    refreshed = f", and the windows to {', '.join(also)} again" if also else ""
    show.result(
        {"days": days, "refreshed": also, "marts": where.marts, "seconds": seconds},
        f"{where.marts}: {len(days)} days, {days[0]} to {days[-1]}{refreshed}, {seconds:.1f} s",
        as_json=as_json,
    )


def report(
    out: a.Made,
    *,
    date: a.WindowShown = None,
    settings: a.Settings = None,
    title: a.Title = None,
    jaeger_url: a.JaegerUrl = None,
    owners: a.Owners = None,
    single_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html",
            help="Write one endpoint, that of --service and --operation, into one file (or URL) to"
            " mail or attach, and leave the site alone.",
        ),
    ] = None,
    service: Annotated[
        str | None, typer.Option(help="With --single-file: service of the endpoint.")
    ] = None,
    operation: Annotated[
        str | None, typer.Option(help="With --single-file: operation of the endpoint.")
    ] = None,
    as_json: a.Json = False,
) -> None:
    """Write the site of a window.

    Reads OUT/marts, writes OUT/site. Shows the newest window unless told otherwise.
    """
    from crisp.pipeline import engines, publish
    from crisp.pipeline.places import places

    where = places(out)
    if date is not None:
        windows.parse_day(date)
    options = a.report_options(settings, title=title, jaeger_url=jaeger_url, owners=owners)
    now_us = time.time_ns() // 1000
    if single_file is not None:
        written = publish.report_endpoint(
            where,
            single_file,
            service=service,
            operation=operation,
            day=date,
            generated_us=now_us,
            options=options,
        )
        show.result({"file": single_file, "bytes": written}, f"open {single_file}", as_json=as_json)
        return
    if service is not None or operation is not None:
        raise ConfigError("--service and --operation choose the endpoint of --single-file")
    site = publish.report(
        where,
        scratch=engines.scratch(out),
        day=date,
        generated_us=now_us,
        options=options,
    )
    show.result(
        {"site": site.index, "pages": site.pages, "bytes": site.bytes},
        f"{site.pages} pages; open {site.index}",
        as_json=as_json,
    )
