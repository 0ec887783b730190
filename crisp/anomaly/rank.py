"""Rank tests of many groups at once, and what a p-value becomes when days differ anyway."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.anomaly.vectors import Flags, Floats, Ints

LEAST_P = 1e-300
"""Smaller chances are given as this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Values of ``g`` groups as ranks within their group, in the order of the values."""

    group: Ints
    """(n,) 0 to g - 1"""
    size: Ints
    """(g,) values of each"""
    centred: Floats
    """(n,) rank less the mean rank of the group; ties share the mean of theirs"""
    order: Ints
    """(n,) numbers of the values, by group and then by value"""
    gap: Floats
    """(g,) smallest difference of two ranks; 0 where all values are one"""

    def sums(self, weights: Floats) -> Floats:
        """(g,) sum of one number a value."""
        found: Floats = np.bincount(self.group, weights, len(self.size)).astype(np.float64)
        return found


def in_order(group: Ints, value: Ints) -> Ints:
    """(n,) numbers of the values, by group and then by value; values are not negative. The
    order of equal ones is any."""
    span = int(value.max(initial=0)) + 1
    if (int(group.max(initial=0)) + 1) * span < 2**63:
        return np.argsort(group * span + value)  # one key sorts several times as fast as two
    return np.lexsort((value, group))


def ranks(group: Ints, value: Ints, groups: int) -> Ranks:
    """Rank the values of each group among themselves."""
    size = np.bincount(group, minlength=groups)
    order = in_order(group, value)
    ordered_group, ordered = group[order], value[order]
    new_group = np.diff(ordered_group, prepend=-1) != 0
    new = new_group | (np.diff(ordered, prepend=0) != 0)
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=len(value))
    first = np.concatenate(([0], np.cumsum(size)))[:-1]
    tied_group = ordered_group[starts]
    tied = starts - first[tied_group] + (lengths + 1) / 2 - (size[tied_group] + 1) / 2
    centred = np.empty(len(value))
    centred[order] = np.repeat(tied, lengths)
    gap = np.full(groups, np.inf)
    within = np.flatnonzero(~new_group[starts])  # runs that follow another one of their group
    np.minimum.at(gap, tied_group[within], tied[within] - tied[within - 1])
    gap = np.where(np.isinf(gap), 0.0, gap)
    return Ranks(group=group, size=size, centred=centred, order=order, gap=gap)


def rank_tests(ranked: Ranks, chosen: Flags) -> Floats:
    """(g,) chance that the ``chosen`` values of a group differ so from its others, two-sided.

    The Mann-Whitney test with correction for ties: of all ways to choose as many values, how
    many give a rank sum as far from its mean? The answer is taken from a normal distribution
    with the exact variance. Where ties make the rank sum skew, as when nearly all values are 0,
    the longer tail is that of a Pearson type III distribution with the exact variance and
    skewness, if that is larger. 1 where there is nothing to compare.
    """
    from scipy.special import gammaincc, ndtr

    total = ranked.size.astype(np.float64)
    n = ranked.sums(chosen.astype(np.float64))
    rest = total - n
    second = ranked.sums(ranked.centred**2)
    third = ranked.sums(ranked.centred**3)
    tested = (n > 0) & (rest > 0) & (second > 0)
    p = np.ones(len(total))
    n, rest, total = n[tested], rest[tested], total[tested]
    deviation = np.sqrt(n * rest / (total * (total - 1)) * second[tested])
    found = ranked.sums(np.where(chosen, ranked.centred, 0.0))[tested]
    far = np.maximum(np.abs(found) - ranked.gap[tested] / 2, 0) / deviation
    one_sided = ndtr(-far)
    scale = n * rest * (rest - n) / (total * (total - 1) * np.maximum(total - 2, 1))
    skewness = scale * third[tested] / deviation**3 * np.sign(found)
    skew = skewness > 1e-3  # a normal distribution, for all that can be told
    shape = 4 / skewness[skew] ** 2
    one_sided[skew] = np.maximum(
        one_sided[skew], gammaincc(shape, shape + far[skew] * np.sqrt(shape))
    )
    p[tested] = np.clip(2 * one_sided, LEAST_P, 1)
    return p


def deflated(p: Floats, inflation: Floats, blocks: int) -> Floats:
    """p-values where statistics vary ``inflation`` times as much as chance alone explains.

    Each p is taken as that of a normal deviate, which is divided by the root of the inflation.
    The part above 1 was estimated from ``blocks`` blocks of time, so the new chance is that of
    Student's t with the degrees of freedom of Satterthwaite (1946): many where the inflation
    is near 1, blocks - 1 where it is large.
    """
    from scipy.special import ndtri_exp, stdtr

    above = inflation - 1
    more = above > 0
    deviate = -ndtri_exp(np.log(np.maximum(p[more], LEAST_P)) - np.log(2))
    freedom = np.minimum((inflation[more] / above[more]) ** 2 * (blocks - 1), 1e6)
    result = p.copy()
    found = 2 * stdtr(freedom, -np.maximum(deviate, 0) / np.sqrt(inflation[more]))
    result[more] = np.clip(found, np.maximum(p[more], LEAST_P), 1)
    return result
