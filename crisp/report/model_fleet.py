"""The fleet page: every entry endpoint with its latencies, days, and what holds its path most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from crisp.report.columns import Grouped, dicts, group, hex_id, rows_of
from crisp.report.model import THIN
from crisp.units import count, micros

_SLUG_LENGTH = 60
NOBODY: Mapping[str, str] = MappingProxyType({})
"""Owners where none are known."""
NO_ALERTS: Mapping[int, tuple[str, str]] = MappingProxyType({})


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
    latency_us: int
    mean_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: int
    top_service: str
    top_operation: str
    top_ratio: float
    owner: str
    """who looks after the service, '' where nobody is named"""

    @property
    def page(self) -> str:
        """See `page_name`."""
        return page_name(self.service, self.operation, self.endpoint_id)

    @property
    def error_ratio(self) -> float:
        """Share of the traces whose root failed."""
        return self.errors / self.traces if self.traces else 0.0


def page_name(service: str, operation: str, endpoint_id: int) -> str:
    """File name of an endpoint's page, without its ending; safe for every name, one for each."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{service} {operation}".lower())
    slug = words[:_SLUG_LENGTH].strip("-") or "endpoint"
    return f"{slug}-{hex_id(endpoint_id)}"


def endpoints_of(
    fleet: pa.Table, names: Mapping[int, tuple[str, str]], owners: Mapping[str, str] = NOBODY
) -> tuple[Endpoint, ...]:
    """The entry endpoints, most total latency first, ties by name and id.

    ``owners`` names an owner for every glob pattern of a service; the first that matches counts.
    """
    found = [_endpoint(row, names, owners) for row in dicts(rows_of(fleet))]
    found.sort(
        key=lambda e: (-e.mean_us * e.traces, e.service, e.operation, e.endpoint_id),
    )
    return tuple(found)


def names_of(endpoint_names: pa.Table) -> dict[int, tuple[str, str]]:
    """Service and operation by endpoint id."""
    rows = rows_of(endpoint_names)
    pairs = zip(rows.list("service"), rows.list("operation"), strict=True)
    return dict(zip(rows.list("endpoint_id"), pairs, strict=True))


def fleet_data(
    endpoints: tuple[Endpoint, ...],
    daily: pa.Table,
    *,
    previous: pa.Table | None = None,
    owned: bool = False,
    alerts: Mapping[int, tuple[str, str]] = NO_ALERTS,
) -> dict[str, Any]:
    """What the fleet page shows, by column; ``days`` are those of at least one endpoint.

    With ``previous``, the mart ``fleet`` of the window before, also how the median has changed
    since; with ``owned`` also the owners; with ``alerts``, a word
    and a note by endpoint, also these.
    """
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
            **({} if previous is None else _changes(endpoints, previous)),
            **({"owner": [e.owner for e in endpoints]} if owned else {}),
            **(_alerts(endpoints, alerts) if alerts else {}),
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


def _changes(endpoints: tuple[Endpoint, ...], previous: pa.Table) -> dict[str, list[Any]]:
    """Per endpoint its median against the one before as a ratio, 0 for none, and a note on it.

    The ratio is None where there is nothing to compare with, or too little; the note says why.
    """
    before = {row["endpoint_id"]: row for row in dicts(rows_of(previous))}
    found = [_change(endpoint, before.get(endpoint.endpoint_id)) for endpoint in endpoints]
    return {
        "change_ratio": [ratio for ratio, _ in found],
        "change_note": [note for _, note in found],
    }


def _alerts(
    endpoints: tuple[Endpoint, ...], alerts: Mapping[int, tuple[str, str]]
) -> dict[str, list[str]]:
    """Per endpoint its alert in a word and in a sentence, "" for none."""
    found = [alerts.get(endpoint.endpoint_id, ("", "")) for endpoint in endpoints]
    return {"alert": [word for word, _ in found], "alert_note": [note for _, note in found]}


def _change(now: Endpoint, before: Mapping[str, Any] | None) -> tuple[float | None, str]:
    if before is None or not before["traces"]:
        return None, "new: it has no trace in the window before"
    for window, number in (("this window", now.traces), ("the window before", before["traces"])):
        if number < THIN:
            missing = count(THIN - number)
            return None, f"{_traces(number)} in {window}: {missing} more needed to compare medians"
    if before["p50_us"] <= 0:
        return None, "its median was 0 in the window before"
    note = f"median was {micros(before['p50_us'])} over {_traces(before['traces'])}"
    return now.p50_us / before["p50_us"] - 1, note


def _traces(number: int) -> str:
    return "1 trace" if number == 1 else f"{count(number)} traces"


def _endpoint(
    row: dict[str, Any], names: Mapping[int, tuple[str, str]], owners: Mapping[str, str]
) -> Endpoint:
    top_service, top_operation = names.get(row["top_endpoint_id"], ("", ""))
    total = row["latency_us"]
    kept = ("traces", "weight", "errors", "spans", "first_us", "last_us", "latency_us", "max_us")
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
        owner=_owner(row["service"], owners),
    )


def _owner(service: str, owners: Mapping[str, str]) -> str:
    matching = (owner for glob, owner in owners.items() if fnmatchcase(service, glob))
    return next(matching, "")
