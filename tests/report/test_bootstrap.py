"""Intervals against a slow definition, and how many of them hold a truth that is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from crisp.report.bootstrap import intervals, surely_doubtful
from crisp.report.changes import Group, Interval, compare
from tests.report.drawn_groups import group_of


def test_means_of_replicates_agree_with_a_slow_definition() -> None:
    """Quantiles of 4,000 replicates, against traces drawn one by one from those they stand for."""
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
    low, high = np.quantile(strayed, [0.025, 0.975])
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
    """Requests of 2 paths; the second takes 1.0 ms on average in one group, 1.2 in the other."""
    rng = np.random.default_rng(7)
    held = {"latency": 0, "path": 0, "share": 0}
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
        change = next(c for c in found.changes if c.path == 1)
        held["latency"] += holds(found.interval_us, 200)
        held["path"] += holds(change.interval_us, 200)
        held["share"] += holds(change.share_interval, 1_200 / 4_200 - 1_000 / 4_000)
    assert all(0.90 <= count / 400 <= 0.98 for count in held.values()), held


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


@pytest.mark.parametrize("replicates", [1, 2, 7, 200, 201])
def test_ends_are_quantiles_around_the_change(replicates: int) -> None:
    rng = np.random.default_rng(replicates)
    moved = rng.normal(size=(replicates, 50))
    low, high = intervals(np.full(50, 3.0), moved)
    expected = np.quantile(moved, [0.025, 0.975], axis=0)
    assert low == pytest.approx(3 + np.minimum(expected[0], 0))
    assert high == pytest.approx(3 + np.maximum(expected[1], 0))


def test_what_is_surely_doubtful_has_0_in_its_interval() -> None:
    rng = np.random.default_rng(2)
    change, moved = rng.normal(0, 2, 500), rng.normal(size=(200, 500))
    low, high = intervals(change, moved)
    doubtful = surely_doubtful(change, moved)
    holds_0 = (low <= 0) & (high >= 0)
    assert not (doubtful & ~holds_0).any()
    assert (holds_0 & ~doubtful).sum() < 10  # it misses next to none, or it would save nothing
