"""The model of an endpoint: all that is known of its normal traces, and what it says of others."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pyarrow as pa

from crisp import arrow, schema
from crisp.anomaly.calibration import Calibration
from crisp.anomaly.detector import Detector, Frozen
from crisp.anomaly.drift import Sketch
from crisp.anomaly.expectation import Expectation, explained
from crisp.anomaly.gate import Choice, Split
from crisp.anomaly.sparse import edges_of, find
from crisp.anomaly.vectors import Floats, Ints, Vectors
from crisp.anomaly.vocabulary import Vocabulary, encode
from crisp.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A VAE with what it was trained on. One that is kept has its own, older columns.

    It stays frozen until it is needed: where a plain score serves, nobody needs torch.
    """

    frozen: Frozen
    kind: str
    """what it has in common with those that it may be the start of"""
    vocabulary: Vocabulary
    sketch: Sketch
    trained_day: str

    def vae(self) -> Detector:
        """The VAE, thawed.

        Raises:
            ConfigError: torch is not installed.
        """
        if find_spec("torch") is None:
            raise ConfigError(
                "a network serves here, which needs torch: pip install 'crisp-cpa[torch]'"
            )
        from crisp.anomaly import vae

        return vae.thaw(self.frozen)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointModel:
    """What one endpoint's traces of a window are like."""

    endpoint_id: int
    profile: str
    """hurdle or paper, with a network; plain without"""
    features: str
    first_day: str
    last_day: str
    traces: int
    """of the window, as they were given"""
    split: Split
    vocabulary: Vocabulary
    known: Ints
    """call paths of all traces of the window, ascending"""
    lone: int
    """traces of the window that have a path which no other has"""
    plain: tuple[Detector, ...]
    network: Network | None
    trained: str
    """cold, warm, kept or none"""
    drift: float
    """between the traces that the network of the night before was trained on and the window"""
    expectation: Expectation
    calibration: Calibration
    """of the score that serves"""
    choice: Choice
    reference: Vectors
    """traces of the window, evenly over the time, without the texts of their ids"""
    callers: tuple[Ints, Ints]
    """call paths of the reference and all above them, ascending, and the parent of each: the day
    that is compared does not know those that it lacks"""

    @property
    def new_path_rate(self) -> float:
        """Good–Turing estimate of how often a normal trace has a path never seen before."""
        return self.lone / max(self.traces, 1)

    @property
    def unseen_counts(self) -> bool:
        """A path never seen makes a trace abnormal. By the paper (4.6.5): always. Else where
        normal traces have one at most half as often as alpha, so that both rules together call
        no more than 1.5 alpha of them abnormal; the trace to be judged is counted as one that
        has: with fewer than 2 / alpha traces nobody knows."""
        if self.profile == "paper":
            return True
        return (self.lone + 1) / (self.traces + 1) <= self.calibration.alpha / 2

    def score(self, vectors: Vectors) -> pa.RecordBatch:
        """Table ``scores`` of traces of the endpoint, in their order.

        A trace's row depends on that trace alone.

        Raises:
            ConfigError: a network serves, and torch is not installed.
        """
        rows = encode(vectors, self.vocabulary)
        plain = {detector.name: detector.score(rows) for detector in self.plain}
        served = plain[self.choice.serves] if self.choice.serves in plain else self._deep(vectors)
        p = self.calibration.p(served)
        calibrated = len(self.calibration.scores) > 0
        changes = explained(rows, self.expectation, overlapping=self.features == "stv")
        unseen, new_paths = self._unseen(vectors)
        small = (p <= self.calibration.alpha) & calibrated
        counts = self.unseen_counts
        n = len(vectors)
        columns = {
            "endpoint_id": np.full(n, self.endpoint_id),
            "tree_id": vectors.tree_id,
            "trace_id": vectors.trace_id,
            "root_span_id": vectors.root_span_id,
            "start_us": vectors.start_us,
            "latency_us": vectors.latency_us,
            "model": arrow.constant(f"{self.profile} {self.last_day}", n),
            "served_by": arrow.constant(self.choice.serves, n),
            "score": served,
            "p": arrow.doubles(p) if calibrated else pa.nulls(n, pa.float64()),
            "p_how": self.calibration.words(p),
            "abnormal": small | (counts & (new_paths > 0)),
            **plain,
            "expected_us": changes.expected_us,
            "contributions": changes.contributions,
            "other_us": changes.other_us,
            "unseen": unseen,
            "unseen_counts": np.full(n, counts),
        }
        arrays = [
            columns[field.name].cast(field.type)
            if isinstance(columns[field.name], pa.Array)
            else arrow.array(columns[field.name], field.type)
            for field in schema.SCORES
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema.SCORES)

    def _deep(self, vectors: Vectors) -> Floats:
        assert self.network is not None, "a network serves that is not there"
        return self.network.vae().score(encode(vectors, self.network.vocabulary))

    def _unseen(self, vectors: Vectors) -> tuple[pa.Array, Ints]:
        """Lists of paths that no trace of the window has, and how many they are."""
        _, seen = find(self.known, vectors.path_id)
        counts = np.bincount(vectors.row[~seen], minlength=len(vectors))
        paths = arrow.ints(vectors.path_id[~seen])
        return pa.ListArray.from_arrays(arrow.offsets(edges_of(counts)), paths), counts
