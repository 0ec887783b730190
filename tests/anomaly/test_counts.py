"""Exact tests of counts are exact."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly.counts import exact_tests
from crisp.anomaly.rank import LEAST_P


def slow(k: int, n: int, marked: int, total: int) -> Fraction:
    """Doubled smaller tail, with whole numbers."""
    low, high = max(0, n + marked - total), min(n, marked)
    ways = {j: comb(marked, j) * comb(total - marked, n - j) for j in range(low, high + 1)}
    upper = sum(w for j, w in ways.items() if j >= k)
    lower = sum(w for j, w in ways.items() if j <= k)
    return min(Fraction(2 * min(upper, lower), comb(total, n)), Fraction(1))


@given(st.data())
def test_it_is_the_doubled_smaller_tail(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 400))
    n, marked = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    k = data.draw(st.integers(max(0, n + marked - total), min(n, marked)))
    found = float(exact_tests(k, n, marked, total)[0])
    expected = float(slow(k, n, marked, total))
    assert found == pytest.approx(expected, rel=1e-8, abs=0)


@pytest.mark.parametrize(
    ("k", "n", "marked", "total"),
    [(100, 100, 100, 1000), (0, 400, 700, 1500), (60, 300, 61, 2300)],
)
def test_tiny_tails_are_exact_too(k: int, n: int, marked: int, total: int) -> None:
    expected = slow(k, n, marked, total)
    assert 1e-300 < expected < 1e-40
    assert float(exact_tests(k, n, marked, total)[0]) == pytest.approx(
        float(expected), rel=1e-8, abs=0
    )


def test_what_is_smaller_than_all_numbers_is_the_least_p() -> None:
    assert exact_tests(300, 300, 300, 2300)[0] == LEAST_P


def test_by_hand_one_of_two_drawn_from_four() -> None:
    # Two marked of four, two drawn: 1/6 both, 4/6 one, 1/6 none.
    assert exact_tests([2, 1, 0], 2, 2, 4) == pytest.approx([2 / 6, 1.0, 2 / 6])


def test_large_days_are_summed_in_time() -> None:
    found = exact_tests(np.arange(10_000, 10_400), 20_000, 30_000, 60_000)
    assert np.all(np.diff(found) <= 0)
    assert found[0] == pytest.approx(1.0, abs=0.02)
