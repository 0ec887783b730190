"""P3: which traces and windows of real faults are found, and what is named first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.anomaly import measures
from benchmarks.anomaly.boutique import NORMAL, Boutique, make_lake, read_boutique
from benchmarks.anomaly.methods import fitted, reduced
from benchmarks.anomaly.nights import above, evenly, services_of, verdicts
from benchmarks.anomaly.services import Flags, Ints
from crisp.options import AlertOptions, Features

ALPHA = 0.01
"""There are too few normal traces before the faults to say anything of 0.001."""
LEAST_TRAIN = 60
REFERENCE = 2_000
LEAST_TODAY = 200
"""Windows of fewer traces are left out."""
CHARGED = "SCPV, callee charged"
_GAP_US = 120_000_000
"""Normal traces that are further apart belong to different windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTraces:
    """One score and kind of fault, trace by trace."""

    features: str
    family: str
    method: str
    fault: str
    trained_on: int
    normal: int
    abnormal: int
    false_positive_rate: float
    recall: float
    auc: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWindow:
    """One injection, or one stretch of normal traces, as a window."""

    fault: str
    service: str
    at: str
    vector: str
    traces: int
    reference: int
    alert: bool
    smallest_p: float
    change: float
    """of mean latency, as a share"""
    first: str
    """service and operation of the first path that is named"""
    place: int
    """of the faulty service among those that are named, from 1; 0: it is not"""


def trace_level(
    boutique: Boutique, features: Features, methods: Sequence[str], family: str, threads: int
) -> list[FaultTraces]:
    """Train on normal traces of the first half of the time, test on all traces afterwards."""
    faults = np.array([label.fault for label in boutique.labels])
    chosen = np.array([family in {"all", label.family} for label in boutique.labels])
    cut = _cut(boutique)
    early = boutique.vectors.start_us < cut
    train = boutique.vectors.take(chosen & early & (faults == NORMAL))
    usual = boutique.vectors.take(chosen & ~early & (faults == NORMAL))
    rows: list[FaultTraces] = []
    if len(train) < LEAST_TRAIN or not len(usual):
        return rows
    for name in methods:
        judge = fitted(
            name, train, boutique.parents, features, seed=0, threads=threads, alpha=ALPHA
        )
        normal_scores, normal_calls = judge.judge(usual, ALPHA)
        for fault in sorted(set(faults[~early]) - {NORMAL}):
            ill = boutique.vectors.take(chosen & ~early & (faults == fault))
            if not len(ill):
                continue
            scores, calls = judge.judge(ill, ALPHA)
            abnormal = np.repeat([False, True], [len(usual), len(ill)])
            rows.append(
                FaultTraces(
                    features=features,
                    family=family,
                    method=name + (f" ({judge.note})" if judge.note else ""),
                    fault=fault,
                    trained_on=len(train),
                    normal=len(usual),
                    abnormal=len(ill),
                    false_positive_rate=float(normal_calls.mean()),
                    recall=float(calls.mean()),
                    auc=measures.auc(np.concatenate([normal_scores, scores]), abnormal),
                )
            )
    return rows


def _cut(boutique: Boutique) -> int:
    """The start of the stretch of normal traces in which the latter half of them begins."""
    normal = _normal(boutique)
    starts = boutique.vectors.start_us[normal]
    heads = starts[np.append(True, np.diff(starts) > _GAP_US)]
    middle = starts[len(starts) // 2]
    return int(heads[np.argmin(np.abs(heads - middle))])


def _normal(boutique: Boutique) -> Flags:
    return np.array([label.fault == NORMAL for label in boutique.labels])


def window_level(boutique: Boutique, vector: str, *, by_family: bool) -> list[FaultWindow]:
    """Each injection and each stretch of normal traces against all normal traces before it.

    ``by_family``: each family of requests as an endpoint of its own; the row is that of the
    family with the smallest p, among those that alert if any does.
    """
    normal, start = _normal(boutique), boutique.vectors.start_us
    families = np.array([label.family if by_family else "all" for label in boutique.labels])
    # all of it is of one day, so that stretches of ten minutes have to tell how much days differ
    parents, options = above(boutique.parents), AlertOptions(least_days=1)
    rows = []
    for fault, pod, which in _windows(boutique):
        before = np.flatnonzero(normal & (start < start[which[0]]))
        if len(which) < LEAST_TODAY or not len(before):
            continue
        pairs = [
            tuple(
                replace(boutique.vectors.take(some[families[some] == family]), endpoint_id=number)
                for some in (before, which)
            )
            for number, family in enumerate(sorted(set(families)))
        ]
        found = verdicts(
            [(evenly(early, REFERENCE), today) for early, today in pairs], parents, options
        )
        service = pod.rsplit("-", 2)[0]
        best = min(
            found.values(), key=lambda each: (not each.alert, each.changed_p, each.smallest_p)
        )
        named = services_of(best.paths, boutique.services)
        first = next((path for path in best.paths if path in boutique.services), None)
        rows.append(
            FaultWindow(
                fault=fault,
                service=service,
                at=datetime.fromtimestamp(start[which[0]] / 1e6, UTC).strftime("%H:%M"),
                vector=vector,
                traces=len(which),
                reference=min(len(before), REFERENCE),
                alert=best.alert,
                smallest_p=best.smallest_p,
                change=best.change_us / best.before_us,
                first=""
                if first is None
                else f"{boutique.services[first]}::{boutique.operations[first]}",
                place=named.index(service) + 1 if service in named else 0,
            )
        )
    return rows


def _windows(
    boutique: Boutique,
) -> list[tuple[str, str, Ints]]:
    """Fault, pod and rows of each injection and of each stretch of normal traces, by time."""
    start = boutique.vectors.start_us
    found: dict[tuple[str, str, str], list[int]] = {}
    stretch, last = 0, -math.inf
    for row, label in enumerate(boutique.labels):
        key = (label.fault, label.pod, label.injected)
        if label.fault == NORMAL:
            stretch += start[row] - last > _GAP_US
            last = start[row]
            key = (NORMAL, "", str(stretch))
        found.setdefault(key, []).append(row)
    windows = [(fault, pod, np.array(rows)) for (fault, pod, _), rows in found.items()]
    return sorted(windows, key=lambda window: int(window[2][0]))


def faults(
    data: Path, work: Path, methods: Sequence[str], *, epochs: int, samples: int, threads: int
) -> tuple[list[FaultTraces], list[FaultWindow]]:
    """Both levels."""
    lake = make_lake(data, work)
    traces: list[FaultTraces] = []
    windows: list[FaultWindow] = []
    views: tuple[Features, ...] = ("scpv", "stv")
    with reduced(epochs, samples):
        for features in views:
            boutique = read_boutique(data, lake, features)
            families = sorted({label.family for label in boutique.labels})
            for family in ("all", *families):
                traces += trace_level(boutique, features, methods, family, threads)
            windows += window_level(boutique, features.upper(), by_family=False)
    charged = read_boutique(data, lake, "scpv", charge_callee=True)
    windows += window_level(charged, CHARGED, by_family=False)
    windows += window_level(charged, f"{CHARGED}, by family", by_family=True)
    return traces, windows
