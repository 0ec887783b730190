"""The ledger page: what was read, left out and corrected, day by day and in total."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from crisp.errors import Reject
from crisp.report.columns import dicts, rows_of
from crisp.report.model import Entry, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day's run."""

    date: str
    read: int
    analysed: int
    rejected: int
    filtered: int
    trees: int
    spans: int
    bytes: int
    seconds: float
    policy: str
    crisp_version: str
    options: tuple[tuple[str, str], ...]

    @property
    def adds_up(self) -> bool:
        """No document was lost: read = analysed + rejected."""
        return self.read == self.analysed + self.rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Documents left out for one reason, with an example."""

    reason: str
    meaning: str
    documents: int
    source: str
    position: int
    trace_id: str
    detail: str


def days_of(runs: pa.Table) -> tuple[Day, ...]:
    """The runs, latest day first."""
    names = [name for name in Day.__dataclass_fields__ if name != "options"]
    rows = list(dicts(rows_of(runs, ("date", "started_us"))))
    return tuple(
        Day(**{name: row[name] for name in names}, options=_settings(row["options"]))
        for row in reversed(rows)
    )


def rejected_of(rejected: pa.Table) -> tuple[Rejected, ...]:
    """The reasons, most documents first, ties by reason."""
    rows = dicts(rows_of(rejected))
    found = [Rejected(meaning=_meaning(row["reason"]), **row) for row in rows]
    return tuple(sorted(found, key=lambda r: (-r.documents, r.reason)))


def ledger_data(
    run: Run, days: tuple[Day, ...], rejected: tuple[Rejected, ...], entries: tuple[Entry, ...]
) -> dict[str, Any]:
    """What the page says, for other tools."""
    return {
        "version": 1,
        "kind": "ledger",
        "read": run.read,
        "analysed": run.analysed,
        "rejected": run.rejected,
        "filtered": run.filtered,
        "days": [{**asdict(day), "options": dict(day.options)} for day in days],
        "reasons": [asdict(row) for row in rejected],
        "corrections": [asdict(entry) for entry in entries],
    }


def _meaning(reason: str) -> str:
    known = {str(value) for value in Reject}
    return Reject(reason).meaning if reason in known else "a reason this version does not know"


def _settings(options: str) -> tuple[tuple[str, str], ...]:
    """Name and value of every setting, names of nested ones joined by dots, sorted."""
    try:
        return tuple(sorted(_flat("", json.loads(options))))
    except ValueError:
        return (("options", options),)


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}" if prefix else name, inner)
    else:
        yield prefix or "options", value if isinstance(value, str) else json.dumps(value)
