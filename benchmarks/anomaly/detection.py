"""P1, the paper's protocol: Table 4.2 in its shape, in the four readings of how to spoil a trace.

Precision is TP / (TP + FP) and recall TP / (TP + FN) here. In Table 4.2 the two headings are
exchanged with respect to its own formula, so its column "precision" is to be read as recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.anomaly import measures
from benchmarks.anomaly.corruption import VARIANTS, corrupted
from benchmarks.anomaly.methods import Judge, fitted, reduced, seconds_per_thousand
from benchmarks.anomaly.paths import Views, in_blocks, path_of_site, views_of
from benchmarks.anomaly.requests import DAY_US, MONDAY_US, requests
from benchmarks.anomaly.services import Ints, Service, service_of
from benchmarks.anomaly.tables import figure, grouped, table
from crisp.anomaly.vectors import Vectors
from crisp.options import Features

ALPHA = 0.001
TESTED = 500
"""Normal traces, and as many abnormal ones of each reading"""
WINDOW_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of P1 is run."""

    services: Sequence[int]
    methods: Sequence[str]
    """names of plain and trivial scores, "hurdle", "paper" and "default" """
    features: Sequence[Features]
    seeds: int
    traces: int
    threads: int
    epochs: int
    """of the paper's network, at most"""
    samples: int
    """of its importance sampling"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """One method on one service and seed."""

    service: int
    features: str
    method: str
    seed: int
    endpoints: int
    max_spans: int
    paths: int
    columns: int
    train_s: float
    """processor seconds"""
    inference_s: float
    """processor seconds for a thousand traces"""
    false_positive_rate: float
    precision: dict[str, float]
    """by reading; NaN when no trace is called abnormal"""
    recall: dict[str, float]
    auc: dict[str, float]
    note: str


def detection(settings: Settings) -> list[Detection]:
    """All rows of P1."""
    with reduced(settings.epochs, settings.samples):
        return [
            row
            for number in settings.services
            for seed in range(settings.seeds)
            for row in _of_service(number, seed, settings)
        ]


def training_views(service: Service, traces: int, seed: int) -> Views:
    """Requests spread evenly at random over the days of a window."""
    rng = np.random.default_rng([seed, 1])
    starts = MONDAY_US + np.sort(rng.integers(0, WINDOW_DAYS * DAY_US, traces))
    return in_blocks(starts, lambda some: requests(service, some, rng))


def parents_of(service: Service) -> tuple[Ints, Ints]:
    """Call paths, ascending, and the parent of each."""
    paths = path_of_site(service)
    above = np.where(service.parent < 0, 0, paths[service.parent])
    order = np.argsort(paths)
    return paths[order], above[order]


def _of_service(number: int, seed: int, settings: Settings) -> list[Detection]:
    service = service_of(number)
    parents = parents_of(service)
    train = training_views(service, settings.traces, seed)
    rng = np.random.default_rng([seed, 2])
    after = MONDAY_US + WINDOW_DAYS * DAY_US
    starts = after + np.sort(rng.integers(0, DAY_US, TESTED))
    normal, spoiled = (requests(service, starts, rng) for _ in range(2))
    known = views_of(normal)
    rows = []
    for features in settings.features:
        seen, fine = (v.scpv if features == "scpv" else v.stv for v in (train, known))
        spoiled_vectors = {
            variant.name: corrupted(spoiled, variant, features, rng) for variant in VARIANTS
        }
        for name in settings.methods:
            judge = fitted(name, seen, parents, features, seed=seed, threads=settings.threads)
            row = Detection(
                service=number,
                features=features,
                method=name,
                seed=seed,
                endpoints=len(train.endpoints),
                max_spans=int(train.spans.max()),
                paths=len(np.unique(seen.path_id)),
                columns=judge.columns,
                train_s=judge.train_s,
                inference_s=seconds_per_thousand(judge, fine, ALPHA),
                **_found(judge, fine, spoiled_vectors),
                note=judge.note,
            )
            rows.append(row)
    return rows


def _found(judge: Judge, normal: Vectors, spoiled: dict[str, Vectors]) -> dict[str, Any]:
    """False-positive rate; by reading: precision, recall and area under the curve."""
    usual, called = judge.judge(normal, ALPHA)
    found: dict[str, Any] = {"false_positive_rate": float(called.mean())}
    found |= {"precision": {}, "recall": {}, "auc": {}}
    for name, vectors in spoiled.items():
        scores, flags = judge.judge(vectors, ALPHA)
        abnormal = np.repeat([False, True], [len(normal), len(vectors)])
        calls = np.concatenate([called, flags])
        found["precision"][name] = measures.precision(calls, abnormal)
        found["recall"][name] = measures.recall(calls, abnormal)
        found["auc"][name] = measures.auc(np.concatenate([usual, scores]), abnormal)
    return found


def tables(rows: Sequence[Detection]) -> list[str]:
    """Table 4.2 in its shape, and what each method did by reading; means over the seeds."""
    of_method = grouped(rows, lambda row: (row.service, row.features, row.method))
    return [
        table("P1, in the shape of Table 4.2", [_shape(some) for some in of_method.values()]),
        table(
            "P1, area under the curve / recall by reading",
            [_readings(some) for some in of_method.values()],
        ),
    ]


def _shape(rows: Sequence[Detection]) -> dict[str, str]:
    first = rows[0]
    notes = sorted({row.note for row in rows if row.note})
    return {
        "service": str(first.service),
        "endpoints": f"{first.endpoints:,}",
        "max spans": f"{first.max_spans:,}",
        "vector": first.features.upper(),
        "call paths": f"{measures.mean([row.paths for row in rows]):,.0f}",
        "method": first.method + (f" ({', '.join(notes)})" if notes else ""),
        "columns": f"{measures.mean([row.columns for row in rows]):,.0f}",
        "training CPU s": figure(measures.mean([row.train_s for row in rows]), 2),
        "CPU s per 1,000": figure(measures.mean([row.inference_s for row in rows]), 4),
        "precision": figure(_over(rows, "precision")),
        "recall": figure(_over(rows, "recall")),
        "false positives": figure(measures.mean([row.false_positive_rate for row in rows]), 4),
    }


def _over(rows: Sequence[Detection], name: str) -> float:
    """Mean over seeds and readings."""
    return measures.mean([value for row in rows for value in getattr(row, name).values()])


def _readings(rows: Sequence[Detection]) -> dict[str, str]:
    first = rows[0]
    found = {
        "service": str(first.service),
        "vector": first.features.upper(),
        "method": first.method,
    }
    for variant in VARIANTS:
        area = measures.mean([row.auc[variant.name] for row in rows])
        share = measures.mean([row.recall[variant.name] for row in rows])
        found[variant.name] = f"{figure(area)} / {figure(share)}"
    return found
