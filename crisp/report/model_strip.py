"""The last nights of an alert as a strip of bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from crisp.report.anomalies import STRIP_NIGHTS, Anomalies

WIDTH_OF_NIGHT, _GAP = 9, 2
WIDTH, HEIGHT = STRIP_NIGHTS * (WIDTH_OF_NIGHT + _GAP) - _GAP, 18
_HEIGHTS = {"info": 7, "warning": 12, "critical": 17}
_OPEN = frozenset({"firing", "silenced"})
_LOW = 2
"""Of nights without an open alert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night in the history of an alert, and how it is drawn."""

    date: str
    status: str
    """firing, silenced or resolved; quiet: compared, and no alert; unknown: not compared"""
    x: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The last nights, that of the alert at the end."""

    nights: tuple[Night, ...]

    @property
    def words(self) -> str:
        """What it draws."""
        fired = [night.date for night in self.nights if night.status == "firing"]
        unknown = sum(night.status == "unknown" for night in self.nights)
        said = f"fired in {len(fired)} of the last {len(self.nights)} nights"
        listed = f": {', '.join(fired)}" if fired else ""
        return said + listed + (f"; {unknown} of them were not compared" if unknown else "")


def history_of(anomalies: Anomalies) -> dict[int, dict[str, tuple[str, str]]]:
    """Status and severity by endpoint and night."""
    found: dict[int, dict[str, tuple[str, str]]] = {}
    for row in anomalies.history.to_pylist():
        nights = found.setdefault(row["endpoint_id"], {})
        nights[str(row["date"])] = row["status"], row["severity"]
    return found


def strip_of(
    anomalies: Anomalies, alert: Mapping[str, Any], history: Mapping[str, tuple[str, str]]
) -> Strip:
    """The nights up to that of an alert, one row of `schema.ALERTS`; ``history`` is its
    endpoint's. Alerts of the endpoint that were over before count too."""
    last = date.fromisoformat(anomalies.day)
    known = {*anomalies.nights, anomalies.day}
    past = {**history, anomalies.day: (alert["status"], alert["severity"])}
    nights = []
    for place in range(STRIP_NIGHTS):
        day = str(last - timedelta(days=STRIP_NIGHTS - 1 - place))
        status, severity = past.get(day, ("quiet" if day in known else "unknown", ""))
        height = _HEIGHTS.get(severity, _LOW) if status in _OPEN else _LOW
        nights.append(
            Night(date=day, status=status, x=place * (WIDTH_OF_NIGHT + _GAP), height=height)
        )
    return Strip(nights=tuple(nights))
