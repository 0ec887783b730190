"""Which span is the parent of which (DESIGN rule 5.2), drawn."""

from __future__ import annotations

import json

import pytest

from crisp.ingest.jaeger import Trace, decode
from crisp.options import IngestOptions
from tests.drawing import Analysed, analysed, analysed_traces, jaeger

ORPHANS = IngestOptions(roots="orphans")


@pytest.mark.parametrize(
    ("references", "trees"),
    [
        pytest.param("child_of=A", "A(B X)", id="a child of its only reference"),
        pytest.param("child_of=B child_of=A", "A(B(X))", id="the first CHILD_OF wins"),
        pytest.param("child_of=gone child_of=A", "A(B X)", id="a CHILD_OF that exists wins"),
        pytest.param("follows_from=A child_of=B", "A(B(X))", id="CHILD_OF beats FOLLOWS_FROM"),
        pytest.param("follows_from=B", "A(B(X))", id="FOLLOWS_FROM alone is a parent"),
        pytest.param(
            "follows_from=B follows_from=A", "A(B(X))", id="the first FOLLOWS_FROM is the parent"
        ),
        pytest.param(
            "child_of=gone follows_from=gone2 follows_from=B",
            "A(B(X))",
            id="FOLLOWS_FROM is the parent when no CHILD_OF exists",
        ),
        pytest.param("child_of=A child_of=A", "A(B X)", id="the same parent twice is one parent"),
        pytest.param(
            "follows_from=A child_of=A", "A(B X)", id="the same parent by both links is one parent"
        ),
        pytest.param("child_of=9/A", "A(B) | X", id="a link to another trace is no parent"),
        pytest.param("follows_from=9/gone", "A(B) | X", id="a link to another trace makes a root"),
        pytest.param("child_of=9/A child_of=B", "A(B(X))", id="links to other traces are skipped"),
        pytest.param("child_of=0000000000000000", "A(B) | X", id="an all-zero parent makes a root"),
        pytest.param("child_of=0000 follows_from=B", "A(B(X))", id="all-zero links are skipped"),
        pytest.param("child_of=gone", "A(B) | X", id="a missing parent makes an orphan"),
        pytest.param("parent=B", "A(B(X))", id="parentSpanID alone is the parent"),
        pytest.param("parent=gone", "A(B) | X", id="a missing parentSpanID makes an orphan"),
        pytest.param("parent=0000", "A(B) | X", id="an all-zero parentSpanID makes a root"),
    ],
)
def test_parent_is(references: str, trees: str) -> None:
    assert linked(references).trees == trees


def linked(references: str) -> Analysed:
    """A, its child B, and X with some references."""
    return analysed(f"A 0 100\n  B 10 60\nX 20 50 {references}", ingest=ORPHANS)


@pytest.mark.parametrize(
    ("references", "kinds"),
    [
        ("child_of=9/A", ["entry", "entry"]),
        ("follows_from=9/A", ["entry", "entry"]),
        ("child_of=0000", ["entry", "entry"]),
        ("parent=0000", ["entry", "entry"]),
        ("child_of=gone", ["entry", "orphan"]),
        ("follows_from=gone", ["entry", "orphan"]),
        ("parent=gone", ["entry", "orphan"]),
        ("child_of=9/A child_of=gone", ["entry", "orphan"]),
    ],
)
def test_only_a_span_whose_parent_of_this_trace_is_missing_is_an_orphan(
    references: str, kinds: list[str]
) -> None:
    assert linked(references).planted.forest.trees.root_kind == kinds


@pytest.mark.parametrize(
    ("references", "follows"),
    [
        ("follows_from=B", True),
        ("child_of=gone follows_from=B", True),
        ("child_of=B", False),
        ("follows_from=A child_of=B", False),
        ("follows_from=B child_of=B", False),
        ("child_of=B follows_from=B", False),
    ],
)
def test_a_span_follows_only_when_its_parent_was_found_by_follows_from(
    references: str, follows: bool
) -> None:
    forest = linked(references).planted.forest
    marked = {forest.span_id(row) for row in range(len(forest)) if forest.follows[row]}
    assert marked == ({"X"} if follows else set())


def test_the_first_child_of_wins_also_when_a_later_one_repeats_an_earlier_link() -> None:
    assert linked("follows_from=A child_of=B child_of=A").trees == "A(B(X))"


@pytest.mark.parametrize(
    ("references", "unused"),
    [
        ("child_of=A", None),
        ("child_of=A child_of=A", None),
        ("child_of=A child_of=B", (1, "0")),
        ("follows_from=A child_of=B", (1, "0")),
        ("child_of=gone child_of=A child_of=B", (2, "0")),
    ],
)
def test_references_that_were_not_used_are_counted(
    references: str, unused: tuple[int, str] | None
) -> None:
    assert linked(references).ledger.get("other_references") == unused


def test_trace_ids_that_differ_in_leading_zeros_and_case_are_the_same_trace() -> None:
    document = jaeger("A 0 100\n  B 10 60\n    C 20 30", "00ab")
    spans = document["data"][0]["spans"]
    spans[1]["references"][0]["traceID"] = "ab"
    spans[2]["references"][0]["traceID"] = "00AB"
    (trace,) = decode(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    assert analysed_traces([trace]).trees == "A(B(C))"


def test_null_and_missing_fields_are_ordinary() -> None:
    document = jaeger("A 0 100\n  B 10 60")
    first, second = document["data"][0]["spans"]
    first |= {"references": None, "tags": None, "logs": None, "warnings": None}
    del second["tags"]
    document["data"][0]["processes"]["A"]["tags"] = None
    del document["data"][0]["processes"]["B"]["tags"]
    (trace,) = decode(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    assert analysed_traces([trace]).path == "A[0,10) B[10,60) A[60,100)"


@pytest.mark.parametrize("processes", [None, {}, {"A": None, "B": None}])
def test_spans_without_a_process_belong_to_an_unknown_service(
    processes: dict[str, None] | None,
) -> None:
    document = jaeger("A 0 100\n  B 10 60")
    document["data"][0]["processes"] = processes
    (trace,) = decode(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    found = analysed_traces([trace])
    assert found.names.endpoints == [("(unknown)", "work")]
    assert found.path == "A[0,10) B[10,60) A[60,100)"


@pytest.mark.parametrize(
    ("tag", "value", "error"),
    [
        ("error", True, True),
        ("error", "true", True),
        ("error", False, False),
        ("error", "false", False),
        ("otel.status_code", "ERROR", True),
        ("otel.status_code", "OK", False),
        ("status", "error", False),
    ],
)
def test_a_span_failed_when_its_tags_say_so(tag: str, value: object, error: bool) -> None:
    document = jaeger("A 0 100")
    document["data"][0]["spans"][0]["tags"] = [{"key": tag, "value": value}]
    (trace,) = decode(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    assert analysed_traces([trace]).analysis.paths.error.tolist() == [error]


@pytest.mark.parametrize(
    ("kind", "parameter", "weight"),
    [
        ("probabilistic", 0.25, 4.0),
        ("probabilistic", "0.001", 1000.0),
        ("probabilistic", 0, 1.0),
        ("probabilistic", 2, 1.0),
        ("probabilistic", "often", 1.0),
        ("probabilistic", None, 1.0),
        ("const", 1, 1.0),
        ("ratelimiting", 0.5, 1.0),
    ],
)
def test_weight_is_one_over_the_sampling_probability_of_the_root(
    kind: str, parameter: object, weight: float
) -> None:
    document = jaeger("A 0 100\n  B 10 20")
    document["data"][0]["spans"][0]["tags"] = [
        {"key": "sampler.type", "value": kind},
        {"key": "sampler.param", "value": parameter},
    ]
    (trace,) = decode(json.dumps(document).encode())
    assert isinstance(trace, Trace)
    assert analysed_traces([trace]).planted.forest.trees.weight == [weight]


@pytest.mark.parametrize(
    ("tags", "host"),
    [
        ("", ""),
        ("hostname=h", "h"),
        ("ip=1 hostname=h", "h"),
        ("host.id=x k8s.pod.name=p", "p"),
        ("host.name=n k8s.pod.name=p", "n"),
        ("ip=10.0.0.1", "10.0.0.1"),
    ],
)
def test_host_in_tables_is_named_by_the_best_tag(tags: str, host: str) -> None:
    forest = analysed(f"A 0 100 {tags}").planted.forest
    assert forest.hosts[forest.host[0]] == host
