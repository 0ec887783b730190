"""Anomalies on the page of an endpoint: its alert, marks on calls that changed, its own section."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crisp import units
from crisp.report.anomalies import Anomalies
from crisp.report.columns import Grouped, dicts, group
from crisp.report.model_alerts import Alert
from crisp.report.model_fleet import Endpoint
from crisp.report.model_judged import Judged
from crisp.report.model_requests import requests_data
from crisp.report.model_shifts import Change, changes_of, places
from crisp.report.paths import CallPaths, Tree

_LEAST_NORMAL = 5
"""Requests shown of an endpoint that has no abnormal one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What the page says of the endpoint's anomalies."""

    day: str
    alert: Alert | None
    judged: Judged
    changes: tuple[Change, ...]
    """that the night found, then the largest others"""
    abnormal: int
    """requests of those listed"""
    listed: int
    requests: str
    """what the list of requests is of"""
    search: str
    """finds the endpoint on the anomalies page"""

    @property
    def changed(self) -> int:
        """Changes that are no chance, at the level of alerts."""
        return sum(change.changed for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The anomalies of a page."""

    section: Section
    marks: dict[str, Any]
    """calls that changed, by row of the page's tree"""
    requests: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointAnomalies:
    """What the pages of some endpoints show, by endpoint; small, so that processes can have it."""

    day: str
    shifts: Grouped
    scores: Grouped
    alerts: Mapping[int, Alert]
    judged: Mapping[int, Judged]

    def marks(self, endpoint: Endpoint, tree: Tree, paths: CallPaths) -> Marks:
        """The anomalies of one endpoint, whose page draws ``tree``."""
        number = endpoint.endpoint_id
        shifts = list(dicts(self.shifts.of(number)))
        alert = self.alerts.get(number)
        changes = changes_of(shifts, tree)
        rows = list(dicts(self.scores.of(number)))
        abnormal = [row for row in rows if row["abnormal"]]
        listed = abnormal or rows[:_LEAST_NORMAL]
        return Marks(
            section=Section(
                day=self.day,
                alert=alert,
                judged=self.judged[number],
                changes=changes,
                abnormal=len(abnormal),
                listed=len(listed),
                requests=_requests(self.day, abnormal, listed, self.judged[number]),
                search=f"{endpoint.service}::{endpoint.operation}",
            ),
            marks=_marks([*(alert.changes if alert and alert.is_open else ()), *changes], tree),
            requests=requests_data(listed, paths),
        )


def endpoint_anomalies(
    anomalies: Anomalies, alerts: Sequence[Alert], judged: Sequence[Judged]
) -> EndpointAnomalies:
    """Grouped once for all pages; ``anomalies`` are trimmed, so in the order of the pages."""
    return EndpointAnomalies(
        day=anomalies.day,
        shifts=group(anomalies.shifts),
        scores=group(anomalies.scores),
        alerts={alert.endpoint_id: alert for alert in reversed(alerts)},
        judged={row.endpoint.endpoint_id: row for row in judged},
    )


def _requests(day: str, abnormal: list[Any], listed: list[Any], judged: Judged) -> str:
    if not listed and judged.model is None:
        return f"No request of {day} was scored: a model of the days before is needed."
    if not abnormal:
        why = _too_few(judged)
        if not listed:
            return f"No request of {day} was abnormal{why or ', or nearly so'}."
        how = listed[0]["p_how"]
        made = f" How their chances were made: {how}." if how else ""
        return f"No request of {day} was abnormal{why}. These are the least normal of them.{made}"
    number = len(abnormal)
    words = "The most abnormal request" if number == 1 else f"The {number} most abnormal requests"
    return f"{words} of {day}: what each call took beyond what is expected of it."


def _too_few(judged: Judged) -> str:
    """Why no chance could be small enough for a request to be abnormal; '' where one could."""
    if judged.model is None or judged.tells:
        return ""
    rows = units.count(judged.model["calibration_rows"])
    needed = units.count(judged.calibration_needed)
    return f", and none could be by its chance: {rows} requests calibrate it, it takes {needed}"


def _marks(changes: Iterable[Change], tree: Tree) -> dict[str, Any]:
    """Calls of the tree that changed: one mark each, of the first change that is of it."""
    place = places(tree)
    found: dict[int, Change] = {}
    for change in changes:
        row = place.get(change.path_id)
        if row is not None and change.changed:
            found.setdefault(row, change)
    return {
        "path": list(found),
        "label": [change.label for change in found.values()],
        "note": [change.note for change in found.values()],
    }
