"""Many rank tests at once agree with one at a time, and err on the safe side."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from crisp.anomaly.rank import LEAST_P, deflated, rank_tests, ranks


def p_of(values: list[int], chosen: list[int]) -> float:
    marked = np.isin(np.arange(len(values)), chosen)
    ranked = ranks(np.zeros(len(values), int), np.array(values), 1)
    return float(rank_tests(ranked, marked)[0])


def test_ties_share_the_mean_of_their_ranks_within_their_group() -> None:
    group, value = np.array([1, 0, 1, 1, 1, 2]), np.array([3, 9, 1, 1, 5, 9])
    ranked = ranks(group, value, 4)  # group 1 holds 3 1 1 5: ranks 3, 1½, 1½, 4
    assert_allclose(ranked.centred, [0.5, 0, -1, -1, 1.5, 0])
    assert_allclose(ranked.gap, [0, 1, 0, 0])
    assert ranked.size.tolist() == [1, 4, 1, 0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30))
def test_without_ties_it_is_the_mann_whitney_test(seed: int, n: int, m: int) -> None:
    values = np.random.default_rng(seed).permutation(n + m).tolist()
    expected = stats.mannwhitneyu(values[:n], values[n:], method="asymptotic").pvalue
    assert_allclose(p_of(values, list(range(n))), expected, rtol=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_groups_are_tested_each_by_itself_and_ties_never_make_p_smaller(
    seed: int, groups: int
) -> None:
    rng = np.random.default_rng(seed)
    group, value = rng.integers(0, groups, 200), rng.integers(0, 12, 200)
    chosen = rng.random(200) < 0.3
    found = rank_tests(ranks(group, value, groups), chosen)
    for g in range(groups):
        one, other = value[(group == g) & chosen], value[(group == g) & ~chosen]
        if len(one) and len(other) and len(np.unique(np.concatenate((one, other)))) > 1:
            known = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
            assert found[g] >= known * (1 - 1e-9)
            assert found[g] == pytest.approx(known, rel=0.6, abs=0.1)


def test_nothing_to_compare_is_no_difference() -> None:
    ranked = ranks(np.array([0, 0, 1, 1, 2]), np.array([1, 2, 3, 3, 4]), 4)
    chosen = np.array([False, False, True, False, True])
    assert rank_tests(ranked, chosen).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(list(range(14)), id="all different"),
        pytest.param([0] * 12 + [1, 1], id="nearly all zero"),
        pytest.param([0] * 9 + [1, 2, 3, 4, 5], id="zero or something"),
        pytest.param([0] * 7 + [1] * 7, id="two halves"),
        pytest.param([0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9], id="a long tie within"),
    ],
)
@pytest.mark.parametrize("n", [2, 4, 7, 11])
def test_of_all_ways_to_choose_no_more_have_a_small_p_than_it_says(
    values: list[int], n: int
) -> None:
    ways = np.array(list(combinations(range(14), n)))
    chosen = np.zeros((len(ways), 14), np.bool_)
    np.put_along_axis(chosen, ways, True, axis=1)
    group = np.repeat(np.arange(len(ways)), 14)
    ranked = ranks(group, np.tile(values, len(ways)), len(ways))
    found = rank_tests(ranked, chosen.ravel())
    for level in (0.1, 0.05, 0.02, 0.01, 0.005):
        # An approximation at so few values: off by a fifth at most, and one of the ways.
        assert np.sum(found <= level) <= 1.2 * level * len(found) + 1, level


@pytest.mark.parametrize(("n", "m", "ones"), [(20, 2000, 20), (300, 2000, 12), (30, 600, 4)])
def test_a_few_rare_values_are_no_more_surprising_than_an_exact_test_says(
    n: int, m: int, ones: int
) -> None:
    for k in range(1, min(n, ones) + 1):
        values = [1] * k + [0] * (n - k) + [1] * (ones - k) + [0] * (m - ones + k)
        tail = sum(comb(ones, j) * comb(n + m - ones, n - j) for j in range(k, min(n, ones) + 1))
        exact = tail / comb(n + m, n)
        if k > 2 * n * ones / (n + m):
            assert p_of(values, list(range(n))) >= exact


def test_far_tails_stay_above_zero_and_on_the_safe_side() -> None:
    below, above = list(range(300)), list(range(300, 2300))
    p = p_of([*below, *above], list(range(300)))
    z = (300 * 2000 / 2 - 0.5) / (300 * 2000 * 2301 / 12) ** 0.5
    assert p == pytest.approx(2 * stats.norm.sf(z), rel=1e-6, abs=0)
    assert p > LEAST_P > 2 / comb(2300, 300)  # what is exact


def test_a_p_is_that_of_a_deviate_divided_by_the_root_of_the_inflation() -> None:
    p = np.array([2 * stats.norm.sf(4.0), 2 * stats.norm.sf(4.0), 1.0])
    found = deflated(p, np.array([4.0, 1.0, 4.0]), 10**9)
    assert_allclose(found, [2 * stats.norm.sf(2.0), p[1], 1.0], rtol=1e-4)


def test_few_blocks_leave_doubt_and_none_where_nothing_is_inflated() -> None:
    p = np.array([2 * stats.norm.sf(10.0)])
    strong, weak = (deflated(p, np.array([c]), 14)[0] for c in (100.0, 1.0001))
    assert strong == pytest.approx(2 * stats.t.sf(1.0, 13 * (100 / 99) ** 2), rel=1e-6, abs=0)
    assert weak == pytest.approx(2 * stats.norm.sf(10 / 1.0001**0.5), rel=0.01, abs=0)


@given(st.floats(1e-300, 1), st.floats(1, 1e6), st.integers(2, 30))
def test_inflation_never_makes_a_finding_stronger(p: float, inflation: float, blocks: int) -> None:
    found = float(deflated(np.array([p]), np.array([inflation]), blocks)[0])
    assert p <= found <= 1
