"""Work the parent does not wait for (DESIGN rule 6.1), drawn."""

from __future__ import annotations

import pytest

from crisp.options import IngestOptions
from tests.drawing import analysed

FOLLOWS = """
A        0 100
  B     10  90 follows
    C   20  80
  D     20  30
"""
CONSUMER = """
A        0 100
  B     10  90 producer
    C   20  80 consumer
      D 30  40
"""


@pytest.mark.parametrize("rule", ["both", "reference"])
def test_follows_from_leaves_the_path_with_its_subtree(rule: str) -> None:
    found = analysed(FOLLOWS, async_rule=rule)
    assert found.path == "A[0,20) D[20,30) A[30,100)"
    assert found.ledger == {"pruned": (1, "80")}


@pytest.mark.parametrize("rule", ["none", "kind"])
def test_follows_from_stays_when_references_do_not_count(rule: str) -> None:
    found = analysed(FOLLOWS, async_rule=rule)
    assert found.path == "A[0,10) B[10,20) C[20,80) B[80,90) A[90,100)"
    assert found.ledger == {}


@pytest.mark.parametrize("rule", ["both", "kind"])
def test_consumer_under_producer_leaves_the_path_with_its_subtree(rule: str) -> None:
    found = analysed(CONSUMER, async_rule=rule)
    assert found.path == "A[0,10) B[10,90) A[90,100)"
    assert found.ledger == {"pruned": (1, "60")}


@pytest.mark.parametrize("rule", ["none", "reference"])
def test_consumer_stays_when_kinds_do_not_count(rule: str) -> None:
    found = analysed(CONSUMER, async_rule=rule)
    assert found.path == ("A[0,10) B[10,20) C[20,30) D[30,40) C[40,80) B[80,90) A[90,100)")


@pytest.mark.parametrize(
    ("parent", "child"),
    [("client", "consumer"), ("consumer", "producer"), ("producer", "server"), ("", "consumer")],
)
def test_other_kinds_are_waited_for(parent: str, child: str) -> None:
    found = analysed(f"A 0 100 {parent}\n  B 10 90 {child}")
    assert found.path == "A[0,10) B[10,90) A[90,100)"


def test_consumer_is_pruned_only_directly_under_its_producer() -> None:
    found = analysed("A 0 100 producer\n  B 10 90\n    C 20 80 consumer")
    assert found.path == "A[0,10) B[10,20) C[20,80) B[80,90) A[90,100)"


def test_pruned_work_still_counts_as_spans_of_the_trace() -> None:
    stats = analysed(FOLLOWS).analysis.stats
    assert (stats.spans.tolist(), stats.cp_spans.tolist()) == ([4], [2])
    assert (stats.depth.tolist(), stats.concurrency.tolist()) == ([3], [4])


def test_asynchronous_work_inside_asynchronous_work_is_pruned_once() -> None:
    found = analysed("A 0 100\n  B 10 90 follows\n    C 20 80\n      D 30 40 follows")
    assert found.ledger == {"pruned": (1, "80")}


def test_async_tail_is_what_outlives_the_root() -> None:
    found = analysed(
        """
        A        0  50
          B     10  20 producer
            C   15  80 consumer
              D 60  95
            E   20  50 consumer
          F     30  70 follows
        """
    )
    assert found.path == "A[0,10) B[10,20) A[20,50)"
    assert found.ledger == {"async_tail": (3, "45"), "pruned": (3, "135")}


def test_work_that_ends_with_the_root_is_no_async_tail() -> None:
    assert "async_tail" not in analysed("A 0 50\n  B 10 50 follows").ledger


def test_async_tails_of_several_trees_keep_apart() -> None:
    analysis = analysed("A 0 50\n  B 10 55 follows", "A 0 50\n  B 1 2", "A 0 50\n  B 10 59 follows")
    spans, amount = analysis.analysis.ledger["async_tail"]
    assert (spans.tolist(), amount.tolist()) == ([1, 0, 1], [5000, 0, 9000])


def test_analysis_root_is_never_asynchronous() -> None:
    b = IngestOptions(roots="endpoint", service="B")
    assert analysed("A 0 50\n  B 10 40 follows\n    C 20 30", ingest=b).path == (
        "B[10,20) C[20,30) B[30,40)"
    )
    assert analysed("A 0 50 producer\n  B 10 40 consumer", ingest=b).path == "B[10,40)"
