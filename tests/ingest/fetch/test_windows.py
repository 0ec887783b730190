"""Cutting time: everything is found, nothing is asked for without need."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.ingest.fetch.windows import (
    SMALLEST_US,
    Cursor,
    Window,
    advance,
    begin,
    cut,
    halve,
    remaining,
    share,
)

DAY = Window(0, 86_400_000 * SMALLEST_US // 1000)
"""A short day: 86.4 s, which has as many milliseconds as a day has seconds."""


@dataclass(slots=True)
class Scan:
    """What came of asking for a stretch of time."""

    found: set[int] = field(default_factory=set)
    asked: list[Window] = field(default_factory=list)
    done: list[Window] = field(default_factory=list)
    gaps: list[Window] = field(default_factory=list)


def scan(times: list[int], limit: int, whole: Window, workers: int) -> Scan:
    """Ask a store for all of ``times``, as several workers would in turn.

    The store includes both ends of a window and names the newest ``limit``.
    """
    seen = Scan()
    cursors = [begin(whole)]
    while cursors:
        cursor = cursors.pop(0)
        window = cursor.window
        reply = [n for n, t in enumerate(times) if window.start_us <= t <= window.end_us]
        reply = sorted(reply, key=lambda n: -times[n])[:limit]
        seen.asked.append(window)
        if len(cursors) + 1 < workers and (halves := share(cursor)):
            assert halves[0].window == window, "what is asked for just now stays"
            cursor = halves[0]
            cursors.append(halves[1])
        left: Cursor | None
        if len(reply) >= limit and (left := halve(cursor)):
            cursors.insert(0, left)
            continue
        seen.found |= set(reply)
        seen.done.append(window)
        if len(reply) >= limit:
            seen.gaps.append(window)
        if left := advance(cursor, len(reply), limit):
            cursors.append(left)
    return seen


moments = st.integers(DAY.start_us, DAY.end_us - 1)
bursts = st.tuples(moments, st.integers(1, 40), st.sampled_from([1, 300, 40_000])).map(
    lambda burst: [min(burst[0] + n * burst[2], DAY.end_us - 1) for n in range(burst[1])]
)
days = st.tuples(st.lists(moments, max_size=60), st.lists(bursts, max_size=3)).map(
    lambda parts: sum(parts[1], parts[0])
)


@given(days, st.integers(1, 20), st.integers(1, 4))
def test_every_moment_is_found_or_lies_in_a_gap(times: list[int], limit: int, workers: int) -> None:
    seen = scan(times, limit, DAY, workers)
    missing = [times[n] for n in range(len(times)) if n not in seen.found]
    assert all(any(gap.start_us <= t <= gap.end_us for gap in seen.gaps) for t in missing)


@given(days, st.integers(1, 20), st.integers(1, 4))
def test_a_gap_is_a_millisecond_with_as_many_as_the_limit(
    times: list[int], limit: int, workers: int
) -> None:
    for gap in scan(times, limit, DAY, workers).gaps:
        assert gap.width_us == SMALLEST_US
        assert sum(gap.start_us <= t <= gap.end_us for t in times) >= limit


@given(days, st.integers(1, 20), st.integers(1, 4))
def test_the_windows_that_are_done_tile_the_day(times: list[int], limit: int, workers: int) -> None:
    done = sorted(scan(times, limit, DAY, workers).done)
    assert done[0].start_us == DAY.start_us
    assert done[-1].end_us == DAY.end_us
    assert [a.end_us for a in done[:-1]] == [b.start_us for b in done[1:]]
    assert all(w.start_us % SMALLEST_US == w.end_us % SMALLEST_US == 0 for w in done)


def test_a_quiet_day_is_one_request() -> None:
    assert scan([5, 10, 10], 4, DAY, 4).asked == [DAY]


def test_an_even_day_takes_little_more_than_the_fewest_requests() -> None:
    times = list(range(0, DAY.end_us, 8640))  # 10,000, so at least 100 requests of 100
    seen = scan(times, 101, DAY, 1)
    assert len(seen.found) == 10_000
    assert len(seen.asked) <= 2 * 128 + 8, "128 windows of 78, and at worst one wider try each"


def test_behind_a_burst_the_windows_widen_again() -> None:
    times = [40_000_000 + n for n in range(0, 50_000, 10)]  # 5,000 within 50 ms
    seen = scan(times, 101 * 10, DAY, 1)
    assert len(seen.found) == 5000
    assert seen.gaps == []
    assert len(seen.asked) < 60, "log₂ of 86,400 ms down, log₄ up, and few in the burst"


def test_seams_are_asked_for_twice_so_that_a_store_that_leaves_out_its_end_loses_nothing() -> None:
    halved = halve(begin(Window(0, 10_000)))
    assert halved is not None
    assert halved.window == Window(0, 5000)
    after = advance(halved, 3, 4)
    assert after is not None
    assert after.window == Window(5000, 10_000)


def test_windows_widen_towards_three_quarters_of_the_limit() -> None:
    cursor = Cursor(Window(0, 1_000_000), 10_000)
    widths = {found: advance(cursor, found, 100) for found in (0, 10, 25, 50, 61, 99)}
    assert {found: left.width_us for found, left in widths.items() if left} == {
        0: 40_000,
        10: 40_000,  # 7.5 times would be right, 4 is the most
        25: 30_000,
        50: 15_000,
        61: 10_000,  # 1.23 times is not worth the risk
        99: 10_000,
    }


def test_nothing_widens_before_the_end_of_a_window_that_overflowed() -> None:
    """There are many traces in its second half, since there were few in the first."""
    halved = halve(begin(Window(0, 40_000)))
    assert halved is not None
    assert advance(halved, 0, 100) == Cursor(Window(20_000, 40_000), 20_000, 40_000)


def test_halves_are_whole_milliseconds() -> None:
    halved = halve(begin(Window(0, 7000)))
    assert halved is not None
    assert halved.window == Window(0, 4000)
    assert halve(begin(Window(0, 1000))) is None


def test_a_worker_gives_away_the_later_half_behind_its_window() -> None:
    cursor = Cursor(Window(0, 10_000), 2000)
    assert share(cursor) == (Cursor(Window(0, 6000), 2000), Cursor(Window(6000, 10_000), 2000))
    assert share(begin(Window(0, 10_000))) is None, "all of it is asked for just now"


@pytest.mark.parametrize(
    ("width", "count", "edges"),
    [(9000, 1, [0, 9000]), (9000, 2, [0, 4000, 9000]), (2000, 4, [0, 1000, 2000])],
)
def test_a_window_is_cut_into_whole_milliseconds(width: int, count: int, edges: list[int]) -> None:
    assert cut(Window(0, width), count) == [Window(a, b) for a, b in pairwise(edges)]


spans = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(
    lambda pair: Window(min(pair), max(pair))
)


@given(spans.filter(lambda w: w.width_us > 0), st.lists(spans, max_size=8))
def test_what_remains_is_what_no_window_covers(whole: Window, done: list[Window]) -> None:
    free = [
        t
        for t in range(whole.start_us, whole.end_us)
        if not any(w.start_us <= t < w.end_us for w in done)
    ]
    left = remaining(whole, done)
    assert [t for w in left for t in range(w.start_us, w.end_us)] == free
    assert all(a.end_us < b.start_us for a, b in pairwise(left))
