"""Compare two windows, or two outputs."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import differences, show, windows
from crisp.errors import ConfigError, CrispError
from crisp.locations import is_url
from crisp.options import EngineOptions

if TYPE_CHECKING:
    from crisp.pipeline.diff import Side

_SIDE = re.compile(
    r"(?P<out>.+?)(?:@(?P<first>\d{4}-\d\d-\d\d)(?:\.\.(?P<last>\d{4}-\d\d-\d\d))?)?",
    re.DOTALL,
)
_LIMIT = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?) ?%?")
_SHAPE = "a folder or URL, perhaps with days: out, out@2026-11-20, out@2026-11-14..2026-11-20"

Before = Annotated[str, typer.Argument(metavar="BEFORE", help=f"What a run wrote: {_SHAPE}.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="What to compare with it, likewise.")]


def diff(
    before: Before,
    after: After,
    *,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="Folder or URL for the pages.")
    ],
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="+N%",
            help="Exit 1 when the mean latency of an endpoint surely grew by this much or more.",
        ),
    ] = None,
    settings: a.Settings = None,
    engine: a.EngineName = None,
    master: a.Master = None,
    spark_conf: a.SparkConf = None,
    workers: a.Workers = None,
    memory_limit: a.MemoryLimit = None,
    title: a.Title = None,
    jaeger_url: a.JaegerUrl = None,
    as_json: a.Json = False,
) -> None:
    """Compare two windows: what became slower, and on which call path.

    Merges the days of BEFORE and AFTER from their lakes, writes OUT/diff/index.html, and prints
    the largest changes. A change is sure when both sides have 20 traces and its 95 % interval does
    not hold 0.
    """
    from crisp.pipeline import diff as job
    from crisp.pipeline import engines

    began = time.time()
    limit = None if fail_on is None else _limit(fail_on)
    place = a.engine_options(
        settings,
        engine=engine,
        master=master,
        conf=spark_conf,
        workers=workers,
        memory_limit=memory_limit,
    )
    out = engines.reachable(out, place)
    found = job.diff(
        _side(before, place),
        _side(after, place),
        out,
        lambda: engines.engine(out, place),
        shared=out if place.name == "spark" else str(engines.scratch(out)),
        scratch=engines.scratch(out),
        options=a.run_options(settings).aggregate,
        report=a.report_options(settings, title=title, jaeger_url=jaeger_url, with_owners=False),
        generated_us=time.time_ns() // 1000,
    )
    failed = [row for row in found.changed if limit is not None and row.is_slower_by(limit)]
    differences.table(found)
    show.result(
        differences.record(found, failed, round(time.time() - began, 3)),
        f"{differences.counted(len(found.changed))} compared; open {found.index}",
        as_json=as_json,
    )
    if limit is not None and not found.changed:
        raise CrispError("the two have no endpoint in common, so none can be slower")
    if failed:
        differences.refused(failed, fail_on)
        raise typer.Exit(1)


def _side(text: str, place: EngineOptions) -> Side:
    from crisp.pipeline.diff import Side
    from crisp.pipeline.engines import reachable

    if not is_url(text) and Path(text).exists():
        return Side(out=reachable(text, place))
    found = _SIDE.fullmatch(text)
    if not found:
        raise ConfigError(f"{text!r} is not {_SHAPE}")
    first, last = found["first"], found["last"] or found["first"]
    for day in filter(None, (first, last)):
        windows.parse_day(day)
    if first and last and last < first:
        raise ConfigError(f"{text!r}: the first day lies after the last")
    return Side(out=reachable(found["out"], place), first=first, last=last)


def _limit(text: str) -> float:
    found = _LIMIT.fullmatch(text.strip())
    if not found:
        raise ConfigError(f"--fail-on looks like +5%, not {text!r}")
    return float(found[1]) / 100
