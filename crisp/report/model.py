"""What every page says about the run behind it: window, policy, and the ledger in short."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crisp.report.columns import dicts, rows_of
from crisp.schema import LEDGER

THIN = 20
"""A band with fewer traces is marked as thin (DESIGN section 7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One kind of correction, with how much of it was done."""

    entry: str
    label: str
    meaning: str
    traces: int
    spans: int
    amount_us: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The days of the report and how they were analysed."""

    first_day: str
    last_day: str
    days: int
    policy: str
    skew: str
    versions: str
    read: int
    analysed: int
    rejected: int
    filtered: int

    @property
    def window(self) -> str:
        """The days in words."""
        if not self.days:
            return "no day"
        if self.days == 1:
            return f"{self.first_day} (1 day)"
        return f"{self.first_day} to {self.last_day} ({self.days} days)"


def run_of(runs: pa.Table) -> Run:
    """The runs of all days as one; where they differ, every value is named."""
    rows = list(dicts(rows_of(runs, ("date", "started_us"))))
    days = sorted({row["date"] for row in rows})
    total = {name: sum(row[name] for row in rows) for name in _COUNTS}
    return Run(
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
        days=len(days),
        policy=_named(row["policy"] for row in rows),
        skew=_named(_option(row["options"], "skew") for row in rows),
        versions=_named(row["crisp_version"] for row in rows),
        **total,
    )


def entries_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Entry, ...]:
    """One entry per name of LEDGER and in its order, zero where nothing was done.

    ``rows`` are rows of the mart ``ledgers``; the example is that of the largest amount, ties to
    the smallest trace id.
    """
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in LEDGER}
    for row in rows:
        found.setdefault(row["entry"], []).append(row)
    return tuple(_entry(name, found[name]) for name in found)


def _entry(name: str, rows: list[Mapping[str, Any]]) -> Entry:
    largest = min(rows, key=lambda row: (-row["amount_us"], row["example"]), default=None)
    return Entry(
        entry=name,
        label=name.replace("_", " "),
        meaning=LEDGER.get(name, ""),
        traces=sum(row["traces"] for row in rows),
        spans=sum(row["spans"] for row in rows),
        amount_us=sum(row["amount_us"] for row in rows),
        example=largest["example"] if largest else "",
    )


_COUNTS = ("read", "analysed", "rejected", "filtered")


def _named(values: Iterable[str]) -> str:
    return ", ".join(sorted({value for value in values if value})) or "unknown"


def _option(options: str, name: str) -> str:
    """The value of a setting anywhere in the options, '' when they do not hold it."""
    try:
        pending = [json.loads(options)]
    except ValueError:
        return ""
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if name in value:
                return str(value[name])
            pending.extend(value.values())
    return ""
