"""What changed of an endpoint in a night: its rows, the most telling first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crisp import arrow
from crisp.anomaly.fleet import numbers, robust_change_us, sizes
from crisp.options import AlertOptions

STAYS_P = 0.05
"""An alert goes on while one of its changes still is no likelier than this by chance …"""
STAYS_SIZE = 0.5
"""… and as large as this share of what an alert needs at first."""
_MOST = 20
_OF_ENDPOINT = ("failed", "latency", "abnormal")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An endpoint in a night, compared with the days before."""

    differs: bool
    """It is an alert: one of its rows changed, or one that an open alert names still differs"""
    rows: tuple[Row, ...]
    """these rows, as in `schema.CHANGED_PATH` without names, at most 20"""
    latency_us: float
    before_us: float
    change_us: float
    traces: int
    abnormal: int
    errors: float
    """by how much the share of requests that fail, or in which one path does, rose"""

    @property
    def first_path(self) -> int:
        """The path whose change tells most; 0: only the endpoint as a whole changed."""
        return int(self.rows[0]["path_id"]) if self.rows else 0


def changes_of_night(
    shifts: pa.Table, before: pa.Table | None, options: AlertOptions
) -> dict[int, Change]:
    """What became of every endpoint that changed or had an open alert the night before.

    ``shifts`` are those of `crisp.anomaly.fleet.over_fleet`, ``before`` the alerts of the newest
    night before. An endpoint with an open alert that is missing here was not compared.
    """
    open_rows = _open_rows(before)
    endpoint = numbers(shifts, "endpoint_id")
    changed = np.array(shifts["changed"].to_pylist(), np.bool_)
    wanted = np.isin(endpoint, np.concatenate((endpoint[changed], _ints(open_rows))))
    extra = {
        "size": arrow.doubles(sizes(shifts)),
        "robust_us": arrow.doubles(robust_change_us(shifts)),
    }
    for name, column in extra.items():
        shifts = shifts.append_column(name, column)
    rows: dict[int, list[Row]] = {}
    for row in shifts.filter(arrow.flags(wanted)).to_pylist():
        rows.setdefault(row["endpoint_id"], []).append(row)
    return {
        found: _change(rows[found], open_rows.get(found, {}), options) for found in sorted(rows)
    }


def _ints(values: Iterable[int]) -> Any:
    return np.fromiter(values, np.int64)


def _open_rows(before: pa.Table | None) -> dict[int, dict[tuple[int, str], float]]:
    """By endpoint with an open alert: sign of each change it names, by path and test."""
    return {
        alert["endpoint_id"]: {(row["path_id"], row["test"]): _sign(row) for row in alert["paths"]}
        for alert in (before.to_pylist() if before is not None else ())
        if alert["status"] != "resolved"
    }


def _sign(row: Mapping[str, Any]) -> float:
    return float(np.sign(row["today"] - row["before"]))


def _change(
    rows: Sequence[Row], named: Mapping[tuple[int, str], float], options: AlertOptions
) -> Change:
    found = [row for row in rows if row["changed"]] or [
        row
        for row in rows
        if row["p"] <= STAYS_P
        and row["size"] >= STAYS_SIZE * options.least_change
        and named.get((row["path_id"], row["test"])) == _sign(row)
    ]
    latency = next(row for row in rows if row["test"] == "latency")
    abnormal = [round(row["today"] * row["traces"]) for row in rows if row["test"] == "abnormal"]
    errors = [row["today"] - row["before"] for row in found if row["test"] in {"error", "failed"}]
    return Change(
        differs=bool(found),
        rows=tuple(ordered(found)[:_MOST]),
        latency_us=latency["today"],
        before_us=latency["before"],
        change_us=latency["change_us"],
        traces=latency["traces"],
        abnormal=abnormal[0] if abnormal else 0,
        errors=max([0.0, *errors]),
    )


def ordered(rows: Sequence[Row]) -> list[Row]:
    """Changes of one endpoint, the one that tells most first.

    Paths come before the endpoint as a whole. Of paths those that changed as all of them
    together did: where requests got slower, what took longer, not what waited less beside it;
    a path that fails more often always is among these. Then the larger change, as a share of
    the latency or of the requests; ties by path and test. Sums and sizes leave out the topmost
    0.5 % of the times of a path.
    """
    single = {row["path_id"]: row["robust_us"] for row in rows if row["test"] == "presence"}
    single |= {row["path_id"]: row["robust_us"] for row in rows if row["test"] == "time"}
    direction = np.sign(sum(single[path] for path in sorted(single)))

    def key(row: Row) -> tuple[bool, int, bool, float, int, str]:
        whole = row["path_id"] == 0
        place = _OF_ENDPOINT.index(row["test"]) if whole else 0
        along = _sign(row) > 0 if row["test"] == "error" else np.sign(row["robust_us"]) == direction
        return whole, place, not along, -row["size"], row["path_id"], row["test"]

    return sorted(rows, key=key)
