"""Alerts as others want them: events in JSON, and what Alertmanager's API v2 takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from crisp.anomaly.wording import clean, described, unrecorded

Event = dict[str, Any]
ALERTNAME = "CrispEndpointChanged"
UNRECORDED = "end not recorded"
"""Why an alert is over whose end no night tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where people look next."""

    pages: Mapping[int, str] = field(default_factory=dict)
    """address of the page of each endpoint, as far as there is a site"""
    trace_url: str | None = None
    """a trace, with ``{trace_id}`` and perhaps ``{span_id}``; None for no links"""


def events_of(alerts: pa.Table, day: str, links: Links) -> list[Event]:
    """One event for each alert, in the order of ``alerts``.

    An event is what a receiver hears of an alert once: its ``id`` is the same on every night
    that the alert fires with the same severity. Those that are ``silenced`` are for the outbox,
    and no receiver hears of them. Ids are texts: numbers of JavaScript do not hold 64 bits.
    """
    return [_event(alert, day, links) for alert in alerts.to_pylist()]


def _event(alert: Mapping[str, Any], day: str, links: Links) -> Event:
    state = f"firing-{alert['severity']}" if alert["status"] == "firing" else alert["status"]
    plain = ("since", "nights", "summary", "latency_us", "before_us", "change_us", "traces")
    return {
        "id": f"{alert['alert_id']}-{state}",
        "alert_id": alert["alert_id"],
        "status": alert["status"],
        "severity": alert["severity"],
        "day": day,
        "endpoint_id": str(alert["endpoint_id"]),
        "service": alert["service"],
        "operation": alert["operation"],
        **{name: alert[name] for name in plain},
        "abnormal": alert["abnormal"],
        "ended": alert["ended"],
        "silence": alert["silence"],
        "page": links.pages.get(alert["endpoint_id"], ""),
        "paths": [path | {"path_id": str(path["path_id"])} for path in alert["paths"]],
        "exemplars": [trace | {"link": _trace(trace, links)} for trace in alert["exemplars"]],
    }


def end_of(event: Event, day: str) -> Event:
    """The end, noticed on ``day``, of the alert of an event, when no night tells of it."""
    named = (event["service"], event["operation"], event["since"])
    return event | {
        "id": f"{event['alert_id']}-resolved",
        "status": "resolved",
        "day": day,
        "ended": UNRECORDED,
        "summary": unrecorded(*named, UNRECORDED),
    }


def _trace(trace: Mapping[str, Any], links: Links) -> str:
    link = links.trace_url or ""
    for name in ("trace_id", "span_id"):
        link = link.replace(f"{{{name}}}", quote(trace[name], safe=""))
    return link


def alertmanager(
    event: Event, severities: Sequence[str], now: datetime, expires_hours: float
) -> list[Event]:
    """What ``POST /api/v2/alerts`` takes for an event, one alert for each of its label sets.

    Alertmanager knows an alert by its labels, and these are the same for all its life but for
    the severity. ``severities`` are those under which this alert was sent before: what fires
    now under another one ends under these, and what is over ends under all of them. A firing
    alert ends by itself when nothing is heard for ``expires_hours``. ``now`` has a time zone.
    """
    fires = event["status"] == "firing"
    others = [s for s in severities if s != event["severity"]]
    ends = now + timedelta(hours=expires_hours) if fires else now
    return [
        _posted(event, event["severity"], ends),
        *(_posted(event, severity, now) for severity in others),
    ]


def _posted(event: Event, severity: str, ends: datetime) -> Event:
    labels = ("service", "operation", "endpoint_id", "alert_id")
    traces = [trace["link"] or clean(trace["trace_id"]) for trace in event["exemplars"]]
    annotations = {
        "summary": event["summary"],
        "description": "\n".join(map(described, event["paths"])),
        "page": event["page"],
        "traces": "\n".join(traces),
    }
    posted = {
        "labels": {"alertname": ALERTNAME, "severity": severity}
        | {name: clean(event[name]) for name in labels},
        "annotations": {name: text for name, text in annotations.items() if text},
        "startsAt": f"{event['since']}T00:00:00Z",
        "endsAt": ends.isoformat(),
    }
    return posted | ({"generatorURL": event["page"]} if event["page"] else {})
