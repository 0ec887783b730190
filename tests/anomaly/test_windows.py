"""A night against the days before: what changed is found, what did not is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crisp import schema
from crisp.anomaly.blocks import DAY_US
from crisp.anomaly.changes import Row, changes_of_night
from crisp.anomaly.fleet import numbers
from crisp.anomaly.windows import AbnormalCounts, shifts
from crisp.options import AlertOptions
from tests.anomaly.nights import DAYS, UNSCORED, Shape, compared, draw, shape, vectors

OPTIONS = AlertOptions()


def rows_of(*sides: Any, parents: dict[int, int] | None = None, **more: Any) -> list[Row]:
    counts = more.get("abnormal", UNSCORED)
    reference, today = sides
    batch = shifts(reference, today, parents or {}, counts, OPTIONS)
    schema.check("shifts", batch.schema, schema.SHIFTS)
    rows: list[Row] = batch.to_pylist()
    return rows


def by_test(rows: list[Row]) -> dict[tuple[int, str], Row]:
    return {(row["path_id"], row["test"]): row for row in rows}


def over_days(times: list[list[int]], present: list[list[bool]] | None = None, **more: Any) -> Any:
    """Rows of times, spread evenly over two weeks."""
    columns = np.array(times)
    there = np.ones(columns.shape, np.bool_) if present is None else np.array(present)
    return vectors(np.arange(len(times)) * (DAYS * DAY_US // len(times)), columns, there, **more)


def test_figures_by_hand() -> None:
    reference = over_days([[10, 100]] * 140 + [[30, 300]] * 140)
    there = [[True, i % 2 == 0] for i in range(40)]
    failed = np.array([i < 10 for i in range(40)])
    own = np.array([[False, i < 8] for i in range(40)])
    today = over_days([[40, 200]] * 40, there, own=own, failed=failed)
    found = by_test(
        rows_of(reference, today, abnormal=AbnormalCounts(k_test=6, n_test=40, k_cal=1, n_cal=99))
    )
    assert set(found) == {
        (0, "latency"),
        (0, "failed"),
        (0, "abnormal"),
        (1, "time"),
        (2, "time"),
        (2, "presence"),
        (2, "error"),
    }  # path 1 is always there and never fails
    latency = found[0, "latency"]
    assert (latency["today"], latency["before"]) == (140, 220)
    assert (latency["traces"], latency["reference_traces"], latency["change_us"]) == (40, 280, -80)
    assert (found[0, "failed"]["today"], found[0, "failed"]["before"]) == (0.25, 0)
    assert (found[0, "abnormal"]["today"], found[0, "abnormal"]["before"]) == (0.15, 1 / 99)
    assert found[0, "abnormal"]["reference_traces"] == 99
    time = found[2, "time"]
    assert (time["traces"], time["reference_traces"]) == (20, 280)
    assert (time["today"], time["before"], time["change_us"]) == (200, 200, -100)
    assert (found[2, "presence"]["today"], found[2, "presence"]["before"]) == (0.5, 1)
    assert (found[2, "error"]["today"], found[2, "error"]["before"]) == (0.1, 0)
    assert found[1, "time"]["change_us"] == 20
    assert all(row["q"] == 1 and not row["changed"] for row in found.values())


def test_errors_of_a_path_count_where_its_trace_has_it() -> None:
    own = np.array([[False, True]] * 5 + [[True, False]] * 15)
    today = over_days([[1, 1]] * 20, [[True, i % 2 == 0] for i in range(20)], own=own)
    found = by_test(rows_of(over_days([[1, 1]] * 40), today))
    assert found[2, "error"]["today"] == 3 / 20  # of its five, three traces have the path
    assert found[1, "error"]["today"] == 15 / 20


def test_a_value_or_two_move_no_mean_of_a_path_but_count_in_the_change() -> None:
    reference = over_days([[10]] * 700)
    today = over_days([[10]] * 99 + [[1_000_010]])
    time = by_test(rows_of(reference, today))[1, "time"]
    assert (time["today"], time["before"], time["change_us"]) == (10, 10, 10_000)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40)
def test_the_changes_of_all_paths_sum_to_that_of_the_mean_latency(seed: int, tree: bool) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(20, 60, 2)
    sides = [
        vectors(np.sort(rng.integers(0, 14 * DAY_US, k)), times, rng.random(times.shape) < share)
        for k in (n, m)
        for times, share in [(rng.integers(0, 1000, (k, 30)), rng.random(30))]
    ]
    parents = {path: path // 2 for path in range(1, 31)} if tree else {}
    rows = rows_of(*sides, parents=parents)
    change = {row["path_id"]: row["change_us"] for row in rows if row["path_id"]}
    latency = by_test(rows)[0, "latency"]
    assert sum(change.values()) == pytest.approx(latency["change_us"], abs=1e-6)
    assert latency["today"] - latency["before"] == pytest.approx(latency["change_us"])
    assert all(0 < row["p"] <= 1 and row["inflation"] >= 1 for row in rows)
    assert rows == sorted(rows, key=lambda row: row["path_id"])


def test_rare_paths_count_for_the_nearest_one_above_that_is_not_rare() -> None:
    times, there = np.full((40, 4), 100), np.zeros((40, 4), np.bool_)
    there[:, 0] = True
    there[:5, 2] = there[20:25, 3] = True  # below path 2, which is never seen, below path 1
    sides = (
        over_days(times.tolist(), there.tolist()),
        over_days([[100, 0, 0, 0]] * 40, [[True, False, False, False]] * 40),
    )
    found = by_test(rows_of(*sides, parents={1: 0, 2: 1, 3: 2, 4: 2}))
    assert {path for path, _ in found} == {0, 1}
    assert found[1, "time"]["before"] == 100 + 100 * 10 / 40 - 0
    alone = by_test(rows_of(*sides))
    assert {path for path, _ in alone} == {0, 1, 3, 4}
    assert alone[3, "presence"]["change_us"] == -12.5


@pytest.mark.parametrize(("n", "m"), [(1, 100), (19, 100), (100, 19), (0, 0)])
def test_too_few_traces_are_not_compared(n: int, m: int) -> None:
    day, before = ([[5]] * k for k in (n, m))
    empty = over_days([[5]]).take(np.zeros(0, int))
    sides = [over_days(side) if side else empty for side in (before, day)]
    assert rows_of(*sides) == []


def test_a_few_days_do_not_tell_how_much_days_differ() -> None:
    reference, today = over_days([[10]] * 280), over_days([[20]] * 40)
    day = reference.start_us // DAY_US
    four, five = (reference.take(day < day[0] + days) for days in (4, 5))
    assert rows_of(four, today) == []
    assert by_test(rows_of(five, today))[0, "latency"]["p"] < 0.05


def test_of_a_day_no_more_than_twice_the_traces_of_a_reference_day_are_compared() -> None:
    reference = over_days([[10]] * 280)
    rows = by_test(rows_of(reference, over_days([[10]] * 30 + [[20]] * 370)))
    latency = rows[0, "latency"]
    assert latency["traces"] == 40  # evenly: every tenth of 400
    assert latency["today"] == (3 * 10 + 37 * 20) / 40


def test_times_that_are_always_the_same_are_no_change() -> None:
    rows = rows_of(over_days([[7, 0]] * 50), over_days([[7, 0]] * 30))
    assert {row["p"] for row in rows} == {1.0}


def test_a_path_set_that_changed_entirely_is_found() -> None:
    before = over_days([[50, 0]] * 700, [[True, False]] * 700)
    today = over_days([[0, 50]] * 100, [[False, True]] * 100)
    found = by_test(rows_of(before, today))
    assert (found[1, "presence"]["today"], found[2, "presence"]["today"]) == (0, 1)
    assert max(found[1, "presence"]["p"], found[2, "presence"]["p"]) < 1e-60


def test_the_same_traces_give_the_same_rows() -> None:
    first, again = (
        rows_of(*draw(rng, shape(rng, 8))) for rng in (np.random.default_rng(3) for _ in range(2))
    )
    assert first == again


def first_of(sides: Any, fleet: int = 5) -> Any:
    """What changed of an endpoint among others that did not."""
    rng = np.random.default_rng(99)
    others = [draw(rng, shape(rng, 6), reference=300, today=60) for _ in range(fleet)]
    return changes_of_night(compared(sides, *others), None, OPTIONS)


@pytest.mark.parametrize("seed", range(6))
def test_a_path_slower_by_half_in_a_night_of_300_is_named_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spread = np.array([0.4, 0.5, 0.5, 0.5, 1.5, 1.8])  # the last two have heavy tails
    made = Shape(
        log_us=np.array([8.0, 7.0, 7.0, 6.0, 7.0, 6.5]),
        spread=spread,
        share=np.array([1.0, 1.0, 0.9, 0.5, 1.0, 0.7]),
        day_effect=0.01,
        slower={1: 1.5},
    )
    found = first_of(draw(rng, made, reference=2000, today=300))
    assert list(found) == [1]
    assert (found[1].first_path, found[1].rows[0]["test"]) == (1, "time")


@pytest.mark.parametrize("seed", range(4))
def test_the_slow_one_of_two_parallel_calls_is_named_and_not_the_one_beside_it(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def parallel(count: int, first: int, factor: float) -> Any:
        """The root for 1 ms, then two calls at once: the longer one is on the critical path."""
        one, other = (np.exp(rng.normal(9, 0.4, count)) for _ in range(2))
        one = one * factor
        times = np.stack([np.full(count, 1000.0), one, other], axis=1).astype(np.int64)
        there = np.stack([np.ones(count, bool), one >= other, other > one], axis=1)
        start = np.sort(
            rng.integers(first * DAY_US, (first + (1 if first else DAYS)) * DAY_US, count)
        )
        return vectors(start, times, there)

    found = first_of((parallel(2000, 0, 1.0), parallel(300, DAYS, 1.5)))
    assert list(found) == [1]
    assert found[1].first_path == 2


def test_requests_that_fail_early_and_get_shorter_are_found_and_the_failing_path_named() -> None:
    rng = np.random.default_rng(8)
    made = Shape(log_us=np.full(5, 8.0), spread=np.full(5, 0.4), share=np.ones(5), failing={2: 0.3})
    found = first_of(draw(rng, made, reference=1000, today=200))
    assert list(found) == [1]
    assert (found[1].first_path, found[1].rows[0]["test"]) == (2, "error")
    assert found[1].change_us < 0
    assert found[1].errors == pytest.approx(0.3, abs=0.1)


def test_requests_that_return_early_without_an_error_are_found() -> None:
    rng = np.random.default_rng(9)
    made = Shape(log_us=np.full(5, 8.0), spread=np.full(5, 0.4), share=np.ones(5))
    reference, today = draw(rng, made, reference=1000, today=200)
    mixed = np.arange(200) < 60
    start = today.start_us
    times = np.zeros((200, 5), np.int64)
    times[today.row, today.path_id - 1] = today.time_us
    there = np.ones((200, 5), np.bool_)
    there[mixed, 2:] = False
    found = first_of((reference, vectors(start, times, there)))
    assert list(found) == [1]
    assert {row["path_id"] for row in found[1].rows if row["path_id"]} == {3, 4, 5}
    assert all(row["change_us"] < 0 for row in found[1].rows if row["path_id"])


@pytest.mark.slow
def test_nights_without_a_change_raise_alerts_no_more_often_than_they_may() -> None:
    """Days that differ anyway and slow spells included; see docs/alerts.md for a larger run."""
    rng = np.random.default_rng(2026)
    level, fleet, nights = 0.05, 16, 40
    options = AlertOptions(level=level)
    alarms, p = 0, []
    for _ in range(nights):
        pairs = [
            draw(
                rng,
                shape(
                    rng,
                    4,
                    day_effect=float(rng.choice([0, 0.02, 0.05, 0.15])),
                    slow_spell=float(rng.choice([0, 0.02])),
                ),
                reference=400,
                today=int(rng.integers(30, 200)),
            )
            for _ in range(fleet)
        ]
        found = compared(*pairs, options=options)
        alarms += bool(numbers(found, "q").min() <= level)
        p.append(numbers(found, "p"))
    every = np.concatenate(p)
    assert alarms <= 5  # of 40; more than that at 5 % has a chance of 1 %
    assert np.mean(every <= 0.01) <= 0.012
    assert np.mean(every <= 0.001) <= 0.0025
