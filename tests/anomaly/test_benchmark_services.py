from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.anomaly.paths import in_blocks, path_of_site, views_of
from benchmarks.anomaly.requests import DAY_US, MONDAY_US, Spans, requests
from benchmarks.anomaly.services import TRACES, Service, Size, make_service
from crisp.anomaly.vectors import Vectors

TINY = Size(endpoints=40, max_spans=120, stv=300, scpv=130)


def tiny(seed: int = 0) -> Service:
    return make_service("tiny", TINY, seed, core=25)


def some_requests(service: Service, traces: int = 50, seed: int = 1) -> Spans:
    starts = MONDAY_US + np.arange(traces) * 1_000_000
    return requests(service, starts, np.random.default_rng(seed))


def drawn_service(most: int = 1) -> Service:
    """The root works, calls a and b side by side, works, calls c, works."""
    return Service(
        name="drawn",
        parent=np.array([-1, 0, 0, 0]),
        endpoint=np.array([0, 1, 2, 3]),
        work_us=np.array([300.0, 50.0, 80.0, 30.0]),
        spread=np.zeros(4),
        load=np.zeros(4),
        chance=np.ones(4),
        shadow=np.zeros(4, np.bool_),
        steps=np.array([2, 0, 0, 0]),
        slot_edges=np.array([0, 3, 3, 3, 3]),
        step=np.array([0, 0, 1]),
        taken=np.ones(3),
        most=np.array([1, 1, most]),
        choice_edges=np.array([0, 1, 2, 3]),
        choice_site=np.array([1, 2, 3]),
        choice_until=np.array([1.0, 2.0, 3.0]),
        endpoint_ids=np.array([11, 12, 13, 14]),
    )


def times(vectors: Vectors, service: Service, row: int = 0) -> dict[int, int]:
    """Time by site of one row."""
    site = {path: number for number, path in enumerate(path_of_site(service).tolist())}
    cells = slice(int(vectors.edges[row]), int(vectors.edges[row + 1]))
    pairs = zip(vectors.path_id[cells].tolist(), vectors.time_us[cells].tolist(), strict=True)
    return {site[path]: time for path, time in pairs}


def test_a_drawn_request_takes_its_work_and_the_longest_call_of_each_step() -> None:
    views = views_of(some_requests(drawn_service(), traces=1))
    assert views.scpv.latency_us.tolist() == [300 + 80 + 30]
    assert times(views.scpv, drawn_service()) == {0: 300, 2: 80, 3: 30}
    assert times(views.stv, drawn_service()) == {0: 410, 1: 50, 2: 80, 3: 30}


def test_spans_of_a_drawn_request_start_after_the_work_before_them() -> None:
    spans = some_requests(drawn_service(), traces=1)
    at = dict(zip(spans.site.tolist(), (spans.start_us - MONDAY_US).tolist(), strict=True))
    assert at == {0: 0, 1: 100, 2: 100, 3: 280}


def test_repeats_run_side_by_side_and_k_of_them_have_a_chance_of_one_in_k() -> None:
    service = drawn_service(most=50)
    views = in_blocks(
        MONDAY_US + np.arange(20_000),
        lambda some: requests(service, some, np.random.default_rng(3)),
    )
    repeats = views.spans - 3
    assert repeats.min() == 1
    assert repeats.max() == 50
    for k in (2, 5, 20):
        assert (repeats >= k).mean() == pytest.approx(1 / k, abs=4 * np.sqrt(1 / k / 20_000) + 0.02)
    usual = np.median(views.scpv.latency_us)
    assert usual == 410  # thirty calls of 30 µs at once take no longer than one


def test_children_lie_within_their_parent() -> None:
    spans = some_requests(tiny())
    rows = slice(spans.traces, None)
    parent = spans.parent[rows]
    assert (spans.start_us[rows] > spans.start_us[parent]).all()
    assert (spans.end_us[rows] < spans.end_us[parent]).all()
    assert (spans.trace[rows] == spans.trace[parent]).all()
    assert (spans.service.parent[spans.site[rows]] == spans.site[parent]).all()


def test_critical_paths_sum_to_the_latency_and_all_paths_hold_them() -> None:
    views = views_of(some_requests(tiny()))
    sums = np.add.reduceat(views.scpv.time_us, views.scpv.edges[:-1])
    assert sums.tolist() == views.scpv.latency_us.tolist()
    assert np.isin(views.scpv.path_id, views.stv.path_id).all()
    assert (np.diff(views.scpv.edges) <= np.diff(views.stv.edges)).all()


def test_cells_of_a_row_ascend_by_path() -> None:
    stv = views_of(some_requests(tiny())).stv
    inside = np.ones(len(stv.path_id) - 1, np.bool_)
    inside[stv.edges[1:-1] - 1] = False
    assert (np.diff(stv.path_id)[inside] > 0).all()


def test_sites_have_paths_of_their_own_while_there_are_endpoints_enough() -> None:
    service = make_service("tiny", replace(TINY, endpoints=200), core=25)
    assert len(np.unique(path_of_site(service))) == len(service.parent)


def test_a_service_is_about_as_large_as_it_was_asked_to_be() -> None:
    service, rng = tiny(), np.random.default_rng(4)
    starts = MONDAY_US + np.sort(rng.integers(0, DAY_US, TRACES))
    views = in_blocks(starts, lambda some: requests(service, some, rng))
    assert len(views.endpoints) == TINY.endpoints
    assert len(np.unique(views.stv.path_id)) == pytest.approx(TINY.stv, rel=0.15)
    assert len(np.unique(views.scpv.path_id)) == pytest.approx(TINY.scpv, rel=0.3)
    assert views.spans.max() == pytest.approx(TINY.max_spans, rel=0.2)


def test_the_same_seed_makes_the_same_requests() -> None:
    one, same, other = (views_of(some_requests(tiny(), seed=seed)).stv for seed in (1, 1, 2))
    assert one.time_us.tobytes() == same.time_us.tobytes()
    assert one.time_us.tobytes() != other.time_us.tobytes()
    assert (tiny(0).work_us == tiny(0).work_us).all()
    assert len(tiny(1).parent) != len(tiny(0).parent) or (tiny(1).work_us != tiny(0).work_us).any()


def test_a_slower_call_takes_longer_by_its_factor_and_no_other_does() -> None:
    service = replace(drawn_service(), spread=np.full(4, 0.3))
    starts = MONDAY_US + np.arange(200)
    usual, slow = (
        views_of(requests(service, starts, np.random.default_rng(5), slower=slower)).stv
        for slower in (None, {3: 2.0})
    )
    for row in range(200):
        before, after = times(usual, service, row), times(slow, service, row)
        assert after[3] == pytest.approx(2 * before[3], abs=1)
        assert (after[1], after[2]) == (before[1], before[2])
        assert after[0] - before[0] == after[3] - before[3]


def test_load_is_felt_by_those_that_feel_it() -> None:
    service = replace(drawn_service(), load=np.array([0.0, 1.0, 0.5, 0.0]))
    rng = np.random.default_rng(6)
    spans = requests(service, MONDAY_US + np.arange(1), rng, load=np.array([4.0]))
    assert times(views_of(spans).stv, service) == {0: 300 + 200 + 30, 1: 200, 2: 160, 3: 30}
