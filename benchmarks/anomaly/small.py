"""Very small endpoints, many at once: a few call paths, days and minutes that differ, no change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.anomaly.requests import DAY_US, MONDAY_US
from benchmarks.anomaly.services import Floats, Ints
from crisp.anomaly.vectors import SOUND, Flags, Vectors

Noise = Literal["iid", "days", "bursts"]
"""iid: every request by itself. days: each day and path slower or faster by some percent.
bursts: requests come in bunches of about ten, and those of a minute share a load."""

PATHS = 8
DAYS = 14
_DAY_SPREAD = 0.05
_MINUTE_SPREAD = 0.2
_BUNCH = 10
_MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A root and the calls it makes, one after the other."""

    endpoint_id: int
    path_id: Ints
    """(PATHS,) ascending; the first is the root's"""
    chance: Floats
    """(PATHS,) share of requests with the call"""
    centre: Floats
    """(PATHS,) mean of log µs"""
    spread: Floats
    noise: Noise

    @property
    def parents(self) -> dict[int, int]:
        """Parent by path."""
        root = int(self.path_id[0])
        return {path: 0 if path == root else root for path in self.path_id.tolist()}


def small_endpoint(number: int, noise: Noise) -> Small:
    """Endpoint ``number``; another number, another endpoint."""
    rng = np.random.default_rng([number, 7])
    chance = np.where(rng.random(PATHS) < 0.6, 1.0, rng.uniform(0.05, 0.95, PATHS))
    chance[0] = 1.0
    return Small(
        endpoint_id=number + 1,
        path_id=(number + 1) * 100 + np.arange(PATHS),
        chance=chance,
        centre=rng.uniform(5.0, 9.5, PATHS),
        spread=rng.uniform(0.2, 0.8, PATHS),
        noise=noise,
    )


def window(
    small: Small,
    rows: int,
    first_day: int,
    days: int,
    rng: np.random.Generator,
    slower: tuple[int, float] | None = None,
) -> Vectors:
    """``rows`` requests over some days. One time in a thousand takes twenty times as long.

    ``slower``: number of a path, and the factor on its time.
    """
    start = _starts(small, rows, first_day, days, rng)
    logs = small.centre + small.spread * rng.standard_normal((rows, PATHS))
    if small.noise != "iid":
        day = start // DAY_US - start.min() // DAY_US
        logs += (_DAY_SPREAD * rng.standard_normal((int(day.max()) + 1, PATHS)))[day]
    if small.noise == "bursts":
        _, minute = np.unique(start // _MINUTE_US, return_inverse=True)
        logs += (_MINUTE_SPREAD * rng.standard_normal(int(minute.max()) + 1))[minute][:, None]
    logs += np.log(20.0) * (rng.random((rows, PATHS)) < 0.001)
    if slower is not None:
        logs[:, slower[0]] += np.log(slower[1])
    time_us = np.exp(logs).astype(np.int64) + 1
    made = rng.random((rows, PATHS)) < small.chance
    return sequential(small.endpoint_id, small.path_id, start, time_us, made)


def sequential(
    endpoint_id: int, path_id: Ints, start_us: Ints, time_us: Ints, made: Flags
) -> Vectors:
    """Requests, each with the paths it ``made`` one after the other; (rows, paths) but for the
    starts."""
    rows = len(start_us)
    return Vectors(
        endpoint_id=endpoint_id,
        tree_id=np.arange(1, rows + 1),
        trace_id=[""] * rows,
        root_span_id=[""] * rows,
        start_us=start_us,
        latency_us=(time_us * made).sum(axis=1),
        failed=np.zeros(rows, np.bool_),
        edges=np.concatenate(([0], np.cumsum(made.sum(axis=1)))),
        path_id=np.broadcast_to(path_id, made.shape)[made],
        time_us=time_us[made],
        status=np.full(int(made.sum()), SOUND, np.int8),
    )


def _starts(small: Small, rows: int, first_day: int, days: int, rng: np.random.Generator) -> Ints:
    """Ascending; in bunches where the noise is of bursts."""
    begin = MONDAY_US + first_day * DAY_US
    if small.noise != "bursts":
        return begin + np.sort(rng.integers(0, days * DAY_US, rows))
    bunches = rng.integers(0, days * DAY_US - _MINUTE_US, max(1, rows // _BUNCH))
    chosen = rng.choice(bunches, rows) // _MINUTE_US * _MINUTE_US
    return begin + np.sort(chosen + rng.integers(0, _MINUTE_US, rows))
