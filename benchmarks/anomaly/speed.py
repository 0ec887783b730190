"""What training and scoring cost, beside scikit-learn's Isolation Forest in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.anomaly.detection import ALPHA, WINDOW_DAYS, parents_of, training_views
from benchmarks.anomaly.methods import Judge, fitted
from benchmarks.anomaly.paths import in_blocks
from benchmarks.anomaly.requests import DAY_US, MONDAY_US, requests
from benchmarks.anomaly.services import Service, service_of
from benchmarks.anomaly.small import DAYS, small_endpoint, window
from benchmarks.anomaly.tables import table, times
from crisp.anomaly.model import fit_models
from crisp.anomaly.vectors import Vectors
from crisp.anomaly.vocabulary import encode, fit_vocabulary
from crisp.options import TrainOptions

_SCORED = 5_000
_SMALL_TRACES = 500
REFERENCE = "IsolationForest()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """What one thing took."""

    what: str
    traces: int
    wall_s: float
    cpu_s: float
    """all threads together"""


def speed(
    number: int, methods: Sequence[str], traces: int, small: int, threads: int
) -> tuple[list[Speed], list[Speed]]:
    """Training, and scoring."""
    service = service_of(number)
    train = training_views(service, traces, seed=0).scpv
    tested = _tested(service)
    parents = parents_of(service)
    judges: dict[str, Judge] = {}

    def fit(name: str) -> Callable[[], None]:
        def run() -> None:
            judges[name] = fitted(name, train, parents, "scpv", seed=0, threads=threads)

        return run

    fits = [_timed(name, traces, fit(name)) for name in methods]
    scores = [_timed(name, len(tested), _judging(judge, tested)) for name, judge in judges.items()]
    forest_fit, forest_score = _forest(train, tested, traces)
    fits += [forest_fit, _many_small(small, threads)]
    return fits, [*scores, forest_score]


def _tested(service: Service) -> Vectors:
    rng = np.random.default_rng(23)
    starts = MONDAY_US + WINDOW_DAYS * DAY_US + np.sort(rng.integers(0, DAY_US, _SCORED))
    return in_blocks(starts, lambda some: requests(service, some, rng)).scpv


def _judging(judge: Judge, vectors: Vectors) -> Callable[[], object]:
    return lambda: judge.judge(vectors, ALPHA)


def _forest(train: Vectors, tested: Vectors, traces: int) -> tuple[Speed, Speed]:
    """Fit and score of the default forest, on dense log times of the same columns."""
    from sklearn.ensemble import IsolationForest

    vocabulary = fit_vocabulary(train, (np.zeros(0, np.int64), np.zeros(0, np.int64)), 20)
    dense, later = (np.log1p(encode(v, vocabulary).time_us.toarray()) for v in (train, tested))
    forest = IsolationForest(random_state=0)
    fit = _timed(REFERENCE, traces, lambda: forest.fit(dense))
    return fit, _timed(REFERENCE, len(tested), lambda: forest.score_samples(later))


def _many_small(count: int, threads: int) -> Speed:
    """Models of many endpoints with few paths, trained side by side."""
    endpoints = [small_endpoint(number, "iid") for number in range(count)]
    batch = [
        window(small, _SMALL_TRACES, 0, DAYS, np.random.default_rng([place, 19]))
        for place, small in enumerate(endpoints)
    ]
    pairs = sorted(pair for small in endpoints for pair in small.parents.items())
    parents = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    options = TrainOptions(profile="hurdle", device="cpu")
    days = ("2026-08-03", "2026-08-16")

    def run() -> None:
        fit_models(batch, options, parents=parents, days=days, before={}, threads=threads)

    return _timed(f"default, {count:,} small endpoints", count * _SMALL_TRACES, run)


def _timed(what: str, traces: int, run: Callable[[], object]) -> Speed:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Speed(
        what=what,
        traces=traces,
        wall_s=time.perf_counter() - wall,
        cpu_s=time.process_time() - cpu,
    )


def tables(fits: Sequence[Speed], scores: Sequence[Speed]) -> list[str]:
    """Training and scoring; the last column is processor time beside the reference's."""
    return [
        table("Speed: training, from vectors to thresholds", _rows(fits)),
        table("Speed: scoring, from vectors to decisions", _rows(scores)),
    ]


def _rows(rows: Sequence[Speed]) -> list[dict[str, str]]:
    reference = next(row for row in rows if row.what == REFERENCE)
    pace = reference.cpu_s / reference.traces
    return [
        {
            "what": row.what,
            "traces": f"{row.traces:,}",
            "wall s": f"{row.wall_s:.2f}",
            "CPU s": f"{row.cpu_s:.2f}",
            "traces / CPU s": f"{row.traces / max(row.cpu_s, 1e-9):,.0f}",
            f"CPU a trace, {REFERENCE} = 1": times(row.cpu_s / row.traces / pace),
        }
        for row in rows
    ]
