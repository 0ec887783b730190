"""What holds of every tree: the kernel agrees with the slow definition, and time is conserved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from crisp.ingest.jaeger import Process, Reference, Trace
from crisp.ingest.jaeger import Span as JaegerSpan
from crisp.options import PathOptions, path_options
from tests.cpa import slow
from tests.drawing import Analysed, analysed_traces

MS = 1000
KINDS = ("", "", "client", "server", "producer", "consumer")
HOSTS = ("", "a", "a", "b", "c")
ENDPOINTS = ("s::x", "s::y", "t::x", "u::z")
BASE_US = 1_700_000_000_000_000
JITTER = (-1001, -1000, -999, -500, -101, -100, -99, -1, 0, 0, 0, 1, 100, 101, 500, 1000, 1001)
CHANGES: tuple[dict[str, object], ...] = (
    {"policy": "crisp"},
    {"policy": "paper"},
    {"policy": "crisp-oss"},
    {"policy": "jaeger-ui"},
    {"policy": "crisp", "skew": "edge", "skew_limit_us": 3 * MS},
    {"policy": "crisp-oss", "skew": "edge", "async_rule": "both"},
    {"policy": "crisp", "async_rule": "reference", "overlap_us": 3, "overlap_ratio": 0.5},
)
OPTIONS = [path_options(**change) for change in CHANGES]  # type: ignore[arg-type]  # one of each


Choose = Callable[[int, int], int]
"""An integer of a closed range, from hypothesis or from a seeded generator."""


def made_tree(choose: Choose, most: int) -> slow.Span:
    """A random tree; its times are small, or close to each other, so that ties are frequent.

    Most children lie inside their parents; some stick out, lie outside or last no time.
    """
    coarse = (1, 2, 3, 3)[choose(0, 3)]
    size = choose(0, most - 1)
    root = made_span(choose, "s0", 0, (12, 40, 30 * MS)[coarse - 1])
    spans = [root]
    for number in range(1, size + 1):
        parent = spans[choose(0, len(spans) - 1) // (1 + choose(0, 3))]
        low, high = (parent.start, parent.end) if choose(0, 3) else (root.start - 5, root.end + 5)
        unit = MS if coarse == 3 else 1
        first = low + unit * choose(0, max(1, (high - low) // unit))
        last = low + unit * choose(0, max(1, (high - low) // unit))
        if parent.children and choose(0, 2):
            edge = parent.children[choose(0, len(parent.children) - 1)]
            first, last = (edge.end, last) if choose(0, 1) else (first, edge.start)
        if coarse == 3:
            first += JITTER[choose(0, len(JITTER) - 1)]
            last += JITTER[choose(0, len(JITTER) - 1)]
        child = made_span(choose, f"s{number}", min(first, last), max(first, last))
        child.follows = choose(0, 9) == 0
        parent.children.append(child)
        spans.append(child)
    return root


def made_span(choose: Choose, name: str, start: int, end: int) -> slow.Span:
    """A span with whatever kind, host and endpoint."""
    kind, host = KINDS[choose(0, len(KINDS) - 1)], HOSTS[choose(0, len(HOSTS) - 1)]
    endpoint = ENDPOINTS[choose(0, len(ENDPOINTS) - 1)]
    return slow.Span(name, start, end, kind, host=host, endpoint=endpoint)


@st.composite
def trees(draw: st.DrawFn) -> slow.Span:
    return made_tree(lambda a, b: draw(st.integers(a, b)), 8)


def jaeger(root: slow.Span, shift: int = BASE_US, trace_id: str = "t") -> Trace:
    """The tree as a decoded Jaeger trace, all times shifted."""
    spans = []
    above = {child.id: span for span in root.all() for child in span.children}
    for span in root.all():
        service, operation = span.endpoint.split("::")
        link = "FOLLOWS_FROM" if span.follows else "CHILD_OF"
        parent = above.get(span.id)
        tags = f'[{{"key":"span.kind","value":"{span.kind}"}}]' if span.kind else "[]"
        spans.append(
            JaegerSpan(
                spanID=span.id,
                operationName=operation,
                startTime=shift + span.start,
                duration=span.end - span.start,
                processID=f"{service} {span.host}",
                references=[Reference(link, trace_id, parent.id)] if parent else None,
                tags=Raw(tags.encode()),
            )
        )
    processes: dict[str, Process | None] = {}
    for span in root.all():
        service = span.endpoint.split("::")[0]
        host = f'[{{"key":"host.id","value":"{span.host}"}}]' if span.host else "[]"
        processes[f"{service} {span.host}"] = Process(service, Raw(host.encode()))
    return Trace(spans, trace_id, processes)


def kernel(roots: Sequence[slow.Span], options: PathOptions) -> Analysed:
    """The trees in one batch."""
    traces = [jaeger(root, trace_id=str(number)) for number, root in enumerate(roots)]
    values = {name: getattr(options, name) for name in PathOptions.__slots__}
    return analysed_traces(traces, **values)


def outcome(found: Analysed, tree: int) -> dict[str, object]:
    """All that the slow definition can answer of one tree, from the kernel."""
    analysis, forest = found.analysis, found.planted.forest
    chain: dict[int, tuple[str, ...]] = {}
    for row, parent in enumerate(forest.parent.tolist()):
        if forest.tree[row] == tree:
            above = chain[int(analysis.path_id[parent])] if parent >= 0 else ()
            name = "::".join(found.names.endpoints[forest.endpoint[row]])
            chain[int(analysis.path_id[row])] = (*above, name)
    paths: dict[tuple[str, ...], tuple[int, ...]] = {}
    columns = analysis.paths
    for place in range(len(columns.tree)):
        if columns.tree[place] == tree:
            path = chain[int(columns.path_id[place])]
            more = (columns.spans[place], columns.exclusive_us[place], columns.inclusive_us[place])
            known = paths.get(path, (0, 0, 0))
            paths[path] = tuple(int(a + b) for a, b in zip(known, more, strict=True))
    rows = analysis.endpoints
    endpoints, used = {}, {}
    for place in range(len(rows.tree)):
        if rows.tree[place] == tree:
            name = "::".join(found.names.endpoints[rows.endpoint[place]])
            endpoints[name] = (int(rows.spans[place]), int(rows.callers[place]))
            if rows.cp_spans[place]:
                used[name] = (
                    int(rows.cp_spans[place]),
                    int(rows.exclusive_us[place]),
                    int(rows.inclusive_us[place]),
                )
    stats = analysis.stats
    tolerated = analysis.ledger.get("tolerated_overlap")
    return {
        "segments": [(i, a - BASE_US, b - BASE_US) for i, a, b in found.segments()[tree]],
        "tolerated": int(tolerated[0][tree]) if tolerated else 0,
        "paths": paths,
        "endpoints": endpoints,
        "used": used,
        "concurrency": int(stats.concurrency[tree]),
        "depth": int(stats.depth[tree]),
        "spans": int(stats.spans[tree]),
        "cp_spans": int(stats.cp_spans[tree]),
    }


def expected(root: slow.Span, options: PathOptions) -> dict[str, object]:
    """The same from the slow definition."""
    answer = slow.critical_path(root, options)
    spans = list(root.all())
    callers = slow.callers(root)
    return {
        "segments": answer.segments,
        "tolerated": answer.tolerated,
        "paths": answer.paths(),
        "endpoints": {
            name: (sum(span.endpoint == name for span in spans), count)
            for name, count in callers.items()
        },
        "used": answer.endpoints(),
        "concurrency": slow.concurrency(root),
        "depth": slow.depth(root),
        "spans": len(spans),
        "cp_spans": len(answer.held),
    }


@settings(max_examples=150)
@given(trees())
def test_kernel_agrees_with_the_definition(root: slow.Span) -> None:
    for options in OPTIONS:
        assert outcome(kernel([root], options), 0) == expected(root, options), options


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: f"{options.policy}-{options.skew}")
def test_trees_of_one_batch_agree_with_the_definition(options: PathOptions) -> None:
    roots = [made_tree(Random(seed).randint, 16) for seed in range(2500)]
    tolerated = 0
    for segments, root in zip(kernel(roots, options).segments(), roots, strict=True):
        answer = slow.critical_path(root, options)
        assert [(i, a - BASE_US, b - BASE_US) for i, a, b in segments] == answer.segments
        tolerated += answer.tolerated
    assert tolerated > 50 or options.touching == "parallel", "the trees are too easy"


def test_analysing_many_trees_at_once_equals_one_at_a_time() -> None:
    roots = [made_tree(Random(seed).randint, 16) for seed in range(60)]
    for options in OPTIONS:
        together = kernel(roots, options)
        for tree, root in enumerate(roots):
            assert outcome(together, tree) == outcome(kernel([root], options), 0)


@settings(max_examples=150)
@given(trees())
def test_segments_tile_the_root_and_exclusive_time_adds_up_to_the_latency(root: slow.Span) -> None:
    for options in OPTIONS:
        found = kernel([root], options)
        (segments,) = found.segments()
        assert all(start < end for _, start, end in segments)
        assert all(before[2] == after[1] for before, after in pairwise(segments))
        edges = [segments[0][1], segments[-1][2]] if segments else [BASE_US + root.start] * 2
        assert edges == [BASE_US + root.start, BASE_US + root.end]
        latency = root.end - root.start
        assert int(found.analysis.exclusive_us.sum()) == latency
        assert int(found.analysis.paths.exclusive_us.sum()) == latency
        assert int(found.analysis.endpoints.exclusive_us.sum()) == latency


@settings(max_examples=100)
@given(trees())
def test_inclusive_time_is_exclusive_time_with_all_below(root: slow.Span) -> None:
    found = outcome(kernel([root], OPTIONS[0]), 0)["paths"]
    assert isinstance(found, dict)
    for path, (_, _, inclusive) in found.items():
        below = [one[1] for other, one in found.items() if other[: len(path)] == path]
        assert inclusive == sum(below)


@settings(max_examples=100)
@given(trees(), st.randoms(use_true_random=False))
def test_order_of_spans_in_the_document_does_not_matter(root: slow.Span, random: Random) -> None:
    for options in OPTIONS:
        trace = jaeger(root)
        shuffled = Trace(random.sample(trace.spans or [], len(trace.spans or [])), "t")
        shuffled.processes = trace.processes
        values = {name: getattr(options, name) for name in PathOptions.__slots__}
        one, other = (analysed_traces([each], **values) for each in (trace, shuffled))
        assert outcome(one, 0) == outcome(other, 0)
        assert one.ledger == other.ledger
        assert examples(one) == examples(other)


def examples(found: Analysed) -> list[str]:
    """The example span of each call path."""
    return [found.planted.forest.span_id(row) for row in found.analysis.paths.longest.tolist()]


@settings(max_examples=100)
@given(trees(), st.integers(5, 2**52))
def test_a_shift_of_all_times_changes_nothing_else(root: slow.Span, shift: int) -> None:
    for options in OPTIONS:
        values = {name: getattr(options, name) for name in PathOptions.__slots__}
        one, other = (
            analysed_traces([jaeger(root, by)], **values) for by in (BASE_US, BASE_US + shift)
        )
        moved = [(i, a + shift, b + shift) for i, a, b in one.segments()[0]]
        assert other.segments()[0] == moved
        assert one.ledger == other.ledger
        assert one.call_paths == other.call_paths
        assert one.endpoints == other.endpoints


@settings(max_examples=100)
@given(trees())
def test_every_policy_walks_spans_that_hang_together(root: slow.Span) -> None:
    """A span on the path has its parent on it, cut no earlier than itself."""
    for options in OPTIONS:
        analysis = kernel([root], options).analysis
        walked, parent = analysis.walked, analysis.forest.parent
        cut = dict(zip(walked.row.tolist(), walked.end_us.tolist(), strict=True))
        assert len(cut) == len(walked.row)
        for row, end in cut.items():
            above = int(parent[row])
            if above >= 0:
                assert analysis.clipped.start_us[above] <= analysis.clipped.start_us[row] < end
                assert end <= cut[above]
