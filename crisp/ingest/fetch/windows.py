"""Cut a stretch of time into windows whose replies are complete.

Jaeger has no pages: a reply as long as the limit may lack something. So a window that
overflows is halved and asked again, and one that came back nearly empty makes the next one
wider. Where traces are dense the windows stay narrow, and widen again behind.
Times are microseconds since 1970; windows begin and end at multiples of `SMALLEST_US` after
the start of the day, which suits stores that keep milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, starmap

SMALLEST_US = 1000
"""A window of this length is not cut any further."""
_FULL = 0.75
"""How full the next reply should be, when traces stay as dense as they were."""
_WORTHWHILE, _WIDEST = 1.25, 4
"""Windows widen by such factors at least and at most."""


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The time [start, end)."""

    start_us: int
    end_us: int

    @property
    def width_us(self) -> int:
        """Its length."""
        return self.end_us - self.start_us


@dataclass(frozen=True, slots=True)
class Cursor:
    """Time that is still to be asked for, from its start on, in steps of ``width_us``."""

    rest: Window
    width_us: int
    dense_us: int = 0
    """end of the last window that overflowed: the steps do not widen before"""

    @property
    def window(self) -> Window:
        """What to ask next."""
        start = self.rest.start_us
        return Window(start, min(start + self.width_us, self.rest.end_us))


def begin(whole: Window) -> Cursor:
    """Ask for all at once first."""
    return Cursor(whole, whole.width_us)


def halve(cursor: Cursor) -> Cursor | None:
    """The same time in steps of half the window; None when it cannot be cut."""
    width = cursor.window.width_us
    if width <= SMALLEST_US:
        return None
    half = -(-width // (2 * SMALLEST_US)) * SMALLEST_US
    return replace(cursor, width_us=half, dense_us=cursor.window.end_us)


def advance(cursor: Cursor, found: int, limit: int) -> Cursor | None:
    """What is left after a window that had ``found`` traces; None when that was all."""
    rest = Window(cursor.window.end_us, cursor.rest.end_us)
    if rest.width_us <= 0:
        return None
    width = cursor.width_us
    factor = min(limit * _FULL / found, _WIDEST) if found else _WIDEST
    if factor > _WORTHWHILE and rest.start_us >= cursor.dense_us:
        width = int(width * factor) // SMALLEST_US * SMALLEST_US
    return replace(cursor, rest=rest, width_us=min(width, rest.width_us))


def share(cursor: Cursor) -> tuple[Cursor, Cursor] | None:
    """Two cursors for two workers, the first of which may be asking for its window just now.

    None when there is not enough left behind that window.
    """
    behind = cursor.rest.end_us - cursor.window.end_us
    if behind < 2 * cursor.width_us:
        return None
    middle = cursor.window.end_us + behind // (2 * SMALLEST_US) * SMALLEST_US
    return (
        replace(cursor, rest=Window(cursor.rest.start_us, middle)),
        replace(cursor, rest=Window(middle, cursor.rest.end_us)),
    )


def cut(whole: Window, count: int) -> list[Window]:
    """At most ``count`` windows of about equal length, together ``whole``."""
    steps = whole.width_us // SMALLEST_US
    edges = {whole.start_us + steps * n // count * SMALLEST_US for n in range(count)}
    return list(starmap(Window, pairwise([*sorted(edges), whole.end_us])))


def remaining(whole: Window, done: Iterable[Window]) -> list[Window]:
    """The parts of ``whole`` that no window of ``done`` covers, in order."""
    left = []
    start = whole.start_us
    for window in sorted(done):
        if window.start_us >= whole.end_us:
            break
        if window.start_us > start:
            left.append(Window(start, window.start_us))
        start = max(start, window.end_us)
    if start < whole.end_us:
        left.append(Window(start, whole.end_us))
    return left
