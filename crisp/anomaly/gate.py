"""Which score serves an endpoint: the one that finds planted changes in held-out traces best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crisp.anomaly.calibration import Calibration, beta_binomial_tail
from crisp.anomaly.detector import Detector
from crisp.anomaly.planted import Planted
from crisp.anomaly.vectors import Floats, Vectors
from crisp.anomaly.vocabulary import Encoded, Vocabulary, encode

_RESAMPLES = 200
_SURE = 0.05
"""Chance of being wrong that is put up with."""
_TOLERANCE = 1.5
"""Times the promised share of false positives that a score may have."""
LEAST_ROWS = 40
"""Traces below which none are kept back."""
FALLBACK = "latency"
"""What serves where nothing can be compared."""


@dataclass(frozen=True, slots=True)
class Split:
    """Rows of a window by time: the earliest are fitted on, the latest make p-values."""

    fit: int
    gate: int
    calibration: int


def split(traces: int) -> Split:
    """60 % for fitting, 15 % for the gate, 25 % for p-values, the first two rounded down. Below
    40 traces all are fitted on: ten p-values would say nothing, ten fewer traces lose a lot."""
    if traces < LEAST_ROWS:
        return Split(traces, 0, 0)
    fit, gate = traces * 60 // 100, traces * 15 // 100
    return Split(fit, gate, traces - fit - gate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a score did on the gate rows."""

    score: str
    recall: float
    """share of the planted changes whose p-value is small, see `Calibration.level`"""
    auc: float
    """chance that a planted change scores above an untouched row, ties half"""
    false_positive_rate: float
    """share of untouched rows whose p-value is small"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A candidate, and what the choice needs to know beside."""

    candidate: Candidate
    merit: Floats
    """(gate rows,) mean over the changes planted in the row of (found + AUC of it) / 2"""
    calm: bool
    """its false positives can be a chance result of 1.5 times what was promised"""

    @property
    def mean(self) -> float:
        """Mean merit."""
        return float(self.merit.mean()) if len(self.merit) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which score serves, and why."""

    serves: str
    reason: str
    candidates: tuple[Candidate, ...]


def trials(
    detectors: Sequence[tuple[Detector, Calibration]],
    vocabulary: Vocabulary,
    untouched: Vectors,
    changes: Sequence[Planted],
) -> list[Trial]:
    """How detectors over the same columns do on the same rows. Rows in which nothing could be
    changed are left out of recall, AUC and merit."""
    before = encode(untouched, vocabulary)
    after = [encode(change.vectors, vocabulary) for change in changes]
    changed = np.array([change.changed for change in changes])
    return [_trial(*each, before, after, changed) for each in detectors]


def _trial(
    detector: Detector,
    calibration: Calibration,
    before: Encoded,
    after: Sequence[Encoded],
    changed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> Trial:
    normal = detector.score(before)
    scores = np.array([detector.score(rows) for rows in after])
    found = calibration.small(calibration.p(scores.ravel())).reshape(scores.shape)
    ordered = np.sort(normal)
    ties = np.searchsorted(ordered, scores, "right") + np.searchsorted(ordered, scores, "left")
    auc = ties / (2.0 * max(len(normal), 1))
    planted = changed.sum(axis=0)
    merit = np.where(changed, (found + auc) / 2.0, 0.0).sum(axis=0)
    false = calibration.small(calibration.p(normal))
    tolerated = int(np.ceil(_TOLERANCE * calibration.rank))
    chance = beta_binomial_tail(
        false.sum(), len(false), min(tolerated, len(calibration.scores)), len(calibration.scores)
    )
    return Trial(
        candidate=Candidate(
            score=detector.name,
            recall=float(found[changed].mean()) if changed.any() else 0.0,
            auc=float(auc[changed].mean()) if changed.any() else 0.5,
            false_positive_rate=float(false.mean()) if len(false) else 0.0,
        ),
        merit=merit[planted > 0] / planted[planted > 0],
        calm=bool(chance >= _SURE),
    )


def chosen(
    plain: Sequence[Trial], network: Trial | None, *, without: str, always: bool, seed: int
) -> Choice:
    """The score that serves.

    Of the plain scores the calm one of the largest mean merit, the first of equals; if none is
    calm, the one of the fewest false positives. The network instead, if it is calm and its mean
    merit is above that one's in 95 % of 200 bootstrap samples of the gate rows, or ``always``
    (the paper's rule). ``without`` says why there is no network.
    """
    both = [*plain, *([network] if network else [])]
    candidates = tuple(trial.candidate for trial in both)
    calm = [trial for trial in plain if trial.calm]
    best = max(calm, key=lambda trial: trial.mean) if calm else _quietest(plain)
    serves, reason = best, f"{_did(best)}, the best of the plain scores"
    if not calm:
        reason = f"{_did(best)}; no plain score keeps its promise, and it comes closest"
    if network is None:
        reason += f"; {without}"
    elif always:
        serves, reason = network, f"{_did(network)}; profile paper: the network always serves"
    else:
        low, middle = _gain(network.merit - best.merit, seed)
        gain = f"{middle:+.3f}, at least {low:+.3f} in 95 % of resamples"
        if not network.calm:
            rate = network.candidate.false_positive_rate
            reason += f"; the network calls {rate:.2%} of untouched traces abnormal: too many"
        elif low > 0:
            serves, reason = network, f"{_did(network)}; {_did(best)}; gain {gain}"
        else:
            reason += f"; {_did(network)}: no sure gain ({gain})"
    return Choice(serves=serves.candidate.score, reason=reason, candidates=candidates)


def _quietest(trials: Sequence[Trial]) -> Trial:
    return min(trials, key=lambda trial: (trial.candidate.false_positive_rate, -trial.mean))


def _did(trial: Trial) -> str:
    of = trial.candidate
    return f"{of.score} finds {of.recall:.0%} of planted changes (AUC {of.auc:.3f})"


def _gain(difference: Floats, seed: int) -> tuple[float, float]:
    """What the mean is above of in 95 % of bootstrap samples, and the mean; rows are resampled."""
    if not len(difference):
        return 0.0, 0.0
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(difference), (_RESAMPLES, len(difference)))
    means = difference[drawn].mean(axis=1)
    return float(np.quantile(means, _SURE)), float(difference.mean())
