"""What an alert says: sentences that a person on call understands, and how bad it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crisp import units

Row = Mapping[str, Any]

_WARNING, _CRITICAL = 0.05, 0.25
"""Of the mean latency before."""
_ERRORS_WARNING, _ERRORS_CRITICAL = 0.01, 0.05
"""Of all requests."""
_LONGEST = 120
"""Characters of a name that a sentence has room for."""


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
    *,
    change_us: float,
    before_us: float,
    since: str,
    paths: Sequence[Row],
    first: str,
) -> str:
    """The change in one sentence. ``paths`` are rows of `schema.CHANGED_PATH`, the first first;
    ``first`` is the endpoint at the end of that one."""
    takes = _latency(change_us, before_us, paths)
    words = [f"{brief(service)} {brief(operation)} {takes} since {since}"]
    words += [f"{brief(first)} {_path(row)}" for row in paths[:1] if row["path_id"]]
    words += [f"{_shares(row)} fail" for row in paths if row["test"] == "failed"]
    return "; ".join(words)


def over(service: str, operation: str, nights: int, since: str, why: str) -> str:
    """That an alert is over."""
    count = "1 night" if nights == 1 else f"{nights} nights"
    return f"{brief(service)} {brief(operation)}: over after {count} since {since}: {why}"


def unrecorded(service: str, operation: str, since: str, why: str) -> str:
    """That an alert fires no longer, and no night tells since when."""
    return f"{brief(service)} {brief(operation)}: over, began {since}: {why}"


def described(row: Row) -> str:
    """A row of `schema.CHANGED_PATH` as a line: what changed from what to what, and the chance."""
    test, values = row["test"], (row["before"], row["today"])
    times, shares = " → ".join(map(duration, values)), " → ".join(map(_exactly, values))
    what = {
        "latency": f"takes {times}",
        "time": f"holds the critical path {times} where it is on it",
        "presence": f"on the critical path of {shares} of requests",
        "error": f"fails in {shares} of requests",
        "failed": f"{shares} of requests fail",
        "abnormal": f"{shares} of requests are abnormal",
    }
    return f"{brief(row['name'])}: {what[test]}, {units.chance(row['q'])} by chance"


def _latency(change_us: float, before_us: float, paths: Sequence[Row]) -> str:
    if before_us <= 0 or abs(change_us) < 0.005 * before_us:
        return "takes as long as before, but is not the same" if paths else "differs from before"
    more = "more" if change_us > 0 else "less"
    share = f"{change_us / before_us:+.0%}".replace("%", " %").replace("-", "−")
    return f"takes {duration(abs(change_us))} {more} per request ({share})"


def _path(row: Row) -> str:
    """What a path does now. Its share of requests tells nothing where its time moved against it:
    what takes twice as long where it is there may be there less often."""
    if row["test"] == "error":
        return f"fails in {_shares(row)}"
    change_us, moved = row["change_us"], row["today"] - row["before"]
    length = f"{duration(abs(change_us))} {'longer' if change_us > 0 else 'shorter'} per request"
    if row["test"] == "presence" and abs(moved) >= 0.01 and moved * change_us > 0:
        return f"is on the critical path of {_shares(row)}, {length}"
    return f"holds the critical path {length}"


def _shares(row: Row) -> str:
    return f"{percent(row['today'])} of requests (before {percent(row['before'])})"


def clean(text: str) -> str:
    """Text whose control characters, newlines and changes of direction are written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def brief(name: str) -> str:
    """A name for sentences: clean, and shortened in the middle to 120 characters."""
    text = clean(name)
    if len(text) <= _LONGEST:
        return text
    end = _LONGEST // 2
    return f"{text[: _LONGEST - end - 1]}…{text[-end:]}"


def _exactly(share: float) -> str:
    """As `units.share`, without a decimal that says nothing."""
    return units.share(share).replace(".0 %", " %")


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
