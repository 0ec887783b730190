"""Roots, orphans, cycles and the choice of analysis roots (DESIGN rules 5.4 and 5.5)."""

from __future__ import annotations

from typing import Any

import pytest

from crisp.options import IngestOptions
from tests.drawing import START_US, Analysed, analysed


def planted(*drawings: str, **options: Any) -> Analysed:
    return analysed(*drawings, ingest=IngestOptions(**options))


LOST = """
A        0 100
  B     10  40
O       20  80 child_of=gone
  P     30  50
Q       50  60 child_of=gone2
"""


def test_orphans_and_what_is_below_them_are_left_out_and_counted() -> None:
    found = planted(LOST)
    assert found.trees == "A(B)"
    assert found.ledger == {"orphans": (2, "0")}


def test_orphans_are_analysed_when_asked_for() -> None:
    found = planted(LOST, roots="orphans")
    assert found.trees == "A(B) | O(P) | Q"
    assert found.planted.forest.trees.root_kind == ["entry", "orphan", "orphan"]
    assert found.path == "A[0,10) B[10,40) A[40,100) | O[20,30) P[30,50) O[50,80) | Q[50,60)"


def test_a_trace_of_orphans_is_rejected_unless_orphans_are_asked_for() -> None:
    assert planted("O 0 10 child_of=gone").rejects == ["no-root"]
    assert planted("O 0 10 child_of=gone").trees == ""
    assert planted("O 0 10 child_of=gone", roots="orphans").rejects == []


CYCLE = """
A        0 100
  B     10  40
X        0  10 child_of=Y
Y        0  10 child_of=Z
Z        0  10 child_of=X
  W      0  10
S        0  10 child_of=S
  T      0  10
"""


@pytest.mark.parametrize("roots", ["entry", "orphans"])
def test_spans_in_or_below_a_cycle_are_left_out_and_counted(roots: str) -> None:
    found = planted(CYCLE, roots=roots)
    assert found.trees == "A(B)"
    assert found.ledger == {"unreachable": (6, "0")}
    assert found.rejects == []


@pytest.mark.parametrize(
    "cycle",
    [
        "X 0 10 child_of=X",
        "X 0 10 child_of=Y\nY 0 10 child_of=X",
        "X 0 10 child_of=Y\nY 0 10 child_of=X\n  Z 0 10",
    ],
)
@pytest.mark.parametrize("options", [{}, {"roots": "orphans"}, {"roots": "endpoint"}])
def test_a_trace_that_is_all_cycle_is_rejected(cycle: str, options: dict[str, str]) -> None:
    found = planted(cycle, service="X", **options)
    assert found.rejects == ["cycle"]
    assert (found.planted.analysed, found.planted.filtered) == (0, 0)


def test_a_cycle_beside_an_orphan_is_no_root() -> None:
    assert planted("X 0 10 child_of=X\nO 0 10 child_of=gone").rejects == ["no-root"]


def test_every_root_of_a_trace_is_a_tree() -> None:
    found = planted("A 0 100\n  B 10 40\nC 100 200\nD 300 301")
    assert found.trees == "A(B) | C | D"
    assert found.planted.analysed == 1
    assert found.planted.trace.tolist() == [0, 0, 0]


def test_ledger_of_a_trace_stands_with_its_largest_tree_only() -> None:
    found = planted("A 0 100\nB 0 100\n  C 10 20\nO 0 1 child_of=gone")
    assert [
        {found.planted.forest.span_id(row): ledger}
        for row, ledger in enumerate(found.planted.forest.trees.ledger)
    ] == [{"A": {}}, {"B": {"orphans": 1}}]


def test_ledger_of_equal_trees_stands_with_the_smallest_span_id() -> None:
    for drawing in ("A 0 9\nB 0 9\nO 0 1 child_of=gone", "B 0 9\nA 0 9\nO 0 1 child_of=gone"):
        trees = planted(drawing).planted.forest
        assert [trees.span_id(row) for row, entry in enumerate(trees.trees.ledger) if entry] == [
            "A"
        ]


RECURSIVE = """
A        0 100
  B     10  60
    B   20  50 id=B2
      C 30  40
  C     70  90 id=C2
    B   75  80 id=B3
"""


def test_endpoint_roots_are_its_topmost_spans_each_an_instance() -> None:
    found = planted(RECURSIVE, roots="endpoint", service="B")
    assert found.trees == "B(B2(C)) | B3"
    assert found.planted.forest.trees.root_kind == ["endpoint", "endpoint"]
    assert found.path == "B[10,20) B2[20,30) C[30,40) B2[40,50) B[50,60) | B3[75,80)"


def test_endpoint_roots_that_are_the_root_give_the_whole_trace() -> None:
    assert planted(RECURSIVE, roots="endpoint", service="A").trees == "A(B(B2(C)) C2(B3))"


def test_endpoint_roots_need_both_names_to_match() -> None:
    drawing = "A 0 9\n  B 1 5 op=read\n  B 5 8 id=B2 op=write\n  C 8 9 op=read"
    assert planted(drawing, roots="endpoint", service="B").trees == "B | B2"
    assert planted(drawing, roots="endpoint", operation="read").trees == "B | C"
    assert planted(drawing, roots="endpoint", service="B", operation="write").trees == "B2"


def test_endpoint_roots_are_found_below_orphans_and_never_in_cycles() -> None:
    found = planted(
        "A 0 9\n  B 1 2\nO 0 9 child_of=gone\n  B 3 4 id=B2\nX 0 9 child_of=X\n  B 5 6 id=B3",
        roots="endpoint",
        service="B",
    )
    assert found.trees == "B | B2"
    assert found.ledger == {"orphans": (1, "0"), "unreachable": (2, "0")}


def test_calls_above_an_endpoint_root_leave_no_mark_on_its_path() -> None:
    whole, part = analysed("B 20 50\n  C 30 40"), planted(RECURSIVE, roots="endpoint", service="C")
    assert part.trees == "C | C2(B3)"
    assert part.call_paths["C"] == (2, "25", "30")
    assert whole.path == "B[20,30) C[30,40) B[40,50)"


def test_traces_without_the_endpoint_are_filtered_not_rejected() -> None:
    found = planted("A 0 9", "B 0 9", "O 0 9 child_of=gone", roots="endpoint", service="B")
    assert found.trees == "B"
    assert (found.planted.filtered, found.rejects, found.planted.analysed) == (2, [], 1)


def test_selection_by_name_filters_traces_by_their_entry_endpoint() -> None:
    found = planted("A 0 9", "B 0 9\n  A 1 2", service="A")
    assert found.trees == "A"
    assert (found.planted.filtered, found.planted.analysed, found.rejects) == (1, 1, [])
    assert found.planted.trace.tolist() == [0]


def test_selection_by_time_is_half_open() -> None:
    drawings = ["A 0 9", "B 1 9", "C 2 9", "D 3 9"]
    found = planted(*drawings, start_us=START_US + 1000, end_us=START_US + 3000)
    assert found.trees == "B | C"
    assert found.planted.filtered == 2


def test_trees_of_many_traces_keep_apart() -> None:
    found = planted("A 0 9\n  B 1 2", "O 0 9 child_of=gone", CYCLE, LOST)
    assert found.trees == "A(B) | A(B) | A(B)"
    assert found.planted.trace.tolist() == [0, 2, 3]
    assert found.rejects == ["no-root"]
    assert found.planted.forest.trees.trace_id == ["1", "3", "4"]


def test_rows_are_ordered_by_depth_and_trees_by_root() -> None:
    forest = planted(RECURSIVE, "X 0 9\n  Y 1 2").planted.forest
    depth = [0] * len(forest)
    for row, parent in enumerate(forest.parent.tolist()):
        assert parent < row
        depth[row] = depth[parent] + 1 if parent >= 0 else 0
    assert depth == sorted(depth)
    assert [forest.span_id(row) for row in range(2)] == ["A", "X"]
    assert forest.tree[:2].tolist() == [0, 1]
    assert [rows.stop - rows.start for rows in forest.levels] == [2, 3, 2, 1]


def test_an_empty_batch_is_an_empty_forest() -> None:
    found = planted()
    assert (len(found.planted.forest), found.path, found.ledger) == (0, "", {})
