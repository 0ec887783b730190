"""Distance of a trace from the first principal components of normal ones (scikit-learn)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crisp.anomaly.detector import Frozen
from crisp.anomaly.vectors import Floats
from crisp.anomaly.vocabulary import Encoded

_COMPONENTS = 10
_LEAST_STD = 0.2
_DENSE_COLUMNS = 1_000
"""Up to here all components of the covariance are found at once; above, the first by iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Reconstruction error of standardised log times, absent = 0."""

    name: ClassVar[str] = "pca"
    scale: Floats
    """(d,) 1 / std of log(1 + µs) over the fit rows, std ≥ 0.2"""
    mean: Floats
    """(d,) of the scaled columns"""
    components: Floats
    """(k, d) orthonormal rows"""

    def score(self, rows: Encoded) -> Floats:
        """(n,) root of the sum of squares that the components leave over.

        ‖x − m‖² − ‖V(x − m)‖² with the squares of x − m written out, so that no row is held
        with all its absent columns.
        """
        scaled = scaled_logs(rows.time_us, self.scale)
        squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        squares = squares - 2.0 * (scaled @ self.mean) + self.mean @ self.mean
        along = scaled @ self.components.T - self.components @ self.mean
        left: Floats = np.sqrt(np.maximum(squares - (along * along).sum(axis=1), 0.0))
        return left

    def freeze(self) -> Frozen:
        """Its arrays; components in half the bytes."""
        arrays = {"scale": self.scale, "mean": self.mean, "components": self.components}
        return Frozen(about={}, arrays={k: a.astype(np.float32) for k, a in arrays.items()})


def fit_projection(rows: Encoded, seed: int) -> Projection:
    """The first ten components, or as many as there can be.

    All numbers are rounded to float32, as they are stored: a thawed model is the same model.
    """
    from sklearn.decomposition import PCA

    n, d = rows.time_us.shape
    std, _ = _spread(rows.time_us)
    scale = (1.0 / np.maximum(std, _LEAST_STD)).astype(np.float32).astype(np.float64)
    scaled = scaled_logs(rows.time_us, scale)
    count = min(_COMPONENTS, n - 1, d - 1)
    _, mean = _spread(rows.time_us)
    components = np.empty((0, d))
    if count > 0 and std.any():
        solver = "covariance_eigh" if d <= _DENSE_COLUMNS else "arpack"
        fitted = PCA(n_components=count, svd_solver=solver, random_state=seed).fit(scaled)
        components = fitted.components_
    return Projection(
        scale=scale,
        mean=(mean * scale).astype(np.float32).astype(np.float64),
        components=np.ascontiguousarray(components, np.float32).astype(np.float64),
    )


def scaled_logs(times: Any, scale: Floats) -> Any:
    """(n, d) sparse: log(1 + µs) times the scale of the column."""
    from scipy.sparse import csr_array

    cells = np.log1p(times.data) * scale[times.indices]
    return csr_array((cells, times.indices, times.indptr), shape=times.shape)


def _spread(times: Any) -> tuple[Floats, Floats]:
    n, d = times.shape
    logs = np.log1p(times.data)
    mean = np.bincount(times.indices, logs, minlength=d) / max(n, 1)
    square = np.bincount(times.indices, logs * logs, minlength=d) / max(n, 1)
    return np.sqrt(np.maximum(square - mean * mean, 0.0)), mean


def thaw_projection(frozen: Frozen) -> Projection:
    """What `Projection.freeze` gave."""
    return Projection(**{k: a.astype(np.float64) for k, a in frozen.arrays.items()})
