"""The life of alerts: they begin, go on while a change lasts, and end once.

One alert stands for one endpoint. It is made from the tests of a night and the alerts of the
night before, so running a night again gives the same alerts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa

from crisp import schema
from crisp.anomaly import wording
from crisp.anomaly.changes import Change, Row
from crisp.anomaly.silences import Silence
from crisp.options import AlertOptions
from crisp.stable import text_id

BACK, NORMAL, VANISHED = "back to before", "new normal", "endpoint vanished"
"""Why an alert is over."""
MISSED_NIGHTS = 3
"""Nights, of all its life, that an alert may go without its endpoint being compared."""
MOST_EXEMPLARS = 5
_SEVERITIES = ("info", "warning", "critical")

SEEN = pa.schema(
    [
        ("endpoint_id", pa.int64()),
        ("trace_id", pa.string()),
        ("span_id", pa.string()),
        ("start_us", pa.int64()),
        ("latency_us", pa.int64()),
        ("time_us", pa.int64()),
        ("failed", pa.bool_()),
        ("p", pa.float64()),
    ]
)
"""Traces of the day that may be shown: ``span_id``, ``time_us`` and ``failed`` are of the first
changed path of their endpoint (of the root where that is 0), the root span and 0 in a trace
without it; ``p`` as in `schema.SCORES`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What people call endpoints and paths."""

    endpoints: Mapping[int, tuple[str, str]]
    """service and operation"""
    paths: Mapping[int, Sequence[str]]
    """endpoints ``service::operation`` from the root down"""


def alerts_of_night(
    day: str,
    changes: Mapping[int, Change],
    seen: pa.Table,
    before: pa.Table | None,
    *,
    names: Names,
    silences: Sequence[Silence],
    options: AlertOptions,
) -> pa.Table:
    """Rows of `schema.ALERTS` for a night, ordered by service and operation.

    ``changes`` are those of `changes_of_night` with the same ``before``; ``seen`` has the columns
    of `SEEN`, for the endpoints that differ. Every endpoint that differs has one alert: the open
    one it had, or a new one, since today. An open alert is over, and is here once more as
    resolved, when its endpoint differs no longer, when the change has lasted
    ``becomes_normal_days``, or when the endpoint was not compared on more than `MISSED_NIGHTS`;
    until then it stays as it was. The severity of an alert never falls while it lasts.
    """
    shown = _by_endpoint(seen)
    opened = {
        alert["endpoint_id"]: alert
        for alert in (before.to_pylist() if before is not None else ())
        if alert["status"] != "resolved"
    }
    rows = [_missed(day, alert) for id_, alert in opened.items() if id_ not in changes]
    for endpoint_id, change in changes.items():
        alert = opened.get(endpoint_id)
        why = _why_over(day, alert, change, options)
        if alert is not None and why:
            rows.append(_resolved(alert, why, change))
        elif change.differs:
            row = _firing(day, endpoint_id, change, alert, names)
            examples = _exemplars(shown.get(endpoint_id, []), change)
            changed = [_path(each, names) for each in row["paths"] if each["path_id"]]
            rows.append(_hushed(row | {"exemplars": examples}, changed, day, silences))
    rows.sort(key=lambda row: (row["service"], row["operation"], row["endpoint_id"]))
    return pa.Table.from_pylist(rows, schema=schema.ALERTS)


def excluded_days(
    nights: Mapping[str, pa.Table], window: Sequence[str], options: AlertOptions
) -> dict[int, list[str]]:
    """Days of ``window`` that are not to be learnt from, by endpoint, in order.

    ``nights`` are the alerts of each night that is known, from the window and before. Left out
    are days on which an endpoint had an open alert, silenced or not. But what has become normal
    is learnt, and then the days before it began are those left out; that begins a night before
    the alert ends as the new normal, so that a model of the new kind is there when it does.
    """
    open_nights: dict[int, dict[str, set[str]]] = {}  # by endpoint, then by the alert's since
    normal: dict[int, str] = {}
    for night in sorted(nights):
        for alert in nights[night].select(["endpoint_id", "status", "since", "ended"]).to_pylist():
            endpoint, since = alert["endpoint_id"], alert["since"]
            lasting = open_nights.setdefault(endpoint, {}).setdefault(since, set())
            if alert["status"] != "resolved":
                lasting.add(night)
            soon = _days(since, night) >= options.becomes_normal_days - 1
            if alert["ended"] == NORMAL or (alert["status"] != "resolved" and soon):
                normal[endpoint] = max(since, normal.get(endpoint, ""))
    found = {}
    for endpoint, alerts in sorted(open_nights.items()):
        since = normal.get(endpoint, "")
        alarmed = {night for begun, some in alerts.items() if begun > since for night in some}
        if left := [day for day in window if day < since or day in alarmed]:
            found[endpoint] = left
    return found


def _why_over(day: str, alert: Row | None, change: Change, options: AlertOptions) -> str:
    if alert is not None and _days(alert["since"], day) >= options.becomes_normal_days:
        return NORMAL
    return "" if change.differs else BACK


def _missed(day: str, alert: Row) -> Row:
    """An open alert whose endpoint was not compared tonight."""
    missed = _days(alert["since"], day) + 1 - alert["nights"]
    return _resolved(alert, VANISHED, None) if missed > MISSED_NIGHTS else alert


def _resolved(alert: Row, why: str, change: Change | None) -> Row:
    words = (alert["service"], alert["operation"], alert["nights"], alert["since"], why)
    row = alert | {"status": "resolved", "ended": why, "summary": wording.over(*words)}
    return row if change is None else row | _figures(change)


def _firing(day: str, endpoint_id: int, change: Change, alert: Row | None, names: Names) -> Row:
    service, operation = names.endpoints[endpoint_id]
    since = alert["since"] if alert else day
    paths = [_named(row, names, f"{service}::{operation}") for row in change.rows]
    first = _path(change.rows[0], names)[-1]
    found = wording.severity(change.change_us / max(change.before_us, 1), change.errors)
    worst = max(found, alert["severity"] if alert else found, key=_SEVERITIES.index)
    return {
        "alert_id": alert_id(endpoint_id, since),
        "endpoint_id": endpoint_id,
        "service": service,
        "operation": operation,
        "status": "firing",
        "severity": worst,
        "since": since,
        "nights": alert["nights"] + 1 if alert else 1,
        "summary": wording.summary(
            service,
            operation,
            change_us=change.change_us,
            before_us=change.before_us,
            since=since,
            paths=paths,
            first=first,
        ),
        "paths": paths,
        "silence": "",
        "ended": "",
    } | _figures(change)


def alert_id(endpoint_id: int, since: str) -> str:
    """The same for all the life of an alert, on every machine: 16 hexadecimal digits."""
    return f"{text_id('alert', str(endpoint_id), since) % 2**64:016x}"


def _figures(change: Change) -> Row:
    names = ("latency_us", "before_us", "change_us", "traces", "abnormal")
    return {name: getattr(change, name) for name in names}


def _named(row: Row, names: Names, endpoint: str) -> Row:
    columns = ("path_id", "test", "today", "before", "change_us", "q")
    name = " > ".join(_path(row, names)) if row["path_id"] else endpoint
    return {"name": name} | {column: row[column] for column in columns}


def _path(row: Row, names: Names) -> Sequence[str]:
    """Endpoints of a changed path from the root down: an operation may hold `` > `` itself."""
    return names.paths.get(row["path_id"]) or (f"call path {row['path_id']}",)


def _hushed(
    row: Row, changed: Sequence[Sequence[str]], day: str, silences: Sequence[Silence]
) -> Row:
    """Silenced when the silences that hold cover all that changed: each of its paths, or, where
    no path changed, the endpoint."""
    parts: Sequence[Sequence[str] | None] = changed or [None]
    reasons = [_reason(row, path, day, silences) for path in parts]
    if not all(reasons):
        return row
    return row | {"status": "silenced", "silence": reasons[0]}


def _reason(row: Row, path: Sequence[str] | None, day: str, silences: Sequence[Silence]) -> str:
    fitting = (s.reason for s in silences if s.fits(row["service"], row["operation"], path, day))
    return next(fitting, "")


def _exemplars(seen: Sequence[Row], change: Change) -> list[Row]:
    """Traces that show the first change best; ties by latency and trace id."""
    first = change.rows[0]
    rises = first["today"] > first["before"] or first["change_us"] > 0

    def key(row: Row) -> tuple[Any, ...]:
        p = 1.0 if row["p"] is None else row["p"]
        if first["test"] in {"error", "failed"} and rises:
            return not row["failed"], p, -row["latency_us"], row["trace_id"]
        if first["test"] != "abnormal" and rises:
            time = row["time_us"] if first["path_id"] else row["latency_us"]
            return -time, p, -row["latency_us"], row["trace_id"]
        return p, row["latency_us"], row["trace_id"]

    columns = ("trace_id", "span_id", "start_us", "latency_us", "time_us")
    chosen = sorted(seen, key=key)[:MOST_EXEMPLARS]
    return [{column: row[column] for column in columns} for row in chosen]


def _by_endpoint(seen: pa.Table) -> dict[int, list[Row]]:
    rows: dict[int, list[Row]] = {}
    for row in seen.to_pylist():
        rows.setdefault(row["endpoint_id"], []).append(row)
    return rows


def _days(since: str, day: str) -> int:
    return (date.fromisoformat(day) - date.fromisoformat(since)).days
