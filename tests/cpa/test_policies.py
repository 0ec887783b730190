"""Published walks, reproduced by named policies (DESIGN rule 6.7), drawn."""

from __future__ import annotations

import pytest

from crisp.errors import ConfigError
from crisp.options import POLICIES, path_options
from tests.drawing import analysed

ASYNC = """
A        0 100
  B     10  20 producer
    C   12  18 consumer
  D     30  40 follows
"""


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ("crisp", "A[0,10) B[10,20) A[20,100)"),
        ("paper", "A[0,10) B[10,20) A[20,100)"),
        ("crisp-oss", "A[0,10) B[10,12) C[12,18) B[18,20) A[20,30) D[30,40) A[40,100)"),
        ("jaeger-ui", "A[0,10) B[10,20) A[20,30) D[30,40) A[40,100)"),
    ],
)
def test_asynchronous_work(policy: str, path: str) -> None:
    assert analysed(ASYNC, policy=policy).path == path


@pytest.mark.parametrize("policy", POLICIES)
def test_a_child_over_one_edge_is_clipped_and_one_outside_is_dropped(policy: str) -> None:
    found = analysed("A 10 50\n  B 5 20\n  C 30 55\n  D 60 70\n    E 11 12", policy=policy)
    assert found.path == "B[10,20) A[20,30) C[30,50)"
    assert found.ledger == {
        "clipped_start": (1, "5"),
        "clipped_end": (1, "5"),
        "dropped": (1, "10"),
    }


@pytest.mark.parametrize("policy", POLICIES)
def test_a_child_over_both_edges_is_clipped_or_dropped(policy: str) -> None:
    drops = policy == "crisp-oss"
    found = analysed("A 10 50\n  B 5 60\n    C 20 30", policy=policy)
    assert found.path == ("A[10,50)" if drops else "B[10,20) C[20,30) B[30,50)")
    assert ("dropped" in found.ledger) is drops


@pytest.mark.parametrize(
    ("server", "path"),
    [
        pytest.param(" 70 110", "A[10,20) B[20,60)", id="after: moved to the end"),
        pytest.param("  0   5", "B[10,15) A[15,60)", id="before: moved to the start"),
        pytest.param(" 40  70", "A[10,30) B[30,60)", id="over the end: moved back"),
        pytest.param(" 20  30", "A[10,20) B[20,30) A[30,60)", id="inside: stays"),
        pytest.param("100 200", "B[10,60)", id="longer: moved to the start and cut"),
        pytest.param("  0 100", "B[10,60)", id="over both edges: moved to the start and cut"),
        pytest.param(" 20 100", "B[10,60)", id="longer, from inside: moved to the start and cut"),
    ],
)
def test_crisp_oss_keeps_the_only_server_of_a_client(server: str, path: str) -> None:
    found = analysed(f"A 10 60 client\n  B {server} server", policy="crisp-oss")
    assert found.path == path


def test_crisp_oss_moves_the_subtree_of_a_lone_server_and_counts_both() -> None:
    found = analysed("A 10 60 client\n  B 70 110 server\n    C 80 90", policy="crisp-oss")
    assert found.path == "A[10,20) B[20,30) C[30,40) B[40,60)"
    assert found.ledger == {"lone_server_moved": (1, "50"), "moved": (1, "50")}


def test_crisp_oss_moves_a_lone_server_into_a_client_that_moved_before() -> None:
    found = analysed(
        "A 0 50 client\n  B 100 130 server\n    C 110 120 client\n      D 10 15 server",
        policy="crisp-oss",
    )
    assert found.path == "A[0,20) B[20,30) D[30,35) C[35,40) B[40,50)"
    assert found.ledger == {"lone_server_moved": (2, "100"), "moved": (1, "80")}


@pytest.mark.parametrize(
    "drawing",
    [
        "A 10 60 client\n  B 70 110 server\n  C 10 12 server",
        "A 10 60\n  B 70 110 server",
        "A 10 60 client\n  B 70 110",
        "A 10 60 server\n  B 70 110 client",
    ],
)
def test_crisp_oss_drops_other_children_outside(drawing: str) -> None:
    assert analysed(drawing, policy="crisp-oss").ledger == {"dropped": (1, "40")}


def test_other_policies_do_not_move_a_lone_server() -> None:
    for policy in ("crisp", "paper", "jaeger-ui"):
        assert analysed("A 10 60 client\n  B 70 110 server", policy=policy).path == "A[10,60)"


TOUCHING = "A 0 100\n  B 10 40\n  C 40 90"


@pytest.mark.parametrize("policy", ["crisp", "paper", "crisp-oss"])
def test_a_child_that_ends_at_t_counts(policy: str) -> None:
    found = analysed(TOUCHING, policy=policy)
    assert found.path == "A[0,10) B[10,40) C[40,90) A[90,100)"
    assert found.ledger == {}


def test_jaeger_ui_drops_a_child_that_ends_at_t() -> None:
    assert analysed(TOUCHING, policy="jaeger-ui").path == "A[0,40) C[40,90) A[90,100)"
    found = analysed("A 0 100\n  B 10 39.999\n  C 40 90", policy="jaeger-ui")
    assert found.path == "A[0,10) B[10,39.999) A[39.999,40) C[40,90) A[90,100)"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_child_may_end_with_its_parent(policy: str) -> None:
    assert analysed("A 0 100\n  B 10 100\n    C 20 100", policy=policy).path == (
        "A[0,10) B[10,20) C[20,100)"
    )


@pytest.mark.parametrize(
    ("third", "counts"),
    [
        ("40 60", False),
        ("20 40", False),
        ("40 40", False),
        ("39.999 60", True),
        ("20 39.999", True),
        ("40.001 60", True),
    ],
)
def test_crisp_oss_counts_a_touching_child_only_when_no_third_event_falls_there(
    third: str, counts: bool
) -> None:
    found = analysed(f"{TOUCHING}\n  D {third}", policy="crisp-oss")
    assert ("B[10,40) C[40,90)" in found.path) is counts


@pytest.mark.parametrize(
    ("parent", "first", "second", "before"),
    [
        ("0  100", "10 40.999", "40 90", True),
        ("0  100", "10 41", "40 90", False),
        ("0 1000", "10 409", "400 900", True),
        ("0 1000", "10 410", "400 900", False),
        ("0  100", "10 40.999", "40 41.998", True),
        ("0  100", "39.5 40.4", "40 90", True),
    ],
)
def test_crisp_oss_tolerates_less_than_one_percent_of_the_parent(
    parent: str, first: str, second: str, before: bool
) -> None:
    found = analysed(f"P {parent}\n  A {first}\n  B {second}", policy="crisp-oss")
    assert ("A[" in found.path) is before
    assert ("tolerated_overlap" in found.ledger) is before


@pytest.mark.parametrize(
    ("third", "before"),
    [
        ("40.999 60", False),
        ("40 60", False),
        ("20 40", False),
        ("40.5 40.7", False),
        ("41 60", True),
        ("20 39.999", True),
    ],
)
def test_crisp_oss_wants_exactly_two_events_in_an_overlap_edges_included(
    third: str, before: bool
) -> None:
    """The overlap of A and B is [40, 40.999]; a third child may begin or end outside only."""
    found = analysed(f"P 0 100\n  A 10 40.999\n  B 40 90\n  C {third}", policy="crisp-oss")
    assert ("A[10,40) B[40,90)" in found.path) is before


def test_crisp_oss_means_the_whole_parent_also_where_it_is_cut() -> None:
    """P lasts 100, 91 of them up to Q; 0.95 is less than a hundredth of 100 and more than of 91."""
    found = analysed(
        "R 0 1000\n  P 10 110\n    X 20 50.95\n    Y 50 90\n  Q 101 900", policy="crisp-oss"
    )
    assert found.path == ("R[0,10) P[10,20) X[20,50) Y[50,90) P[90,101) Q[101,900) R[900,1000)")


def test_jaeger_ui_tolerates_no_overlap() -> None:
    found = analysed("P 0 100\n  A 10 40.001\n  B 40 90", policy="jaeger-ui")
    assert found.path == "P[0,40) B[40,90) P[90,100)"


def test_paper_tolerates_a_millisecond_whatever_the_siblings_last() -> None:
    drawing = "P 0 20\n  A 10 13\n  B 12.5 16"
    assert analysed(drawing).path == "P[0,12.5) B[12.5,16) P[16,20)"
    assert analysed(drawing, policy="paper").path == "P[0,10) A[10,12.5) B[12.5,16) P[16,20)"
    late = analysed("P 0 20\n  A 10 13.501\n  B 12.5 16", policy="paper")
    assert late.path == "P[0,12.5) B[12.5,16) P[16,20)"


def test_each_policy_carries_its_name() -> None:
    assert {name: options.policy for name, options in POLICIES.items()} == {
        name: name for name in ("crisp", "paper", "crisp-oss", "jaeger-ui")
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"policy": "uber"}, "unknown policy 'uber'; known: crisp, paper"),
        ({"async_rule": "all"}, "async must be one of both, reference, kind, none"),
        ({"skew": "fleet-wide"}, "skew must be one of"),
        ({"overlap_ratio": 1.1}, "overlap_ratio must be in"),
        ({"overlap_us": -1}, "must not be negative"),
    ],
)
def test_a_wrong_option_is_a_clear_error(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        path_options(**{"policy": "crisp", **change})  # type: ignore[arg-type]  # any of them
