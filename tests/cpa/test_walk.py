"""The walk from the end backwards, and its ties (DESIGN rules 6.4 and 6.6), drawn."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.drawing import analysed


@pytest.mark.parametrize(
    ("drawing", "path"),
    [
        pytest.param("A 0 100", "A[0,100)", id="a span alone holds its own path"),
        pytest.param(
            """
            A        0 100
              B     10  40
              C     40  90
            """,
            "A[0,10) B[10,40) C[40,90) A[90,100)",
            id="children back to back are both on the path",
        ),
        pytest.param(
            """
            A        0 100
              B     10  40
              C     60  90
            """,
            "A[0,10) B[10,40) A[40,60) C[60,90) A[90,100)",
            id="the parent holds the time between children",
        ),
        pytest.param(
            """
            A        0 100
              B     10  40
                C   20  30
              X     14  60
              D     70  90
            """,
            "A[0,14) X[14,60) A[60,70) D[70,90) A[90,100)",
            id="the example of the paper: what ran beside a later child is off",
        ),
        pytest.param(
            """
            A        0 100
              B      0 100
                C    0 100
            """,
            "C[0,100)",
            id="the deepest of equal intervals holds the path",
        ),
        pytest.param(
            """
            A        0 100
              B     10  90
              C     20  80
            """,
            "A[0,10) B[10,90) A[90,100)",
            id="a child inside another is off",
        ),
        pytest.param(
            """
            A        0 100
              B     10  50
                E   10  50
              C     50  60
                F   55  60
              D     60  60
            """,
            "A[0,10) E[10,50) C[50,55) F[55,60) A[60,100)",
            id="spans that share every edge leave no empty segment",
        ),
        pytest.param(
            """
            A        0 100
              B      0  50
              C     50 100
            """,
            "B[0,50) C[50,100)",
            id="a parent may hold nothing",
        ),
        pytest.param(
            """
            A        0 100
              B     90  95
              C     10  92
              D      0   8
            """,
            "D[0,8) A[8,90) B[90,95) A[95,100)",
            id="after a parallel child the walk goes on to what came before",
        ),
    ],
)
def test_path_of(drawing: str, path: str) -> None:
    assert analysed(drawing).path == path


@pytest.mark.parametrize(
    ("children", "path"),
    [
        pytest.param(
            ["B 30 60", "C 10 60"], "A[0,10) C[10,60) A[60,100)", id="of one end, the longest"
        ),
        pytest.param(
            ["B 10 60 id=2", "C 10 60 id=1"],
            "A[0,10) 1[10,60) A[60,100)",
            id="of one interval, the smallest span id",
        ),
        pytest.param(
            ["B 10 60 id=10", "C 10 60 id=9", "D 10 60 id=1"],
            "A[0,10) 1[10,60) A[60,100)",
            id="span ids are compared as text",
        ),
        pytest.param(
            ["B 10 50", "C 20 60", "D 5 60 id=z"],
            "A[0,5) z[5,60) A[60,100)",
            id="the longest beats a smaller id",
        ),
    ],
)
def test_ties_are_decided_by_rule_not_by_order(children: list[str], path: str) -> None:
    for order in permutations(children):
        assert analysed("A 0 100\n  " + "\n  ".join(order)).path == path


def test_exclusive_time_is_summed_over_call_paths() -> None:
    found = analysed("A 0 100\n  B 10 50\n    C 20 40\n  B 60 70 id=B2\n  C 80 95 id=C2")
    assert found.call_paths == {
        "A": (1, "35", "100"),
        "A>B": (2, "30", "50"),
        "A>B>C": (1, "20", "20"),
        "A>C": (1, "15", "15"),
    }
    assert sum([35, 30, 20, 15]) == 100


def test_inclusive_time_of_an_endpoint_that_recurses_counts_the_outermost_span() -> None:
    found = analysed("R 0 100\n  B 10 60 id=1\n    B 20 50 id=2\n  B 70 90 id=3")
    assert found.call_paths == {
        "R": (1, "30", "100"),
        "R>B": (2, "40", "70"),
        "R>B>B": (1, "30", "30"),
    }
    assert found.endpoints == {"R": (1, 1, "30", "100", 0), "B": (3, 3, "70", "70", 2)}


def test_inclusive_time_of_an_endpoint_counts_once_also_through_others() -> None:
    found = analysed(
        """
        A          0 100
          B       10  60
            A     10  50 id=A2
              B   20  50 id=B2
                A 20  50 id=A3
          A       70  90 id=A4
        """
    )
    assert found.path == "A[0,10) A2[10,20) A3[20,50) B[50,60) A[60,70) A4[70,90) A[90,100)"
    assert found.endpoints == {"A": (4, 4, "90", "100", 2), "B": (2, 2, "10", "50", 1)}


def test_inclusive_time_of_an_endpoint_called_twice_in_a_row_adds_up() -> None:
    found = analysed("R 0 100\n  B 10 40 id=1\n    B 10 40 id=2\n  B 40 90 id=3")
    assert found.endpoints["B"] == (3, 3, "80", "80", 2)


def test_trees_of_one_batch_do_not_touch_each_other() -> None:
    drawings = ["A 0 100\n  B 10 40", "A 0 100\n  B 20 30", "A 0 100\n  B 5 6\n    C 5 6"]
    assert analysed(*drawings).path == " | ".join(analysed(one).path for one in drawings)
