"""Small overlaps between siblings (DESIGN rule 6.5), at every edge of the rule, drawn."""

from __future__ import annotations

import pytest

from tests.drawing import analysed


@pytest.mark.parametrize(
    ("first", "second", "before"),
    [
        pytest.param("10 39", "39 80", True, id="touching is serial"),
        pytest.param("10 39.001", "39 80", True, id="one microsecond over is serial"),
        pytest.param("10 40", "39 80", True, id="1000 us, the limit"),
        pytest.param("10 40.001", "39 80", False, id="1001 us, one beyond the limit"),
        pytest.param("10 15", "14.5 80", True, id="a tenth of the first"),
        pytest.param("10 15", "14.499 80", False, id="one more than a tenth of the first"),
        pytest.param("10 40", "39.5 44.5", True, id="a tenth of the second"),
        pytest.param("10 40", "39.499 44.5", False, id="one more than a tenth of the second"),
        pytest.param("10 10.009", "10.008 11", False, id="1 us of 9 us is more than a tenth"),
        pytest.param("10 10.010", "10.009 11", True, id="1 us of 10 us is a tenth"),
    ],
)
def test_first_child_happens_before_the_second(first: str, second: str, before: bool) -> None:
    found = analysed(f"P 0 100\n  A {first}\n  B {second}")
    (start, end), (t, later) = first.split(), second.split()
    t = t.removesuffix(".0")
    serial = f"P[0,{start}) A[{start},{t}) B[{t},{later}) P[{later},100)"
    parallel = f"P[0,{t}) B[{t},{later}) P[{later},100)"
    assert found.path == (serial if before else parallel)
    overlap = round((float(end) - float(t)) * 1000)
    assert found.ledger == (
        {"tolerated_overlap": (1, f"{overlap / 1000:g}")} if before and overlap else {}
    )


def test_a_child_that_started_at_t_does_not_happen_before() -> None:
    found = analysed("P 0 100\n  A 50 50.4\n  B 50 80", policy="paper")
    assert found.path == "P[0,50) B[50,80) P[80,100)"
    earlier = analysed("P 0 100\n  A 49.999 50.4\n  B 50 80", policy="paper")
    assert earlier.path == "P[0,49.999) A[49.999,50) B[50,80) P[80,100)"


SERIAL = "P[0,10) A[10,39.5) B[39.5,80) P[80,100)"
PARALLEL = "P[0,39.5) B[39.5,80) P[80,100)"


@pytest.mark.parametrize(
    ("third", "path"),
    [
        pytest.param("39.4 60", SERIAL, id="starts before t, ends after the overlap"),
        pytest.param("39.5 60", PARALLEL, id="starts at t"),
        pytest.param("39.501 60", PARALLEL, id="starts just after t"),
        pytest.param("39.999 60", PARALLEL, id="starts just before the overlap ends"),
        pytest.param("40 60", SERIAL, id="starts as the overlap ends"),
        pytest.param("20 39.499", SERIAL, id="ends before t"),
        pytest.param("20 39.5", SERIAL, id="ends at t"),
        pytest.param(
            "20 39.501",
            "P[0,20) C[20,39.5) B[39.5,80) P[80,100)",
            id="ends just after t: happens before itself",
        ),
        pytest.param(
            "20 39.999",
            "P[0,20) C[20,39.5) B[39.5,80) P[80,100)",
            id="ends just before the overlap ends: A ends outside its overlap",
        ),
        pytest.param("20 40", PARALLEL, id="ends as the overlap ends: neither happens before"),
        pytest.param("5 40", PARALLEL, id="ends as the overlap ends, longer: neither"),
        pytest.param("20 40.001", SERIAL, id="ends after the overlap, too much for itself"),
        pytest.param("39.6 39.9", PARALLEL, id="lies inside the overlap"),
        pytest.param("39.5 39.5", PARALLEL, id="of length zero at t"),
        pytest.param("39.7 39.7", PARALLEL, id="of length zero inside"),
        pytest.param("40 40", PARALLEL, id="of length zero at the end"),
        pytest.param("39.499 39.499", SERIAL, id="of length zero before t"),
        pytest.param("40.001 40.001", SERIAL, id="of length zero after"),
        pytest.param("39.6 39.9 follows", SERIAL, id="pruned spans do not disturb"),
        pytest.param("100 110", SERIAL, id="dropped spans do not disturb"),
    ],
)
def test_a_third_child_beside_an_overlap_from_39500_to_40000(third: str, path: str) -> None:
    assert analysed(f"P 0 100\n  A 10 40\n  B 39.5 80\n  C {third}").path == path


def test_children_of_other_parents_do_not_disturb() -> None:
    found = analysed("P 0 100\n  A 10 40\n    X 39.6 39.9\n  B 39.5 80\n    Y 39.6 39.9")
    assert found.path == ("P[0,10) A[10,39.5) B[39.5,39.6) Y[39.6,39.9) B[39.9,80) P[80,100)")


def test_the_second_sibling_may_end_in_its_own_overlap() -> None:
    """B ends first: A is the later one, and B, inside it, is parallel."""
    assert analysed("P 0 100\n  A 10 40\n  B 39.5 39.9").path == "P[0,10) A[10,40) P[40,100)"


def test_a_chain_of_small_overlaps_is_serial() -> None:
    found = analysed("P 0 100\n  A 10 40\n  B 39.5 70\n  C 69.4 90")
    assert found.path == "P[0,10) A[10,39.5) B[39.5,69.4) C[69.4,90) P[90,100)"
    assert found.ledger == {"tolerated_overlap": (2, "1.1")}
    assert found.call_paths["P>B"] == (1, "29.9", "29.9")


def test_the_share_is_of_whole_siblings_not_of_what_an_overlap_left_of_them() -> None:
    """B is 5 long, 4.5 of them up to C; 0.48 is less than a tenth of 5 and more than of 4.5."""
    found = analysed("P 0 100\n  A 10 15\n  B 14.52 19.52\n  C 19.02 30")
    assert found.path == "P[0,10) A[10,14.52) B[14.52,19.02) C[19.02,30) P[30,100)"


def test_the_share_is_of_clipped_siblings() -> None:
    """B lasts 20, of which 4 lie in P; 0.5 is more than a tenth of those."""
    assert analysed("P 0 44\n  A 10 40.5\n  B 40 60").path == "P[0,40) B[40,44)"


def test_children_of_a_child_cut_at_t_are_cut_too() -> None:
    found = analysed(
        """
        R         0   100
          P      10    40
            X    20    39.8
              Y  30    39.7
            Z    39.6  39.9
          Q      39.5  80
        """
    )
    assert found.path == "R[0,10) P[10,20) X[20,30) Y[30,39.5) Q[39.5,80) R[80,100)"
    assert found.call_paths["R>P"] == (1, "10", "29.5")
    assert found.call_paths["R>P>X"] == (1, "10", "19.5")


def test_children_that_a_cut_leaves_with_one_end_are_tied_anew() -> None:
    found = analysed("R 0 100\n  P 10 40\n    X 20 39.8\n    Y 15 39.6\n  Q 39.5 80")
    assert found.path == "R[0,10) P[10,15) Y[15,39.5) Q[39.5,80) R[80,100)"


def test_children_that_a_cut_makes_equal_are_tied_by_span_id() -> None:
    found = analysed("R 0 100\n  P 10 40\n    X 15 39.8 id=2\n    Y 15 39.6 id=1\n  Q 39.5 80")
    assert found.path == "R[0,10) P[10,15) 1[15,39.5) Q[39.5,80) R[80,100)"


def test_a_cut_child_may_itself_tolerate_an_overlap() -> None:
    """P is cut from 40 to 39.5, so Y is 9.5 long, of which 0.95 is a tenth."""
    drawing = "R 0 100\n  P 10 40\n    X 20 {}\n    Y 30 39.9\n  Q 39.5 80"
    assert analysed(drawing.format("30.95")).path == (
        "R[0,10) P[10,20) X[20,30) Y[30,39.5) Q[39.5,80) R[80,100)"
    )
    assert analysed(drawing.format("30.951")).path == (
        "R[0,10) P[10,30) Y[30,39.5) Q[39.5,80) R[80,100)"
    )


def test_limits_are_options() -> None:
    drawing = "P 0 100\n  A 10 42\n  B 39 80"
    assert analysed(drawing).path == "P[0,39) B[39,80) P[80,100)"
    assert analysed(drawing, overlap_us=3000).path == "P[0,10) A[10,39) B[39,80) P[80,100)"
    assert analysed(drawing, overlap_us=3000, overlap_ratio=0.09).path == (
        "P[0,39) B[39,80) P[80,100)"
    )
