"""Children that leave their parent's interval (DESIGN rule 6.3), drawn."""

from __future__ import annotations

import pytest

from tests.drawing import analysed


@pytest.mark.parametrize(
    ("child", "path", "ledger"),
    [
        pytest.param("20 40", "A[10,20) B[20,40) A[40,50)", {}, id="inside: stays"),
        pytest.param("10 50", "B[10,50)", {}, id="the same interval: stays"),
        pytest.param(
            " 4 40", "B[10,40) A[40,50)", {"clipped_start": (1, "6")}, id="too early: cut"
        ),
        pytest.param("20 57", "A[10,20) B[20,50)", {"clipped_end": (1, "7")}, id="too late: cut"),
        pytest.param(
            " 4 57",
            "B[10,50)",
            {"clipped_start": (1, "6"), "clipped_end": (1, "7")},
            id="both: cut on both sides",
        ),
        pytest.param(" 0  5", "A[10,50)", {"dropped": (1, "5")}, id="before: dropped"),
        pytest.param("60 80", "A[10,50)", {"dropped": (1, "20")}, id="after: dropped"),
        pytest.param(" 0 10", "A[10,50)", {"dropped": (1, "10")}, id="up to the start: dropped"),
        pytest.param("50 60", "A[10,50)", {"dropped": (1, "10")}, id="from the end: dropped"),
        pytest.param("20 20", "A[10,50)", {}, id="of length zero: stays, off the path"),
        pytest.param("10 10", "A[10,50)", {}, id="of length zero at the start: stays"),
        pytest.param("50 50", "A[10,50)", {}, id="of length zero at the end: stays"),
        pytest.param(" 9  9", "A[10,50)", {"dropped": (1, "0")}, id="zero and outside: dropped"),
        pytest.param(
            "49.999 90",
            "A[10,49.999) B[49.999,50)",
            {"clipped_end": (1, "40")},
            id="one microsecond inside: cut",
        ),
    ],
)
def test_child_of_a_parent_from_10_to_50(
    child: str, path: str, ledger: dict[str, tuple[int, str]]
) -> None:
    found = analysed(f"A 10 50\n  B {child}")
    assert found.path == path
    assert found.ledger == ledger


def test_descendants_are_cut_to_their_cut_parents() -> None:
    found = analysed("A 10 50\n  B 0 60\n    C 5 55\n      D 12 58")
    assert found.path == "C[10,12) D[12,50)"
    assert found.ledger == {"clipped_start": (2, "15"), "clipped_end": (3, "23")}
    assert found.call_paths == {
        "A": (1, "0", "40"),
        "A>B": (1, "0", "40"),
        "A>B>C": (1, "2", "40"),
        "A>B>C>D": (1, "38", "38"),
    }


def test_what_lies_outside_a_cut_parent_is_dropped_though_inside_the_recorded_one() -> None:
    found = analysed("A 10 50\n  B 20 90\n    C 60 80\n    D 30 40")
    assert found.path == "A[10,20) B[20,30) D[30,40) B[40,50)"
    assert found.ledger == {"clipped_end": (1, "40"), "dropped": (1, "20")}


def test_a_dropped_span_takes_its_subtree_with_it_and_is_counted_once() -> None:
    found = analysed("A 10 50\n  B 60 90\n    C 20 30\n      D 70 80")
    assert found.path == "A[10,50)"
    assert found.ledger == {"dropped": (1, "30")}


def test_dropped_and_empty_spans_stay_in_the_graph() -> None:
    stats = analysed("A 10 50\n  B 60 90\n    C 70 80\n  D 20 20").analysis.stats
    assert (stats.spans.tolist(), stats.cp_spans.tolist()) == ([4], [1])


def test_children_of_an_empty_span_never_enter_the_path() -> None:
    found = analysed("A 10 50\n  B 20 20\n    C 15 40\n    D 20 30\n    E 20 20")
    assert found.path == "A[10,50)"
    assert found.ledger == {
        "clipped_start": (1, "5"),
        "clipped_end": (1, "20"),
        "dropped": (1, "10"),
    }


def test_an_empty_root_has_an_empty_path() -> None:
    found = analysed("A 10 10\n  B 10 10\n  C 5 20")
    assert found.path == ""
    assert found.call_paths == {"A": (1, "0", "0")}


def test_nothing_is_cut_from_pruned_spans() -> None:
    assert analysed("A 10 50\n  B 0 90 follows\n    C 0 95").ledger == {
        "async_tail": (2, "45"),
        "pruned": (1, "90"),
    }


def test_a_cut_that_leaves_siblings_with_one_end_makes_the_longest_the_last() -> None:
    found = analysed("A 0 50\n  B 30 90\n  C 20 60\n  D 40 70")
    assert found.path == "A[0,20) C[20,50)"
