"""The fleet page: every entry endpoint with its latencies, days, and what holds its path most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crisp.report.columns import Grouped, dicts, group, hex_id, rows_of

_SLUG_LENGTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One entry endpoint: a row of the fleet, and the header of its own page."""

    endpoint_id: int
    service: str
    operation: str
    traces: int
    weight: float
    errors: int
    spans: int
    first_us: int
    last_us: int
    mean_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: int
    top_service: str
    top_operation: str
    top_ratio: float

    @property
    def page(self) -> str:
        """File name without its ending; safe for every name, one for every endpoint."""
        words = re.sub(r"[^a-z0-9]+", "-", f"{self.service} {self.operation}".lower())
        slug = words[:_SLUG_LENGTH].strip("-") or "endpoint"
        return f"{slug}-{hex_id(self.endpoint_id)}"

    @property
    def error_ratio(self) -> float:
        """Share of the traces whose root failed."""
        return self.errors / self.traces if self.traces else 0.0


def endpoints_of(fleet: pa.Table, names: Mapping[int, tuple[str, str]]) -> tuple[Endpoint, ...]:
    """The entry endpoints, most total latency first, ties by name and id."""
    found = [_endpoint(row, names) for row in dicts(rows_of(fleet))]
    found.sort(
        key=lambda e: (-e.mean_us * e.traces, e.service, e.operation, e.endpoint_id),
    )
    return tuple(found)


def names_of(endpoint_names: pa.Table) -> dict[int, tuple[str, str]]:
    """Service and operation by endpoint id."""
    rows = rows_of(endpoint_names)
    pairs = zip(rows.list("service"), rows.list("operation"), strict=True)
    return dict(zip(rows.list("endpoint_id"), pairs, strict=True))


def fleet_data(endpoints: tuple[Endpoint, ...], daily: pa.Table) -> dict[str, Any]:
    """What the fleet page shows, by column; ``days`` are those of at least one endpoint."""
    by_endpoint = group(daily, ("day",))
    days = sorted(set(rows_of(daily).list("day")))
    return {
        "version": 1,
        "kind": "fleet",
        "days": days,
        "endpoints": {
            "id": [hex_id(e.endpoint_id) for e in endpoints],
            "page": [e.page for e in endpoints],
            **{name: [getattr(e, name) for e in endpoints] for name in _COLUMNS},
            **_daily(endpoints, by_endpoint, days),
        },
    }


_COLUMNS = (
    "service",
    "operation",
    "traces",
    "errors",
    "p50_us",
    "p95_us",
    "p99_us",
    "mean_us",
    "top_service",
    "top_operation",
    "top_ratio",
)


def _daily(
    endpoints: tuple[Endpoint, ...], daily: Grouped, days: list[str]
) -> dict[str, list[list[int | None]]]:
    """Per endpoint one whole number for each day, None where it has no trace on it."""
    place = {day: number for number, day in enumerate(days)}
    series: dict[str, list[list[int | None]]] = {"daily_p50_us": [], "daily_p95_us": []}
    for endpoint in endpoints:
        rows = daily.of(endpoint.endpoint_id)
        at = [place[day] for day in rows.list("day")]
        for name, of_all in series.items():
            values: list[int | None] = [None] * len(days)
            for number, value in zip(at, rows.list(name.removeprefix("daily_")), strict=True):
                values[number] = round(value)
            of_all.append(values)
    return series


def _endpoint(row: dict[str, Any], names: Mapping[int, tuple[str, str]]) -> Endpoint:
    top_service, top_operation = names.get(row["top_endpoint_id"], ("", ""))
    total = row["latency_us"]
    kept = ("traces", "weight", "errors", "spans", "first_us", "last_us", "max_us")
    return Endpoint(
        endpoint_id=row["endpoint_id"],
        service=row["service"],
        operation=row["operation"],
        **{name: row[name] for name in kept},
        **{name: row[name] for name in ("p50_us", "p95_us", "p99_us")},
        mean_us=total / row["traces"] if row["traces"] else 0.0,
        top_service=top_service,
        top_operation=top_operation,
        top_ratio=row["top_exclusive_us"] / total if total else 0.0,
    )
