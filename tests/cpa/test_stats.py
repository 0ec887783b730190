"""Statistics of each tree's graph (paper, sections 4.6.2 and 4.7.2), drawn."""

from __future__ import annotations

import pytest

from tests.drawing import Analysed, analysed

TREE = """
A          0 100
  B       10  40
    C     20  30
    C     25  35 id=C2
  D       50  90 op=x
    C     55  60 id=C3
      B   56  58 id=B2
  D       50  51 op=y id=D2
"""


def stats(found: Analysed) -> dict[str, list[int]]:
    columns = found.analysis.stats
    names = ["spans", "unique_endpoints", "services", "depth", "concurrency"]
    names += ["cp_spans", "cp_endpoints"]
    return {name: getattr(columns, name).tolist() for name in names}


def test_statistics_of_a_drawn_tree() -> None:
    found = analysed(TREE)
    assert found.path == (
        "A[0,10) B[10,25) C2[25,35) B[35,40) A[40,50)"
        " D[50,55) C3[55,56) B2[56,58) C3[58,60) D[60,90) A[90,100)"
    )
    assert stats(found) == {
        "spans": [8],
        "unique_endpoints": [5],
        "services": [4],
        "depth": [4],
        "concurrency": [4],
        "cp_spans": [6],
        "cp_endpoints": [4],
    }
    assert found.endpoints == {
        "A": (1, 1, "30", "100", 0),
        "B": (2, 2, "22", "32", 2),
        "C": (3, 2, "13", "15", 2),
        "D:x": (1, 1, "35", "40", 1),
        "D:y": (1, 0, "0", "0", 1),
    }


def test_statistics_of_many_trees_keep_apart() -> None:
    drawings = [TREE, "A 0 1", "A 0 100\n  Z 0 50\n    Z 0 50 id=2\nB 5 6", TREE]
    together = stats(analysed(*drawings))
    alone = [stats(analysed(one)) for one in drawings]
    by_root = analysed(*drawings).planted.forest.trees.trace_id
    assert by_root == ["1", "2", "3", "3", "4"]
    assert together == {name: [value for one in alone for value in one[name]] for name in together}


@pytest.mark.parametrize(
    ("children", "most"),
    [
        pytest.param([], 1, id="the root alone"),
        pytest.param(["10 40", "40 90"], 2, id="half-open: what ends as another starts is over"),
        pytest.param(["10 40.001", "40 90"], 3, id="one shared microsecond"),
        pytest.param(["10 20", "10 20", "10 20"], 4, id="together"),
        pytest.param(["10 90", "20 80", "30 40", "50 60"], 4, id="nested"),
        pytest.param(["10 10", "10 10"], 1, id="of length zero: never open"),
        pytest.param(["10 20", "20 20", "20 30"], 2, id="zero between two"),
        pytest.param(["200 300", "200 300", "200 300"], 3, id="outside the root, as recorded"),
        pytest.param(["100 120"], 1, id="from the end of the root"),
    ],
)
def test_concurrency_is_the_largest_number_of_spans_open_at_once(
    children: list[str], most: int
) -> None:
    names = [f"  C{number} {times}" for number, times in enumerate(children)]
    found = analysed("\n".join(["A 0 100", *names]))
    assert found.analysis.stats.concurrency.tolist() == [most]


def test_an_empty_root_alone_has_no_concurrency() -> None:
    assert analysed("A 5 5").analysis.stats.concurrency.tolist() == [0]


def test_depth_is_the_longest_call_chain_whatever_its_duration() -> None:
    assert analysed("A 0 9\n  B 1 2\n    C 100 100\n  D 0 9").analysis.stats.depth.tolist() == [3]


def test_callers_are_distinct_endpoints_not_spans() -> None:
    found = analysed(
        """
        A        0 100
          B     10  20
            X   11  12
          B     20  30 id=2
            X   21  22 id=x2
            Y   23  24
              X 23  24 id=x3
          X     40  50 id=x4
            X   41  42 id=x5
        """
    )
    assert found.endpoints["X"][-1] == 4  # A, B, Y and X itself
    assert found.endpoints["B"][-1] == 1
    assert found.endpoints["A"][-1] == 0


def test_calls_count_spans_by_caller_and_callee() -> None:
    found = analysed("A 0 100\n  B 10 20\n  B 30 40 id=2\n    C 31 32\n  C 50 60 id=3")
    calls = found.analysis.calls
    name = [service for service, _ in found.names.endpoints]
    assert {
        (name[caller], name[callee]): spans
        for caller, callee, spans in zip(
            calls.caller.tolist(), calls.endpoint.tolist(), calls.spans.tolist(), strict=True
        )
    } == {("A", "B"): 2, ("B", "C"): 1, ("A", "C"): 1}


def test_services_are_counted_once_whatever_they_do() -> None:
    found = analysed("A 0 9\n  B 1 2 op=x\n  B 3 4 op=y id=2\n  A 5 6 op=z id=3")
    assert stats(found)["services"] == [2]
    assert stats(found)["unique_endpoints"] == [4]
