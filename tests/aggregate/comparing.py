"""Compare the marts of a window with their slow definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crisp import schema
from crisp.pipeline.places import places
from tests.aggregate import slow, slow_kept
from tests.running import rows

Row = dict[str, Any]
KEYS = {
    "fleet": ("endpoint_id",),
    "daily": ("endpoint_id", "day"),
    "bands": ("endpoint_id", "band"),
    "cct": ("endpoint_id", "path_id", "band"),
    "path_stats": ("endpoint_id", "path_id"),
    "exemplars": ("endpoint_id", "path_id", "place"),
    "bottom_up": ("place",),
    "histograms": ("metric", "lo"),
    "ledgers": ("endpoint_id", "entry"),
    "rejected": ("reason",),
    "latencies": ("endpoint_id", "band", "bucket"),
    "groups": ("endpoint_id", "kind", "label"),
    "group_paths": ("endpoint_id", "kind", "label", "path_id"),
    "kept": ("endpoint_id", "tree_id"),
    "kept_paths": ("endpoint_id", "tree_id", "path_id", "host"),
    "errors": ("endpoint_id", "path_id"),
    "reach": ("endpoint_id", "place"),
    "hosts": ("host", "service", "attribute", "value"),
}


def check_marts(
    out: Path,
    days: Sequence[str],
    edges: Sequence[float] = slow.DEFAULT_EDGES,
    exemplars: int = 3,
    kept: int = 500,
) -> None:
    """Every mart of the window ending on the last of ``days`` is what its definition says."""
    where = places(out)
    by_day = {day: rows(where.lake, "traces", day) for day in days}
    trees = [tree for day in days for tree in by_day[day]]
    names = {
        row["endpoint_id"]: (row["service"], row["operation"])
        for day in days
        for row in rows(where.lake, "endpoint_names", day)
    }
    used = slow.uses(trees, edges)
    calls = [row for day in days for row in rows(where.lake, "calls", day)]
    rejects = [row for day in days for row in rows(where.lake, "rejects", day)]
    hosts = {tuple(row.values()): row for day in days for row in rows(where.lake, "hosts", day)}
    parent = {
        row["path_id"]: row["parent_id"]
        for day in days
        for row in rows(where.lake, "call_paths", day)
    }
    band = slow.bands_of(trees, edges)
    version = slow_kept.versions(trees, list(hosts.values()), parent, names)
    members = slow_kept.members(by_day, version)
    chosen = slow_kept.kept(trees, band, version, kept)
    cells = slow_kept.kept_paths(trees, chosen)
    expected = {
        "fleet": slow.fleet(trees, names),
        "daily": slow.daily(by_day),
        "bands": slow.bands(trees, edges),
        "cct": slow.cct(used),
        "path_stats": slow.path_stats(trees, used),
        "exemplars": slow.exemplars(used, exemplars),
        "bottom_up": slow.bottom_up(trees, names),
        "histograms": slow.histograms(trees, calls),
        "ledgers": slow.ledgers(trees),
        "rejected": slow.rejected(rejects),
        "latencies": slow_kept.latencies(trees, band),
        "groups": slow_kept.groups(members),
        "group_paths": slow_kept.group_paths(members, used),
        "kept": chosen,
        "kept_paths": cells,
        "errors": slow_kept.errors(used, parent),
        "reach": slow_kept.reach(trees),
        "hosts": [row for row in hosts.values() if row["host"] in {c["host"] for c in cells}],
    }
    assert set(expected) | {"call_paths", "endpoint_names", "runs"} == set(schema.MARTS)
    for name, wanted in expected.items():
        compare(name, rows(where.marts, name, days[-1]), wanted)
    _check_dictionaries(Path(where.marts), days[-1], names)


def compare(name: str, found: list[Row], wanted: list[Row]) -> None:
    """The same rows; whole numbers exactly, others but for rounding (weights: millionths)."""

    def key(row: Row) -> tuple[Any, ...]:
        return tuple(row[column] for column in KEYS[name])

    assert len({key(row) for row in found}) == len(found)
    wanted = sorted(wanted, key=key)
    found = sorted(found, key=key)
    assert [key(row) for row in found] == [key(row) for row in wanted], name
    floats = {f.name for f in schema.MARTS[name] if f.type == "double"}
    for one, other in zip(found, wanted, strict=True):
        assert set(one) == set(other), name
        for column, value in one.items():
            if column in floats:
                weighted = "weight" in column or "share" in column
                close = pytest.approx(
                    other[column],
                    rel=1e-6 if weighted else 1e-9,
                    abs=1e-3 * one.get("traces", 1) if weighted else 0,
                )
                assert value == close, (name, column)
            else:
                assert value == other[column], (name, column)


def _check_dictionaries(marts: Path, day: str, names: dict[int, tuple[str, str]]) -> None:
    """Names and call paths hold every id that the other marts speak of, each once."""
    named = rows(marts, "endpoint_names", day)
    assert {r["endpoint_id"]: (r["service"], r["operation"]) for r in named} == names
    assert len(named) == len(names)
    paths = rows(marts, "call_paths", day)
    assert len({row["path_id"] for row in paths}) == len(paths)
    assert {row["path_id"] for row in paths} == {r["path_id"] for r in rows(marts, "cct", day)}
    known = {row["path_id"] for row in paths} | {0}
    assert all(row["parent_id"] in known for row in paths)
    assert all(row["endpoint_id"] in names for row in paths)
