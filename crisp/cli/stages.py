"""The main job and its stages, one command each."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.options import MEMORY_LIMIT


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
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = MEMORY_LIMIT,
    title: a.Title = "crisp",
    jaeger_url: a.JaegerUrl = None,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Do the main job: from trace files to a site.

    Analyses TRACES, replaces the days they fall on in OUT/lake, merges these days (with --date
    the 14 days that end with it) into OUT/marts, and writes OUT/site/index.html.
    """
    from crisp.pipeline import run as job

    began, now = time.time(), datetime.now(UTC)
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, now),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
    )
    shown = windows.window_days(date, None, None, None, now, job.WINDOW_DAYS) if date else None
    with show.progress("analysing", quiet=quiet or as_json) as on_progress:
        analysed, site = job.run(
            traces,
            out,
            lambda: job.engine(
                out, workers=workers, memory_limit=memory_limit, on_progress=on_progress
            ),
            options,
            window=shown,
            title=title,
            jaeger_url=jaeger_url,
            clock=time.time,
        )
    result = job.summary(analysed, time.time() - began, site=str(site.index))
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
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = MEMORY_LIMIT,
    as_json: a.Json = False,
    quiet: a.Quiet = False,
) -> None:
    """Find the critical path of every trace.

    Writes one row a trace to OUT/lake. The days the traces fall on are replaced whole; other
    days stay as they are.
    """
    from crisp.pipeline import run as job
    from crisp.pipeline.analyse import analyse as stage

    began = time.time()
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, datetime.now(UTC)),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
    )
    lake = job.places(out).lake
    with (
        show.progress("analysing", quiet=quiet or as_json) as on_progress,
        job.engine(
            out, workers=workers, memory_limit=memory_limit, on_progress=on_progress
        ) as engine,
    ):
        analysed = stage(traces, lake, engine, options.ingest, options.path, clock=time.time)
    show.summary(job.summary(analysed, time.time() - began, lake=str(lake)), as_json=as_json)


def aggregate(
    out: a.Made,
    *,
    date: a.WindowEnd = None,
    since: a.Since = None,
    start: a.Start = None,
    end: a.End = None,
    settings: a.Settings = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = MEMORY_LIMIT,
    as_json: a.Json = False,
) -> None:
    """Merge days into the tables that are shown.

    Reads OUT/lake, writes OUT/marts. Takes all days there are unless told otherwise.
    """
    from crisp.pipeline import marts
    from crisp.pipeline import run as job

    began = time.time()
    where = job.places(out)
    first, last = windows.window_days(date, since, start, end, datetime.now(UTC), job.WINDOW_DAYS)
    options = a.run_options(settings).aggregate
    days = marts.choose_days(where.lake, first, last)
    with job.engine(out, workers=workers, memory_limit=memory_limit) as engine:
        marts.aggregate(where.lake, where.marts, days, engine, options)
    seconds = round(time.time() - began, 3)
    show.result(
        {"days": days, "marts": str(where.marts), "seconds": seconds},
        f"{where.marts}: {len(days)} days, {days[0]} to {days[-1]}, {seconds:.1f} s",
        as_json=as_json,
    )


def report(
    out: a.Made,
    *,
    date: a.WindowShown = None,
    title: a.Title = "crisp",
    jaeger_url: a.JaegerUrl = None,
    as_json: a.Json = False,
) -> None:
    """Write the site of a window.

    Reads OUT/marts, writes OUT/site. Shows the newest window unless told otherwise.
    """
    from crisp.pipeline import publish
    from crisp.pipeline import run as job

    where = job.places(out)
    if date is not None:
        windows.parse_day(date)
    site = publish.report(
        where.marts,
        where.site,
        day=date,
        title=title,
        generated_us=time.time_ns() // 1000,
        jaeger_url=jaeger_url,
    )
    show.result(
        {"site": str(site.index), "pages": site.pages, "bytes": site.bytes},
        f"{site.pages} pages; open {site.index}",
        as_json=as_json,
    )
