"""What an alert says: one sentence that a person on call understands, and how bad it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_WARNING, _CRITICAL = 0.05, 0.25
"""Of the mean latency before."""
_ERRORS_WARNING, _ERRORS_CRITICAL = 0.01, 0.05
"""Of all requests."""


def severity(change: float, errors: float) -> str:
    """info, warning or critical.

    ``change`` is that of the mean latency as a share of it: from 5 % a warning, from 25 %
    critical. Requests that got faster are a warning at most: some fault may cut them short, but
    failures, which are what hurts then, count by themselves. ``errors`` is by how much the
    share of failing requests rose: from 1 of 100 a warning, from 5 of 100 critical.
    """
    if change >= _CRITICAL or errors >= _ERRORS_CRITICAL:
        return "critical"
    return "warning" if abs(change) >= _WARNING or errors >= _ERRORS_WARNING else "info"


def summary(
    service: str,
    operation: str,
    change_us: float,
    before_us: float,
    since: str,
    paths: Sequence[Row],
) -> str:
    """The change in one sentence; ``paths`` are rows of `schema.CHANGED_PATH`, the first first."""
    words = [f"{service} {operation} {_latency(change_us, before_us, paths)} since {since}"]
    words += [_path(row) for row in paths[:1] if row["path_id"]]
    words += [_whole(row) for row in paths if row["test"] == "failed"]
    return "; ".join(words)


def over(service: str, operation: str, nights: int, since: str, why: str) -> str:
    """That an alert is over."""
    count = "1 night" if nights == 1 else f"{nights} nights"
    return f"{service} {operation}: over after {count} since {since}: {why}"


def _latency(change_us: float, before_us: float, paths: Sequence[Row]) -> str:
    if before_us <= 0 or abs(change_us) < 0.005 * before_us:
        return "takes as long as before, but is not the same" if paths else "differs from before"
    more = "more" if change_us > 0 else "less"
    share = f"{change_us / before_us:+.0%}".replace("%", " %").replace("-", "−")
    return f"takes {duration(abs(change_us))} {more} per request ({share})"


def _path(row: Row) -> str:
    end = str(row["name"]).rpartition(" > ")[2]
    if row["test"] == "error":
        return f"{end} fails in {_shares(row)}"
    if row["test"] == "presence" and abs(row["today"] - row["before"]) >= 0.01:
        return f"{end} is on the critical path of {_shares(row)}"
    longer = "longer" if row["change_us"] > 0 else "shorter"
    return f"{end} holds the critical path {duration(abs(row['change_us']))} {longer}"


def _whole(row: Row) -> str:
    return f"{_shares(row)} fail"


def _shares(row: Row) -> str:
    return f"{percent(row['today'])} of requests (before {percent(row['before'])})"


def percent(share: float) -> str:
    """A share with as many digits as tell it from 0 and from all."""
    value = 100 * share
    digits = 0 if value in {0, 100} or 10 <= value <= 90 else 1
    return f"{value:.{digits}f} %"


def duration(time_us: float) -> str:
    """A time of at least 0 with three digits and the unit that fits."""
    for unit, length in (("s", 1e6), ("ms", 1e3)):
        if time_us >= 0.9995 * length:
            return (
                f"{time_us / length:.3g} {unit}"
                if time_us < 999.5 * length
                else (f"{time_us / length:,.0f} {unit}")
            )
    return f"{time_us:.0f} µs"
