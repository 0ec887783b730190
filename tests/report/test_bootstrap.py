"""Intervals against a slow definition, and how many of them hold a truth that is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from crisp.report.bootstrap import deviations_for, intervals
from crisp.report.changes import Group, Interval
from tests.report.drawn_groups import compare, group_of


def test_means_of_replicates_agree_with_a_slow_definition() -> None:
    """Intervals of 4,000 replicates, against traces drawn one by one from those they stand for."""
    rng = np.random.default_rng(11)
    times = rng.gamma(2, 1_000, (12, 2)).astype(np.int64)
    weight = [1.0] * 4 + [5.0] * 8
    b = group_of(times.tolist(), weight=weight)
    b = Group(
        kind=b.kind, label=b.label, traces=44, latency_us=b.latency_us,
        exclusive_us=b.exclusive_us, sample=b.sample,
    )  # fmt: skip
    steady = group_of([[1_000, 0]] * 3)
    found = compare(steady, b, seed=1, replicates=4_000)
    crowd = [row for row, w in zip(times.tolist(), weight, strict=True) for _ in range(int(w))]
    narrow = 1 - sum((w / sum(weight)) ** 2 for w in weight)
    center = [sum(row[path] for row in crowd) / 44 for path in (0, 1)]
    strayed = []
    for _ in range(4_000):
        drawn = [crowd[i] for i in rng.integers(0, 44, 12)]
        mean = sum(row[0] for row in drawn) / 12
        strayed.append((mean - center[0]) * (12 / 44 / narrow) ** 0.5)
    # Two paths are compared: z(1 - 0.025 / 2) = 2.2414.
    low = -2.2414 * (2 * sum(move**2 for move in strayed if move < 0) / 4_000) ** 0.5
    high = 2.2414 * (2 * sum(move**2 for move in strayed if move > 0) / 4_000) ** 0.5
    interval = next(c.interval_us for c in found.changes if c.path == 0)
    exact = b.exclusive_us[0] / 44 - 1_000
    assert interval == pytest.approx((exact + low, exact + high), abs=0.06 * (high - low))


def kept_evenly(times: np.ndarray, in_band: int) -> tuple[list[int], list[float]]:
    """Some traces of each of the bands 0, 50, 90, 95, 99, 100 and how many each stands for."""
    ranked = np.argsort(times.sum(axis=1), kind="stable")
    edges = [int(len(times) * part) for part in (0, 0.5, 0.9, 0.95, 0.99, 1)]
    kept: list[int] = []
    weight: list[float] = []
    for low, high in pairwise(edges):
        rows = ranked[low:high]
        some = np.random.default_rng(len(kept)).permutation(rows)[:in_band]
        kept += some.tolist()
        weight += [len(rows) / len(some)] * len(some)
    return kept, weight


@pytest.mark.parametrize("stratified", [False, True])
def test_19_of_20_intervals_hold_the_truth(stratified: bool) -> None:
    """Requests of 2 paths; the second takes 1.0 ms on average in one group, 1.2 in the other.

    Those of the paths hold both at once; of shares, which are two sides of one thing, more often.
    """
    rng = np.random.default_rng(7)
    held = {"latency": 0, "paths": 0, "shares": 0}
    share = 1_200 / 4_200 - 1_000 / 4_000
    size = 2_000 if stratified else 80
    for turn in range(400):
        groups = []
        for mean_us in (1_000, 1_200):
            times = np.column_stack(
                [rng.gamma(2, 1_500, size), rng.gamma(2, mean_us / 2, size)]
            ).astype(np.int64)
            kept, weight = kept_evenly(times, 20) if stratified else (None, None)
            groups.append(group_of(times.tolist(), kept=kept, weight=weight))
        found = compare(groups[0], groups[1], seed=turn)
        truth = {0: (0, -share), 1: (200, share)}
        held["latency"] += holds(found.interval_us, 200)
        held["paths"] += all(holds(c.interval_us, truth[c.path][0]) for c in found.changes)
        held["shares"] += all(holds(c.share_interval, truth[c.path][1]) for c in found.changes)
    assert 0.90 <= held["latency"] / 400 <= 0.98, held
    assert 0.90 <= held["paths"] / 400 <= 0.98, held
    assert held["shares"] / 400 >= 0.90, held


def test_of_many_calls_that_did_not_change_hardly_one_looks_as_if_it_had() -> None:
    """40 calls, like with like, 200 times: for one call alone 1 in 20 would, of 40 nearly always
    some."""
    rng = np.random.default_rng(3)
    wrong = 0
    for turn in range(200):
        a, b = (group_of(rng.gamma(2, 500, (60, 40)).astype(np.int64).tolist()) for _ in "ab")
        found = compare(a, b, seed=turn).changes
        wrong += any(c.interval_us is not None and c.interval_us.distance > 0 for c in found)
    assert wrong <= 0.1 * 200


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


def test_each_end_lies_by_the_moves_to_its_side() -> None:
    """Moves of -3 and, three times, 1: mean squares 9/4 and 3/4 of all, twice that is 4.5, 1.5."""
    moved = np.array([[-3.0], [1.0], [1.0], [1.0]])
    low, high = intervals(np.array([10.0]), moved, 2.0)
    assert (low[0], high[0]) == pytest.approx((10 - 2 * 4.5**0.5, 10 + 2 * 1.5**0.5))


def test_moves_like_normal_ones_give_the_usual_interval() -> None:
    moved = np.random.default_rng(4).normal(0, 5, (100_000, 1))
    low, high = intervals(np.array([0.0]), moved, deviations_for(1))
    assert (low[0], high[0]) == pytest.approx((-9.8, 9.8), rel=0.02)


def test_the_more_changes_the_wider_each_interval() -> None:
    """Quantiles of the normal distribution at 1 - 0.025 / m, from a table."""
    found = [deviations_for(m) for m in (0, 1, 2, 4, 100)]
    assert found == pytest.approx([1.9600, 1.9600, 2.2414, 2.4977, 3.4808], abs=1e-4)
