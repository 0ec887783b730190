"""Write the site: one fleet page, one page per entry endpoint, bottom-up, ledger, and their data.

The same marts give the same bytes. Every page opens from ``file://`` and asks for nothing but
``app.js`` and ``app.css`` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from crisp.report.anomalies import Anomalies
from crisp.report.model_alerts import open_words
from crisp.report.model_anomalies import AnomaliesPage, anomalies_page
from crisp.report.model_bottom_up import bottom_up_data, charts_of
from crisp.report.model_fleet import NOBODY, Endpoint, endpoints_of, fleet_data, names_of
from crisp.report.model_ledger import days_of, ledger_data, rejected_of
from crisp.report.page_files import write, write_page
from crisp.report.pages import NAV, Pages, bundle, pages_of
from crisp.report.shares import write_endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A written site."""

    index: str
    """path or URL of the first page"""
    pages: int
    bytes: int


def write_site(
    marts: Mapping[str, pa.Table],
    target: Path,
    *,
    title: str,
    generated_us: int,
    jaeger_url: str | None = None,
    previous: pa.Table | None = None,
    owners: Mapping[str, str] = NOBODY,
    anomalies: Anomalies | None = None,
) -> Site:
    """Write the site for all tables of `crisp.schema.MARTS` into the empty directory ``target``.

    ``jaeger_url`` is a template with ``{trace_id}`` and perhaps ``{span_id}``; without it traces
    are named but not linked. ``previous`` is the mart ``fleet`` of the window before, to compare
    with. ``owners`` names an owner for every glob pattern of a service; the first match counts.
    Without ``anomalies`` there is no page of them, and no word.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
        CrispError: the front end was never built, or a process that wrote pages was killed.
    """
    files = bundle()
    endpoints = endpoints_of(marts["fleet"], names_of(marts["endpoint_names"]), owners)
    pages = pages_of(
        marts["runs"],
        marts["ledgers"],
        title=title,
        generated_us=generated_us,
        jaeger_url=jaeger_url,
        nav=NAV if anomalies is None else (*NAV[:-1], ("anomalies", "Anomalies"), NAV[-1]),
    )
    found = anomalies_page(anomalies, endpoints, marts) if anomalies is not None else None
    written = sum(write(target / name, content) for name, content in files.items())
    fleet = fleet_data(
        endpoints,
        marts["daily"],
        previous=previous,
        owned=bool(owners),
        alerts=open_words(found.alerts) if found else {},
    )
    written += _write_fleet(pages, marts, endpoints, fleet, target, found)
    (target / "endpoint").mkdir()
    written += write_endpoints(
        pages, marts, endpoints, target / "endpoint", found.endpoints if found else None
    )
    return Site(
        index=str(target / "index.html"),
        pages=len(endpoints) + len(pages.nav),
        bytes=written,
    )


def _write_fleet(
    pages: Pages,
    marts: Mapping[str, pa.Table],
    endpoints: tuple[Endpoint, ...],
    fleet: dict[str, Any],
    target: Path,
    anomalies: AnomaliesPage | None,
) -> int:
    rejected, days = rejected_of(marts["rejected"]), days_of(marts["runs"])
    charts = charts_of(marts["histograms"])
    apis = bottom_up_data(marts["bottom_up"], marts["reach"], endpoints)
    return (
        write_page(
            pages,
            target / "index",
            fleet,
            endpoints=endpoints,
            owned="owner" in fleet["endpoints"],
            night=anomalies.night if anomalies else None,
        )
        + write_page(pages, target / "bottom-up", apis, charts=charts)
        + write_page(
            pages,
            target / "ledger",
            ledger_data(pages.run, days, rejected, pages.entries),
            days=days,
            rejected=rejected,
        )
        + (_write_anomalies(pages, anomalies, target) if anomalies else 0)
    )


def _write_anomalies(pages: Pages, anomalies: AnomaliesPage, target: Path) -> int:
    return write_page(
        pages,
        target / "anomalies",
        anomalies.data,
        parts=anomalies.parts,
        night=anomalies.night,
        alerts=anomalies.alerts,
    )
