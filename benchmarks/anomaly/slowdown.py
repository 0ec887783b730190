"""P2: one call path slower, on the critical path or beside it, by trace and by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.anomaly.detection import (
    ALPHA,
    WINDOW_DAYS,
    parents_of,
    training_views,
)
from benchmarks.anomaly.methods import Judge, fitted
from benchmarks.anomaly.nights import above, evenly, verdicts
from benchmarks.anomaly.paths import Views, in_blocks, path_of_site
from benchmarks.anomaly.requests import DAY_US, MONDAY_US, requests
from benchmarks.anomaly.services import Floats, Ints, Service, service_of
from benchmarks.anomaly.tables import figure, grouped, table
from crisp.anomaly.vectors import Vectors
from crisp.options import AlertOptions

FACTORS = (1.0, 1.25, 1.5, 2.0, 4.0, 10.0)
"""1.0: nothing is slower, and what is found is false."""
WINDOWS = (30, 100, 300)
REFERENCE = 2_000
FLEET = 5_000
_SHARE = 0.05
"""Of the latency, held by the path on the critical path that is made slower"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """One path and factor in one size of window."""

    service: int
    on_path: bool
    factor: float
    window: int
    windows: int
    change: float
    """of mean latency, as a share"""
    trace_recall: dict[str, float]
    """by method: traces called abnormal at p = 0.001"""
    found: float
    """share of windows with an alert, were the endpoint alone"""
    found_in_fleet: float
    """… beside 5,000 others that did not change"""
    named_first: float
    """share of windows with an alert in which the path is named first"""


def slowdown(
    services: Sequence[int], methods: Sequence[str], windows: int, traces: int, threads: int
) -> list[Slowdown]:
    """All rows of P2."""
    return [
        row for number in services for row in _of_service(number, methods, windows, traces, threads)
    ]


def _of_service(
    number: int, methods: Sequence[str], windows: int, traces: int, threads: int
) -> Iterator[Slowdown]:
    service = service_of(number)
    parents = parents_of(service)
    train = training_views(service, traces, seed=0)
    judges = {
        name: fitted(name, train.scpv, parents, "scpv", seed=0, threads=threads) for name in methods
    }
    reference = evenly(train.scpv, REFERENCE)
    callers = above(parents)
    usual = float(train.scpv.latency_us.mean())
    for on_path in (True, False):
        site = _site(service, train, on_path=on_path)
        for factor in FACTORS if on_path else FACTORS[1:]:
            days = _days(service, site, factor, windows)
            recall = {name: _called(judge, days) for name, judge in judges.items()}
            for size in WINDOWS:
                found = [_window(reference, evenly(day, size), callers) for day in days]
                alerts = [one for one in found if one[0]]
                path = int(path_of_site(service)[site])
                yield Slowdown(
                    service=number,
                    on_path=on_path,
                    factor=factor,
                    window=size,
                    windows=windows,
                    change=float(np.mean([day.latency_us.mean() for day in days])) / usual - 1,
                    trace_recall=recall,
                    found=len(alerts) / windows,
                    found_in_fleet=sum(one[1] for one in found) / windows,
                    named_first=float(np.mean([one[2] == path for one in alerts]))
                    if alerts
                    else float("nan"),
                )


def _days(service: Service, site: int, factor: float, windows: int) -> list[Vectors]:
    """As many days as windows, with the largest window's traces each, in order of time."""
    rng = np.random.default_rng([site, int(100 * factor)])
    days = []
    for day in range(windows):
        start = MONDAY_US + (WINDOW_DAYS + day) * DAY_US
        starts = start + np.sort(rng.integers(0, DAY_US, max(WINDOWS)))
        views = in_blocks(starts, lambda some: requests(service, some, rng, slower={site: factor}))
        days.append(views.scpv)
    return days


def _called(judge: Judge, days: Sequence[Vectors]) -> float:
    return float(np.mean([judge.judge(day, ALPHA)[1].mean() for day in days]))


def _window(reference: Vectors, today: Vectors, parents: dict[int, int]) -> tuple[bool, bool, int]:
    """Whether there is an alert, whether there is in a fleet, and the path named first."""
    options = AlertOptions()
    found = verdicts([(reference, today)], parents, options)[reference.endpoint_id]
    named = [path for path in found.paths if path]
    return found.alert, found.in_fleet(FLEET, options.level), named[0] if named else 0


def _site(service: Service, train: Views, *, on_path: bool) -> int:
    """On the critical path: of the calls that nearly all traces have on it, the one that holds
    about a twentieth of the latency. Beside it: of those that nearly all traces make and less
    than one in fifty has on it, the longest."""
    paths = path_of_site(service)
    shown = _presence(train.scpv, paths)
    if on_path:
        share = _total(train.scpv, paths) / train.scpv.latency_us.sum()
        distance = np.where(shown >= 0.9, np.abs(share - _SHARE), np.inf)
        distance[0] = np.inf
        return int(np.argmin(distance))
    made = _presence(train.stv, paths)
    length = _total(train.stv, paths)
    return int(np.argmax(np.where((made >= 0.9) & (shown < 0.02), length, -1.0)))


def _presence(vectors: Vectors, paths: Ints) -> Floats:
    found, counts = np.unique(vectors.path_id, return_counts=True)
    return _by_site(found, counts / len(vectors), paths)


def _total(vectors: Vectors, paths: Ints) -> Floats:
    found, place = np.unique(vectors.path_id, return_inverse=True)
    return _by_site(found, np.bincount(place, vectors.time_us).astype(np.float64), paths)


def _by_site(found: Ints, values: Floats, paths: Ints) -> Floats:
    """Values of paths that were found, by site; 0 for others."""
    place = np.minimum(np.searchsorted(found, paths), len(found) - 1)
    return np.where(found[place] == paths, values[place], 0.0)


def tables(rows: Sequence[Slowdown]) -> list[str]:
    """One row a path and factor."""
    shown = []
    for (service, on_path, factor), some in grouped(
        rows, lambda row: (row.service, row.on_path, row.factor)
    ).items():
        line = {
            "service": str(service),
            "path": "critical" if on_path else "beside it",
            "slower": f"×{factor:g}",
            "latency": f"{some[0].change:+.1%}".replace("%", " %").replace("-", "−"),
        }
        line |= {f"{name}, p ≤ .001": figure(x, 4) for name, x in some[0].trace_recall.items()}
        for row in some:
            line[f"{row.window} traces"] = (
                f"{figure(row.found, 2)} / {figure(row.found_in_fleet, 2)}"
                f" / {figure(row.named_first, 2)}"
            )
        shown.append(line)
    return [
        table(
            "P2: share of traces called abnormal; of windows: found alone / found in a fleet of"
            f" {FLEET:,} / of those found, named first",
            shown,
        )
    ]
