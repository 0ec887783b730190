from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom, gaussian_kde

from crisp.anomaly.calibration import (
    Calibration,
    beta_binomial_tail,
    conformal,
    conformal_words,
    density_p,
    lone_paths,
    tail_rank,
)
from tests.anomaly.drawn import drawn


def test_ties_with_calibration_traces_count_against_the_finding() -> None:
    held = np.array([1.0, 2.0, 2.0, 3.0])
    p = conformal(held, np.array([0.0, 1.0, 2.0, 2.5, 3.0, 9.0]))
    assert p == pytest.approx([5 / 5, 5 / 5, 4 / 5, 2 / 5, 2 / 5, 1 / 5])


def test_without_calibration_traces_every_p_is_one() -> None:
    assert conformal(np.empty(0), np.array([3.0])).tolist() == [1.0]


def test_small_p_values_come_as_often_as_they_say() -> None:
    """Over many fits: the mean realised rate of p ≤ 0.01 with 199 calibration traces is 0.01."""
    random = np.random.default_rng(4)
    rates = [
        (conformal(np.sort(random.lognormal(size=199)), random.lognormal(size=500)) <= 0.01).mean()
        for _ in range(1500)
    ]
    # A rate is Beta(2, 198) apart from its 500 draws: its mean over 1,500 is known to 0.0002.
    assert np.mean(rates) == pytest.approx(0.01, abs=0.0009)


def test_p_how_says_at_its_floor_how_many_traces_would_be_enough() -> None:
    p = conformal(np.arange(300.0), np.array([5.0, 298.5, 900.0]))
    assert conformal_words(p, 300, 0.001) == [
        "conformal, 300 traces",
        "conformal, 300 traces",
        "conformal, 300 traces, at its floor: 0.001 needs 999",
    ]
    assert conformal_words(np.array([1 / 1201]), 1200, 0.001) == ["conformal, 1,200 traces"]
    assert conformal(np.arange(999.0), np.array([1e9]))[0] <= 0.001


def test_the_papers_p_is_the_lower_tail_of_a_kernel_density_of_log_likelihoods() -> None:
    likelihoods = np.random.default_rng(1).normal(-40, 7, 120)
    density = gaussian_kde(likelihoods)
    for new in (-90.0, -55.0, -40.0, -20.0):
        expected = density.integrate_box_1d(-np.inf, new)
        assert density_p(np.sort(-likelihoods), np.array([-new])) == pytest.approx(expected)


def test_a_density_of_likelihoods_that_never_differ_has_no_width() -> None:
    assert density_p(np.full(5, 2.0), np.array([1.0, 2.0, 2.1])).tolist() == [1, 1, 0]
    assert density_p(np.array([2.0]), np.array([2.0, 3.0])).tolist() == [1, 0]


@given(
    st.integers(0, 60).flatmap(
        lambda n: st.tuples(st.integers(0, n + 1), st.just(n), st.integers(1, 12))
    ),
    st.integers(12, 80),
)
def test_the_tail_is_that_of_the_beta_binomial_distribution(
    case: tuple[int, int, int], n_cal: int
) -> None:
    k, n, k_cal = case
    expected = betabinom.sf(k - 1, n, k_cal, n_cal + 1 - k_cal)
    assert beta_binomial_tail(k, n, k_cal, n_cal) == pytest.approx(expected, rel=1e-7, abs=1e-13)


def test_tails_are_exact_far_out_and_come_in_the_shape_of_what_is_asked() -> None:
    def exact(k: int, n: int, k_cal: int, n_cal: int) -> float:
        drawn_ = k + k_cal - 1
        terms = (comb(n_cal, i) * comb(n, drawn_ - i) for i in range(k_cal))
        return float(Fraction(sum(terms), comb(n + n_cal, drawn_)))

    cases = [(400, 500, 3, 1000), (150, 1000, 2, 2999), (5, 300, 1, 299), (90, 300, 5, 5000)]
    k, n, k_cal, n_cal = (np.array(column).reshape(2, 2) for column in zip(*cases, strict=True))
    found = beta_binomial_tail(k, n, k_cal, n_cal)
    expected = np.array([exact(*case) for case in cases]).reshape(2, 2)
    assert 0 < expected.min() < 1e-200
    assert found == pytest.approx(expected, rel=1e-9)
    assert beta_binomial_tail(0, 10, 1, 99) == 1.0
    assert beta_binomial_tail(11, 10, 1, 99) == 0.0


def test_counts_above_a_threshold_that_was_drawn_itself_keep_the_promised_rate() -> None:
    """The binomial test would call 5 % of such counts about three times as often."""
    random = np.random.default_rng(9)
    n_cal, n_test, rank = 499, 400, tail_rank(499, 0.004)
    assert rank == 2
    thresholds = np.sort(random.random((4000, n_cal)), axis=1)[:, -rank]
    counts = random.binomial(n_test, 1 - thresholds)
    p = beta_binomial_tail(counts, n_test, rank, n_cal)
    assert (p <= 0.05).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)
    assert (p <= 0.2).mean() > 0.05  # and it is not all ones


def test_the_share_of_traces_with_a_path_of_their_own_foretells_new_paths() -> None:
    rows = drawn([{1: 1, 2: 1}, {1: 1}, {1: 1, 3: 1, 4: 1}, {2: 1}, {}])
    assert lone_paths(rows).tolist() == [0, 0, 1, 0, 0]
    random = np.random.default_rng(3)
    chance = 0.3 / np.arange(1, 400)  # a few paths often, many rarely

    def traces(n: int) -> list[dict[int, int]]:
        there = random.random((n, len(chance))) < chance
        return [{0: 1} | {int(path) + 1: 1 for path in np.flatnonzero(row)} for row in there]

    past, future = traces(400), traces(4000)
    known = {path for row in past for path in row}
    realised = np.mean([not row.keys() <= known for row in future])
    assert lone_paths(drawn(past)).mean() == pytest.approx(realised, abs=0.06)
    assert 0.1 < realised < 0.5


def test_small_means_alpha_or_the_smallest_there_is() -> None:
    few = Calibration(scores=np.arange(300.0), alpha=0.001, density=False)
    assert few.level == 1 / 301
    assert few.rank == 1
    assert few.small(few.p(np.array([299.5, 298.5]))).tolist() == [True, False]
    many = Calibration(scores=np.arange(2500.0), alpha=0.001, density=False)
    assert many.rank == 2
    assert many.small(many.p(np.array([2499.5, 2498.5, 2497.5]))).tolist() == [True, True, False]
    paper = Calibration(scores=np.arange(300.0), alpha=0.001, density=True)
    assert paper.level == 0.001
    assert paper.rank == 1 + int((paper.p(paper.scores) <= 0.001).sum())
    assert paper.words(np.ones(1)) == ["kernel density, 300 traces"]
