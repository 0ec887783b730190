"""P4: how often something is called abnormal when nothing is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa

from benchmarks.anomaly.methods import fitted
from benchmarks.anomaly.services import Ints
from benchmarks.anomaly.small import DAYS, Noise, small_endpoint, window
from benchmarks.anomaly.tables import figure, table, times
from crisp.anomaly.fleet import over_fleet
from crisp.anomaly.windows import AbnormalCounts, shifts
from crisp.options import AlertOptions

NOISES: tuple[Noise, ...] = get_args(Noise)
ALPHAS = (0.001, 0.01)
_TRAIN = 6_000
"""A quarter of them for p-values"""
_REFERENCE = 2_000
_K_CAL, _N_CAL = 15, 1_500
"""For counts of small p-values: those of 1,500 calibration rows at 0.01"""
_SLOWER = 1.5
_SICK = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often a method calls traces abnormal on days held out, all of them normal."""

    noise: str
    method: str
    alpha: float
    endpoints: int
    traces: int
    """of each endpoint"""
    rate: float
    """over all endpoints"""
    inside: float
    """share of endpoints whose own rate is within 1.5 times the nominal one, either way"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """Nights of a fleet."""

    noise: str
    endpoints: int
    traces: int
    """of each endpoint and night"""
    nights: int
    false_nights: int
    """nights with at least one false alert"""
    false_alerts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """One night on which some endpoints got slower."""

    noise: str
    endpoints: int
    slower: int
    found: int
    alerts: int
    false_alerts: int


def rates(
    noise: Noise, methods: Sequence[str], endpoints: int, traces: int, threads: int
) -> list[Rate]:
    """Realised rates over three days after the window."""
    rows = []
    for name in methods:
        found = np.array(
            [_rate(number, noise, name, traces, threads) for number in range(endpoints)]
        )
        for alpha, of_alpha in zip(ALPHAS, found.T, strict=True):
            near = (of_alpha >= alpha / 1.5) & (of_alpha <= alpha * 1.5)
            rows.append(
                Rate(
                    noise=noise,
                    method=name,
                    alpha=alpha,
                    endpoints=endpoints,
                    traces=traces,
                    rate=float(of_alpha.mean()),
                    inside=float(near.mean()),
                )
            )
    return rows


def _rate(number: int, noise: Noise, method: str, traces: int, threads: int) -> list[float]:
    small = small_endpoint(number, noise)
    rng = np.random.default_rng([number, 11])
    train = window(small, _TRAIN, 0, DAYS, rng)
    later = window(small, traces, DAYS, 3, rng)
    parents = small.parents
    columns = np.array(list(parents)), np.array(list(parents.values()))
    judge = fitted(method, train, columns, "scpv", seed=0, threads=threads)
    return [float(judge.judge(later, alpha)[1].mean()) for alpha in ALPHAS]


def nights(
    noise: Noise, *, endpoints: int, traces: int, nights: int, options: AlertOptions
) -> Nights:
    """Nights on which nothing changed; the days before are the same for all of them."""
    parts: list[list[pa.RecordBatch]] = [[] for _ in range(nights)]
    for number in range(endpoints):
        small = small_endpoint(number, noise)
        rng = np.random.default_rng([number, 13])
        before = window(small, _REFERENCE, 0, DAYS, rng)
        for night in range(nights):
            today = window(small, traces, DAYS + night, 1, rng)
            parts[night].append(shifts(before, today, small.parents, _calm(traces, rng), options))
    found = [_changed(some, options) for some in parts]
    return Nights(
        noise=noise,
        endpoints=endpoints,
        traces=traces,
        nights=nights,
        false_nights=sum(bool(len(some)) for some in found),
        false_alerts=sum(len(some) for some in found),
    )


def discovery(noise: Noise, *, endpoints: int, traces: int, options: AlertOptions) -> Discovery:
    """One endpoint in twenty has a call, made by all its requests, that takes half as long
    again."""
    parts, sick = [], set()
    for number in range(endpoints):
        small = small_endpoint(number, noise)
        rng = np.random.default_rng([number, 17])
        slower = None
        if rng.random() < _SICK:
            slower = (int(np.argmax(np.where(small.chance == 1, small.centre, 0))), _SLOWER)
            sick.add(small.endpoint_id)
        before = window(small, _REFERENCE, 0, DAYS, rng)
        today = window(small, traces, DAYS, 1, rng, slower)
        parts.append(shifts(before, today, small.parents, _calm(traces, rng), options))
    alerts = set(_changed(parts, options).tolist())
    return Discovery(
        noise=noise,
        endpoints=endpoints,
        slower=len(sick),
        found=len(alerts & sick),
        alerts=len(alerts),
        false_alerts=len(alerts - sick),
    )


def _calm(traces: int, rng: np.random.Generator) -> AbnormalCounts:
    """A count of small p-values as chance makes it: the threshold is a draw as well."""
    share = rng.beta(_K_CAL, _N_CAL + 1 - _K_CAL)
    return AbnormalCounts(
        k_test=int(rng.binomial(traces, share)), n_test=traces, k_cal=_K_CAL, n_cal=_N_CAL
    )


def _changed(parts: Sequence[pa.RecordBatch], options: AlertOptions) -> Ints:
    """Endpoints that would raise an alert."""
    found = over_fleet(pa.Table.from_batches(parts), options)
    changed = np.array(found["changed"].to_pylist(), np.bool_)
    return np.unique(np.array(found["endpoint_id"].to_pylist(), np.int64)[changed])


def tables(
    rates: Sequence[Rate], nights: Sequence[Nights], found: Sequence[Discovery]
) -> list[str]:
    """Three tables, of what was run."""
    parts = [
        (
            "P4: share of normal traces called abnormal on days held out",
            [_rate_row(row) for row in rates],
        ),
        ("P4: nights of a fleet in which nothing changed", [_night_row(row) for row in nights]),
        (
            "P4: a night on which one endpoint in twenty got slower",
            [_discovery_row(row) for row in found],
        ),
    ]
    return [table(title, rows) for title, rows in parts if rows]


def _rate_row(row: Rate) -> dict[str, str]:
    return {
        "noise": row.noise,
        "method": row.method,
        "nominal": f"{row.alpha:g}",
        "realised": figure(row.rate, 5),
        "factor": times(row.rate / row.alpha),
        "endpoints within ×1.5": figure(row.inside, 2),
        "endpoints": str(row.endpoints),
        "traces each": f"{row.traces:,}",
    }


def _night_row(row: Nights) -> dict[str, str]:
    return {
        "noise": row.noise,
        "endpoints": f"{row.endpoints:,}",
        "traces a night": str(row.traces),
        "nights": str(row.nights),
        "nights with a false alert": str(row.false_nights),
        "share": figure(row.false_nights / row.nights),
        "false alerts": str(row.false_alerts),
    }


def _discovery_row(row: Discovery) -> dict[str, str]:
    return {
        "noise": row.noise,
        "endpoints": f"{row.endpoints:,}",
        "slower": str(row.slower),
        "found": figure(row.found / max(row.slower, 1)),
        "alerts": str(row.alerts),
        "false among alerts": figure(row.false_alerts / row.alerts if row.alerts else math.nan),
    }
