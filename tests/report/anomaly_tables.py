"""A night of the shop, judged by hand: every number in it can be checked in the head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from crisp import schema
from crisp.options import AlertOptions
from crisp.report.anomalies import HISTORY, Anomalies

Row = Mapping[str, Any]
DAY = "2026-01-02"
DB_READ = -9223372036854775803
NEVER_SEEN = 99
"""A call path that no mart holds."""
DAY_US = 1_767_312_000_000_000

SUMMARY = (
    "shop buy takes 42 ms more per request (+240 %) since 2026-01-01; db::read holds the critical "
    "path 40 ms longer"
)
# Of the mean latency of 17.5 ms before and 59.5 ms on the day, db::read has 40 ms, cart::get 2 ms.
ALERT: Row = {
    "alert_id": "a1",
    "endpoint_id": 1,
    "service": "shop",
    "operation": "buy",
    "status": "firing",
    "severity": "critical",
    "since": "2026-01-01",
    "nights": 2,
    "summary": SUMMARY,
    "latency_us": 59_500.0,
    "before_us": 17_500.0,
    "change_us": 42_000.0,
    "traces": 300,
    "abnormal": 12,
    "paths": [
        {
            "path_id": DB_READ,
            "name": "shop::buy > cart::get > db::read",
            "test": "time",
            "today": 50_000.0,
            "before": 10_000.0,
            "change_us": 40_000.0,
            "q": 1e-7,
        },
        {
            "path_id": 0,
            "name": "",
            "test": "failed",
            "today": 0.25,
            "before": 0.05,
            "change_us": 0.0,
            "q": 0.0005,
        },
        {
            "path_id": NEVER_SEEN,
            "name": "shop::buy > <b>gone</b>",
            "test": "presence",
            "today": 0.0,
            "before": 0.5,
            "change_us": -1_500.0,
            "q": 0.004,
        },
    ],
    "exemplars": [
        {
            "trace_id": "00000000000000ab",
            "span_id": "c1",
            "start_us": DAY_US,
            "latency_us": 90_000,
            "time_us": 80_000,
        }
    ],
    "silence": "",
    "ended": "",
}

CHANCE: Row = {"q": 0.3, "changed": False}
"""What makes a shift one that could be chance."""


def alert(**changes: Any) -> dict[str, Any]:
    """The alert of the shop with some columns changed."""
    return {**ALERT, **changes}


def shift(**changes: Any) -> dict[str, Any]:
    """db::read took 40 ms longer; with some columns changed."""
    row = {
        "endpoint_id": 1,
        "path_id": DB_READ,
        "test": "time",
        "traces": 300,
        "reference_traces": 2_000,
        "today": 50_000.0,
        "before": 10_000.0,
        "change_us": 40_000.0,
        "inflation": 1.0,
        "p": 1e-9,
        "q": 1e-7,
        "changed": True,
    }
    return {**row, **changes}


def score(number: int = 1, **changes: Any) -> dict[str, Any]:
    """A request of 90 ms where 20 ms are expected: db::read took 65 ms more, cart::get 7 ms, and
    all others 2 ms less; with some columns changed."""
    row = {
        "endpoint_id": 1,
        "tree_id": number,
        "trace_id": f"{number:016x}",
        "root_span_id": "r",
        "start_us": DAY_US,
        "latency_us": 90_000,
        "model": "hurdle 2026-01-01",
        "served_by": "latency",
        "score": 9.0,
        "p": 1 / 1_201,
        "p_how": "conformal, 1,200 traces",
        "abnormal": True,
        **dict.fromkeys(("latency", "excess", "pattern", "pca", "isolation"), 1.0),
        "expected_us": 20_000,
        "contributions": [
            {"path_id": DB_READ, "change_us": 65_000},
            {"path_id": 12, "change_us": 7_000},
        ],
        "other_us": -2_000,
        "unseen": [NEVER_SEEN],
        "unseen_counts": True,
    }
    return {**row, **changes}


def model(**changes: Any) -> dict[str, Any]:
    """The model of the shop: 600 traces fitted, 250 calibrated; with some columns changed."""
    row = {
        "endpoint_id": 1,
        "format": 1,
        "profile": "hurdle",
        "features": "scpv",
        "first_day": "2025-12-19",
        "last_day": "2026-01-01",
        "traces": 1_000,
        "fit_rows": 600,
        "gate_rows": 150,
        "calibration_rows": 250,
        "paths": 4,
        "columns": 5,
        "new_path_rate": 0.002,
        "serves": "latency",
        "reason": "latency found 80 % of planted changes, vae 70 %",
        "candidates": [
            {"score": "latency", "recall": 0.8, "auc": 0.95, "false_positive_rate": 0.004},
            {"score": "vae", "recall": 0.7, "auc": 0.93, "false_positive_rate": 0.006},
        ],
        "trained": "warm",
        "trained_day": "2025-12-31",
        "drift": 0.04,
    }
    return {**row, **changes}


def night(
    *,
    alerts: tuple[Row, ...] = (),
    shifts: tuple[Row, ...] = (),
    scores: tuple[Row, ...] = (),
    models: tuple[Row, ...] = (),
    history: tuple[Row, ...] = (),
    nights: tuple[str, ...] = (),
) -> Anomalies:
    """A night with these rows."""
    light = [field for field in schema.MODELS if field.name not in {"about", "tensors"}]
    return Anomalies(
        day=DAY,
        nights=nights,
        options=AlertOptions(),
        alerts=pa.Table.from_pylist(list(alerts), schema=schema.ALERTS),
        shifts=pa.Table.from_pylist(list(shifts), schema=schema.SHIFTS),
        scores=pa.Table.from_pylist(list(scores), schema=schema.SCORES),
        models=pa.Table.from_pylist(list(models), schema=pa.schema(light)),
        history=pa.Table.from_pylist(list(history), schema=HISTORY),
        calibration_needed=999,
    )


def past(day: str, status: str = "firing", severity: str = "critical") -> dict[str, Any]:
    """A night of the history of the shop's alert."""
    return {
        "date": day,
        "endpoint_id": 1,
        "status": status,
        "change_us": 42_000.0,
        "severity": severity,
    }


def bad_night() -> Anomalies:
    """shop::buy took 42 ms more for the second night; of its requests three were abnormal."""
    return night(
        alerts=(alert(),),
        shifts=(
            shift(),
            shift(path_id=0, test="failed", today=0.25, before=0.05, change_us=0.0, q=0.0005),
            shift(path_id=12, today=4_250.0, before=2_250.0, change_us=2_000.0, **CHANCE),
        ),
        scores=(score(1), score(2, p=None, unseen=[], p_how="too few traces"), score(3, p=0.01)),
        models=(model(),),
        history=(past("2025-12-25", "resolved"), past("2025-12-24"), past("2026-01-01")),
        nights=(*(f"2025-12-{day}" for day in range(24, 32)), "2026-01-01", DAY),
    )
