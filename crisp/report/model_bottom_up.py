"""The bottom-up page: interior APIs by what they cost all endpoints, and the system's shape."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crisp.report.charts import Bin, Chart, chart
from crisp.report.columns import dicts, hex_id, rows_of
from crisp.report.model_fleet import Endpoint
from crisp.schema import METRICS

_COLUMNS = (
    "place",
    "service",
    "operation",
    "entries",
    "traces",
    "traces_any",
    "spans",
    "cp_spans",
    "exclusive_us",
    "inclusive_us",
    "exclusive_share",
    "inclusive_share",
)


def bottom_up_data(
    bottom_up: pa.Table, reach: pa.Table, endpoints: tuple[Endpoint, ...]
) -> dict[str, Any]:
    """The interior APIs by column, highest impact first, and the entry endpoints they slow.

    ``entries`` are the endpoints that some API names, in their order. ``reach`` has rows by API,
    the entry endpoint it costs most first, at most 20 of them: which API, which entry, in how
    many traces, time per request of that endpoint, and share of its latency.
    """
    rows = rows_of(bottom_up, ("place", "endpoint_id"))
    return {
        "version": 1,
        "kind": "bottom-up",
        "apis": {
            "id": [hex_id(number) for number in rows.list("endpoint_id")],
            **{name: rows.list(name) for name in _COLUMNS},
        },
        **_reach(rows.list("endpoint_id"), reach, endpoints),
    }


def _reach(apis: list[int], reach: pa.Table, endpoints: tuple[Endpoint, ...]) -> dict[str, Any]:
    place = {api: number for number, api in enumerate(apis)}
    entry_of = {endpoint.endpoint_id: endpoint for endpoint in endpoints}
    kept = [
        row
        for row in dicts(rows_of(reach, ("place", "entry_id")))
        if row["endpoint_id"] in place and row["entry_id"] in entry_of
    ]
    kept.sort(key=lambda row: place[row["endpoint_id"]])
    used = {row["entry_id"] for row in kept}
    named = [endpoint for endpoint in endpoints if endpoint.endpoint_id in used]
    at = {endpoint.endpoint_id: number for number, endpoint in enumerate(named)}
    return {
        "entries": {
            name: [getattr(endpoint, name) for endpoint in named]
            for name in ("page", "service", "operation")
        },
        "reach": {
            "api": [place[row["endpoint_id"]] for row in kept],
            "entry": [at[row["entry_id"]] for row in kept],
            "traces": [row["traces"] for row in kept],
            "per_request_us": [
                round(row["exclusive_us"] / entry_of[row["entry_id"]].traces, 1) for row in kept
            ],
            "share": [
                row["exclusive_us"] / row["latency_us"] if row["latency_us"] else 0.0
                for row in kept
            ],
        },
    }


def charts_of(histograms: pa.Table) -> tuple[Chart, ...]:
    """One chart per metric of METRICS that has observations, in that order."""
    bins: dict[str, list[Bin]] = {}
    for row in dicts(rows_of(histograms, ("metric", "lo"))):
        bins.setdefault(row["metric"], []).append(Bin(row["lo"], row["hi"], row["count"]))
    wanted = [*METRICS, *sorted(set(bins) - set(METRICS))]
    return tuple(
        chart(_title(metric), bins[metric], is_time=metric.endswith("_us"))
        for metric in wanted
        if any(found.count for found in bins.get(metric, ()))
    )


def _title(metric: str) -> str:
    """What was counted; times are drawn with their own units."""
    return METRICS.get(metric, metric).removesuffix(", microseconds")
