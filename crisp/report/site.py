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

from crisp.report.columns import dicts, group, rows_of
from crisp.report.model import entries_of, run_of
from crisp.report.model_bottom_up import bottom_up_data, charts_of
from crisp.report.model_endpoint import Marts, bands_of
from crisp.report.model_fleet import Endpoint, endpoints_of, fleet_data, names_of
from crisp.report.model_ledger import days_of, rejected_of
from crisp.report.pages import Pages, bundle, check_jaeger_url, json_text
from crisp.report.paths import CallPaths


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
) -> Site:
    """Write the site for all tables of `crisp.schema.MARTS` into the empty directory ``target``.

    ``jaeger_url`` is a template with ``{trace_id}`` and perhaps ``{span_id}``; without it traces
    are named but not linked.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
        CrispError: the front end was never built.
    """
    files = bundle()
    check_jaeger_url(jaeger_url)
    endpoints = endpoints_of(marts["fleet"], names_of(marts["endpoint_names"]))
    pages = Pages(
        title=title,
        generated_us=generated_us,
        jaeger_url=jaeger_url,
        run=run_of(marts["runs"]),
        entries=entries_of(dicts(rows_of(marts["ledgers"]))),
    )
    written = sum(_write(target / name, content) for name, content in files.items())
    written += _write_fleet(pages, marts, endpoints, target)
    written += _write_endpoints(pages, marts, endpoints, target / "endpoint")
    return Site(index=str(target / "index.html"), pages=len(endpoints) + 3, bytes=written)


def _write_fleet(
    pages: Pages, marts: Mapping[str, pa.Table], endpoints: tuple[Endpoint, ...], target: Path
) -> int:
    rejected, days = rejected_of(marts["rejected"]), days_of(marts["runs"])
    fleet = fleet_data(endpoints, marts["daily"])
    charts = charts_of(marts["histograms"])
    apis = bottom_up_data(marts["bottom_up"])
    return (
        _write_page(pages, target / "index", fleet, endpoints=endpoints)
        + _write_page(pages, target / "bottom-up", apis, charts=charts)
        + _write_page(pages, target / "ledger", None, days=days, rejected=rejected)
    )


def _write_endpoints(
    pages: Pages, marts: Mapping[str, pa.Table], endpoints: tuple[Endpoint, ...], target: Path
) -> int:
    target.mkdir()
    names = names_of(marts["endpoint_names"])
    ledgers = group(marts["ledgers"], ("entry", "example"))
    tables = Marts(
        bands=group(marts["bands"], ("band",)),
        cct=group(marts["cct"], ("band", "path_id")),
        path_stats=group(marts["path_stats"], ("path_id",)),
        exemplars=group(marts["exemplars"], ("path_id", "place", "trace_id")),
        paths=CallPaths(marts["call_paths"], names),
    )
    written = 0
    for endpoint in endpoints:
        number = endpoint.endpoint_id
        bands = bands_of(tables.bands.of(number))
        data = tables.endpoint_data(endpoint, bands)
        shown = {
            "endpoint": endpoint,
            "bands": bands,
            "levels": data["depth"],
            "own_entries": entries_of(dicts(ledgers.of(number))),
        }
        written += _write_page(pages, target / endpoint.page, data, template="endpoint", **shown)
    return written


def _write_page(
    pages: Pages,
    stem: Path,
    data: dict[str, Any] | None,
    *,
    template: str | None = None,
    **shown: Any,
) -> int:
    """Write ``stem.html`` and, where there is data, the same JSON beside it; bytes written."""
    text = json_text(data) if data is not None else None
    html = pages.render(template or stem.name, text, beside=f"{stem.name}.json", **shown)
    written = _write(stem.with_name(f"{stem.name}.html"), html.encode())
    if text is not None:
        written += _write(stem.with_name(f"{stem.name}.json"), text.encode())
    return written


def _write(path: Path, content: bytes) -> int:
    path.write_bytes(content)
    return len(content)
