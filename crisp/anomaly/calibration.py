"""From scores to the share of normal traces that score as high, and what can't be said of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crisp.anomaly.sparse import row_largest
from crisp.anomaly.vectors import Flags, Floats, Ints, Vectors

_AT_ONCE = 2_000_000
"""Pairs of a trace and a calibration trace whose kernels are held in memory."""


def conformal(calibration: Floats, scores: Floats) -> Floats:
    """(n,) conformal p-values, (1 + how many of ``calibration`` are ≥ the score) / (len + 1).

    ``calibration`` ascends and holds scores of traces that the score was not fitted on. If a
    normal trace is exchangeable with these, p ≤ a happens with a chance of at most a, for every
    a. Ties count against the finding. No p is below 1 / (len + 1). (Vovk and others 2005; the
    paper's own p-values are in `density_p`.)
    """
    as_high = len(calibration) - np.searchsorted(calibration, scores, side="left")
    return np.asarray((1.0 + as_high) / (len(calibration) + 1.0), np.float64)


def conformal_words(p: Floats, calibration: int, alpha: float) -> list[str]:
    """(n,) how each p-value came about. Those that are as small as p can be say so where that
    is above ``alpha``, and how many calibration traces would be enough."""
    words = f"conformal, {calibration:,} traces"
    needed = least_calibration(alpha)
    if calibration >= needed:
        return [words] * len(p)
    at_floor = f"{words}, at its floor: {alpha:g} needs {needed:,}"
    return [at_floor if low else words for low in (p * (calibration + 1) < 1.5).tolist()]


def least_calibration(alpha: float) -> int:
    """Calibration traces with which the smallest conformal p-value is at most ``alpha``."""
    return math.ceil(1 / alpha - 1e-9) - 1


def density_p(calibration: Floats, scores: Floats) -> Floats:
    """(n,) the paper's p-values (4.6.5): lower tail of a Gaussian kernel density over the
    log-likelihoods of normal traces, bandwidth by Scott's rule.

    Scores are negative log-likelihoods, so the tail is the upper one of the scores. Calibration
    scores that are all the same are a density of width 0: p is 1 up to there and 0 above, as
    its limit.
    """
    from scipy.special import ndtr

    n = len(calibration)
    width = float(np.std(calibration, ddof=1)) * n**-0.2 if n > 1 else 0.0
    if width <= 1e-12 * max(1.0, float(np.abs(calibration).max())):
        return np.where(scores <= calibration.max(), 1.0, 0.0)
    rows = max(1, _AT_ONCE // n)
    parts = [
        ndtr((calibration - scores[start : start + rows, None]) / width).mean(axis=1)
        for start in range(0, len(scores), rows)
    ]
    found: Floats = np.concatenate([*parts, np.empty(0)])
    return found


def tail_rank(calibration: int, alpha: float) -> int:
    """Traces with p ≤ tail_rank / (calibration + 1) are the small p-values of an endpoint: the
    largest rank that keeps to ``alpha``, but at least 1, the smallest p there is."""
    return max(1, math.floor(alpha * (calibration + 1) + 1e-9))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Scores of traces that the score was not fitted on, and how p-values are made of them."""

    scores: Floats
    """(n,) ascending; none if there were too few traces to keep any back"""
    alpha: float
    density: bool
    """the paper's way, `density_p`, instead of `conformal`"""

    def p(self, scores: Floats) -> Floats:
        """(len(scores),) p-values; 1 without calibration scores."""
        if self.density and len(self.scores):
            return density_p(self.scores, scores)
        return conformal(self.scores, scores)

    def words(self, p: Floats) -> list[str]:
        """(len(p),) how each p-value came about."""
        if not len(self.scores):
            return ["too few traces to keep some back for p-values"] * len(p)
        if self.density:
            return [f"kernel density, {len(self.scores):,} traces"] * len(p)
        return conformal_words(p, len(self.scores), self.alpha)

    @property
    def level(self) -> float:
        """p-values up to here are small: alpha, or where the smallest there is is above alpha,
        that one."""
        if self.density:
            return self.alpha
        return tail_rank(len(self.scores), self.alpha) / (len(self.scores) + 1)

    @property
    def rank(self) -> int:
        """``k_cal`` of `beta_binomial_tail` for counts of p-values up to `level`. Of a density,
        whose threshold no rank decides: the calibration scores at or beyond it, and one more."""
        if not self.density or not len(self.scores):
            return tail_rank(len(self.scores), self.alpha)
        return 1 + int((self.p(self.scores) <= self.alpha).sum())

    def small(self, p: Floats) -> Flags:
        """(n,) p-values up to `level`."""
        return np.asarray(p <= self.level * (1 + 1e-9), np.bool_)


def lone_paths(vectors: Vectors) -> Floats:
    """(n,) 1.0 where a trace has a call path that no other of these has, else 0.0. Their mean is
    the Good–Turing estimate (leave one out) of how often the next trace has a new path."""
    _, place, counts = np.unique(vectors.path_id, return_inverse=True, return_counts=True)
    return row_largest(vectors.edges, (counts[place] == 1).astype(np.float64), 0.0)


def beta_binomial_tail(
    k_test: npt.ArrayLike, n_test: npt.ArrayLike, k_cal: npt.ArrayLike, n_cal: npt.ArrayLike
) -> Floats:
    """P(K ≥ k_test) for K ~ BetaBinomial(n_test; k_cal, n_cal + 1 − k_cal), of any shape.

    The chance that so many of ``n_test`` normal traces score above the ``k_cal``-th largest of
    ``n_cal`` calibration scores: the threshold is itself a draw, which a binomial tail would
    take for the truth. ``k_cal`` is at least 1, see `tail_rank`.

    K ≥ k says that of the k + k_cal − 1 largest of all n_test + n_cal scores fewer than k_cal
    are calibration's. So the tail is one of a hypergeometric distribution, a sum of k_cal
    positive terms, added up in logarithms: small tails are exact to about 1e-10 of themselves,
    down to 1e-300; below that they are 0.
    """
    from scipy.special import gammaln

    k, n, rank, rows = (
        np.asarray(a, np.int64).ravel() for a in np.broadcast_arrays(k_test, n_test, k_cal, n_cal)
    )
    shape = np.broadcast_shapes(*(np.shape(a) for a in (k_test, n_test, k_cal, n_cal)))
    drawn = k + rank - 1
    terms = np.minimum(rank, rows + 1)
    case = np.repeat(np.arange(len(k)), terms)
    i = np.arange(len(case)) - np.repeat(np.cumsum(terms) - terms, terms)

    def choose(of: Ints, some: Ints) -> Floats:
        inside = (some >= 0) & (some <= of)
        some = np.where(inside, some, 0)
        logs = gammaln(of + 1.0) - gammaln(some + 1.0) - gammaln(of - some + 1.0)
        return np.where(inside, logs, -np.inf)

    logs = choose(rows[case], i) + choose(n[case], drawn[case] - i)
    logs -= choose(n + rows, drawn)[case]
    highest = np.full(len(k), -np.inf)
    np.maximum.at(highest, case, logs)
    base = np.where(np.isfinite(highest), highest, 0.0)
    sums = np.bincount(case, np.exp(logs - base[case]), minlength=len(k))
    tails = np.where(k <= 0, 1.0, np.minimum(sums * np.exp(base), 1.0))
    return np.where(k > n, 0.0, tails).reshape(shape)
