"""Numbers as people read them, on pages and in alerts. `report/web/src/units.ts` says the same of
those that pages work out; one table of cases tests both.

Rounding is half up on ``floor(x * 10**d + 0.5)``, which gives the same digits in both languages.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

ABSENT = "\u2013"  # an en dash
_MINUS = "\u2212"  # the minus sign, as wide as the digits
_HOUR_US = 3_600_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(value_us: float | None) -> str:
    """A time with three digits and its unit: ``850 µs``, ``12.3 ms``, ``1.20 s``, ``2.50 h``."""
    if value_us is None or not math.isfinite(value_us):
        return ABSENT
    if value_us < 0:
        return _MINUS + micros(-value_us)
    if value_us < 999.5:
        return f"{_small(value_us)} µs"
    if value_us < 999_500:
        return f"{_three(value_us / 1_000)} ms"
    if value_us < 2 * _HOUR_US:
        return f"{_three(value_us / 1_000_000)} s"
    return f"{_three(value_us / _HOUR_US)} h"


def count(value: float | None) -> str:
    """A whole number with thousands separated."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{_half_up(value, 0):,.0f}"


def share(ratio: float | None) -> str:
    """A ratio in percent with one decimal; what is not quite nothing or all is told from it."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    percent = 100 * ratio
    if percent <= 0:
        return "0 %"
    if percent < 0.05:
        return "<0.1 %"
    if 99.95 <= percent < 100:
        return ">99.9 %"
    return "100 %" if percent == 100 else f"{_half_up(percent, 1):,.1f} %"


def signed(value_us: float | None) -> str:
    """A change of a time with its sign: ``+12.3 ms``, ``\u22124.00 ms``, ``0 µs``."""
    text = micros(value_us)
    return f"+{text}" if value_us is not None and value_us > 0 and text != ABSENT else text


def changed(ratio: float | None) -> str:
    """A change as a ratio, in percent with its sign: ``+12.3 %``; beyond ten times as a factor."""
    if ratio is None or not math.isfinite(ratio):
        return ABSENT
    if ratio >= 10:
        return f"\u00d7{count(ratio + 1)}"
    percent = f"{_half_up(abs(100 * ratio), 1):,.1f}"
    return f"{percent} %" if percent == "0.0" else f"{_MINUS if ratio < 0 else '+'}{percent} %"


def chance(p: float | None) -> str:
    """A probability as odds of two digits: ``1 in 45``, ``1 in 10 million``; what is less likely
    than that has no name people know."""
    if p is None or not math.isfinite(p):
        return ABSENT
    if p > 0.5:
        return "more often than not"
    if p < 1e-12:
        return "less than 1 in a trillion"
    odds = _two(1 / p)
    for unit, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if odds >= unit:
            return f"1 in {odds / unit:g} {word}"
    return f"1 in {odds:,}"


def size(value: float) -> str:
    """Bytes in decimal units: ``920 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if value < 999.5:
            return f"{count(value) if unit == 'B' else _three(value)} {unit}"
        value /= 1_000
    return f"{_three(value)} TB"


def moment(value_us: int | None) -> str:
    """A time of day in UTC, to the second."""
    if value_us is None:
        return ABSENT
    try:
        moment_utc = _EPOCH + timedelta(microseconds=value_us)
    except OverflowError:
        return ABSENT
    return f"{moment_utc:%Y-%m-%d %H:%M:%S} UTC"


def _small(value_us: float) -> str:
    if value_us == 0:
        return "0"
    if value_us < 0.05:
        return "<0.1"
    if value_us < 9.95:
        return f"{_half_up(value_us, 1):.1f}".removesuffix(".0")
    return f"{_half_up(value_us, 0):.0f}"


def _three(value: float) -> str:
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{_half_up(value, digits):,.{digits}f}"


def _two(value: float) -> int:
    """A number of at least 1, rounded half up to two digits."""
    scale: int = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return math.floor(value / scale + 0.5) * scale


def _half_up(value: float, digits: int) -> float:
    scale = float(10**digits)
    return math.floor(value * scale + 0.5) / scale
