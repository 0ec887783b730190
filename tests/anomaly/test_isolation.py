from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from crisp.anomaly.isolation import average_length, dense_logs, fit_isolation, rounded_down
from tests.anomaly.test_detectors import encoded, many


def test_scores_are_those_of_scikit_learn() -> None:
    fit, today = encoded(many(700), many(300, seed=6))
    d = fit.time_us.shape[1]
    everything = np.arange(d)
    forest = IsolationForest(n_estimators=64, max_samples=128, random_state=3)
    forest.fit(dense_logs(fit.time_us, everything, d))
    expected = -forest.score_samples(dense_logs(today.time_us, everything, d))
    assert fit_isolation(fit, 3).score(today) == pytest.approx(expected, rel=1e-6)


def test_a_comparison_with_the_float32_below_says_the_same() -> None:
    cuts = np.random.default_rng(0).normal(5, 3, 1000)
    down = rounded_down(cuts)
    above, below = (np.nextafter(down, np.float32(side)) for side in (np.inf, -np.inf))
    for x in (down, above, below):
        assert np.array_equal(x.astype(np.float64) <= cuts, x <= down)


def test_the_mean_path_over_three_rows_is_twice_their_harmonic_number_less_four_thirds() -> None:
    # 2 (ln 2 + 0.577216) − 2 · 2 / 3
    assert average_length(np.array([0, 1, 2, 3])) == pytest.approx([0, 0, 1, 1.207392], abs=1e-6)
