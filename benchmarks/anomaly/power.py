"""P4: how much a path has to slow down to be told from days that differ anyway."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.anomaly.nights import verdicts
from benchmarks.anomaly.requests import DAY_US, MONDAY_US
from benchmarks.anomaly.services import Floats, Ints
from benchmarks.anomaly.small import sequential
from benchmarks.anomaly.tables import figure, table
from crisp.anomaly.vectors import Vectors
from crisp.options import AlertOptions

DAY_EFFECTS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)
"""By how much, as a share, days differ; of each path by itself"""
SPREADS = (0.3, 0.5, 0.8)
"""Of the logarithm of a path's times on one day"""
_FACTOR = 1.5
_DAYS, _A_DAY, _TONIGHT = 14, 143, 300
_PATHS, _FLEET = 20, 5_000
_CENTRE = 7.5
"""Mean of log µs of every path, so that the slower one adds 2.5 % to the latency"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Endpoints of twenty paths, of which one got slower by half."""

    day_effect: float
    spread: float
    endpoints: int
    found: float
    """share with an alert, beside 5,000 endpoints that did not change"""
    named_first: float
    """of these"""


def power(options: AlertOptions) -> list[Power]:
    """One for each day effect and spread."""
    return [of(effect, spread, 60, options) for effect in DAY_EFFECTS for spread in SPREADS]


def of(effect: float, spread: float, endpoints: int, options: AlertOptions) -> Power:
    """Of one day effect and spread."""
    parents = dict.fromkeys(range(1, _PATHS + 1), 0)
    found, first = 0, 0
    for number in range(endpoints):
        slower = number % _PATHS + 1
        [verdict] = verdicts([_days(number, slower, effect, spread)], parents, options).values()
        if verdict.in_fleet(_FLEET, options.level):
            found += 1
            first += verdict.paths[0] == slower
    return Power(
        day_effect=effect,
        spread=spread,
        endpoints=endpoints,
        found=found / endpoints,
        named_first=first / found if found else float("nan"),
    )


def _days(number: int, slower: int, effect: float, spread: float) -> tuple[Vectors, Vectors]:
    """The days before, and the night on which path ``slower`` takes half as long again."""
    rng = np.random.default_rng([number, 29])
    of_day = _CENTRE + effect * rng.standard_normal((_DAYS + 1, _PATHS))
    of_day[_DAYS, slower - 1] += np.log(_FACTOR)
    before = np.repeat(np.arange(_DAYS), _A_DAY)
    return (
        _requests(of_day, before, spread, rng),
        _requests(of_day, np.full(_TONIGHT, _DAYS), spread, rng),
    )


def _requests(of_day: Floats, day: Ints, spread: float, rng: np.random.Generator) -> Vectors:
    rows = len(day)
    logs = of_day[day] + spread * rng.standard_normal((rows, _PATHS))
    time_us = np.exp(logs).astype(np.int64) + 1
    start = MONDAY_US + np.sort(day * DAY_US + rng.integers(0, DAY_US, rows))
    made = np.ones(time_us.shape, np.bool_)
    return sequential(1, np.arange(1, _PATHS + 1), start, time_us, made)


def tables(rows: list[Power]) -> list[str]:
    """Found, by day effect and spread."""
    if not rows:
        return []
    cells = {(row.day_effect, row.spread): row for row in rows}
    shown = [
        {"days differ by": f"{100 * effect:g} %"}
        | {f"spread {spread}": _cell(cells[effect, spread]) for spread in SPREADS}
        for effect in DAY_EFFECTS
    ]
    title = "P4: one of 20 paths ×1.5 in 300 requests; found in a fleet of 5,000 / named first"
    return [table(title, shown)]


def _cell(row: Power) -> str:
    return f"{figure(row.found, 2)} / {figure(row.named_first, 2)}"
