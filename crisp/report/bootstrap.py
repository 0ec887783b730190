"""How far means over a group of traces stray, by a bootstrap over the traces that are kept whole.

Had the same requests come a second time, how far from here would the means lie? A kept trace stands
for ``weight`` traces, so it is drawn with a probability in proportion to that (bootstrap of a
pseudo-population: Gross 1980; Booth, Butler and Hall 1994), n of n at a time; the mean of n draws
strays sqrt(N / n) times as far as that of the N traces of the group. Weights cannot be left to the
mean instead: of kept traces of several bands the slow ones weigh least and stray most, and
intervals would come out too short.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crisp.report.columns import Floats, Ints

_TAIL = 0.025

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The kept traces of a group: n traces and m cells."""

    latency_us: Ints
    weight: Floats
    """traces each stands for, (n,), positive"""
    trace: Ints
    """which trace a cell is of, (m,); several cells may be of one trace and path"""
    path: Ints
    exclusive_us: Ints

    def __len__(self) -> int:
        return len(self.latency_us)


class Interval(NamedTuple):
    """Where a change may lie: 19 times of 20 it does, or with others like it all of them do."""

    low: float
    high: float

    @property
    def distance(self) -> float:
        """How far it stays away from 0, 0 where it holds it."""
        return max(self.low, -self.high, 0.0)


@dataclass(frozen=True, slots=True)
class Strayed:
    """How far the means of R replicates lie from those of the sample, for K call paths."""

    latency_us: Floats  # (R, 1)
    time_us: Floats  # (R, K)
    share: Floats  # (R, K): of the parts of the mean latency
    seen: Ints  # (K,): kept traces with the path


def strayed(
    sample: Sample, traces: int, paths: Ints, rng: np.random.Generator, replicates: int
) -> Strayed | None:
    """The replicates of a group of so many traces; None where fewer than 2 of them are kept.

    ``paths`` (K,) ascend. Groups need generators of their own: with the same draws for two groups,
    traces at the same place of both, which are sorted by latency, would come and go together.
    A sample strays less than what it is of, by 1 - sum p^2 for chances p, which is (n - 1) / n
    for equal ones; that is made up for (Hesterberg 2015: "narrowness bias").
    """
    n = len(sample)
    if n < 2:
        return None
    values, seen = _dense(sample, paths)
    chance = sample.weight / sample.weight.sum()
    means = _counts(chance, rng, replicates) @ values / n  # (R, 1 + K), the latency first
    center = chance @ values
    scale = np.sqrt(n / traces / (1.0 - chance @ chance))
    latency, time = means[:, :1], means[:, 1:]
    return Strayed(
        latency_us=(latency - center[:1]) * scale,
        time_us=(time - center[1:]) * scale,
        share=(parts(time, latency) - parts(center[1:], center[:1])) * scale,
        seen=seen,
    )


def deviations_for(compared: int) -> float:
    """Deviations to either side of so many changes that leave room for all of them 19 times of 20:
    1.96 for one alone; of 100 intervals so wide 5 would miss by chance (Bonferroni)."""
    return NormalDist().inv_cdf(1 - _TAIL / max(compared, 1))


def intervals(change: Floats, moved: Floats, deviations: float) -> tuple[Floats, Floats]:
    """Lower and upper ends, each (K,), for changes (K,) and how far replicates (R, K) move them.

    An end lies so many ``deviations`` away, each side by its own (root mean square of the moves to
    that side, of twice as many), as latencies stray further up than down. Quantiles would do for
    one change (Efron and Tibshirani 1993, chapter 13); those of 200 replicates do not reach the
    tails that many changes ask for, and the surest of many would be the one with the worst luck.
    """
    down = np.sqrt(2.0 * np.mean(np.minimum(moved, 0.0) ** 2, axis=0))
    up = np.sqrt(2.0 * np.mean(np.maximum(moved, 0.0) ** 2, axis=0))
    return change - deviations * down, change + deviations * up


def parts(time: Floats, latency: Floats) -> Floats:
    """Times as parts of a latency; of no latency all parts are 0."""
    return np.divide(time, latency, out=np.zeros(np.shape(time)), where=latency != 0)


def _dense(sample: Sample, paths: Ints) -> tuple[Floats, Ints]:
    """Latency and then the time of each path by trace, (n, 1 + K); traces with each path, (K,)."""
    n, k = len(sample), len(paths)
    place = np.searchsorted(paths, sample.path)
    inside = place < k
    inside[inside] = paths[place[inside]] == sample.path[inside]
    cell = sample.trace[inside] * k + place[inside]
    time = np.bincount(cell, weights=sample.exclusive_us[inside], minlength=n * k).reshape(n, k)
    return np.column_stack([sample.latency_us, time]), np.count_nonzero(time, axis=0)


def _counts(chance: Floats, rng: np.random.Generator, replicates: int) -> Floats:
    """How often each of n traces comes in n draws, (R, n); chances (n,) add up to 1."""
    n = len(chance)
    drawn = rng.random((replicates, n))
    if (chance == chance[0]).all():
        which = (drawn * n).astype(np.int64)
    else:
        which = np.searchsorted(np.cumsum(chance), drawn, side="right")
    which = np.minimum(which, n - 1) + n * np.arange(replicates)[:, None]
    counts = np.bincount(which.ravel(), minlength=replicates * n)
    return counts.reshape(replicates, n).astype(np.float64)
