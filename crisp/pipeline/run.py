"""The main job: analyse, aggregate and report in one go, on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from crisp import store
from crisp.engine.duckdb import DuckDB
from crisp.options import RunOptions
from crisp.pipeline.analyse import Analysed, analyse
from crisp.pipeline.marts import aggregate, choose_days
from crisp.pipeline.publish import report
from crisp.report.site import Site

WINDOW_DAYS = 14
"""Days a nightly window holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where things lie under the output folder."""

    lake: Path
    marts: Path
    site: Path
    scratch: Path


def places(out: Path) -> Places:
    """The layout of an output folder."""
    return Places(lake=out / "lake", marts=out / "marts", site=out / "site", scratch=out)


@contextmanager
def engine(
    out: Path,
    *,
    workers: int | None,
    memory_limit: str,
    on_progress: Callable[[int, int], None],
) -> Iterator[DuckDB]:
    """A DuckDB engine whose scratch files lie under ``out`` and vanish afterwards."""
    with store.staging(out) as scratch:
        made = DuckDB(scratch, workers=workers, memory_limit=memory_limit, on_progress=on_progress)
        try:
            yield made
        finally:
            made.close()


def run(
    sources: Sequence[str],
    out: Path,
    made: DuckDB,
    options: RunOptions,
    *,
    window_ends: str | None,
    title: str,
    jaeger_url: str | None,
    clock: Callable[[], float],
) -> tuple[Analysed, Site]:
    """From trace files to a site under ``out``.

    The site shows the days that were analysed; with ``window_ends`` the fourteen days of the
    lake that end with it.
    """
    where = places(out)
    analysed = analyse(sources, where.lake, made, options.ingest, options.path, clock=clock)
    first = analysed.days[0]
    if window_ends is not None:
        first = str(date.fromisoformat(window_ends) - timedelta(days=WINDOW_DAYS - 1))
    days = choose_days(where.lake, first, analysed.days[-1])
    aggregate(where.lake, where.marts, days, made, options.aggregate)
    site = report(
        where.marts,
        where.site,
        day=days[-1],
        title=title,
        generated_us=int(clock() * 1_000_000),
        jaeger_url=jaeger_url,
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
