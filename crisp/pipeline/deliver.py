"""The alerts of a night to everybody who wants to hear of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import pyarrow as pa

from crisp import schema
from crisp.anomaly.delivery import Delivered, deliver
from crisp.anomaly.messages import Links
from crisp.anomaly.sinks import Sink
from crisp.errors import DeliveryError
from crisp.locations import Location
from crisp.pipeline.anomalies import of_night, readable
from crisp.pipeline.places import places
from crisp.report.model_fleet import page_name


def deliver_night(
    out: Location,
    day: str,
    sinks: Sequence[Sink],
    *,
    site_url: str | None,
    trace_url: str | None,
    expires_hours: float,
    now: datetime,
    on_trouble: Callable[[str], None],
) -> dict[str, Delivered]:
    """Tell every sink of the alerts of ``day``, by its name; none is held up by another.

    ``site_url`` is the address of the site, ``trace_url`` that of a trace with ``{trace_id}``;
    without them nothing is linked. A night before the newest tells nobody: what fired then may be
    over now.

    Raises:
        DeliveryError: some receivers did not take everything; what is left goes out with the
            next run.
    """
    alerts = places(out).alerts
    if day != readable(alerts)[-1]:
        on_trouble(f"{day} is not the newest night that has alerts: nobody is told of it")
        return {}
    night = of_night(alerts, day, "alerts", schema.ALERTS)
    links = Links(pages=_pages(night, site_url), trace_url=trace_url)
    told: dict[str, Delivered] = {}
    problems = []
    for sink in sinks:
        try:
            told[sink.shown] = deliver(
                night,
                day,
                sink,
                root=out,
                links=links,
                expires_hours=expires_hours,
                now=now,
                on_trouble=on_trouble,
            )
        except DeliveryError as error:
            problems.append(str(error))
    if problems:
        raise DeliveryError("; ".join(problems))
    return told


def _pages(alerts: pa.Table, site_url: str | None) -> dict[int, str]:
    """Address of the page of each endpoint with an alert."""
    if site_url is None:
        return {}
    base = f"{site_url.rstrip('/')}/endpoint"
    named = alerts.select(["service", "operation", "endpoint_id"]).to_pylist()
    return {row["endpoint_id"]: f"{base}/{page_name(**row)}.html" for row in named}
