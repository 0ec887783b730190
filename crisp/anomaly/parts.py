"""The plain side of a model: columns and scores, fitted on the earliest traces of a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.anomaly.calibration import lone_paths
from crisp.anomaly.detector import Detector
from crisp.anomaly.gate import Split, split
from crisp.anomaly.isolation import fit_isolation
from crisp.anomaly.plain import fit_excess, fit_latency, fit_pattern
from crisp.anomaly.projection import fit_projection
from crisp.anomaly.vectors import Ints, Vectors, spread
from crisp.anomaly.vocabulary import Vocabulary, encode, fit_vocabulary
from crisp.options import TrainOptions
from crisp.stable import text_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An endpoint on its way to a model."""

    vectors: Vectors
    """of the window, thinned"""
    split: Split
    vocabulary: Vocabulary
    plain: tuple[Detector, ...]
    known: Ints
    """paths of all traces that were given, ascending"""
    lone: int
    """of these traces, those that have a path which no other has"""
    traces: int
    """how many they are"""

    def rows(self, start: int, count: int) -> Vectors:
        """Traces from ``start`` on."""
        return self.vectors.take(np.arange(start, start + count))

    @property
    def fit(self) -> Vectors:
        """The earliest traces."""
        return self.rows(0, self.split.fit)


def fit_part(given: Vectors, options: TrainOptions, parents: tuple[Ints, Ints]) -> Part:
    """Columns and plain scores of an endpoint, of at most ``most_traces``, evenly over the time.

    Paths in fewer than ``least`` fit rows, or in fewer than a tenth of them where that is less,
    are folded.
    """
    vectors = evenly(given, options.most_traces)
    parted = split(len(vectors))
    fit = vectors.take(np.arange(parted.fit))
    least = min(options.least, -(-len(fit) // 10))
    vocabulary = fit_vocabulary(fit, parents, max(least, 1))
    rows = encode(fit, vocabulary)
    seed = seed_of(options, given)
    return Part(
        vectors=vectors,
        split=parted,
        vocabulary=vocabulary,
        plain=(
            fit_latency(rows),
            fit_excess(rows),
            fit_pattern(rows),
            fit_projection(rows, seed),
            fit_isolation(rows, seed),
        ),
        known=np.unique(given.path_id),
        lone=int(lone_paths(given).sum()),
        traces=len(given),
    )


def evenly(vectors: Vectors, most: int) -> Vectors:
    """At most so many traces, evenly over the time."""
    return vectors if len(vectors) <= most else vectors.take(spread(len(vectors), most))


def seed_of(options: TrainOptions, vectors: Vectors) -> int:
    """What all that is drawn for an endpoint comes from."""
    return text_id("model", str(options.seed), str(vectors.endpoint_id)) % 2**32
