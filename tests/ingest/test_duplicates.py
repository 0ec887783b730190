"""Spans that share an id (DESIGN rule 5.3)."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec import Raw

from crisp.ingest.duplicates import separate
from crisp.ingest.jaeger import Span, Trace
from tests.drawing import Analysed, analysed, analysed_traces

CLIENT_SERVER = """
A        0 100
  B     10  60 client id=x
  C     12  58 server id=x
    D   20  30
    E   30  40
"""


def in_any_order(drawing: str) -> list[Analysed]:
    """The trace with its lines in every order; links are those of the drawing."""
    lines = [f"{line} " for line in drawing.splitlines() if line.strip()]
    return [analysed("\n".join(line.strip() for line in order)) for order in permutations(lines)]


def test_client_and_server_of_one_id_are_split_and_children_move_to_the_server() -> None:
    found = analysed(CLIENT_SERVER)
    assert found.trees == "A(x(x#2(D E)))"
    assert found.call_paths["A>B>C"] == (1, "26", "46")
    assert found.ledger == {"duplicates_split": (1, "0")}


def test_split_does_not_depend_on_the_order_of_spans() -> None:
    paths = {
        found.path + found.trees
        for found in in_any_order(
            """
            A 0 100
            B 10 60 client id=x child_of=A
            C 12 58 server id=x child_of=A
            D 20 30 child_of=x
            """
        )
    }
    assert paths == {
        "A[0,10) x[10,12) x#2[12,20) D[20,30) x#2[30,58) x[58,60) A[60,100)A(x(x#2(D)))"
    }


def test_server_that_names_its_own_id_as_parent_is_the_child_of_the_client() -> None:
    found = analysed("A 0 100\n  B 10 60 client id=x\nC 12 58 server id=x child_of=x")
    assert found.trees == "A(x(x#2))"


def test_shared_root_is_one_tree() -> None:
    found = analysed("A 0 100 client id=x\nB 10 90 server id=x\n  C 20 30")
    assert found.trees == "x(x#2(C))"
    assert found.path == "x[0,10) x#2[10,20) C[20,30) x#2[30,90) x[90,100)"


def test_identical_copies_are_dropped() -> None:
    found = analysed("A 0 100\n  B 10 60\n  B 10 60\n  B 10 60\n    C 20 30")
    assert found.trees == "A(B(C))"
    assert found.ledger == {"duplicates_dropped": (2, "0")}


def test_identical_copies_of_the_root_are_one_tree() -> None:
    assert analysed("A 0 100\nA 0 100").trees == "A"


@pytest.mark.parametrize("kinds", [("", ""), ("client", "client"), ("server", "producer")])
def test_other_copies_are_renamed_and_keep_their_parent(kinds: tuple[str, str]) -> None:
    found = analysed(f"A 0 100\n  B 10 60 {kinds[0]} id=x\n  C 70 90 {kinds[1]} id=x\n")
    assert found.trees == "A(x x#2)"
    assert found.path == "A[0,10) x[10,60) A[60,70) x#2[70,90) A[90,100)"
    assert found.ledger == {"duplicates_renamed": (1, "0")}


def test_children_of_a_renamed_id_stay_with_the_span_that_kept_it() -> None:
    shapes = {
        found.trees
        for found in in_any_order(
            """
            A 0 100
            B 10 60 id=x child_of=A
            C 70 90 id=x child_of=A
            D 20 30 child_of=x
            """
        )
    }
    assert shapes == {"A(x#2 x(D))"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("B 10 60", "C 20 60"),
        ("B 10 60", "C 10 50"),
        ("B 10 60", "C 10 60"),
        ("B 10 60 host=1", "B 10 60 host=2"),
        ("B 10 60 child_of=A", "B 10 60 follows_from=A"),
    ],
    ids=["the earlier", "the longer", "the smaller name", "the smaller process", "any rule"],
)
def test_which_copy_keeps_the_id_does_not_depend_on_order(first: str, second: str) -> None:
    lines = (f"{first} id=x child_of=A", f"{second} id=x child_of=A")
    kept = []
    for one, other in (lines, lines[::-1]):
        forest = analysed(f"A 0 100\n{one}\n{other}", policy="jaeger-ui").planted.forest
        kept.append(
            {
                (forest.span_id(row), int(forest.start_us[row]), int(forest.end_us[row]))
                for row in range(len(forest))
            }
        )
    assert kept[0] == kept[1]
    assert len(kept[0]) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [("B 10 60", "C 9 20"), ("B 10 50", "C 10 60"), ("B 10 60 op=b", "C 10 60 op=a")],
    ids=["the earlier", "the longer", "the smaller name"],
)
def test_the_copy_that_keeps_the_id_is(one: str, other: str) -> None:
    found = analysed(f"A 0 100\n  {one} id=x\n  {other} id=x")
    forest = found.planted.forest
    names = {forest.span_id(row): found.endpoint(row)[0] for row in range(len(forest))}
    assert names == {"A": "A", "x": "C", "x#2": "B"}


def test_a_third_span_beside_a_pair_is_renamed() -> None:
    found = analysed(
        "A 0 100\n  B 10 60 client id=x\n  C 12 58 server id=x\n    D 20 30\n  E 70 80 id=x"
    )
    assert found.trees == "A(x#3 x(x#2(D)))"
    assert found.ledger == {"duplicates_renamed": (1, "0"), "duplicates_split": (1, "0")}


def test_two_clients_and_a_server_are_no_pair() -> None:
    found = analysed("A 0 100\n  B 10 30 client id=x\n  B 40 60 client id=x\n  C 12 28 server id=x")
    assert found.trees == "A(x x#2 x#3)"
    assert found.ledger == {"duplicates_renamed": (2, "0")}


def test_kinds_spelled_as_opentelemetry_does_make_a_pair() -> None:
    spans = [
        Span("x", "call", 0, 10, tags=Raw(b'[{"key":"span.kind","value":"SPAN_KIND_CLIENT"}]')),
        Span("x", "serve", 1, 8, tags=Raw(b'[{"key":"span.kind","value":"SPAN_KIND_SERVER"}]')),
    ]
    assert separate(spans).split == 1


def test_a_new_name_is_never_that_of_another_span() -> None:
    spans = [Span("x", "a", 0, 9), Span("x", "b", 1, 9), Span("x#2", "c", 2, 9)]
    assert separate(spans).ids == ["x", "x#2#", "x#2"]


def test_a_server_split_from_its_client_was_not_found_by_follows_from() -> None:
    trace = analysed(
        "A 0 100\n  B 10 60 client id=x\nC 12 58 server id=x follows_from=A", async_rule="reference"
    )
    assert trace.path == "A[0,10) x[10,12) x#2[12,58) x[58,60) A[60,100)"


def test_many_spans_of_one_id_are_told_apart_in_linear_time() -> None:
    spans = [Span("x", "a", start, 5) for start in range(20_000)] + [Span("x", "a", 0, 5)] * 20_000
    found = separate(spans)
    assert (found.renamed, found.dropped, len(set(found.ids))) == (19_999, 20_000, 20_000)


def test_ids_of_one_trace_say_nothing_about_another() -> None:
    traces = [Trace([Span("x", "a", 0, 9)], "1"), Trace([Span("x", "a", 0, 9)], "2")]
    assert analysed_traces(traces).trees == "x | x"
