"""The plain scores: latency, excess over each path's 99th percentile, pattern and largest z."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crisp.anomaly.detector import Frozen
from crisp.anomaly.sparse import row_largest
from crisp.anomaly.vectors import OWN, Flags, Floats, Ints
from crisp.anomaly.vocabulary import Encoded

_LEAST_SCALE = 0.01
"""Floor of the spread of log latency: latencies that never differ would make any other infinite."""
_LEAST_STD = 0.2
"""Floor of the spread of a column's log time: a tenth of a millisecond more is no finding."""
_MAD = 1.482602218505602
"""Median absolute deviation times this is the standard deviation, of a normal distribution."""
_SOUND_SHARE = 0.01
"""A column in which at most this share of the fit rows fail by themselves is normally sound."""
_USUAL_SHARE = 0.95
"""A column that at least this share of the fit rows have is missed where it is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """|robust z| of log latency: too slow and too fast alike."""

    name: ClassVar[str] = "latency"
    centre: float
    scale: float

    def score(self, rows: Encoded) -> Floats:
        """(n,) |log(1 + latency) − median| / (1.4826 · median absolute deviation)."""
        z: Floats = np.abs(np.log1p(rows.latency_us) - self.centre) / self.scale
        return z

    def freeze(self) -> Frozen:
        """Both numbers."""
        return Frozen(about={"centre": self.centre, "scale": self.scale}, arrays={})


def fit_latency(rows: Encoded) -> Latency:
    """Median and spread of log latency; of no rows at all, those of latency 0."""
    logs = np.log1p(rows.latency_us) if len(rows.latency_us) else np.zeros(1)
    centre = float(np.median(logs))
    spread = _MAD * float(np.median(np.abs(logs - centre)))
    return Latency(centre=centre, scale=max(spread, _LEAST_SCALE))


def thaw_latency(frozen: Frozen) -> Latency:
    """What `Latency.freeze` gave."""
    return Latency(**frozen.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """Σ max(0, time − q99) over the columns, µs: how much of the row is beyond what is usual."""

    name: ClassVar[str] = "excess"
    usual_us: Floats
    """(d,) 99th percentile of each column over the fit rows; a row without it counts as 0"""

    def score(self, rows: Encoded) -> Floats:
        """(n,) µs."""
        cells = rows.time_us
        over = np.maximum(cells.data - self.usual_us[cells.indices], 0.0)
        row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        return np.bincount(row, over, minlength=cells.shape[0]).astype(np.float64)

    def freeze(self) -> Frozen:
        """The percentiles."""
        return Frozen(about={}, arrays={"usual_us": self.usual_us})


def fit_excess(rows: Encoded) -> Excess:
    """The 99th percentile of each column."""
    return Excess(usual_us=column_quantile(rows.time_us, 0.99))


def thaw_excess(frozen: Frozen) -> Excess:
    """What `Excess.freeze` gave."""
    return Excess(usual_us=frozen.arrays["usual_us"])


def column_quantile(matrix: Any, q: float) -> Floats:
    """(d,) quantile of each column of a sparse (n, d) matrix of times, absent = 0; linear
    interpolation between ranks; 0 where there are no rows."""
    columns = matrix.tocsc()
    n, d = columns.shape
    if not n:
        return np.zeros(d)
    counts = np.diff(columns.indptr)
    ordered = columns.data[np.lexsort((columns.data, np.repeat(np.arange(d), counts)))]
    position = q * (n - 1)
    low = math.floor(position)

    def at(rank: int) -> Floats:
        place = rank - (n - counts)
        cell = np.where(place < 0, len(ordered), columns.indptr[:-1] + place)
        found = np.append(ordered, 0.0)[cell]
        return np.asarray(found, np.float64)

    below, above = at(low), at(min(low + 1, n - 1))
    return np.asarray(below + (above - below) * (position - low), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Rarity of the set of columns, of failures, and the largest z of a time.

    The score of a row adds up

    - rarity: −log((c + 1) / (n + 1)), c of the n fit rows having the same columns. A set that
      fewer than two have counts as new, c = 0, with the largest −log of the share of fit rows
      without the column, over columns that 95 % of the fit rows have and this row has not;
    - failure: the largest −log of the share of fit rows in which a column failed by itself, over
      columns where this row did; the root's failure, of its own or not, counts as one more. If
      that share is at most 1 %, ``ceiling`` is added, the largest score of a fit row by the two
      other terms: so such a row is above all fit rows without such a failure;
    - z: the largest |log(1 + time) − mean| / std over the row's columns, std ≥ 0.2.
    """

    name: ClassVar[str] = "pattern"
    patterns: Ints
    """(patterns,) ascending, those of at least two fit rows"""
    rarity: Floats
    """(patterns + 1,) of each, and of one that is not there"""
    missed: Floats
    """(d,) surprise of a row without the column; 0 where that is nothing unusual"""
    failure: Floats
    """(d + 1,) surprise of a failure in each column, and last of the root's"""
    sound: Flags
    """(d + 1,) failures there are rare enough for the ceiling"""
    mean: Floats
    """(d,) of log(1 + µs) where present"""
    std: Floats
    """(d,) inf for a column that no fit row had"""
    ceiling: float

    def score(self, rows: Encoded) -> Floats:
        """(n,)"""
        return self.base(rows) + self._failures(rows)

    def base(self, rows: Encoded) -> Floats:
        """(n,) rarity and z alone."""
        cells = rows.time_us
        z = np.abs(np.log1p(cells.data) - self.mean[cells.indices]) / self.std[cells.indices]
        place = np.searchsorted(self.patterns, rows.pattern)
        known = np.append(self.patterns, 0)[place] == rows.pattern
        known &= place < len(self.patterns)
        found = self.rarity[np.where(known, place, len(self.patterns))]
        new = np.flatnonzero(~known)
        found[new] += self._missing(cells[new])
        return np.asarray(found + row_largest(cells.indptr, z, 0.0), np.float64)

    def _missing(self, cells: Any) -> Floats:
        usual = np.flatnonzero(self.missed)
        if not len(usual):
            return np.zeros(cells.shape[0])
        place = np.full(cells.shape[1], -1)
        place[usual] = np.arange(len(usual))
        row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
        kept = place[cells.indices] >= 0
        absent = np.ones((cells.shape[0], len(usual)), np.bool_)
        absent[row[kept], place[cells.indices[kept]]] = False
        return np.asarray((absent * self.missed[usual]).max(axis=1), np.float64)

    def _failures(self, rows: Encoded) -> Floats:
        cells = rows.time_us
        own = rows.status == OWN
        surprise = self.failure + np.where(self.sound, self.ceiling, 0.0)
        of_cells = np.where(own, surprise[:-1][cells.indices], 0.0)
        of_root = np.where(rows.failed, surprise[-1], 0.0)
        return np.asarray(np.maximum(row_largest(cells.indptr, of_cells, 0.0), of_root), np.float64)

    def freeze(self) -> Frozen:
        """Its arrays."""
        names = ("patterns", "rarity", "missed", "failure", "sound", "mean", "std")
        arrays = {name: getattr(self, name) for name in names}
        return Frozen(about={"ceiling": self.ceiling}, arrays=arrays)


def fit_pattern(rows: Encoded) -> Pattern:
    """Count patterns, presence, failures; mean and spread of log times."""
    cells = rows.time_us
    n, d = cells.shape
    patterns, counts = np.unique(rows.pattern, return_counts=True)
    patterns, counts = patterns[counts > 1], counts[counts > 1]
    present = np.bincount(cells.indices, minlength=d)
    own = np.bincount(cells.indices[rows.status == OWN], minlength=d)
    share = (np.append(own, int(rows.failed.sum())) + 0.5) / (np.append(present, n) + 1.0)
    usual = present >= _USUAL_SHARE * max(n, 1)
    logs = np.log1p(cells.data)
    seen = np.maximum(present, 1)
    mean = np.bincount(cells.indices, logs, minlength=d) / seen
    off = logs - mean[cells.indices]
    std = np.sqrt(np.bincount(cells.indices, off * off, minlength=d) / seen)
    fitted = Pattern(
        patterns=patterns,
        rarity=-np.log(np.append(counts + 1.0, 1.0) / (n + 1.0)),
        missed=np.where(usual, -np.log((n - present + 0.5) / (n + 1.0)), 0.0),
        failure=-np.log(share),
        sound=share <= _SOUND_SHARE,
        mean=mean,
        std=np.where(present > 0, np.maximum(std, _LEAST_STD), np.inf),
        ceiling=0.0,
    )
    return replace(fitted, ceiling=float(fitted.base(rows).max(initial=0.0)))


def thaw_pattern(frozen: Frozen) -> Pattern:
    """What `Pattern.freeze` gave."""
    return Pattern(**dict(frozen.about), **dict[str, Any](frozen.arrays))
