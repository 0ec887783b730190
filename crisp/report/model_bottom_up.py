"""The bottom-up page: interior APIs by what they cost all endpoints, and the system's shape."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crisp.report.charts import Bin, Chart, chart
from crisp.report.columns import dicts, hex_id, rows_of
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


def bottom_up_data(bottom_up: pa.Table) -> dict[str, Any]:
    """The interior APIs by column, highest impact first."""
    rows = rows_of(bottom_up, ("place", "endpoint_id"))
    return {
        "version": 1,
        "kind": "bottom-up",
        "apis": {
            "id": [hex_id(number) for number in rows.list("endpoint_id")],
            **{name: rows.list(name) for name in _COLUMNS},
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
