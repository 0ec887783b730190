"""An analysis as rows of the lake (DESIGN section 7)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from crisp import schema
from crisp.cpa.rows import day_of, lake_rows
from crisp.stable import text_id
from tests.drawing import START_US, Analysed, analysed

DAY_MS = 86_400_000
DRAWING = """
A        0 100 op=get host=a
  B     10  40 host=b id=1
    C   20  30 host=b
  B     40  60 host=c id=2 error
  D     70 130 follows
O       10  90 child_of=gone
"""


def rows(
    found: Analysed, *, all_paths: bool = False
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows by table and day."""
    return {
        (table, day): batch.to_pylist()
        for table, day, _, batch in lake_rows(found.analysis, all_paths=all_paths)
    }


DAY = day_of(START_US)


def test_a_tree_is_one_row_with_all_that_is_known_of_it() -> None:
    (row,) = rows(analysed(DRAWING))["traces", DAY]
    paths, endpoints = row.pop("paths"), row.pop("endpoints")
    assert row == {
        "tree_id": text_id("1", "A"),
        "endpoint_id": text_id("A", "get"),
        "trace_id": "1",
        "root_span_id": "A",
        "root_kind": "entry",
        "start_us": START_US,
        "latency_us": 100_000,
        "weight": 1.0,
        "error": False,
        "spans": 5,
        "unique_endpoints": 4,
        "services": 4,
        "depth": 3,
        "concurrency": 3,
        "cp_spans": 4,
        "cp_endpoints": 3,
        "cp_paths": 3,
        "source": "drawing",
        "position": 0,
        "ledger": [
            {"entry": "async_tail", "spans": 1, "amount_us": 30_000},
            {"entry": "orphans", "spans": 1, "amount_us": 0},
            {"entry": "pruned", "spans": 1, "amount_us": 60_000},
        ],
        "all_paths": None,
    }
    assert sorted(
        (p["host"], p["spans"], p["exclusive_us"], p["inclusive_us"], p["span_id"], p["error"])
        for p in paths
    ) == [
        ("a", 1, 50_000, 100_000, "A", False),
        ("b", 1, 10_000, 10_000, "C", False),
        ("b", 1, 20_000, 30_000, "1", False),
        ("c", 1, 20_000, 20_000, "2", True),
    ]
    assert sorted(tuple(endpoint.values())[1:] for endpoint in endpoints) == [
        (1, 0, 0, 0, 1),
        (1, 1, 10_000, 10_000, 1),
        (1, 1, 50_000, 100_000, 0),
        (2, 2, 40_000, 50_000, 1),
    ]


def test_call_paths_lead_up_to_the_root() -> None:
    found = {row["path_id"]: row for row in rows(analysed(DRAWING))["call_paths", DAY]}
    chains = set()
    for last in found.values():
        row, chain = last, []
        while True:
            chain.append(row["endpoint_id"])
            assert row["depth"] > 0
            if not row["parent_id"]:
                break
            assert found[row["parent_id"]]["depth"] == row["depth"] - 1
            row = found[row["parent_id"]]
        chains.add(tuple(reversed(chain)))
    a, b, c = text_id("A", "get"), text_id("B", "work"), text_id("C", "work")
    assert chains == {(a,), (a, b), (a, b, c)}


def test_all_paths_cover_the_whole_tree_by_recorded_durations() -> None:
    found = rows(analysed(DRAWING), all_paths=True)
    (row,) = found["traces", DAY]
    assert sorted((p["spans"], p["duration_us"]) for p in row["all_paths"]) == [
        (1, 10_000),
        (1, 60_000),
        (1, 100_000),
        (2, 50_000),
    ]
    assert {p["path_id"] for p in row["all_paths"]} == {
        p["path_id"] for p in found["call_paths", DAY]
    }


def test_calls_are_counted_over_the_trees_of_a_day() -> None:
    found = rows(analysed(DRAWING, DRAWING))["calls", DAY]
    a, b = text_id("A", "get"), text_id("B", "work")
    assert {(row["caller_id"], row["endpoint_id"]): row["spans"] for row in found} == {
        (a, b): 4,
        (b, text_id("C", "work")): 2,
        (a, text_id("D", "work")): 2,
    }


def test_a_tree_belongs_to_the_day_its_root_starts_in() -> None:
    to_midnight = DAY_MS - START_US // 1000 % DAY_MS
    found = analysed(
        f"A {to_midnight - 1} {to_midnight + 50}\n  B {to_midnight + 1} {to_midnight + 2}",
        f"A {to_midnight} {to_midnight + 50}\n  C {to_midnight + 1} {to_midnight + 2}",
    )
    next_day = day_of(START_US + 86_400_000_000)
    assert list(rows(found)) == [
        (table, day) for day in (DAY, next_day) for table in ("traces", "call_paths", "calls")
    ]
    assert [row["trace_id"] for row in rows(found)["traces", DAY]] == ["1"]
    assert [row["trace_id"] for row in rows(found)["traces", next_day]] == ["2"]
    for day, child in ((DAY, "B"), (next_day, "C")):
        assert [row["endpoint_id"] for row in rows(found)["calls", day]] == [text_id(child, "work")]
        assert {row["endpoint_id"] for row in rows(found)["call_paths", day]} == {
            text_id("A", "work"),
            text_id(child, "work"),
        }


@pytest.mark.parametrize(
    ("time_us", "day"),
    [
        (0, "1970-01-01"),
        (1_700_006_399_999_999, "2023-11-14"),
        (1_700_006_400_000_000, "2023-11-15"),
        (1_709_164_800_000_000, "2024-02-29"),
        (2**53 - 1, "2255-06-05"),
        (2**54 - 2, "2540-11-07"),
    ],
)
def test_day_of_a_moment_is_the_utc_date(time_us: int, day: str) -> None:
    assert day_of(time_us) == day


@pytest.mark.parametrize("all_paths", [False, True])
def test_batches_have_the_promised_columns(all_paths: bool) -> None:
    for table, _, _, batch in lake_rows(analysed(DRAWING).analysis, all_paths=all_paths):
        assert batch.schema.equals(schema.LAKE[table]), table
        pa.Table.from_batches([batch]).validate(full=True)


def test_an_empty_forest_has_no_rows() -> None:
    assert rows(analysed("O 0 1 child_of=gone")) == {}


def test_every_ledger_entry_that_occurs_is_explained() -> None:
    drawings = [DRAWING, "A 0 9\n  B -1 3\n  C 3 10\n  D 20 30", "A 0 9 client\n  B 11 12 server"]
    for policy in ("crisp", "crisp-oss"):
        for skew in ("none", "edge"):
            found = analysed(*drawings, policy=policy, skew=skew, skew_limit_us=5)
            assert set(found.ledger) <= set(schema.LEDGER)
