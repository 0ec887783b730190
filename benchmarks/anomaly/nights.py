"""A night as the product judges it: from two sets of traces to what an alert would name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.anomaly.services import Ints
from benchmarks.anomaly.tables import grouped
from crisp.anomaly.changes import Change, Row, changes_of_night
from crisp.anomaly.fleet import over_fleet
from crisp.anomaly.vectors import Vectors
from crisp.anomaly.windows import AbnormalCounts, shifts
from crisp.options import AlertOptions

UNSCORED = AbnormalCounts(k_test=0, n_test=0, k_cal=0, n_cal=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What an alert of the night would say."""

    alert: bool
    paths: tuple[int, ...]
    """paths it names, the most telling first, each once; 0 is the endpoint as a whole"""
    tests: int
    """of all endpoints that were compared"""
    smallest_p: float
    changed_p: float
    """the smallest of changes that are not too small to matter; 1 where there is none"""
    change_us: float
    """mean latency, less that of before"""
    before_us: float

    def in_fleet(self, endpoints: int, level: float) -> bool:
        """Whether its change would count beside the tests of so many other endpoints that
        did not change (Bonferroni, as strict as Benjamini and Hochberg's rule is for one)."""
        return self.alert and self.changed_p * self.tests * endpoints <= level


def verdicts(
    pairs: Sequence[tuple[Vectors, Vectors]],
    parents: Mapping[int, int],
    options: AlertOptions,
    abnormal: AbnormalCounts = UNSCORED,
) -> dict[int, Verdict]:
    """By endpoint: its day, second of each pair, compared with its days before, the first, as in
    a fleet of these endpoints alone. Endpoints that are too small to compare are left out."""
    parts = [shifts(before, today, parents, abnormal, options) for before, today in pairs]
    found = over_fleet(pa.Table.from_batches(parts), options)
    changes = changes_of_night(found, None, options)
    rows = grouped(found.to_pylist(), lambda row: int(row["endpoint_id"]))
    return {
        endpoint: _verdict(some, changes.get(endpoint), found.num_rows)
        for endpoint, some in rows.items()
    }


def _verdict(rows: Sequence[Row], change: Change | None, tests: int) -> Verdict:
    latency = next(row for row in rows if row["test"] == "latency")
    named = [int(row["path_id"]) for row in change.rows] if change else []
    return Verdict(
        alert=change is not None and change.differs,
        paths=tuple(dict.fromkeys(named)),
        tests=tests,
        smallest_p=min(row["p"] for row in rows),
        changed_p=min((row["p"] for row in rows if row["changed"]), default=1.0),
        change_us=latency["change_us"],
        before_us=latency["before"],
    )


def above(parents: tuple[Ints, Ints]) -> dict[int, int]:
    """Parent by path, from two columns."""
    return dict(zip(parents[0].tolist(), parents[1].tolist(), strict=True))


def services_of(paths: Sequence[int], services: Mapping[int, str]) -> list[str]:
    """The services at the ends of some paths, each once, in their order."""
    return list(dict.fromkeys(services[path] for path in paths if path in services))


def evenly(vectors: Vectors, most: int) -> Vectors:
    """At most so many rows, evenly over their order."""
    if len(vectors) <= most:
        return vectors
    return vectors.take(np.linspace(0, len(vectors) - 1, most).round().astype(np.int64))
