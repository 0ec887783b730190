"""Traces as large and as strange as they come: they are analysed, without recursion.

Each test prints how long the analysis took: ``pytest -rP tests/cpa/test_large.py``.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest

from crisp.ingest.jaeger import Process, Reference, Span, Trace
from crisp.options import IngestOptions
from tests.drawing import Analysed, analysed_traces

MANY = 100_000


def timed(spans: list[Span], **options: Any) -> Analysed:
    trace = Trace(spans, "t", {"p": Process("s")})
    begin = perf_counter()
    found = analysed_traces([trace], **options)
    print(f"{len(spans)} spans in {perf_counter() - begin:.2f} s")  # noqa: T201  # read by -rP
    return found


def span(name: object, start: int, length: int, parent: object = None, op: str = "op") -> Span:
    references = None if parent is None else [Reference("CHILD_OF", "t", str(parent))]
    return Span(str(name), op, start, length, "p", references)


def chain() -> list[Span]:
    """Each span begins a microsecond after its parent and ends one before it."""
    return [span(n, n, 2 * (MANY - n), n - 1 if n else None, f"op{n % 7}") for n in range(MANY)]


def row(step: int, length: int) -> list[Span]:
    """A root with many children, one beginning every ``step``."""
    last = step * (MANY - 1) + length
    return [span("r", 0, last), *(span(n, n * step, length, "r") for n in range(MANY))]


@pytest.mark.parametrize("options", [{}, {"skew": "edge"}], ids=str)
def test_a_chain_of_100000_spans(options: dict[str, str]) -> None:
    found = timed(chain(), **options)
    exclusive = found.analysis.exclusive_us
    assert exclusive.sum() == 2 * MANY
    assert exclusive.tolist() == [2] * MANY
    assert found.analysis.stats.depth.tolist() == [MANY]
    assert found.analysis.stats.concurrency.tolist() == [MANY]
    assert len(found.analysis.paths.path_id) == MANY
    assert sorted(found.analysis.endpoints.inclusive_us.tolist()) == [
        2 * (MANY - n) for n in range(6, -1, -1)
    ]


def test_a_chain_in_which_every_span_is_clipped() -> None:
    """Each begins one after its parent and ends one after it, so the root's end cuts them all."""
    found = timed([span(n, n, 2 * MANY, n - 1 if n else None) for n in range(MANY)])
    spans, amount = found.analysis.ledger["clipped_end"]
    assert (spans.tolist(), amount.tolist()) == ([MANY - 1], [MANY * (MANY - 1) // 2])
    assert found.analysis.exclusive_us.tolist() == [1] * (MANY - 1) + [MANY + 1]


def test_a_chain_cut_by_a_small_overlap_is_cut_to_its_end() -> None:
    """The chain overlaps its sibling by 1000; nothing of it is left on the path after that."""
    deep = [span(n, n, 2 * MANY - n, "r" if n == 0 else n - 1) for n in range(MANY)]
    later = span("later", 2 * MANY - 1000, MANY, "r")
    found = timed([span("r", 0, 4 * MANY), *deep, later])
    forest, walked = found.planted.forest, found.analysis.walked
    cut = dict(
        zip((forest.span_id(r) for r in walked.row.tolist()), walked.end_us.tolist(), strict=True)
    )
    assert cut.pop("r") == 4 * MANY
    assert cut.pop("later") == 3 * MANY - 1000
    assert set(cut.values()) == {2 * MANY - 1000}
    assert len(cut) == MANY
    assert found.analysis.exclusive_us.sum() == 4 * MANY


@pytest.mark.parametrize("policy", ["crisp", "paper", "crisp-oss"])
def test_100000_serial_children_with_small_overlaps(policy: str) -> None:
    found = timed(row(step=1000, length=1100 if policy != "crisp-oss" else 1001), policy=policy)
    assert found.analysis.ledger["tolerated_overlap"][0].tolist() == [MANY - 1]
    assert found.analysis.stats.cp_spans.tolist() == [MANY + 1]
    latency = int(found.analysis.forest.end_us[0])
    assert found.analysis.exclusive_us.tolist()[0] == 0
    assert int(found.analysis.exclusive_us.sum()) == latency


def test_100000_children_back_to_back_under_jaeger_ui() -> None:
    """Every second one touches its successor, so it is off the path."""
    found = timed(row(step=10, length=10), policy="jaeger-ui")
    assert found.analysis.stats.cp_spans.tolist() == [1 + MANY // 2]
    assert found.analysis.exclusive_us.tolist()[0] == 10 * (MANY // 2)


@pytest.mark.parametrize("step", [0, 1])
def test_100000_parallel_children(step: int) -> None:
    found = timed(row(step=step, length=2 * MANY))
    assert found.analysis.stats.concurrency.tolist() == [MANY + 1]
    assert found.analysis.exclusive_us.sum() == 2 * MANY + step * (MANY - 1)
    if not step:
        assert found.analysis.stats.cp_spans.tolist() == [2]
        assert found.path.startswith("0[")


def test_100000_children_that_overlap_too_much_at_one_edge() -> None:
    """All end within the overlap of the last one: none of them happens before it."""
    children = [span(n, 0, 10 * MANY + n % 500, "r") for n in range(MANY)]
    later = span("later", 10 * MANY - 1, 10 * MANY, "r")
    found = timed([span("r", 0, 30 * MANY), *children, later])
    assert found.analysis.stats.cp_spans.tolist() == [2]


def test_100000_roots() -> None:
    found = timed([span(n, n, 5) for n in range(MANY)])
    assert found.analysis.exclusive_us.tolist() == [5] * MANY
    assert found.analysis.stats.spans.tolist() == [1] * MANY


def test_100000_spans_of_one_id() -> None:
    found = timed([span("x", n, 5) for n in range(MANY)])
    assert found.ledger == {"duplicates_renamed": (MANY - 1, "0")}


def test_a_cycle_of_100000_spans() -> None:
    found = timed([span(n, 0, 5, (n + 1) % MANY) for n in range(MANY)])
    assert found.rejects == ["cycle"]


@pytest.mark.parametrize(
    ("spans", "operation", "size"),
    [(chain()[:20_000], "op3", 20_000 - 3), (row(1, 5)[1:], "op", MANY)],
    ids=["one below another", "side by side"],
)
def test_the_topmost_of_many_instances_are_found(
    spans: list[Span], operation: str, size: int
) -> None:
    found = timed(spans, ingest=IngestOptions(roots="endpoint", operation=operation))
    assert len(found.planted.forest) == size
    assert len(found.planted.forest.trees.trace_id) == (1 if operation == "op3" else MANY)
