"""The command line: each command reads its arguments, calls one function, says what it did."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from crisp import __version__
from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.cli.examples import demo, synth
from crisp.errors import ConfigError, CrispError
from crisp.options import MEMORY_LIMIT

app = typer.Typer(
    name="crisp",
    help="Find out why requests were slow: critical paths of microservice traces, merged.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 fine, 1 failed, 2 wrong use.",
)


def main() -> None:
    """Run the command line; what a person can put right becomes one line on stderr."""
    try:
        app()
    except ConfigError as error:
        _fail(error, 2)
    except CrispError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a target that is a file or may not be written
        where = f"{error.filename}: " if error.filename else ""
        _fail(CrispError(f"{where}{error.strerror or error}"), 1)


def _fail(error: CrispError, code: int) -> None:
    text = " ".join(str(error).split())
    typer.echo(f"crisp: {text}", err=True)
    sys.exit(code)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"crisp {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command()
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
    from crisp.pipeline import run as stages

    began = time.time()
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, datetime.now(UTC)),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
    )
    with (
        show.progress("analysing", quiet=quiet or as_json) as on_progress,
        stages.engine(
            out, workers=workers, memory_limit=memory_limit, on_progress=on_progress
        ) as engine,
    ):
        analysed, site = stages.run(
            traces,
            out,
            engine,
            options,
            window_ends=date,
            title=title,
            jaeger_url=jaeger_url,
            clock=time.time,
        )
    result = stages.summary(analysed, time.time() - began, site=str(site.index))
    show.summary(result, as_json=as_json)
    if not as_json:
        show.line(f"open {site.index}")


@app.command()
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
    from crisp.pipeline import run as stages
    from crisp.pipeline.analyse import analyse as stage

    began = time.time()
    options = a.run_options(
        settings,
        window=windows.window_us(date, since, start, end, datetime.now(UTC)),
        ingest={"service": service, "operation": operation, "roots": roots},
        templates=template,
        path={"policy": policy, "skew": skew, "async_rule": async_rule, "all_paths": all_paths},
    )
    lake = stages.places(out).lake
    with (
        show.progress("analysing", quiet=quiet or as_json) as on_progress,
        stages.engine(
            out, workers=workers, memory_limit=memory_limit, on_progress=on_progress
        ) as engine,
    ):
        analysed = stage(traces, lake, engine, options.ingest, options.path, clock=time.time)
    show.summary(stages.summary(analysed, time.time() - began, lake=str(lake)), as_json=as_json)


@app.command()
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
    from crisp.pipeline import run as stages

    began = time.time()
    where = stages.places(out)
    first, last = windows.window_days(
        date, since, start, end, datetime.now(UTC), stages.WINDOW_DAYS
    )
    days = marts.choose_days(where.lake, first, last)
    with stages.engine(
        out, workers=workers, memory_limit=memory_limit, on_progress=show.nothing
    ) as engine:
        options = a.run_options(settings).aggregate
        marts.aggregate(where.lake, where.marts, days, engine, options)
    seconds = round(time.time() - began, 3)
    show.result(
        {"days": days, "marts": str(where.marts), "seconds": seconds},
        f"{where.marts}: {len(days)} days, {days[0]} to {days[-1]}, {seconds:.1f} s",
        as_json=as_json,
    )


@app.command()
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
    from crisp.pipeline import run as stages

    where = stages.places(out)
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


@app.command()
def path(
    trace: a.OneSource,
    *,
    trace_id: a.TraceId = None,
    service: a.Service = None,
    operation: a.Operation = None,
    roots: a.Roots = None,
    policy: a.Policy = None,
    skew: a.Skew = None,
    async_rule: a.Async = None,
    settings: a.Settings = None,
    as_json: a.Json = False,
) -> None:
    """Print the critical path of a trace.

    As a tree of calls, then in time, then what was corrected or left out. With --json one object
    a line for each analysis root.
    """
    from crisp.pipeline.single import tree_paths

    options = a.run_options(
        settings,
        ingest={"service": service, "operation": operation, "roots": roots},
        path={"policy": policy, "skew": skew, "async_rule": async_rule},
    )
    for tree in tree_paths(trace, options.ingest, options.path, trace_id):
        if as_json:
            show.line(json.dumps(tree.record))
        else:
            show.tree_path(tree.record, tree.nodes)


app.command()(synth)
app.command()(demo)
