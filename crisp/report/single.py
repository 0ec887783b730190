"""The page of one endpoint as one file that needs no other."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from crisp.errors import ConfigError
from crisp.report.anomalies import Anomalies
from crisp.report.endpoint_pages import endpoint_tables
from crisp.report.model_anomalies import anomalies_page
from crisp.report.model_fleet import NOBODY, Endpoint, endpoints_of, names_of
from crisp.report.page_files import page_texts
from crisp.report.pages import bundle, inlined, pages_of

_NAMED = 5


def single_page(
    marts: Mapping[str, pa.Table],
    *,
    service: str | None,
    operation: str | None,
    title: str,
    generated_us: int,
    jaeger_url: str | None = None,
    owners: Mapping[str, str] = NOBODY,
    anomalies: Anomalies | None = None,
) -> str:
    """The page of the entry endpoint with this service and operation; None stands for any.

    Raises:
        ConfigError: none or several fit, or ``jaeger_url`` is no template.
        CrispError: the front end was never built.
    """
    endpoints = endpoints_of(marts["fleet"], names_of(marts["endpoint_names"]), owners)
    endpoint = _chosen(endpoints, service, operation)
    pages = pages_of(
        marts["runs"],
        marts["ledgers"],
        title=title,
        generated_us=generated_us,
        jaeger_url=jaeger_url,
        alone=inlined(bundle()),
    )
    found = anomalies_page(anomalies, [endpoint], marts).endpoints if anomalies else None
    page = endpoint_tables(marts, found).page(endpoint)
    return pages.render("endpoint", page_texts(page.data, page.parts), beside="", **page.shown)


def _chosen(
    endpoints: tuple[Endpoint, ...], service: str | None, operation: str | None
) -> Endpoint:
    found = [
        row
        for row in endpoints
        if service in (None, row.service) and operation in (None, row.operation)
    ]
    if len(found) == 1:
        return found[0]
    named = [f"{row.service}::{row.operation}" for row in (found or endpoints)]
    more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
    listed = ", ".join(named[:_NAMED]) + more
    if found:
        raise ConfigError(f"choose one endpoint with --service and --operation: {listed} all fit")
    raise ConfigError(f"no endpoint has this service and operation; there are {listed or 'none'}")
