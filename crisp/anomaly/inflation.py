"""How much more than by chance the days of an endpoint differ while all is well.

Requests of a day are not independent: load, neighbours and caches differ from day to day, and
slow requests come in bursts. Tests that take each request for a new draw would call every such
day a change. So the days of the reference are compared with each other by the same tests: by
chance alone the squares of their deviates average 1. What is above that is variance of a day
that no number of requests makes smaller.
"""

from __future__ import annotations

import math

import numpy as np

from crisp.anomaly.blocks import LEAST_BLOCKS, Deviates
from crisp.anomaly.vectors import Flags, Floats, Ints

_FEW_TESTS = 6
_TRIMMED = 0.1
"""Share of the largest squares that is left out: days that were faulty themselves."""
_ROUNDS = 20


def inflations(found: Deviates, sizes: Floats, of_day: int) -> Floats:
    """(g,) variance of each test of the day, in that of chance; at least 1.

    ``sizes`` (g,) is n * m / (n + m) for n values of the day and m of the reference. A block
    deviates by chance, and by an effect of its own with variance t² in units of that of one
    value: the expected square is 1 + t² · weight · b / (b - 1). The mean square of a test tells
    t², drawn towards what the other tests of the endpoint let expect, see `_expected`; the day
    then varies 1 + t² · sizes · (1 / of_day + 1 / b) times as much as by chance. The largest
    tenth of the squares is left out, for faulty days, and made up for as for squares of normal
    deviates, which is exact for effects that are normal.
    """
    used = found.weight > 0
    squares = np.where(used, found.square, np.nan)
    b = used.sum(axis=1)
    enough = b >= LEAST_BLOCKS
    weight = np.full(len(b), _typical(found.weight))
    weight[enough] = found.weight[enough].sum(axis=1) / b[enough]
    times = enough & (found.response > 0)
    own = _trimmed_means(squares)
    mean = _expected(squares, own, weight * found.response, times)
    for family in (times, enough & ~times):
        mean[family] = _drawn_together(own[family], b[family], mean[family])
    known = np.where(enough, b, max(squares.shape[1], 2)).astype(np.float64)
    effect = (mean - 1) / weight * (known - 1) / known
    result: Floats = 1 + effect * sizes * (1 / max(of_day, 1) + 1 / known)
    return result


def _expected(squares: Floats, own: Floats, lever: Floats, times: Flags) -> Floats:
    """(g,) the mean square that the other tests of the endpoint let expect of each, at least 1.

    A day makes all paths slower or faster by a share of like size. So in tests of ``times`` the
    mean square is 1 + c · ``lever``, the more the less a path's times vary otherwise. Shares
    tell of each other where there are several, else all tests do.
    """
    shares = ~times & ~np.isnan(squares).all(axis=1)
    several = int(shares.sum()) >= _FEW_TESTS
    pooled = max(_pooled(squares[shares] if several else squares), 1.0)
    expected = np.full(len(squares), pooled)
    if times.any():
        slope = _slope(squares[times], own[times], lever[times])
        expected[times] = 1 + slope * lever[times]
    return expected


def _slope(squares: Floats, own: Floats, lever: Floats) -> float:
    """c, and one standard error of it, at least 0, where squares average 1 + c · lever; ``own``
    are their means.

    The deviation of a square is as large as its mean, so each counts 1 / mean² (the likelihood
    equation of a gamma distribution with this mean). A path whose mean is more than two
    deviations above that counts as if it were just there: it has days of its own. The standard
    error is that over blocks: all paths may share what a day does to them.
    """
    heard = ~np.isnan(squares)
    far = 1 + 2 * np.sqrt(2 / heard.sum(axis=1))
    slope, found = max(float(np.median((own - 1) / lever)), 0.0), 0.0
    for _ in range(_ROUNDS):
        expected = 1 + slope * lever
        counts = lever / expected**2
        down = np.minimum(1, far * expected / np.maximum(own, 1))
        found = float(counts @ (own * down - 1) / (counts @ lever))
        slope = max(found, 0.0)
    known = heard.any(axis=0)
    of_block = (counts @ np.where(heard, squares * down[:, None] - 1, 0.0))[known]
    return max(found + _standard_error(of_block / (counts * lever @ heard)[known]), 0.0)


def _pooled(squares: Floats) -> float:
    """The mean of all squares and one standard error of it: a mean of so few blocks may be too
    small, and then the endpoint would cry wolf."""
    mean = float(_trimmed_means(squares.reshape(1, -1))[0])
    heard = squares[:, ~np.isnan(squares).all(axis=0)]
    return mean + (_standard_error(np.nanmean(heard, axis=0)) if heard.size else 0.0)


def _standard_error(of_block: Floats) -> float:
    """Of the mean over blocks, without the largest tenth; 0 where they are too few."""
    count = len(of_block)
    if count < LEAST_BLOCKS:
        return 0.0
    kept = np.sort(of_block)[: count - int(count * _TRIMMED)]
    return float(kept.std(ddof=1)) / math.sqrt(count)


def _drawn_together(own: Floats, b: Ints, expected: Floats) -> Floats:
    """(g,) the mean square that a test is taken to have, at least what is expected of it.

    A mean of b squares is off by a share of root 2 / b, even where it is what is expected. Where
    the means of an endpoint's tests are off by no more than that, the expected ones serve; the
    more they are, the more each test's own counts (empirical Bayes, with moments). Few tests
    cannot tell.
    """
    if len(own) < _FEW_TESTS:
        alone: Floats = np.maximum(own * (1 + np.sqrt(2 / b)), expected)
        return alone
    over = own / expected - 1
    chance = float(np.mean(2 / b))
    beyond = max(float(np.var(over)) - chance, 0.0)
    return expected * (1 + np.maximum(over, 0) * beyond / (beyond + chance))


def _typical(weight: Floats) -> float:
    some = weight[weight > 0]
    return float(some.mean()) if len(some) else 1.0


def _trimmed_means(squares: Floats) -> Floats:
    """Means of rows over what is not NaN, without the largest tenth, as if all were there; 1
    for rows without any."""
    from scipy.special import gammainc, gammaincinv

    count = (~np.isnan(squares)).sum(axis=1)
    kept = count - np.floor(count * _TRIMMED)
    ordered = np.sort(squares, axis=1)  # NaN last
    sums = np.where(np.arange(squares.shape[1]) < kept[:, None], ordered, 0.0).sum(axis=1)
    share = kept / np.maximum(count, 1)
    border = gammaincinv(0.5, np.clip(share, 0, 1))  # half of the square, of one degree
    left = np.where(share < 1, gammainc(1.5, border), 1.0)
    means = np.ones(len(count))
    np.divide(sums, np.maximum(count, 1) * left, out=means, where=count > 0)
    return means
