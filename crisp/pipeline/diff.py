"""Compare two windows of one lake, or of two."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from crisp import store
from crisp.engine import Engine
from crisp.errors import ConfigError
from crisp.locations import Location, is_url, join, plain
from crisp.options import AggregateOptions, ReportOptions
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.publish import check_site, load_marts
from crisp.pipeline.windows import Window, window
from crisp.report.diff_site import DiffSite, write_diff
from crisp.report.pages import forward
from crisp.store.publishing import publish

_KIND = b'"kind":"diff"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Some days of what a run wrote."""

    out: Location
    first: str | None = None
    last: str | None = None
    """first and last UTC day, both included; None for no limit"""

    @property
    def days(self) -> str:
        """The days in words, '' for all of them."""
        if self.first == self.last:
            return self.first or ""
        return f"{self.first or '…'} to {self.last or '…'}"


def diff(
    before: Side,
    after: Side,
    out: Location,
    engines: Callable[[], AbstractContextManager[Engine]],
    *,
    shared: Location,
    scratch: Path,
    options: AggregateOptions,
    report: ReportOptions,
    generated_us: int,
) -> DiffSite:
    """Merge the days of both sides anew and put pages about their differences at ``out``/diff.

    Nothing of the two outputs is changed; both are merged with the same ``options``, into tables
    under ``shared``, which all machines of the engine reach, that are gone afterwards. Pages are
    written under ``scratch``, on the same disk as an ``out`` of this machine.

    Raises:
        LakeError: a side holds no such day.
        ConfigError: the address of traces is no template, or ``out``/diff holds something else.
        CrispError: the front end was never built.
    """
    check_site(report)
    place = join(out, "diff")
    _check_place(place)
    shown = [window(places(side.out).lake, side.first, side.last) for side in (before, after)]
    with store.staging(shared) as tables:
        marts = [
            _merged(side, days, join(tables, name), engines, options)
            for side, days, name in zip((before, after), shown, ("before", "after"), strict=True)
        ]
    with store.staging(scratch) as folder:
        new = Path(folder) / "pages"
        new.mkdir()
        written = write_diff(
            marts[0],
            marts[1],
            new,
            labels=_labels(before, after),
            title=report.title,
            generated_us=generated_us,
            jaeger_url=report.jaeger_url,
        )
        index = publish(new, place, forward)
    return DiffSite(index=index, changed=written.changed, new=written.new, gone=written.gone)


def _check_place(place: Location) -> None:
    """Refuse a folder of this machine that holds something else: it would be replaced.

    In an object store pages lie beside what else is there.
    """
    if is_url(place):
        return
    folder = Path(plain(place))
    if not (folder.exists() or folder.is_symlink()):
        return
    index = folder / "index.json"
    if folder.is_symlink() or not folder.is_dir():
        raise ConfigError(f"{place}: is no folder; choose another with --out")
    if any(folder.iterdir()) and not (index.is_file() and _KIND in index.read_bytes()):
        raise ConfigError(
            f"{place}: holds something else than a comparison, which would be replaced;"
            " choose another folder with --out"
        )


def _merged(
    side: Side,
    shown: Window,
    place: Location,
    engines: Callable[[], AbstractContextManager[Engine]],
    options: AggregateOptions,
) -> dict[str, pa.Table]:
    with engines() as made:
        aggregate(places(side.out).lake, place, shown, made, options)
    return load_marts(place, shown.days[-1])


def _labels(before: Side, after: Side) -> tuple[str, str]:
    """What tells the sides apart: their days, else their places; with both where neither does."""
    if before.out == after.out and before.days != after.days:
        return before.days or "all days", after.days or "all days"
    one, other = (f"{side.out} {side.days}".strip() for side in (before, after))
    return (f"{one} (before)", f"{other} (after)") if one == other else (one, other)
