from __future__ import annotations

from datetime import date
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crisp.synth import SynthOptions
from crisp.synth.execute import Spans, execute
from crisp.synth.programs import Node, Step, World
from crisp.synth.world import make_world

WORLD = make_world(SynthOptions(day=date(2026, 3, 9), seed=5, endpoints=12, spans=60))


def _run(world: World, program: Node, seed: int, asynchronous: float = 1.0) -> Spans:
    spans = Spans()
    execute(world, program, 1_000, Random(seed), asynchronous=asynchronous, into=spans)
    return spans


@settings(deadline=None, max_examples=60)
@given(entry=st.integers(0, 11), seed=st.integers(0, 10_000))
def test_children_lie_inside_parents_that_wait_for_them(entry: int, seed: int) -> None:
    spans = _run(WORLD, WORLD.entries[entry], seed)
    assert spans.start[0] == 1_000
    for row, above in enumerate(spans.parent):
        assert spans.end[row] > spans.start[row]
        if row == 0:
            continue
        assert 0 <= above < row
        assert spans.start[above] <= spans.start[row]
        if row not in spans.detached:
            assert spans.end[row] <= spans.end[above]


@settings(deadline=None, max_examples=30)
@given(entry=st.integers(0, 11), seed=st.integers(0, 10_000))
def test_a_client_span_has_one_server_strictly_inside(entry: int, seed: int) -> None:
    spans = _run(WORLD, WORLD.entries[entry], seed, asynchronous=0.0)
    for row, node in enumerate(spans.node):
        if node.remote is not None and not node.queued:
            below = [k for k, above in enumerate(spans.parent) if above == row]
            assert [spans.node[k] for k in below] == [node.remote]
            assert spans.start[row] < spans.start[below[0]] < spans.end[below[0]] < spans.end[row]


def test_without_asynchronous_work_nothing_outlives_the_root() -> None:
    for seed, entry in enumerate(WORLD.entries):
        spans = _run(WORLD, entry, seed, asynchronous=0.0)
        assert not spans.detached
        assert max(spans.end) == spans.end[0]


def _leaf(work_us: float) -> Node:
    site = WORLD.entries[0].site
    return Node(site=site, endpoint="leaf", work_us=work_us, sigma=0.0)


def _parent(*steps: Step) -> Node:
    site = WORLD.entries[0].site
    splits = (1 / (len(steps) + 1),) * (len(steps) + 1)
    return Node(site=site, endpoint="up", work_us=90.0, sigma=0.0, steps=steps, splits=splits)


def _children(spans: Spans) -> list[tuple[int, int]]:
    return [(spans.start[k], spans.end[k]) for k, above in enumerate(spans.parent) if above == 0]


def test_serial_calls_follow_each_other_and_parallel_calls_overlap() -> None:
    a, b = _leaf(1000), _leaf(1000)
    (_, first_end), (second_start, _) = _children(
        _run(WORLD, _parent(Step(calls=(a,)), Step(calls=(b,))), 1)
    )
    assert first_end < second_start < first_end + 500
    (_, first_end), (second_start, _) = _children(_run(WORLD, _parent(Step(calls=(a, b))), 1))
    assert second_start < first_end


def test_only_the_last_attempt_of_a_retried_call_succeeds() -> None:
    spans = _run(WORLD, _parent(Step(calls=(_client(),), attempts=3)), 1)
    assert len(_children(spans)) == 3
    assert spans.failed == {1, 2, 3, 4}


def _client() -> Node:
    return Node(
        site=WORLD.entries[0].site, endpoint="call", work_us=100.0, sigma=0.0, remote=_leaf(500)
    )


def test_failures_of_attempts_stop_at_the_call() -> None:
    single = Step(calls=(_leaf(500),), attempts=3)
    spans = _run(WORLD, _parent(single), 1)
    assert spans.failed == {1, 2}


@pytest.mark.parametrize("width", [1, 5])
def test_repeated_calls_run_as_many_at_a_time_as_the_step_says(width: int) -> None:
    spans = _run(WORLD, _parent(Step(calls=(_leaf(1000),), repeat=30.0, width=width)), 3)
    calls = _children(spans)
    at_once = max(sum(a <= start < b for a, b in calls) for start, _ in calls)
    assert at_once == width


def test_a_missing_cache_is_followed_by_the_read_and_the_write_back() -> None:
    look_up = Step(calls=(_leaf(10),), hit=0.0, on_miss=(_leaf(20), _leaf(30)))
    ends = [span for pair in _children(_run(WORLD, _parent(look_up), 1)) for span in pair]
    assert len(ends) == 6
    assert ends == sorted(ends)
