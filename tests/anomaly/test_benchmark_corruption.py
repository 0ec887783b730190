from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from benchmarks.anomaly.corruption import (
    SHARE,
    VARIANTS,
    Variant,
    cells_as_spans,
    corrupted,
    spoiled,
)
from benchmarks.anomaly.paths import forest_of, path_of_site, vectors_of, views_of
from benchmarks.anomaly.requests import MONDAY_US, Spans, requests
from benchmarks.anomaly.services import Service, Size, make_service
from crisp.cpa.paths import path_ids


@pytest.fixture(scope="module")
def service() -> Service:
    return make_service(
        "tiny", Size(endpoints=40, max_spans=120, stv=300, scpv=130), seed=0, core=25
    )


@pytest.fixture(scope="module")
def spans(service: Service) -> Spans:
    starts = MONDAY_US + np.arange(40) * 1_000_000
    return requests(service, starts, np.random.default_rng(1))


def nodes(spans: Spans, trace: int) -> Counter[int]:
    """Sites of one request; they tell its nodes apart but for repeats."""
    return Counter(spans.site[spans.trace == trace].tolist())


@pytest.mark.parametrize("variant", VARIANTS[:2], ids=lambda variant: variant.name)
def test_a_fifth_of_the_nodes_is_dropped_and_never_the_root(spans: Spans, variant: Variant) -> None:
    changed = spoiled(spans, variant, np.random.default_rng(2))
    assert changed.traces == spans.traces
    assert (changed.site[: spans.traces] == 0).all()
    for trace in range(spans.traces):
        before, after = nodes(spans, trace), nodes(changed, trace)
        dropped = (before - after).total()
        budget = math.ceil(SHARE * (before.total() - 1))
        assert not after - before
        assert dropped == budget if variant.reparent else 0 < dropped <= budget


def test_calls_below_a_dropped_node_hang_on_the_nearest_that_stayed(spans: Spans) -> None:
    changed = spoiled(spans, Variant(reparent=True, spans=True), np.random.default_rng(2))
    above = spans.service.parent
    for row in range(changed.traces, len(changed)):
        there = nodes(changed, int(changed.trace[row]))
        site = int(above[changed.site[row]])
        while there[site] == 0:  # repeated sites may be dropped in part: then either fits
            site = int(above[site])
        found = int(changed.site[changed.parent[row]])
        assert found == site or spans.service.most.max() > 1


def test_whole_subtrees_are_dropped(spans: Spans) -> None:
    changed = spoiled(spans, Variant(reparent=False, spans=True), np.random.default_rng(2))
    rows = slice(changed.traces, None)
    parents = changed.site[changed.parent[rows]]
    assert (spans.service.parent[changed.site[rows]] == parents).all()


@pytest.mark.parametrize("variant", VARIANTS[:2], ids=lambda variant: variant.name)
def test_durations_are_dealt_out_anew_within_the_request(spans: Spans, variant: Variant) -> None:
    changed = spoiled(spans, variant, np.random.default_rng(2))
    moved = 0
    for trace in range(spans.traces):
        before, after = (
            Counter((each.end_us - each.start_us)[each.trace == trace].tolist())
            for each in (spans, changed)
        )
        assert not after - before
        moved += int(changed.end_us[trace] - changed.start_us[trace]) != int(
            spans.end_us[trace] - spans.start_us[trace]
        )
    assert moved > spans.traces / 2


def test_parents_come_before_their_children_and_levels_are_depths(spans: Spans) -> None:
    changed = spoiled(spans, Variant(reparent=True, spans=True), np.random.default_rng(2))
    for depth, rows in enumerate(changed.levels[1:]):
        level = changed.levels[depth]
        assert (changed.parent[rows] >= level.start).all()
        assert (changed.parent[rows] < level.stop).all()
    assert changed.levels[-1].stop == len(changed)


def test_cells_as_spans_are_the_same_vectors_again(spans: Spans, service: Service) -> None:
    for vectors in (views_of(spans).scpv, views_of(spans).stv):
        again = cells_as_spans(vectors, service)
        path = path_ids(forest_of(again))
        found = vectors_of(again, 0, again.trace, path, again.end_us - again.start_us)
        assert found.path_id.tolist() == vectors.path_id.tolist()
        assert found.time_us.tolist() == vectors.time_us.tolist()
        assert found.edges.tolist() == vectors.edges.tolist()


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
@pytest.mark.parametrize("features", ["scpv", "stv"])
def test_spoiled_vectors_are_whole(
    spans: Spans, service: Service, variant: Variant, features: str
) -> None:
    found = corrupted(spans, variant, features, np.random.default_rng(3))
    assert len(found) == spans.traces
    assert (np.diff(found.edges) >= 1).all()
    assert (found.time_us >= 0).all()
    if features == "scpv":
        sums = np.add.reduceat(found.time_us, found.edges[:-1])
        assert sums.tolist() == found.latency_us.tolist()
    new = ~np.isin(found.path_id, path_of_site(service))
    assert not new.any() or variant.reparent
    assert new.any() or not variant.reparent or features == "scpv"
