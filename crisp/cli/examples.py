"""Commands that make traces: `synth` for tests and benchmarks, `demo` for newcomers."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.errors import CrispError
from crisp.locations import is_url

_FIRST_LOOK = """\
Six things went wrong while these traces were recorded. Look first at frontend::GET /product/{id}:
which call fills its slowest bands and is hardly seen in the fastest? Answers: docs/shop.md"""


def synth(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the traces go.")],
    *,
    traces: Annotated[int, typer.Option(help="Traces in all.")] = 1000,
    endpoints: Annotated[int, typer.Option(help="Entry endpoints.")] = 20,
    services: Annotated[int, typer.Option(help="Services.")] = 80,
    spans: Annotated[float, typer.Option(help="Mean spans of a trace.")] = 100.0,
    shape: Annotated[
        str, typer.Option(help="Sizes of traces: 'uber' as published, or 'flat'.")
    ] = "uber",
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="UTC day of the traces. Default: yesterday."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same traces.")] = 0,
    draw: Annotated[
        int, typer.Option(help="Other traces of the same system, for another day of it.")
    ] = 0,
    clean: Annotated[
        bool, typer.Option("--clean", help="No missing parents, copies, clock offsets or errors.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:NAME=VALUE,...",
            help="Plant a fault in the last part of the day: slow, serialise, retry-storm or"
            " cold-cache, as in slow:entry=0,factor=3,fraction=0.5. Repeatable.",
        ),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="jsonl, jsonl.gz, jsonl.zst, or files: one for each trace.")
    ] = "jsonl",
    files: Annotated[
        int | None,
        typer.Option(help="Number of files. Default: one for about 64 MB."),
    ] = None,
    workers: a.Workers = None,
    as_json: a.Json = False,
) -> None:
    """Write synthetic traces like production's.

    What was planted where stands beside them in _truth.json.
    """
    import os

    from crisp.synth import SynthOptions, parse_fault, write

    now = datetime.now(UTC)
    options = SynthOptions(
        day=windows.parse_day(date) if date else windows.yesterday(now),
        traces=traces,
        endpoints=endpoints,
        services=services,
        spans=spans,
        shape=shape,  # type: ignore[arg-type]  # checked when made
        seed=seed,
        draw=draw,
        clean=clean,
        faults=tuple(parse_fault(text) for text in fault or ()),
        layout=layout,  # type: ignore[arg-type]  # checked when made
        files=files,
    )
    began = time.time()
    with show.progress("writing", quiet=as_json, unit="traces") as on_progress:
        written = write(options, target, workers or len(os.sched_getaffinity(0)), on_progress)
    show.result(
        {
            "traces": written.traces,
            "spans": written.spans,
            "bytes": written.bytes,
            "files": written.files,
            "truth": str(written.truth),
            "seconds": round(time.time() - began, 3),
        },
        f"{target}: {written.traces:,} traces, {written.spans:,} spans,"
        f" {written.bytes / 1e6:,.0f} MB of JSON in {written.files:,} files",
        as_json=as_json,
    )


def demo(
    *,
    out: a.Out = "demo-out",
    workers: a.Workers = None,
    as_json: a.Json = False,
) -> None:
    """Try the main job on recorded traces.

    Analyses some minutes of a small shop in which six things went wrong, one after another, and
    names the page to open.
    """
    from crisp.options import EngineOptions, ReportOptions, RunOptions
    from crisp.pipeline import run as stages
    from crisp.pipeline.engines import engine

    began = time.time()
    with show.progress("analysing", quiet=as_json) as on_progress:
        analysed, site = stages.run(
            [str(file) for file in _recording()],
            out,
            lambda: engine(out, EngineOptions(workers=workers), on_progress),
            RunOptions(report=ReportOptions(title="crisp demo: a small shop")),
            night=None,
            clock=time.time,
        )
    result = stages.summary(analysed, time.time() - began, site=site.index)
    show.summary(result, as_json=as_json)
    if not as_json:
        show.line(_FIRST_LOOK)
        show.line(f"open {site.index if is_url(site.index) else Path(site.index).resolve()}")


def _recording() -> list[Path]:
    """Traces recorded from the example shop: in a wheel beside the package, else in the clone."""
    package = Path(__file__).parent.parent
    folders = (package / "recording", package.parent / "examples" / "traces")
    for folder in folders:
        if files := sorted(folder.glob("*.jsonl.zst")):
            return files
    raise CrispError(
        f"no recorded traces in {folders[0]} or {folders[1]}: install crisp-cpa again,"
        " or give traces of your own to `crisp run`"
    )
