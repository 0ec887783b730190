"""The main job: analyse, aggregate and report in one go, on one machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crisp import store
from crisp.engine.duckdb import DuckDB
from crisp.errors import ConfigError
from crisp.options import RunOptions
from crisp.pipeline.analyse import Analysed, analyse
from crisp.pipeline.marts import aggregate, choose_days
from crisp.pipeline.publish import check_site, report
from crisp.report.site import Site

_URL = re.compile(r"[a-z][a-z0-9+.-]*:/")
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
    """The layout of an output folder.

    Raises:
        ConfigError: it is a URL.
    """
    if _URL.match(str(out)):
        raise ConfigError(f"{out}: the output must be a folder of this machine, not a URL")
    return Places(lake=out / "lake", marts=out / "marts", site=out / "site", scratch=out)


@contextmanager
def engine(
    out: Path,
    *,
    workers: int | None,
    memory_limit: str,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[DuckDB]:
    """A DuckDB engine whose scratch files lie under ``out`` and vanish afterwards."""
    with store.staging(places(out).scratch) as scratch:
        made = DuckDB(scratch, workers=workers, memory_limit=memory_limit, on_progress=on_progress)
        try:
            yield made
        finally:
            made.close()


def run(
    sources: Sequence[str],
    out: Path,
    engines: Callable[[], AbstractContextManager[DuckDB]],
    options: RunOptions,
    *,
    window: tuple[str | None, str | None] | None,
    title: str,
    jaeger_url: str | None,
    clock: Callable[[], float],
) -> tuple[Analysed, Site]:
    """From trace files to a site under ``out``.

    The site shows the days that were analysed; with ``window`` all days of the lake from its
    first to its last. Each stage has an engine of its own from ``engines``, so that none
    holds memory that an earlier one needed.

    Raises:
        ConfigError: ``jaeger_url`` is no template; found before anything is analysed.
        CrispError: the front end was never built; likewise.
    """
    where = places(out)
    check_site(jaeger_url)
    with engines() as made:
        analysed = analyse(sources, where.lake, made, options.ingest, options.path, clock=clock)
    days = analysed.days
    if window is not None:
        days = choose_days(where.lake, *window)
    with engines() as made:
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
