"""How far the traces of a window are from those a network was trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from crisp.anomaly.detector import Frozen
from crisp.anomaly.sparse import find
from crisp.anomaly.vectors import Floats, Ints, Vectors
from crisp.anomaly.vocabulary import Vocabulary

_PATHS = 20
_POINTS = 101
_LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """Quantiles of the traces that a network was trained on."""

    traces: int
    strange: float
    """share of the time that was in folded columns"""
    paths: Ints
    """(t,) ascending: those with most time, at most 20"""
    quantiles: Floats
    """(t + 1, 101) 0 to 100 %, of latency and of each path's time, absent = 0"""

    def freeze(self) -> Frozen:
        """All of it."""
        return Frozen(
            about={"traces": self.traces, "strange": self.strange},
            arrays={"paths": self.paths, "quantiles": self.quantiles},
        )


def thaw_sketch(frozen: Frozen) -> Sketch:
    """What `Sketch.freeze` gave."""
    return Sketch(
        traces=int(frozen.about["traces"]),
        strange=float(frozen.about["strange"]),
        paths=frozen.arrays["paths"],
        quantiles=frozen.arrays["quantiles"],
    )


def sketched(vectors: Vectors, vocabulary: Vocabulary) -> Sketch:
    """The sketch of at least one trace."""
    paths, place = np.unique(vectors.path_id, return_inverse=True)
    total = np.bincount(place, vectors.time_us, minlength=len(paths))
    most = np.sort(paths[np.lexsort((paths, -total))[:_PATHS]])
    columns = _columns(vectors, most)
    points = [
        np.quantile(column, np.linspace(0, 1, _POINTS), method="higher") for column in columns
    ]
    return Sketch(
        traces=len(vectors),
        strange=_strange(vectors, vocabulary),
        paths=most,
        quantiles=np.array(points),
    )


def drift(then: Sketch, vectors: Vectors, vocabulary: Vocabulary) -> float:
    """0 (no change) to 1: the larger of

    - the largest Kolmogorov–Smirnov distance, over latency and the paths with most time, less
      what chance makes of windows of this size: among all of these distances the largest stays
      below √(ln(2 m / 0.05) / 2 · (1 / n + 1 / k)) in 19 of 20 windows without a change, m
      being how many they are, n and k the traces (Dvoretzky–Kiefer–Wolfowitz and Bonferroni);
    - how much more of the time is in paths that have no column of their own in ``vocabulary``,
      which is the network's.

    Only quantiles of ``then`` are kept, so distances are exact to 0.01.
    """
    n = len(vectors)
    if not n:
        return 0.0
    distance = max(
        _distance(points, np.sort(column))
        for points, column in zip(then.quantiles, _columns(vectors, then.paths), strict=True)
    )
    columns = len(then.quantiles)
    chance = math.sqrt(math.log(2 * columns / _LEVEL) / 2 * (1 / n + 1 / then.traces))
    more = _strange(vectors, vocabulary) - then.strange
    return float(np.clip(max(distance - chance, more), 0.0, 1.0))


def _columns(vectors: Vectors, paths: Ints) -> list[Floats]:
    """Latency, then the time of each path."""
    times = vectors.matrix(paths).toarray()
    return [vectors.latency_us.astype(np.float64), *times.T]


def _distance(points: Floats, ordered: Floats) -> float:
    """Largest difference of the two distribution functions."""
    at = np.union1d(points, ordered)
    then = np.searchsorted(points, at, side="right") / len(points)
    now = np.searchsorted(ordered, at, side="right") / len(ordered)
    return float(np.abs(then - now).max())


def _strange(vectors: Vectors, vocabulary: Vocabulary) -> float:
    """Share of the time in paths that are folded or unseen."""
    place, _ = find(vocabulary.paths, vectors.path_id)
    column = np.append(vocabulary.column, vocabulary.columns - 1)[place]
    own = vocabulary.columns - 1 - len(vocabulary.folded_parent)
    total = float(vectors.time_us.sum())
    return float(vectors.time_us[column >= own].sum()) / total if total else 0.0
