"""How much more than by chance the days of an endpoint differ while all is well.

Requests of a day are not independent: load, neighbours and caches differ from day to day, and
slow requests come in bursts. Tests that take each request for a new draw would call every such
day a change. So the days of the reference are compared with each other by the same tests: by
chance alone the squares of their deviates average 1. What is above that is variance of a day
that no number of requests makes smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crisp.anomaly.rank import Ranks
from crisp.anomaly.vectors import Floats, Ints, spread

DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
LEAST_BLOCKS = 5
_LEAST_VALUES = 5
"""Values that a block must have, and leave, to be compared."""
_FEW_TESTS = 6
_TRIMMED = 0.1
"""Share of the largest squares that is left out: days that were faulty themselves."""


def comparable(reference: int, days: int, today: int, least: int) -> Ints:
    """Rows of the day, evenly over it, that are compared: twice as many as the reference has of
    a day, at least ``least``. What days do to more than that can't be told from the reference.
    """
    return spread(today, max(math.ceil(2 * reference / max(days, 1)), least))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Stretches of time that the reference is cut into."""

    of_row: Ints
    """(n,) block of each trace"""
    count: int
    """b; at least `LEAST_BLOCKS`, or 1"""
    of_day: int
    """such stretches in the day that is compared"""


def blocks(reference_us: Ints, today_us: Ints) -> Blocks:
    """Days when the reference has at least five, else hours, else stretches of ten minutes; of the
    starts of traces. One block where even these are fewer than five: it says nothing."""
    for length_us in (DAY_US, _HOUR_US, _HOUR_US // 6):
        found, of_row = np.unique(reference_us // length_us, return_inverse=True)
        if len(found) >= LEAST_BLOCKS:
            of_day = len(np.unique(today_us // length_us))
            return Blocks(of_row=of_row.astype(np.int64), count=len(found), of_day=of_day)
    return Blocks(of_row=np.zeros(len(reference_us), np.int64), count=1, of_day=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviates:
    """What blocks differ by, for ``g`` tests; 0 where ``used`` is not set."""

    square: Floats
    """(g, b) square of the deviate of a block against all others"""
    weight: Floats
    """(g, b) values of the block times those of the others over both: 1 / its variance"""


def rank_deviates(ranked: Ranks, block: Ints, count: int) -> Deviates:
    """Of rank sums; ``block`` is that of each value."""
    groups = len(ranked.size)
    place = ranked.group * count + block
    shape = (groups, count)
    n = np.bincount(place, minlength=groups * count).reshape(shape).astype(np.float64)
    sums = np.bincount(place, ranked.centred, groups * count).reshape(shape).astype(np.float64)
    variance = ranked.sums(ranked.centred**2) / np.maximum(ranked.size - 1.0, 1)
    return _deviates(sums, n, ranked.size.astype(np.float64)[:, None], variance[:, None])


def count_deviates(marked: Floats, rows: Floats) -> Deviates:
    """Of shares; ``marked`` is (g, b) traces of each block that have something, ``rows`` (b,)
    all of them."""
    total = rows.sum()
    every = marked.sum(axis=1, keepdims=True)
    share = every / total
    variance = total / max(total - 1, 1) * share * (1 - share)
    return _deviates(marked - share * rows, np.broadcast_to(rows, marked.shape), total, variance)


def _deviates(sums: Floats, n: Floats, total: Floats | float, variance: Floats) -> Deviates:
    rest = total - n
    used = (n >= _LEAST_VALUES) & (rest >= _LEAST_VALUES) & (variance > 0)
    weight = np.where(used, n * rest / total, 0.0)
    square = np.zeros(weight.shape)
    np.divide(sums**2, weight * variance, out=square, where=used)
    return Deviates(square=square, weight=weight)


def together(parts: list[Deviates]) -> Deviates:
    """Those of several kinds of test under each other."""
    return Deviates(
        square=np.concatenate([part.square for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
    )


def inflations(found: Deviates, sizes: Floats, of_day: int) -> Floats:
    """(g,) variance of each test of the day, in that of chance; at least 1.

    ``sizes`` (g,) is n * m / (n + m) for n values of the day and m of the reference. A block
    deviates by chance, and by an effect of its own with variance t² in units of that of one
    value: the expected square is 1 + t² · weight · b / (b - 1). The mean square of a test tells
    t², drawn towards that of all tests as `_drawn_together` says; the day then varies
    1 + t² · sizes · (1 / of_day + 1 / b) times as much as by chance. The largest tenth of the
    squares is left out, for faulty days, and made up for as for squares of normal deviates,
    which is exact for effects that are normal.
    """
    used = found.weight > 0
    squares = np.where(used, found.square, np.nan)
    b = used.sum(axis=1)
    enough = b >= LEAST_BLOCKS
    pooled = _pooled(squares)
    above = np.full(len(b), max(pooled, 1.0) - 1)
    own = _trimmed_means(squares[enough])
    above[enough] = np.maximum(_drawn_together(own, b[enough], pooled), 1) - 1
    known = np.where(enough, b, max(squares.shape[1], 2)).astype(np.float64)
    weight = np.full(len(b), _typical(found.weight))
    weight[enough] = found.weight[enough].sum(axis=1) / b[enough]
    effect = above / weight * (known - 1) / known
    result: Floats = 1 + effect * sizes * (1 / max(of_day, 1) + 1 / known)
    return result


def _pooled(squares: Floats) -> float:
    """The mean square of all tests of an endpoint and one standard error of it: a mean of so few
    blocks may be too small, and then the endpoint would cry wolf."""
    mean = float(_trimmed_means(squares.reshape(1, -1))[0])
    heard = squares[:, ~np.isnan(squares).all(axis=0)]
    count = heard.shape[1]
    if count < LEAST_BLOCKS:
        return mean
    of_block = np.sort(np.nanmean(heard, axis=0))[: count - int(count * _TRIMMED)]
    return mean + float(of_block.std(ddof=1)) / math.sqrt(count)


def _drawn_together(own: Floats, b: Ints, pooled: float) -> Floats:
    """(g,) the mean square that a test is taken to have, at least that of all of them.

    A mean of b squares is off by a share of root 2 / b, even where nothing differs. Where the
    means of an endpoint's tests vary no more than that, the one of all serves; the more they
    do, the more each test's own counts (empirical Bayes, with moments). Few tests cannot tell.
    """
    if len(own) < _FEW_TESTS or pooled <= 0:
        alone: Floats = np.maximum(own * (1 + np.sqrt(2 / b)), pooled)
        return alone
    chance = float(np.mean(2 / b))
    beyond = max(float(np.var(own / pooled)) - chance, 0.0)
    return np.maximum(pooled + (own - pooled) * beyond / (beyond + chance), pooled)


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
