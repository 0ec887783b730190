"""The anomalies page: what changed in the night, which requests were abnormal, how it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crisp import units
from crisp.report.anomalies import Anomalies
from crisp.report.model_alerts import Alert, alert_data, alerts_of
from crisp.report.model_fleet import Endpoint, names_of
from crisp.report.model_judged import Judged, judged_data, judged_of
from crisp.report.model_marks import EndpointAnomalies, endpoint_anomalies
from crisp.report.model_requests import requests_data
from crisp.report.paths import CallPaths

MOST_REQUESTS = 200
"""Abnormal requests that the page lists."""
_NAMED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Thin:
    """Endpoints that were not compared."""

    endpoints: int
    named: tuple[Judged, ...]
    """the first of them, those with most requests in the window first"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What the page says above its tables."""

    day: str
    compared: int
    """endpoints"""
    changed: int
    firing: int
    level: str
    requests: int
    """abnormal ones that are listed"""
    endpoints: int
    """of these requests"""
    thin: Thin
    models: int
    telling: int
    """of these, models whose chances can be small enough to call a request abnormal"""
    calibration_needed: int
    """requests that have to calibrate a model for that"""

    @property
    def headline(self) -> str:
        """The night in one sentence."""
        if not self.compared:
            return f"No endpoint could be compared on the night of {self.day}."
        of = "1 endpoint" if self.compared == 1 else f"{units.count(self.compared)} endpoints"
        changed = units.count(self.changed) if self.changed else "None"
        return f"{changed} of {of} compared changed on the night of {self.day}."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomaliesPage:
    """The page, and what all other pages show of the same night."""

    night: Night
    alerts: tuple[Alert, ...]
    data: dict[str, Any]
    parts: dict[str, dict[str, Any]]
    endpoints: EndpointAnomalies


def anomalies_page(
    anomalies: Anomalies, endpoints: Sequence[Endpoint], marts: Mapping[str, pa.Table]
) -> AnomaliesPage:
    """The night as the site of these endpoints shows it; ``marts`` are those of the site."""
    few = anomalies.trimmed()
    paths = CallPaths(marts["call_paths"], names_of(marts["endpoint_names"]))
    alerts = alerts_of(few, endpoints, paths, marts["groups"])
    judged = judged_of(endpoints, few, marts["daily"])
    shown = abnormal_rows(few.scores)
    night = night_of(few, alerts, judged, shown)
    return AnomaliesPage(
        night=night,
        alerts=alerts,
        data=anomalies_data(night, few, alerts),
        parts=anomalies_parts(shown, judged, paths),
        endpoints=endpoint_anomalies(few, alerts, judged),
    )


def night_of(
    anomalies: Anomalies, alerts: Sequence[Alert], judged: Sequence[Judged], shown: pa.Table
) -> Night:
    """The night in numbers; ``shown`` are the rows of scores that `abnormal_rows` gave."""
    shifts = anomalies.shifts
    thin = [row for row in judged if not row.compared]
    changed = shifts.filter(shifts["changed"])
    return Night(
        day=anomalies.day,
        compared=pc.count_distinct(shifts["endpoint_id"]).as_py(),
        changed=pc.count_distinct(changed["endpoint_id"]).as_py(),
        firing=sum(alert.status == "firing" for alert in alerts),
        level=units.chance(anomalies.options.level),
        requests=shown.num_rows,
        endpoints=pc.count_distinct(shown["endpoint_id"]).as_py(),
        thin=Thin(endpoints=len(thin), named=tuple(thin[:_NAMED])),
        models=sum(row.model is not None for row in judged),
        telling=sum(row.tells for row in judged),
        calibration_needed=anomalies.calibration_needed,
    )


def abnormal_rows(scores: pa.Table) -> pa.Table:
    """The abnormal requests of all endpoints that are listed: smallest p first, ties by tree."""
    abnormal = scores.filter(scores["abnormal"])
    keys = [("p", "ascending"), ("tree_id", "ascending")]
    return abnormal.take(pc.sort_indices(abnormal, sort_keys=keys)[:MOST_REQUESTS])


def anomalies_data(night: Night, anomalies: Anomalies, alerts: Sequence[Alert]) -> dict[str, Any]:
    """The alerts in the order of the page, for its filters and for other tools."""
    rows = {row["alert_id"]: row for row in anomalies.alerts.to_pylist()}
    return {
        "version": 1,
        "kind": "anomalies",
        "day": night.day,
        "level": anomalies.options.level,
        "compared": night.compared,
        "changed": night.changed,
        "alerts": [alert_data(alert, rows[alert.alert_id]) for alert in alerts],
    }


def anomalies_parts(
    shown: pa.Table, judged: Sequence[Judged], paths: CallPaths
) -> dict[str, dict[str, Any]]:
    """The tables of the page."""
    rows = shown.to_pylist()
    endpoints = {row.endpoint.endpoint_id: row.endpoint for row in judged}
    return {
        "requests": requests_data(rows, paths) | {"entries": _entries(rows, endpoints)},
        "judged": judged_data(judged),
    }


def _entries(rows: list[dict[str, Any]], endpoints: dict[int, Endpoint]) -> dict[str, list[Any]]:
    """The endpoint of each request; one that these days do not hold has no page and no name."""
    found = [endpoints.get(row["endpoint_id"]) for row in rows]
    return {
        "page": [endpoint and endpoint.page for endpoint in found],
        "service": [endpoint.service if endpoint else "" for endpoint in found],
        "operation": [endpoint.operation if endpoint else "" for endpoint in found],
    }
