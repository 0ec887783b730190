"""Stretches of time that the days before are cut into, and how far each is from the others."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from crisp.anomaly.rank import ranks
from crisp.anomaly.vectors import Floats, Ints, spread

DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000
LEAST_BLOCKS = 5
_LEAST_VALUES = 5
"""Values that a block must have, and leave, to be compared."""
_NORMAL_QUARTILES = 1.349
"""Distance of the quartiles of a normal distribution, in standard deviations."""


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
    response: Floats
    """(g,) how far values answer to a day that takes a share longer: 1 / s², s the standard
    deviation of their logarithms; 0 where they are shares, or that is unknown"""


def rank_deviates(group: Ints, value: Ints, groups: int, parts: Blocks, row: Ints) -> Deviates:
    """Of rank sums; ``row`` (n,) is the trace of the reference that each value is of."""
    ranked = ranks(group, value, groups)
    place = group * parts.count + parts.of_row[row]
    shape = (groups, parts.count)
    n = np.bincount(place, minlength=groups * parts.count).reshape(shape).astype(np.float64)
    sums = np.bincount(place, ranked.centred, groups * parts.count).reshape(shape)
    variance = ranked.sums(ranked.centred**2) / np.maximum(ranked.size - 1.0, 1)
    total = ranked.size.astype(np.float64)[:, None]
    found = _deviates(sums.astype(np.float64), n, total, variance[:, None])
    return replace(found, response=_response(value[ranked.order], ranked.size))


def _response(ordered_value: Ints, size: Ints) -> Floats:
    """From quartiles, as if logarithms were normal: few very slow ones must not tell. Values come
    by group and then in their order, ``size`` (g,) are those of each."""
    ordered = np.log1p(ordered_value)
    first = np.cumsum(size) - size
    some = size > 0
    quartiles = np.zeros((2, len(size)))
    for side, share in zip(quartiles, (0.25, 0.75), strict=True):
        side[some] = ordered[(first + (size * share).astype(np.int64))[some]]
    width = (quartiles[1] - quartiles[0]) / _NORMAL_QUARTILES
    response = np.zeros(len(size))
    np.divide(1, width**2, out=response, where=width > 0)
    return response


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
    return Deviates(square=square, weight=weight, response=np.zeros(len(weight)))


def together(parts: list[Deviates]) -> Deviates:
    """Those of several kinds of test under each other."""
    names = [field.name for field in fields(Deviates)]
    return Deviates(**{name: np.concatenate([getattr(p, name) for p in parts]) for name in names})
