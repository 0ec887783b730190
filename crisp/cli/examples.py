"""Commands that make traces: `synth` for tests and benchmarks, `demo` for newcomers."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows

_DEMO_FAULT = "slow:entry=0,factor=4,fraction=0.1"


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
    out: a.Out = Path("demo-out"),
    traces: Annotated[int, typer.Option(help="Traces to make up.")] = 2000,
    date: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="UTC day of the traces. Default: yesterday."),
    ] = None,
    workers: a.Workers = None,
    as_json: a.Json = False,
) -> None:
    """Try the main job on made-up traces.

    Makes up a day of traces with a fault in it, analyses them and names the page to open. In the
    last tenth of the day one call below the busiest endpoint is four times slower; the slowest
    bands of that endpoint's flame graph show it, and OUT/traces/_truth.json names it.
    """
    import os

    from crisp.options import MEMORY_LIMIT, RunOptions
    from crisp.pipeline import run as stages
    from crisp.synth import SynthOptions, parse_fault, write

    began = time.time()
    options = SynthOptions(
        day=windows.parse_day(date) if date else windows.yesterday(datetime.now(UTC)),
        traces=traces,
        endpoints=8,
        services=40,
        seed=7,
        faults=(parse_fault(_DEMO_FAULT),),
    )
    folder = out / "traces"
    write(options, folder, workers or len(os.sched_getaffinity(0)))
    with show.progress("analysing", quiet=as_json) as on_progress:
        analysed, site = stages.run(
            [str(folder)],
            out,
            lambda: stages.engine(
                out, workers=workers, memory_limit=MEMORY_LIMIT, on_progress=on_progress
            ),
            RunOptions(),
            window=None,
            title="crisp demo",
            jaeger_url=None,
            clock=time.time,
        )
    result = stages.summary(analysed, time.time() - began, site=str(site.index))
    show.summary(result, as_json=as_json)
    if not as_json:
        show.line(f"open {site.index.resolve()}")
