from __future__ import annotations

from datetime import date
from random import Random
from statistics import median

import numpy as np
import pytest

from crisp.synth import SynthOptions, shapes
from crisp.synth.execute import Spans, execute
from crisp.synth.plan import plan

UBER_MEAN = 150.85  # spans of the 1,000 clean traces
DAY = date(2026, 3, 9)


def test_interpolation_is_linear_inside_and_constant_outside() -> None:
    assert [shapes.interpolate(x, (0, 10), (1, 3)) for x in (-5, 0, 5, 10, 99)] == [1, 1, 2, 3, 3]


def test_published_bins_are_returned_at_their_medians() -> None:
    assert shapes.depth_of(45) == 8
    assert shapes.depth_of(10252) == 49
    assert shapes.fanout_of(4) == 1
    assert shapes.fanout_of(10252) == 330


def test_size_strata_have_the_mean_of_the_sample() -> None:
    sizes = shapes.size_strata([0.05] * 20)
    assert sizes == sorted(sizes)
    assert sum(sizes) / 20 == pytest.approx(UBER_MEAN, rel=0.04)


def _measured(seed: int) -> list[tuple[int, int, int, int]]:
    """Spans, depth, widest fan-out and most spans open at once of some clean traces."""
    planned = plan(SynthOptions(day=DAY, seed=seed, traces=1200, endpoints=40, clean=True))
    found = []
    for index, entry in enumerate(planned.entry):
        spans = Spans()
        program = planned.world.entries[entry]
        execute(planned.world, program, 0, Random(index), asynchronous=0.0, into=spans)
        depth = [0] * len(spans.node)
        children = [0] * len(spans.node)
        for row, above in enumerate(spans.parent[1:], start=1):
            depth[row] = depth[above] + 1
            children[above] += 1
        # at one moment ends come before starts, as intervals are half-open
        events = sorted([(t, 1) for t in spans.start] + [(t, -1) for t in spans.end])
        most = int(np.cumsum([step for _, step in events]).max())
        found.append((len(depth), max(depth), max(children), most))
    return found


def test_sizes_depth_fanout_and_concurrency_are_near_those_of_uber() -> None:
    found = [trace for seed in (1, 2) for trace in _measured(seed)]
    sizes = np.array([trace[0] for trace in found])
    ranks = [(k + 0.5) / 40 for k in range(39)]
    for q in (0.5, 0.75, 0.9):
        published = shapes.interpolate(q, ranks, shapes.UBER_SPANS) * 100 / UBER_MEAN
        assert np.quantile(sizes, q) == pytest.approx(published, rel=0.2)
    for low, high in ((20, 45), (45, 90), (90, 150), (150, 250)):
        spans, depth, fanout, most = (
            median(column) for column in zip(*(t for t in found if low <= t[0] < high), strict=True)
        )
        assert depth == pytest.approx(shapes.depth_of(spans), abs=2)
        assert shapes.fanout_of(spans) / 2 <= fanout <= shapes.fanout_of(spans) * 3
        published = shapes.interpolate(spans, shapes.UBER_BIN_SPANS, shapes.UBER_BIN_CONCURRENCY)
        assert 0.6 * published <= most <= 1.5 * published
