"""P4: how often small p-values of path times come up when nothing changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.anomaly.nights import UNSCORED
from benchmarks.anomaly.services import Floats
from benchmarks.anomaly.small import DAYS, Noise, small_endpoint, window
from benchmarks.anomaly.tables import table, times
from crisp.anomaly.windows import shifts
from crisp.options import AlertOptions

LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)
_REFERENCE = 2_000
_FIRST = 100_000
"""Numbers of endpoints begin here: others than those whose nights are judged"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """One night of each endpoint."""

    noise: str
    endpoints: int
    tests: int
    factors: dict[float, float]
    """by level: how often p-values were at most that, as they say = 1"""
    smallest: float


def tail(noise: Noise, *, endpoints: int, traces: int, options: AlertOptions) -> Tail:
    """p-values of rows "time" of nights like all before."""
    p = np.concatenate([_p(_FIRST + number, noise, traces, options) for number in range(endpoints)])
    return Tail(
        noise=noise,
        endpoints=endpoints,
        tests=len(p),
        factors={level: float((p <= level).mean() / level) for level in LEVELS},
        smallest=float(p.min()),
    )


def _p(number: int, noise: Noise, traces: int, options: AlertOptions) -> Floats:
    small = small_endpoint(number, noise)
    rng = np.random.default_rng([number, 13])
    before = window(small, _REFERENCE, 0, DAYS, rng)
    today = window(small, traces, DAYS, 1, rng)
    rows = shifts(before, today, small.parents, UNSCORED, options).to_pylist()
    return np.array([row["p"] for row in rows if row["test"] == "time"])


def tables(rows: list[Tail]) -> list[str]:
    """A row a noise."""
    shown = [
        {"noise": row.noise, "endpoint-nights": f"{row.endpoints:,}", "tests": f"{row.tests:,}"}
        | {f"p ≤ {level:g}": times(factor) for level, factor in row.factors.items()}
        | {"smallest": f"{row.smallest:.0e}"}
        for row in rows
    ]
    return [table("P4: p-values of path times when nothing changed", shown)] if rows else []
