"""Exact tests of counts, many at once, in logarithms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crisp.anomaly.rank import LEAST_P
from crisp.anomaly.vectors import Floats

_ENOUGH = 1e-16
"""Terms of a sum that are smaller, as a share of it, change nothing."""


def exact_tests(
    k: npt.ArrayLike, n: npt.ArrayLike, marked: npt.ArrayLike, total: npt.ArrayLike
) -> Floats:
    """Chance to find so many marked ones or a number as unlikely, two-sided (Fisher).

    Of ``total`` traces ``marked`` have something; of ``n`` that were drawn ``k`` have it. The
    smaller tail of the hypergeometric distribution, ``k`` included, is doubled, at most 1.
    Arguments are broadcast; 0 <= k <= min(n, marked) and n, marked <= total must hold.
    """
    k, n, marked, total = (
        np.ravel(a) for a in np.broadcast_arrays(*map(_doubles, (k, n, marked, total)))
    )
    above = k * total >= n * marked
    tail = _tail(  # as many have it as n - k have it not
        np.where(above, k, n - k), n, np.where(above, marked, total - marked), total
    )
    return np.clip(2 * tail, LEAST_P, 1)


def _tail(k: Floats, n: Floats, marked: Floats, total: Floats) -> Floats:
    """P(K >= k) for ``k`` at or above the mean, so that the terms of the sum fall."""
    from scipy.special import gammaln

    def choose(a: Floats, b: Floats) -> Floats:
        found: Floats = gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)
        return found

    rest = total - marked
    first = choose(marked, k) + choose(rest, n - k) - choose(total, n)
    factor, term, at = np.ones(len(k)), np.ones(len(k)), k.copy()
    most = np.minimum(n, marked)
    while np.any(going := (at < most) & (term > _ENOUGH * factor)):
        ratio = (marked - at) * (n - at) / ((at + 1) * (rest - n + at + 1))
        term = np.where(going, term * ratio, 0.0)
        factor = factor + term
        at = at + 1
    result: Floats = np.exp(np.minimum(first + np.log(factor), 0))
    return result


def _doubles(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, np.float64)
