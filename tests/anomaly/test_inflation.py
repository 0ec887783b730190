"""Days that differ anyway are told from chance, and from days that were faulty."""

from __future__ import annotations

import numpy as np
import pytest

from crisp.anomaly.blocks import (
    DAY_US,
    Blocks,
    Deviates,
    blocks,
    comparable,
    count_deviates,
    rank_deviates,
    together,
)
from crisp.anomaly.inflation import inflations
from crisp.anomaly.vectors import Floats, Ints

HOUR_US = DAY_US // 24
DAYS, A_DAY = 14, 100


def found(times: Floats, size: float = 90.0) -> Floats:
    """Inflation of each row of (g, days, traces a day) by rank tests."""
    return inflations(deviates((times * 1e6).astype(np.int64)), np.full(len(times), size), 1)


def deviates(times: Ints) -> Deviates:
    """Of each row of (g, days, traces a day): one trace has a value of each row."""
    groups, days, rows = times.shape
    parts = Blocks(of_row=np.repeat(np.arange(days), rows), count=days, of_day=1)
    group = np.repeat(np.arange(groups), days * rows)
    return rank_deviates(group, times.ravel(), groups, parts, np.arange(times.size) % (days * rows))


def noise(seed: int, groups: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((groups, DAYS, A_DAY)) + 50


def test_blocks_are_days_where_there_are_five_else_hours_else_ten_minutes() -> None:
    days = blocks(np.arange(5) * DAY_US, np.array([7 * DAY_US, 7 * DAY_US + 5 * HOUR_US]))
    assert (days.count, days.of_day, days.of_row.tolist()) == (5, 1, [0, 1, 2, 3, 4])
    starts = np.array([0, 1, HOUR_US, 2 * HOUR_US, DAY_US, DAY_US + HOUR_US])
    hours = blocks(starts, np.array([DAY_US, DAY_US + 5 * HOUR_US]))
    assert (hours.count, hours.of_day, hours.of_row.tolist()) == (5, 2, [0, 0, 1, 2, 3, 4])
    short = blocks(np.arange(7) * HOUR_US // 6, np.arange(3) * HOUR_US // 6)
    assert (short.count, short.of_day) == (7, 3)
    assert blocks(np.arange(4) * HOUR_US // 6, np.arange(3)).count == 1


def test_squares_of_deviates_average_one_by_chance() -> None:
    groups = 300
    rng = np.random.default_rng(1)
    tied = rng.integers(0, 5, (groups, DAYS, A_DAY))
    marked = rng.binomial(A_DAY, 0.02, (groups, DAYS)).astype(float)
    for some in (deviates(tied), count_deviates(marked, np.full(DAYS, float(A_DAY)))):
        squares = some.square[some.weight > 0]
        assert squares.mean() == pytest.approx(1, abs=4 * squares.std() / len(squares) ** 0.5)


def test_a_share_of_a_day_by_hand() -> None:
    # 6 of 10 in one block, 0 of 10 in the other: share .3, variance 20/19 · .21, 10 · 10 / 20.
    by_hand = count_deviates(np.array([[6.0, 0.0]]), np.array([10.0, 10.0]))
    assert by_hand.weight.tolist() == [[5.0, 5.0]]
    assert by_hand.square == pytest.approx(np.full((1, 2), 9 / (5 * 20 / 19 * 0.21)))


def test_days_that_are_alike_inflate_little() -> None:
    of_many = [float(found(noise(seed, 20)).mean()) for seed in range(20)]
    # One standard error of the mean of 14 · 20 squares, root(2 / 280) = 0.085, is always added.
    assert np.mean(of_many) < 1 + 2 * 0.085
    assert min(of_many) >= 1


@pytest.mark.parametrize("effect", [0.1, 0.3])
def test_an_effect_of_days_is_found_in_its_size(effect: float) -> None:
    rng = np.random.default_rng(2)
    means = []
    for seed in range(30):
        times = noise(seed, 20) + effect * rng.standard_normal((20, DAYS, 1))
        means.append(found(times).mean())
    # Ranks of shifted normal values: the shift counts 12 · (1 / 4π) = 0.955 times its square.
    expected = 1 + 0.955 * effect**2 * 90 * (1 + 1 / DAYS)
    assert np.mean(means) == pytest.approx(expected, rel=0.25)


def test_the_inflation_grows_with_the_traces_of_the_day() -> None:
    times = noise(3, 10) + 0.3 * np.random.default_rng(3).standard_normal((10, DAYS, 1))
    small, large = found(times, 20.0) - 1, found(times, 200.0) - 1
    assert large == pytest.approx(10 * small)


def test_one_faulty_day_of_fourteen_changes_little() -> None:
    times = noise(4, 20)
    times[:, 5] += 3
    assert found(times).mean() < 4  # the mean of all squares is above 25
    two_weeks = noise(4, 20) + np.linspace(0, 3, DAYS)[None, :, None]  # and a trend is no fault
    assert found(two_weeks).mean() > 20


def test_paths_answer_to_a_day_that_takes_longer_the_more_the_less_they_vary_otherwise() -> None:
    rng = np.random.default_rng(8)
    spreads = np.repeat([0.05, 0.1, 0.2, 0.4], 5)
    means = []
    for _ in range(30):
        logs = 10 + spreads[:, None, None] * rng.standard_normal((20, DAYS, A_DAY))
        means.append(found(np.exp(logs + 0.02 * rng.standard_normal((20, DAYS, 1))) / 1e6))
    # As above: a shift of ranks counts 0.955 of its square in that of the spread.
    expected = 1 + 0.955 * (0.02 / spreads) ** 2 * 90 * (1 + 1 / DAYS)
    measured = np.mean(means, axis=0)
    assert measured - 1 == pytest.approx(expected - 1, rel=0.5, abs=0.1)
    assert (np.diff(measured.reshape(4, 5).mean(axis=1)) < 0).all()


def test_paths_that_never_vary_hide_nobodys_days() -> None:
    times = np.exp(10 + 0.1 * np.random.default_rng(9).standard_normal((20, DAYS, A_DAY)))
    times *= np.exp(0.1 * np.random.default_rng(10).standard_normal((20, DAYS, 1)))
    alone = inflations(deviates(times[:10].astype(np.int64)), np.full(10, 90.0), 1)
    times[10:] = 7
    beside = inflations(deviates(times.astype(np.int64)), np.full(20, 90.0), 1)
    assert beside[:10].tolist() == pytest.approx(alone.tolist())


def test_a_path_that_varies_more_than_its_siblings_is_judged_by_itself() -> None:
    times = noise(5, 20)
    times[0] += np.random.default_rng(5).standard_normal((DAYS, 1))
    inflation = found(times)
    assert inflation[0] > 20
    assert inflation[1:].max() < 4


def test_too_few_blocks_or_values_say_nothing() -> None:
    assert found(noise(6, 3)[:, :4]).tolist() == pytest.approx([1, 1, 1], abs=1.0)
    assert found(noise(6, 3)[:, :, :4]).tolist() == [1, 1, 1]


def test_rows_of_a_long_day_are_drawn_evenly() -> None:
    drawn = comparable(140, 14, 100, 10)
    assert (drawn // 5).tolist() == list(range(20))
    assert (
        len(set((drawn % 5).tolist())) > 1
    )  # or they would be in step with callers that take turns
    assert drawn.tolist() == comparable(140, 14, 100, 10).tolist()
    assert comparable(140, 14, 20, 10).tolist() == list(range(20))
    assert len(comparable(14, 14, 100, 10)) == 10


def test_several_kinds_of_tests_lend_each_other_their_days() -> None:
    times = noise(7, 1) + np.random.default_rng(7).standard_normal((1, DAYS, 1))
    known = deviates((times * 1e6).astype(np.int64))
    empty = count_deviates(np.zeros((1, DAYS)), np.full(DAYS, float(A_DAY)))
    inflation = inflations(together([known, empty]), np.array([90.0, 90.0]), 1)
    assert 10 < inflation[1] <= inflation[0]
