"""Which days a window of marts holds, and whether it still shows what the lake holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from crisp import store
from crisp.errors import LakeError
from crisp.locations import Location

WINDOW_DAYS = 14
"""Days a nightly window holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Days of the lake that are merged, and where they begin to be looked for."""

    first: str | None
    """None means the first day there is"""
    days: list[str]


def window(lake: Location, first: str | None, last: str | None) -> Window:
    """The window of all days of the lake from ``first`` to ``last``, both included; None means
    no limit.

    Raises:
        LakeError: there is no such day.
    """
    found = store.days(lake)
    if not found:
        raise LakeError(f"{lake}: no lake there; run crisp analyse first")
    days = [d for d in found if (first is None or d >= first) and (last is None or d <= last)]
    if not days:
        raise LakeError(
            f"{lake}: no day between {first or 'the beginning'} and {last or 'the end'};"
            f" it holds {found[0]} to {found[-1]}"
        )
    return Window(first=first, days=days)


def newest(lake: Location) -> date:
    """The newest day of the lake.

    Raises:
        LakeError: there is none.
    """
    return date.fromisoformat(window(lake, None, None).days[-1])


def nightly_window(lake: Location, night: date) -> Window:
    """The `WINDOW_DAYS` days that end with ``night``.

    Raises:
        LakeError: the lake does not hold that day.
    """
    day = str(night)
    found = window(lake, str(_days_after(day, 1 - WINDOW_DAYS)), day)
    if found.days[-1] != day:
        raise LakeError(f"{lake}: no day {day}; the last one before it is {found.days[-1]}")
    return found


def _days_after(day: str, count: int) -> date:
    return date.fromisoformat(day) + timedelta(days=count)


def outdated(lake: Location, marts: Location, day: str) -> list[Window]:
    """Windows after the one that ends with ``day`` that hold it and no longer show what the lake
    holds, because a day of theirs came or changed after they were made.

    Those made with another version of the tables are left alone: they can't be shown either.
    """
    latest = str(_days_after(day, WINDOW_DAYS - 1))
    ends = [end for end in store.days(marts) if day < end <= latest]
    records = [store.run_record(marts, end) for end in ends if store.is_readable(marts, end)]
    return [changed for record in records if (changed := _changed(lake, record))]


def merged(lake: Location, asked: Window, merge: Callable[[Window], dict[str, Any]]) -> list[str]:
    """Days of the window after ``merge``, repeated until the lake stays the same meanwhile: a
    night beside this one does not see a window that is not there yet, and leaves it to us."""
    while changed := _changed(lake, merge(asked)):
        asked = changed
    return asked.days


def _changed(lake: Location, record: dict[str, Any]) -> Window | None:
    """The window that a run record is about, as it is now; None when it is the same."""
    now = window(lake, record["first"], record["days"][-1])
    versions = {day: store.version(lake, day) for day in now.days}
    return None if versions == record["versions"] else now
