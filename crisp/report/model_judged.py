"""How each endpoint is judged: its model in short, or what is missing for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crisp import units
from crisp.report.anomalies import Anomalies
from crisp.report.model_fleet import Endpoint

_TRAINED = {
    "cold": "trained from nothing",
    "warm": "trained on from the one before",
    "kept": "kept, the traces have hardly changed",
    "none": "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One endpoint of the fleet on the night."""

    endpoint: Endpoint
    compared: int
    """traces of the day that were compared with those before, 0 for none"""
    missing: int
    """traces of the day that are missing to compare it"""
    note: str
    """how it was compared, or why not"""
    model: Mapping[str, Any] | None
    changed: int
    """changes of its calls, or of its requests as a whole, that are no chance"""
    abnormal: int
    """requests of those that are kept for its page"""
    calibration_needed: int
    """see `Anomalies`"""

    @property
    def tells(self) -> bool:
        """Its chances can be small enough for a request to be abnormal; those of profile paper
        have no floor."""
        if self.model is None:
            return False
        enough = self.model["calibration_rows"] >= self.calibration_needed
        return bool(enough or self.model["profile"] == "paper")

    @property
    def rank(self) -> int:
        """How little there is to see: 0 changed, 1 abnormal requests, 2 nothing of both, 3 was not
        compared, 4 has no model."""
        found = (self.changed, self.abnormal, self.compared, self.model is not None)
        return next((place for place, there in enumerate(found) if there), len(found))

    @property
    def smallest(self) -> str:
        """The smallest chance that calibration can tell."""
        rows = self.model["calibration_rows"] if self.model else 0
        return units.chance(1 / (rows + 1)) if rows else "cannot be said"

    @property
    def false_positive_rate(self) -> float | None:
        """Of the score that serves, on held-out traces; None where it was not measured."""
        serving = [c for c in self.candidates if self.model and c["score"] == self.model["serves"]]
        return serving[0]["false_positive_rate"] if serving else None

    @property
    def candidates(self) -> list[Mapping[str, Any]]:
        """The scores that were tried."""
        return list(self.model["candidates"] or []) if self.model else []

    @property
    def network(self) -> str:
        """How the network came about."""
        if self.model is None:
            return ""
        words = _TRAINED.get(self.model["trained"], self.model["trained"])
        day = self.model["trained_day"]
        return f"{words}, days to {day}" if day else words


def judged_of(
    endpoints: Sequence[Endpoint], anomalies: Anomalies, daily: pa.Table
) -> tuple[Judged, ...]:
    """Every endpoint of the fleet, in its order; ``daily`` is the mart."""
    compared = _compared(anomalies.shifts)
    changed = _marked(anomalies.shifts, "changed")
    abnormal = _marked(anomalies.scores, "abnormal")
    models = {row["endpoint_id"]: row for row in anomalies.models.to_pylist()}
    today = daily.filter(pc.equal(daily["day"].cast(pa.string()), anomalies.day))
    traces = dict(zip(*(today[n].to_pylist() for n in ("endpoint_id", "traces")), strict=True))
    return tuple(
        _judged(
            endpoint,
            anomalies,
            models.get(endpoint.endpoint_id),
            compared.get(endpoint.endpoint_id),
            traces.get(endpoint.endpoint_id, 0) if traces else None,
            changed=changed.get(endpoint.endpoint_id, 0),
            abnormal=abnormal.get(endpoint.endpoint_id, 0),
        )
        for endpoint in endpoints
    )


def judged_data(judged: Sequence[Judged]) -> dict[str, Any]:
    """The endpoints by column, in the order of `Judged.rank`, equal ones as they were; what a model
    says is null where there is none, and abnormal where none could be found, by any chance."""
    judged = sorted(judged, key=lambda row: row.rank)
    models = [row.model for row in judged]
    candidates = [each for row in judged for each in row.candidates]
    edges = [0]
    for row in judged:
        edges.append(edges[-1] + len(row.candidates))
    return {
        "page": [row.endpoint.page for row in judged],
        "service": [row.endpoint.service for row in judged],
        "operation": [row.endpoint.operation for row in judged],
        "compared": [row.compared for row in judged],
        "missing": [row.missing for row in judged],
        "changed": [row.changed for row in judged],
        "abnormal": [row.abnormal if row.abnormal or row.tells else None for row in judged],
        "rank": [row.rank for row in judged],
        "note": [row.note for row in judged],
        "smallest": [row.smallest for row in judged],
        "network": [row.network for row in judged],
        "false_positive_rate": [_rounded(row.false_positive_rate) for row in judged],
        **{name: [model and model[name] for model in models] for name in _TEXTS},
        **{name: [model and _rounded(model[name]) for model in models] for name in _RATES},
        "first": edges,
        "candidates": {
            "score": [each["score"] for each in candidates],
            **{
                name: [_rounded(each[name]) for each in candidates]
                for name in ("recall", "auc", "false_positive_rate")
            },
        },
    }


_TEXTS = (
    *("profile", "features", "first_day", "last_day", "traces", "fit_rows", "gate_rows"),
    *("calibration_rows", "paths", "columns", "serves", "reason"),
)
_RATES = ("new_path_rate", "drift")


def _compared(shifts: pa.Table) -> dict[int, tuple[int, int]]:
    """Traces of the day and of the days before by endpoint: most over its tests."""
    grouped = shifts.group_by("endpoint_id").aggregate(
        [("traces", "max"), ("reference_traces", "max")]
    )
    return {
        row["endpoint_id"]: (row["traces_max"], row["reference_traces_max"])
        for row in grouped.to_pylist()
    }


def _marked(table: pa.Table, flag: str) -> dict[int, int]:
    """Rows with the flag by endpoint."""
    counts = table.filter(table[flag])["endpoint_id"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts}


def _judged(
    endpoint: Endpoint,
    anomalies: Anomalies,
    model: Mapping[str, Any] | None,
    compared: tuple[int, int] | None,
    today: int | None,
    *,
    changed: int,
    abnormal: int,
) -> Judged:
    """``today`` are its traces of the day, None where the window does not hold that day."""
    lacks = compared is None and today is not None
    missing = max(0, anomalies.options.least_traces - (today or 0)) if lacks else 0
    if compared:
        note = f"{_traces(compared[0])} compared with {units.count(compared[1])} of days before"
    elif today is None:
        note = f"these days do not hold {anomalies.day}"
    elif not today:
        note = f"no trace on {anomalies.day}"
    elif missing:
        note = f"{_traces(today)} on {anomalies.day}: {units.count(missing)} more needed"
    else:
        note = "nothing of the days before to compare it with"
    return Judged(
        endpoint=endpoint,
        compared=compared[0] if compared else 0,
        missing=missing,
        note=note,
        model=model,
        changed=changed,
        abnormal=abnormal,
        calibration_needed=anomalies.calibration_needed,
    )


def _traces(number: int) -> str:
    return "1 trace" if number == 1 else f"{units.count(number)} traces"


def _rounded(value: float | None) -> float | None:
    return None if value is None or value != value else round(value, 6)
