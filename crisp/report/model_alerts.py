"""Alerts of a night as people read them: what changed, by how much, since when, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crisp import arrow, units
from crisp.report.anomalies import Anomalies
from crisp.report.columns import hex_id
from crisp.report.model_fleet import Endpoint
from crisp.report.model_shifts import Change, changes_of, forest_of
from crisp.report.model_strip import Strip, history_of, strip_of
from crisp.report.paths import CallPaths

STATUSES = ("firing", "silenced", "resolved")
SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemplar:
    """A trace that shows the change."""

    trace_id: str
    span_id: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One endpoint that changed, or did until now."""

    alert_id: str
    endpoint_id: int
    page: str | None
    """page of the endpoint; None where these days hold none of its requests"""
    service: str
    operation: str
    status: str
    severity: str
    since: str
    nights: int
    summary: str
    before: str
    today: str
    change: str
    ratio: str
    change_us: float
    ratio_value: float | None
    traces: int
    abnormal: int
    changes: tuple[Change, ...]
    exemplars: tuple[Exemplar, ...]
    silence: str
    ended: str
    strip: Strip
    compare: str | None
    """the pair of days to compare in the address of the page; None where it lacks one of them"""

    @property
    def is_open(self) -> bool:
        """It is not over."""
        return self.status in {"firing", "silenced"}

    @property
    def lasting(self) -> str:
        """How long it has been firing; the summary says since when."""
        return "1 night" if self.nights == 1 else f"{units.count(self.nights)} nights"


def alerts_of(
    anomalies: Anomalies,
    endpoints: Sequence[Endpoint],
    paths: CallPaths,
    groups: pa.Table,
) -> tuple[Alert, ...]:
    """The alerts of the night: firing ones first, then by severity, by size, and by name.

    ``groups`` is the mart, which tells the days that the page of an endpoint can compare.
    """
    rows = anomalies.alerts.to_pylist()
    page = {endpoint.endpoint_id: endpoint.page for endpoint in endpoints}
    history = history_of(anomalies)
    days = _days(groups, [row["endpoint_id"] for row in rows])
    found = [
        _alert(
            row,
            page=page.get(row["endpoint_id"]),
            paths=paths,
            strip=strip_of(anomalies, row, history.get(row["endpoint_id"], {})),
            compare=_compare(anomalies.day, row, days.get(row["endpoint_id"], [])),
        )
        for row in rows
    ]
    return tuple(sorted(found, key=_order))


def open_words(alerts: Sequence[Alert]) -> dict[int, tuple[str, str]]:
    """The alert of each endpoint that is not over: its severity, or silenced, and a sentence."""
    return {
        alert.endpoint_id: (
            alert.severity if alert.status == "firing" else alert.status,
            f"{alert.summary} ({alert.lasting})",
        )
        for alert in alerts
        if alert.is_open
    }


def rank(severity: str) -> int:
    """0 for the most severe; unknown words come last."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _order(alert: Alert) -> tuple[Any, ...]:
    status = STATUSES.index(alert.status) if alert.status in STATUSES else len(STATUSES)
    size = -abs(alert.change_us)
    return status, rank(alert.severity), size, alert.service, alert.operation, alert.alert_id


def _alert(
    row: Mapping[str, Any],
    *,
    page: str | None,
    paths: CallPaths,
    strip: Strip,
    compare: str | None,
) -> Alert:
    changed, before = row["paths"] or [], row["before_us"]
    same = ("alert_id", "endpoint_id", "service", "operation", "status", "severity", "since")
    counted = ("nights", "summary", "change_us", "traces", "abnormal", "silence", "ended")
    ratio = row["change_us"] / before if before else None
    return Alert(
        **{name: row[name] for name in (*same, *counted)},
        page=page,
        before=units.micros(before),
        today=units.micros(row["latency_us"]),
        change=units.signed(row["change_us"]),
        ratio=units.changed(ratio),
        ratio_value=ratio,
        changes=changes_of(changed, forest_of(changed, paths)),
        exemplars=tuple(_exemplar(found) for found in row["exemplars"] or []),
        strip=strip,
        compare=compare,
    )


def _exemplar(row: Mapping[str, Any]) -> Exemplar:
    words = f"{units.micros(row['latency_us'])}, of it {units.micros(row['time_us'])} on the path"
    return Exemplar(trace_id=row["trace_id"], span_id=row["span_id"], words=words)


def _days(groups: pa.Table, endpoint_ids: list[int]) -> dict[int, list[str]]:
    """Days with traces of some endpoints, as their pages compare them."""
    wanted = pc.and_(
        pc.equal(groups["kind"], "day"),
        pc.is_in(groups["endpoint_id"], value_set=arrow.ints(endpoint_ids)),
    )
    found: dict[int, list[str]] = {}
    for row in groups.filter(wanted).select(["endpoint_id", "label", "traces"]).to_pylist():
        if row["traces"]:
            found.setdefault(row["endpoint_id"], []).append(row["label"])
    return found


def _compare(day: str, alert: Mapping[str, Any], days: list[str]) -> str | None:
    """The last day before the change and the night, as compare.ts names a pair."""
    earlier = [label for label in days if label < alert["since"]]
    return f"day:{max(earlier)}:{day}" if earlier and day in days else None


def alert_data(alert: Alert, row: Mapping[str, Any]) -> dict[str, Any]:
    """An alert for other tools, and for the order and the filters of the page."""
    numbers = ("path_id", "name", "test", "today", "before", "change_us", "q")
    return {
        "alert_id": alert.alert_id,
        "endpoint_id": hex_id(alert.endpoint_id),
        "page": alert.page,
        "ratio": alert.ratio_value,
        **{
            name: row[name]
            for name in (
                *("service", "operation", "status", "severity", "since", "nights", "summary"),
                *("latency_us", "before_us", "change_us", "traces", "abnormal"),
                *("silence", "ended", "exemplars"),
            )
        },
        "paths": [
            {name: path[name] for name in numbers} | {"path_id": hex_id(path["path_id"])}
            for path in row["paths"] or []
        ],
    }
