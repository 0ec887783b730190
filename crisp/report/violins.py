"""Distributions of time by a property of hosts: quantiles, densities, and a test of difference.

Numbers only. An observation counts with its weight where something is said about all traces; the
test counts each once, because traces are kept by latency alone: if hosts made no difference, they
would make none among the kept ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from crisp.report.columns import Floats, Ints

POINTS = 64
"""Places along the axis at which a density is given."""

_BINS_A_POINT = 2
_NARROWEST = 0.02  # decades, 5 %: what a kernel is at least wide, or equal times had no width
_REACH = 3.0  # bandwidths beyond the outermost observation


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of times on the scale of `log_time`."""

    low: float
    high: float

    @property
    def lowest_us(self) -> float:
        """The time at the lower end."""
        return math.pow(10, self.low) - 1

    @property
    def highest_us(self) -> float:
        """The time at the upper end."""
        return math.pow(10, self.high) - 1

    def at(self, time_us: float) -> float:
        """Where a time lies, 0 at the lower end and 1 at the upper."""
        return (math.log10(time_us + 1) - self.low) / (self.high - self.low)


def log_time(time_us: Floats) -> Floats:
    """``log10(time + 1)``, time in microseconds: 0 for no time at all."""
    found: Floats = np.log10(time_us + 1)
    return found


def weighted_quantiles(values: Floats, weights: Floats, wanted: Floats) -> Floats:
    """Quantiles by linear interpolation between the sorted values, one for each of ``wanted``.

    The i-th smallest value, of weight w_i and with W_i = w_1 + … + w_i, is the quantile at
    ``(W_i - (w_i + w_1) / 2) / (W_n - (w_n + w_1) / 2)``: the smallest is the quantile 0, the
    largest is 1, and with equal weights this is numpy's default. Ties keep their order, which
    does not matter as their value is the same.
    """
    order = np.argsort(values, kind="stable")
    ascending, weight = values[order], weights[order]
    place = np.cumsum(weight) - (weight + weight[0]) / 2
    return np.asarray(np.interp(wanted * place[-1], place, ascending), dtype=np.float64)


def bandwidth(log_times: Floats, weights: Floats, between_quartiles: float) -> float:
    """Silverman's rule, ``0.9 min(s, IQR / 1.34) n^(-1/5)``, on `log_time`; at least 0.02.

    s is the weighted standard deviation, without correction for its degrees of freedom; n is
    Kish's effective number of observations, ``(Σw)² / Σw²``. Where the quartiles meet, s counts
    alone. (Silverman, Density Estimation, 1986, equation 3.31.)
    """
    total = float(weights.sum())
    mean = float(weights @ log_times) / total
    deviation = math.sqrt(float(weights @ (log_times - mean) ** 2) / total)
    spread = min(deviation, between_quartiles / 1.34) if between_quartiles > 0 else deviation
    effective = total**2 / float(weights @ weights)
    return max(0.9 * spread / math.pow(effective, 0.2), _NARROWEST)


def axis_of(groups: list[Floats], widths: list[float]) -> Axis:
    """The range of all groups on `log_time`, three bandwidths beyond them, from 0 on."""
    low = min(float(g.min()) - _REACH * h for g, h in zip(groups, widths, strict=True))
    high = max(float(g.max()) + _REACH * h for g, h in zip(groups, widths, strict=True))
    return Axis(max(low, 0.0), high)


def density(log_times: Floats, weights: Floats, width: float, axis: Axis) -> Floats:
    """Gaussian kernel density at POINTS places from end to end of the axis, (POINTS,); peak 1.

    All times lie inside the axis. They are counted into bins twice as fine as the places, each
    shared between the two bins around it; a kernel narrower than a bin is as wide as one.
    """
    bins = _BINS_A_POINT * (POINTS - 1) + 1
    step = (axis.high - axis.low) / (bins - 1)
    place = (log_times - axis.low) / step
    left = place.astype(np.int64)
    part = place - left
    counted = np.bincount(left, weights * (1 - part), bins)
    counted += np.bincount(left + 1, weights * part, bins)
    away = step * np.arange(1 - bins, bins)
    kernel = np.exp(-0.5 * (away / max(width, step)) ** 2)
    found = np.convolve(counted, kernel)[bins - 1 : 2 * bins - 1 : _BINS_A_POINT]
    return np.asarray(found / found.max(), dtype=np.float64)


def kruskal_wallis(values: Floats, group: Ints, groups: int) -> float:
    """Probability of so different ranks in 2 or more groups if they were all alike.

    H with its correction for ties against chi-squared with ``groups - 1`` degrees of freedom;
    of two groups it is the Mann-Whitney test, normal approximation without correction for
    continuity. 1 where all values are equal. Every group has a value.
    """
    distinct, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) == 1:
        return 1.0
    n = len(values)
    rank = (np.cumsum(ties) - (ties - 1) / 2)[place]
    sums = np.bincount(group, rank, groups)
    counts = np.bincount(group, minlength=groups)
    h = 12 / (n * (n + 1)) * (sums**2 / counts).sum() - 3 * (n + 1)
    correction = 1 - (ties.astype(np.float64) ** 3 - ties).sum() / (float(n) ** 3 - n)
    return float(chdtrc(groups - 1, max(h / correction, 0.0)))


def holm(p_values: list[float]) -> list[float]:
    """Each probability adjusted for all of them, in their order (Holm 1979).

    The chance that any of the comparisons below 0.05 is there by accident is below 0.05.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: (p_values[i], i))):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[i]))
        adjusted[i] = highest
    return adjusted
