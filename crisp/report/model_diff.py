"""Two windows of the same endpoints: what became slower, by how much, and on which call path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crisp.report.changes import Comparison, Group
from crisp.report.columns import Grouped, group, hex_id
from crisp.report.kept import KeptTables, kept_tables
from crisp.report.model import THIN
from crisp.report.model_changes import comparisons, differences_data, sample_of
from crisp.report.model_fleet import Endpoint, endpoints_of, names_of
from crisp.report.paths import CallPaths, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One endpoint that both windows have."""

    before: Endpoint
    after: Endpoint
    low_us: float | None
    """where the change of the mean may lie; None where too few traces are kept to tell"""
    high_us: float | None
    path: tuple[str, ...]
    """calls from the root down to the one that changed most surely, none where none did"""
    path_us: float
    """change of the time that this call holds the critical path itself, per request"""
    path_is_sure: bool
    """the interval of that change does not hold 0"""

    @property
    def page(self) -> str:
        """File name without its ending."""
        return self.after.page

    @property
    def change_us(self) -> float:
        """Change of the mean latency."""
        return self.after.mean_us - self.before.mean_us

    @property
    def ratio(self) -> float | None:
        """Change in parts of the mean before; None where that was 0."""
        return self.change_us / self.before.mean_us if self.before.mean_us else None

    @property
    def missing(self) -> int:
        """Traces that the thinner window lacks of `THIN`."""
        return max(0, THIN - min(self.before.traces, self.after.traces))

    @property
    def is_sure(self) -> bool:
        """Enough traces on both sides, and the interval does not hold 0."""
        if self.low_us is None or self.high_us is None or self.missing:
            return False
        return self.low_us > 0 or self.high_us < 0

    def is_slower_by(self, ratio: float) -> bool:
        """It surely became slower, and by at least this part of its mean latency."""
        return self.is_sure and self.change_us > 0 and (self.ratio is None or self.ratio >= ratio)


@dataclass(frozen=True, slots=True)
class Side:
    """The marts of one window, grouped once."""

    label: str
    endpoints: Mapping[int, Endpoint]
    bands: Grouped
    cct: Grouped
    kept: KeptTables

    def group(self, endpoint_id: int, tree: Tree) -> Group:
        """All traces of the window that enter by an endpoint."""
        endpoint = self.endpoints[endpoint_id]
        cct, bands = self.cct.of(endpoint_id), self.bands.of(endpoint_id)
        sums = np.zeros(len(tree.path_ids), dtype=np.int64)
        np.add.at(sums, tree.rows_of(cct.ints("path_id")), cct.ints("exclusive_us"))
        in_band = dict(zip(bands.list("band"), bands.list("traces"), strict=True))
        kept = self.kept.of(endpoint_id, tree, in_band)
        return Group(
            kind="window",
            label=self.label,
            traces=endpoint.traces,
            latency_us=endpoint.latency_us,
            exclusive_us=sums,
            sample=sample_of(kept, np.ones(len(kept), dtype=np.bool_)),
        )


class Diff:
    """Two windows side by side; the second is compared with the first."""

    def __init__(
        self, before: Mapping[str, pa.Table], after: Mapping[str, pa.Table], labels: tuple[str, str]
    ) -> None:
        both = (before, after)
        names = names_of(pa.concat_tables([marts["endpoint_names"] for marts in both]))
        paths = pa.concat_tables([marts["call_paths"] for marts in both])
        self._paths = CallPaths(paths, names)
        self.before, self.after = (
            _side(marts, names, label) for marts, label in zip(both, labels, strict=True)
        )

    @property
    def gone(self) -> list[Endpoint]:
        """Endpoints of the first window alone."""
        return _without(self.before, self.after)

    @property
    def new(self) -> list[Endpoint]:
        """Endpoints of the second window alone."""
        return _without(self.after, self.before)

    def pages(self, *, seed: int) -> Iterator[tuple[Changed, dict[str, Any], dict[str, Any]]]:
        """Each endpoint of both windows, its tree and what changed in it, as data of a page."""
        for number, endpoint in self.after.endpoints.items():
            if number not in self.before.endpoints:
                continue
            tree = self._tree(number)
            groups = self.before.group(number, tree), self.after.group(number, tree)
            found = comparisons(tree, groups, seed=seed)
            changed = _changed(self.before.endpoints[number], endpoint, tree, found[0, 1])
            yield changed, _tree_data(endpoint, tree), differences_data(groups, found)

    def _tree(self, endpoint_id: int) -> Tree:
        rows = [side.cct.of(endpoint_id) for side in (self.before, self.after)]
        return self._paths.tree(
            np.concatenate([row.ints("path_id") for row in rows]),
            np.concatenate([row.ints("exclusive_us") for row in rows]),
        )


def diff_data(changed: list[Changed], labels: tuple[str, str]) -> dict[str, Any]:
    """What the first page shows, by column, in the given order."""
    return {
        "version": 1,
        "kind": "diff",
        "before": labels[0],
        "after": labels[1],
        "endpoints": {
            "id": [hex_id(row.after.endpoint_id) for row in changed],
            **{
                name: [getattr(row, name) for row in changed]
                for name in ("page", "change_us", "ratio", "low_us", "high_us", "missing")
            },
            **{
                name: [getattr(row, name) for row in changed]
                for name in ("path", "path_us", "path_is_sure")
            },
            **{name: [getattr(row.after, name) for row in changed] for name in _NAMES},
            **{
                f"{when}_{name}": [getattr(getattr(row, when), name) for row in changed]
                for when in ("before", "after")
                for name in ("traces", "mean_us", "p50_us", "p95_us")
            },
        },
    }


_NAMES = ("service", "operation")


def surest_first(changed: list[Changed]) -> list[Changed]:
    """Sure changes first, of them the largest in time over all requests; ties by name."""

    def key(row: Changed) -> tuple[bool, float, str, str]:
        total = abs(row.change_us) * row.after.traces
        return (not row.is_sure, -total, row.after.service, row.after.operation)

    return sorted(changed, key=key)


def _side(marts: Mapping[str, pa.Table], names: Mapping[int, tuple[str, str]], label: str) -> Side:
    found = endpoints_of(marts["fleet"], names)
    return Side(
        label,
        {endpoint.endpoint_id: endpoint for endpoint in found},
        group(marts["bands"], ("band",)),
        group(marts["cct"], ("band", "path_id")),
        kept_tables(marts["kept"], marts["kept_paths"]),
    )


def _without(one: Side, other: Side) -> list[Endpoint]:
    return [row for number, row in one.endpoints.items() if number not in other.endpoints]


def _changed(before: Endpoint, after: Endpoint, tree: Tree, found: Comparison) -> Changed:
    top = found.changes[0] if found.changes else None
    interval = found.interval_us
    return Changed(
        before=before,
        after=after,
        low_us=interval.low if interval else None,
        high_us=interval.high if interval else None,
        path=tuple(tree.chain(top.path)) if top else (),
        path_us=top.change_us if top else 0.0,
        path_is_sure=bool(top and top.interval_us and top.interval_us.distance > 0),
    )


def _tree_data(endpoint: Endpoint, tree: Tree) -> dict[str, Any]:
    """The paths of both windows, as on the page of an endpoint."""
    return {
        "version": 1,
        "kind": "comparison",
        "id": hex_id(endpoint.endpoint_id),
        "service": endpoint.service,
        "operation": endpoint.operation,
        **tree.data(),
    }
