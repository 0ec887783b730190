"""The alerts of a night to everybody who wants to hear of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from crisp import schema
from crisp.anomaly.delivery import Delivered, deliver
from crisp.anomaly.messages import Event, Links, events_of
from crisp.anomaly.sinks import Sink
from crisp.errors import DeliveryError
from crisp.locations import Location
from crisp.pipeline.anomalies import of_night, readable
from crisp.pipeline.places import places
from crisp.report.model_fleet import page_name

_OVER = ([("status", "==", "resolved")],)


@dataclass(frozen=True, slots=True)
class Round:
    """What became of the alerts of a night at all sinks."""

    told: tuple[tuple[str, Delivered], ...]
    """each sink that took everything, as `Sink.shown` names it, in the order they were given"""
    problems: tuple[str, ...]
    """of the others; what they did not take goes out with the next run"""


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
) -> Round:
    """Tell every sink of the alerts of ``day``; none is held up by another.

    ``site_url`` is the address of the site, ``trace_url`` that of a trace with ``{trace_id}``;
    without them nothing is linked. A night before the newest tells nobody: what fired then may be
    over now. Whoever is told of the newest later hears of all that ended between.
    """
    alerts = places(out).alerts
    nights = readable(alerts)
    if day != nights[-1]:
        on_trouble(f"{day} is not the newest night that has alerts: nobody is told of it")
        return Round((), ())

    def links(night: pa.Table) -> Links:
        return Links(pages=_pages(night, site_url), trace_url=trace_url)

    def ends(first: str) -> Iterator[Event]:
        for before in reversed([night for night in nights[:-1] if night >= first]):
            over = of_night(alerts, before, "alerts", schema.ALERTS, _OVER)
            yield from events_of(over, before, links(over))

    night = of_night(alerts, day, "alerts", schema.ALERTS)
    told, problems = [], []
    for sink in sinks:
        try:
            delivered = deliver(
                night,
                day,
                sink,
                root=out,
                links=links(night),
                ends=ends,
                expires_hours=expires_hours,
                now=now,
                on_trouble=on_trouble,
            )
        except DeliveryError as error:
            problems.append(str(error))
        else:
            told.append((sink.shown, delivered))
    return Round(tuple(told), tuple(problems))


def _pages(alerts: pa.Table, site_url: str | None) -> dict[int, str]:
    """Address of the page of each endpoint with an alert."""
    if site_url is None:
        return {}
    base = f"{site_url.rstrip('/')}/endpoint"
    named = alerts.select(["service", "operation", "endpoint_id"]).to_pylist()
    return {row["endpoint_id"]: f"{base}/{page_name(**row)}.html" for row in named}
