from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from crisp.anomaly import projection
from crisp.anomaly.projection import fit_projection
from tests.anomaly.test_detectors import encoded, many


def test_the_error_is_what_ten_components_leave_of_a_dense_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(projection, "_COMPONENTS", 4)
    fit, today = encoded(many(400), many(50, seed=6))
    dense, dense_today = (np.log1p(rows.time_us.toarray()) for rows in (fit, today))
    std = np.maximum(dense.std(axis=0), 0.2)
    pca = PCA(n_components=4, svd_solver="full").fit(dense / std)
    again = pca.inverse_transform(pca.transform(dense_today / std))
    expected = np.linalg.norm(dense_today / std - again, axis=1)
    assert fit_projection(fit, 0).score(today) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_wide_rows_find_the_same_components_by_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "_COMPONENTS", 3)
    fit, today = encoded(many(400), many(50, seed=6))
    at_once = fit_projection(fit, 0).score(today)
    monkeypatch.setattr(projection, "_DENSE_COLUMNS", 1)
    assert fit_projection(fit, 0).score(today) == pytest.approx(at_once, rel=1e-4, abs=1e-4)
