"""The main job: analyse, aggregate and report in one go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import Any

from crisp.engine import Engine
from crisp.locations import Location
from crisp.options import RunOptions
from crisp.pipeline.analyse import Analysed, analyse
from crisp.pipeline.engines import scratch
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.publish import check_site, report
from crisp.pipeline.windows import Window, nightly_window
from crisp.report.site import Site


def run(
    sources: Sequence[str],
    out: Location,
    engines: Callable[[], AbstractContextManager[Engine]],
    options: RunOptions,
    *,
    night: date | None,
    clock: Callable[[], float],
) -> tuple[Analysed, Site]:
    """From trace files to a site under ``out``.

    The site shows the days that were analysed; with ``night`` the 14 days that end with it.
    Each stage has an engine of its own from ``engines``, so that none holds memory that an
    earlier one needed.

    Raises:
        ConfigError: ``report.jaeger_url`` is no template; found before anything is analysed.
        CrispError: the front end was never built; likewise.
    """
    where = places(out)
    check_site(options.report)
    with engines() as made:
        analysed = analyse(sources, where.lake, made, options.ingest, options.path, clock=clock)
    merged = Window(first=analysed.days[0], days=analysed.days)
    if night is not None:
        merged = nightly_window(where.lake, night)
    with engines() as made:
        aggregate(where.lake, where.marts, merged, made, options.aggregate)
    site = report(
        where,
        scratch=scratch(out),
        day=merged.days[-1],
        generated_us=int(clock() * 1_000_000),
        options=options.report,
    )
    return analysed, site


def summary(analysed: Analysed, seconds: float, **more: Any) -> dict[str, Any]:
    """What ``--json`` prints."""
    names = ("read", "analysed", "rejected", "filtered", "endpoints", "trees", "spans", "bytes")
    return {
        **{name: getattr(analysed, name) for name in names},
        "days": analysed.days,
        "reasons": analysed.reasons,
        "warnings": analysed.warnings,
        "seconds": round(seconds, 3),
        **more,
    }
