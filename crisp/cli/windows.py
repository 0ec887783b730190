"""Which time a command is about."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from crisp.errors import ConfigError
from crisp.options import MICROSECONDS_PER_DAY


def window_us(
    day: str | None, since: str | None, start: str | None, end: str | None, now: datetime
) -> tuple[int | None, int | None]:
    """Start (included) and end (excluded) of the time asked for, in microseconds since 1970.

    Raises:
        ConfigError: a time cannot be read, or more than one window is asked for.
    """
    if sum([day is not None, since is not None, start is not None or end is not None]) > 1:
        raise ConfigError("give one of --date, --since, or --start with --end")
    if day is not None:
        first = _micros(datetime.combine(parse_day(day), datetime.min.time(), UTC))
        return first, first + MICROSECONDS_PER_DAY
    if since is not None:
        return _micros(_before(now, since)), _micros(now)
    return _moment(start), _moment(end)


def _before(now: datetime, since: str) -> datetime:
    try:
        return now - parse_span(since)
    except OverflowError as error:
        raise ConfigError(f"{since!r} reaches back before the year 1") from error


def window_days(
    since: str | None, start: str | None, end: str | None, now: datetime
) -> tuple[str | None, str | None]:
    """First and last UTC day asked for; None means no limit."""
    first, last = window_us(None, since, start, end, now)
    return _day(first), _day(None if last is None else last - 1)


def _day(time_us: int | None) -> str | None:
    if time_us is None:
        return None
    return str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)).date())


def parse_day(text: str) -> date:
    """A day from YYYY-MM-DD, in just this form."""
    with suppress(ValueError):
        day = date.fromisoformat(text)
        if str(day) == text:
            return day
    raise ConfigError(f"a day looks like 2026-11-21, not {text!r}")


def yesterday(now: datetime) -> date:
    """The UTC day before ``now``."""
    return (now - timedelta(days=1)).date()


def parse_span(text: str) -> timedelta:
    """A length of time from 90m, 24h, 14d or 2w."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not found:
        raise ConfigError(f"a length of time looks like 24h or 14d, not {text!r}")
    unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[found[2]]
    return timedelta(**{unit: int(found[1])})


def _moment(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"a time looks like 2026-11-21T06:00, not {text!r}") from error
    return _micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
