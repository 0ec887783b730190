"""Changes between groups of traces: tiny cases by hand, order, and speed."""

from __future__ import annotations

import time

import numpy as np
import pytest

from crisp.report.changes import Comparison, Group, Interval, Sample, compare_all
from tests.report.drawn_groups import compare, group_of


def distance(interval: Interval | None) -> float:
    return interval.distance if interval else 0.0


def by_path(found: Comparison) -> dict[int, float]:
    return {change.path: change.change_us for change in found.changes}


def test_changes_of_means_and_shares_are_exact() -> None:
    # means: a 2, 8 of 10; b 8, 8, 4 of 20
    a = group_of([[1, 9, 0], [3, 7, 0]])
    b = group_of([[8, 8, 0], [8, 8, 8]])
    found = compare(a, b, seed=1)
    assert found.change_us == 10
    assert by_path(found) == {0: 6, 2: 4}  # path 1 did not change, so it is no change
    assert {c.path: c.share for c in found.changes} == pytest.approx({0: 0.2, 2: 0.2})


def test_traces_that_are_all_alike_leave_no_doubt() -> None:
    found = compare(group_of([[10, 0]] * 5), group_of([[10, 30]] * 5), seed=1)
    assert found.interval_us == Interval(30, 30)
    (change,) = found.changes
    assert (change.path, change.interval_us) == (1, Interval(30, 30))
    assert change.share_interval == pytest.approx((0.75, 0.75))
    assert change.interval_us is not None
    assert change.interval_us.distance == 30


def test_exact_sums_decide_the_change_not_the_kept_traces() -> None:
    # Kept are the first two of four traces of b: their mean is 15, that of all of them 30.
    b = group_of([[10], [20], [40], [50]], kept=[0, 1], weight=[2.0, 2.0])
    found = compare(group_of([[5], [5]]), b, seed=1)
    assert found.change_us == 25
    assert found.interval_us is not None
    assert found.interval_us.low <= 25 <= found.interval_us.high


def test_interval_of_two_traces_by_hand() -> None:
    # A mean of two draws of {0, 2d} strays by -d, 0 or d, with chances 1/4, 1/2, 1/4. The other
    # group does not stray. 1 - sum p^2 = 1/2, so it is widened by the square root of 2: twice the
    # mean square of the moves to one side is 2 * 1/4 * 2 d^2 = d^2, and 1.96 d the distance.
    found = compare(group_of([[100], [100]]), group_of([[100], [300]]), seed=3, replicates=20_000)
    assert found.change_us == 100
    assert found.interval_us == pytest.approx((100 - 196, 100 + 196), abs=4)
    # Each of both kept traces stands for 8 of 16: it strays sqrt(2 / 16) times as far.
    many = group_of([[100], [300]] * 8, kept=[0, 1], weight=[8.0, 8.0])
    found = compare(group_of([[100], [100]]), many, seed=3, replicates=20_000)
    assert found.interval_us == pytest.approx((100 - 69.3, 100 + 69.3), abs=2)


def test_swapped_groups_change_the_other_way() -> None:
    rng = np.random.default_rng(5)
    a = group_of(rng.integers(1, 100, (30, 3)).tolist())
    b = group_of(rng.integers(1, 200, (30, 3)).tolist())
    there, back = by_path(compare(a, b, seed=1)), by_path(compare(b, a, seed=1))
    assert there == pytest.approx({path: -change for path, change in back.items()})


def test_same_seed_same_result_and_another_seed_another() -> None:
    rng = np.random.default_rng(5)
    a, b = (group_of(rng.integers(1, 100, (30, 3)).tolist()) for _ in "ab")
    assert compare(a, b, seed=1) == compare(a, b, seed=1)
    assert compare(a, b, seed=1) != compare(a, b, seed=2)


@pytest.mark.parametrize("kept", [0, 1])
def test_fewer_than_two_kept_traces_tell_no_interval(kept: int) -> None:
    lonely = group_of([[10], [20]], kept=range(kept))
    found = compare(group_of([[5], [6]]), lonely, seed=1)
    assert found.change_us == 9.5
    assert found.interval_us is None
    assert [(c.interval_us, c.share_interval) for c in found.changes] == [(None, None)]


def test_path_that_no_kept_trace_has_is_not_called_sure() -> None:
    # The third trace has path 1 for 300 µs but is not kept: nothing shows how it strays.
    b = group_of([[10, 0], [12, 0], [10, 300]], kept=[0, 1], weight=[1.5, 1.5])
    found = compare(group_of([[10, 0], [12, 0]]), b, seed=1)
    assert {c.path: c.change_us for c in found.changes}[1] == 100
    assert {c.path: c.interval_us for c in found.changes}[1] is None


def test_sure_changes_come_first_then_large_ones_then_by_name() -> None:
    # Path 0 changes by 50 for sure; 1 by 100 in one trace of 2; 2 and 3 by 5 for sure.
    a = group_of([[100, 0, 10, 10], [100, 0, 10, 10]])
    b = group_of([[150, 200, 15, 15], [150, 0, 15, 15]])
    found = compare(a, b, seed=1, names=[("s", c) for c in "wxzy"])
    assert [change.path for change in found.changes] == [0, 3, 2, 1]
    assert distance(found.changes[-1].interval_us) == 0
    assert [c.path for c in compare(a, b, seed=1, most=2).changes] == [0, 2]


def test_fewer_changes_are_the_first_of_all() -> None:
    """Intervals of small changes are not worked out when they cannot be among the surest."""
    rng = np.random.default_rng(3)
    a = group_of(rng.integers(900, 1_100, (20, 40)).tolist())
    b = group_of((rng.integers(900, 1_100, (20, 40)) + 5 * np.arange(40)).tolist())
    everything = compare(a, b, seed=1, most=40).changes
    sure = [change for change in everything if distance(change.interval_us) > 0]
    assert 5 < len(sure) < 40
    for most in (1, 5, len(sure) + 2):
        found = compare(a, b, seed=1, most=most).changes
        assert [change.path for change in found] == [c.path for c in everything[:most]]
        near = [c.interval_us for c in everything[:most]]
        assert [change.interval_us for change in found] == [pytest.approx(each) for each in near]


def test_cells_of_one_path_on_two_hosts_add_up() -> None:
    whole = group_of([[30], [50]])
    sample = Sample(
        latency_us=whole.sample.latency_us,
        weight=whole.sample.weight,
        trace=np.array([0, 0, 1]),
        path=np.array([0, 0, 0]),
        exclusive_us=np.array([10, 20, 50]),
    )
    split = Group(
        kind="band", label="x", traces=2, latency_us=80, exclusive_us=np.array([80]), sample=sample
    )
    other = group_of([[1], [2]])
    assert compare(other, whole, seed=1) == compare(other, split, seed=1)


def test_noise_is_seldom_called_news() -> None:
    """Of 200 comparisons of like with like few intervals leave 0 out."""
    rng = np.random.default_rng(9)
    wrong = 0
    for turn in range(200):
        a, b = (group_of(rng.gamma(2, 500, (60, 1)).astype(np.int64).tolist()) for _ in "ab")
        wrong += distance(compare(a, b, seed=turn).changes[0].interval_us) > 0
    assert wrong <= 20


def endpoint_of_500_traces() -> list[Group]:
    """5 bands of 100 kept traces with 25 of 300 paths each."""
    rng = np.random.default_rng(1)
    groups = []
    for band in range(5):
        times = np.zeros((100, 300), dtype=np.int64)
        for row in times:
            row[rng.choice(300, 25, replace=False)] = rng.exponential(1_000 * (band + 1), 25)
        groups.append(group_of(times.tolist()))
    return groups


def test_all_pairs_of_an_endpoint_take_few_milliseconds() -> None:
    groups = endpoint_of_500_traces()
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    took = []
    for _ in range(3):
        start = time.process_time()
        compare_all(groups, pairs, seed=1)
        took.append(time.process_time() - start)
    assert min(took) < 0.2  # 20 times what it takes where nothing else runs
