"""Histograms as bars on a logarithmic axis: geometry only, the template draws it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from crisp.units import count, micros

WIDTH, HEIGHT = 320, 110
_BEFORE_ONE = 0.5  # where zero lies on the logarithmic axis
_LAST_BIN = 2.0  # an open last bin is drawn this much wider than its lower edge
_OPEN = 10**17  # an upper edge from here on means "and more"
_TICK_GAP = 44


@dataclass(frozen=True, slots=True)
class Bin:
    """Observations from ``lo`` to before ``hi``."""

    lo: int
    hi: int
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin as drawn; ``label`` says it in words."""

    x: float
    y: float
    width: float
    height: float
    label: str
    range: str
    count: int


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on the axis; ``anchor`` is how its text lies around it."""

    x: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A histogram ready to be drawn in WIDTH by HEIGHT."""

    title: str
    total: int
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]


def chart(title: str, bins: list[Bin], *, is_time: bool = False) -> Chart:
    """Bars for ascending bins, not all of them empty; bins without observations leave a gap."""
    filled = [found for found in bins if found.count]
    words = micros if is_time else count
    low = _log(filled[0].lo)
    high = max(_log(_upper(filled[-1])), low + 0.1)
    scale = WIDTH / (high - low)
    most = max(found.count for found in filled)
    bars = []
    for found in filled:
        x = (_log(found.lo) - low) * scale
        width = max((_log(_upper(found)) - _log(found.lo)) * scale - 1, 2)
        height = max(found.count / most * HEIGHT, 1)
        text = _range(found, words)
        label = f"{text}: {count(found.count)}"
        at = (round(x, 1), round(HEIGHT - height, 1), round(width, 1), round(height, 1))
        bars.append(Bar(*at, label, text, found.count))
    total = sum(found.count for found in filled)
    return Chart(title, total, tuple(bars), _ticks(low, high, words))


def _ticks(low: float, high: float, words: Callable[[float], str]) -> tuple[Tick, ...]:
    """Powers of ten inside the axis, or its ends where it holds fewer than two."""
    scale = WIDTH / (high - low)
    powers: list[float] = [10.0**n for n in range(math.ceil(low - 1e-9), math.floor(high) + 1)]
    if len(powers) < 2:
        powers = [10**low if low >= 0 else 0, 10**high]
    step = math.ceil(_TICK_GAP / max(scale * (_log(powers[-1]) - _log(powers[0])) / len(powers), 1))
    return tuple(_tick((_log(value) - low) * scale, words(value)) for value in powers[::step])


def _tick(x: float, label: str) -> Tick:
    anchor = "start" if x < _TICK_GAP / 2 else "end" if x > WIDTH - _TICK_GAP / 2 else "middle"
    return Tick(round(x, 1), label, anchor)


def _range(found: Bin, words: Callable[[float], str]) -> str:
    if found.hi >= _OPEN:
        return f"{words(found.lo)} and more"
    if found.hi == found.lo + 1:
        return words(found.lo)
    return f"{words(found.lo)} to below {words(found.hi)}"


def _upper(found: Bin) -> float:
    return found.hi if found.hi < _OPEN else max(found.lo, 1) * _LAST_BIN


def _log(value: float) -> float:
    return math.log10(value) if value >= 1 else math.log10(_BEFORE_ONE)
