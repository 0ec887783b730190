"""What our own analysis finds in generated traces, beside what the paper found in Uber's."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from crisp.cpa.analysis import Analysis, analyse
from crisp.forest import Ints
from crisp.ingest.columns import Batch, add
from crisp.ingest.jaeger import Bad, decode
from crisp.ingest.names import Names
from crisp.ingest.trees import plant
from crisp.options import IngestOptions, PathOptions
from crisp.stable import text_id
from crisp.synth import SynthOptions, generate, parse_fault
from crisp.synth.plan import PlantedFault, plan, trace_id

DAY = date(2026, 3, 9)
PAPER_SPANS, PAPER_PATH_SPANS, PAPER_CONCURRENCY = 112, 33, 21


def _analysed(options: SynthOptions) -> Analysis:
    batch, names = Batch(), Names(IngestOptions())
    for body in generate(options):
        (trace,) = decode(body)
        assert not isinstance(trace, Bad)
        add(batch, names, trace, "synth", 0)
    return analyse(plant(batch, names, IngestOptions()).forest, PathOptions())


def _main_trees(found: Analysis) -> dict[str, int]:
    """The tree of each trace with most spans, by trace id; the others are extra roots."""
    ids, spans = found.forest.trees.trace_id, found.stats.spans
    return {ids[tree]: int(tree) for tree in np.argsort(spans, kind="stable")}


def test_the_shape_of_the_critical_path_is_near_the_papers() -> None:
    """Means over the traces of four days, against section 4.7.2 of the paper.

    Sizes, depth and concurrency of programs follow Uber's published traces (`shapes`). At our
    mean size these have 10.6 levels, a quarter more than the paper's 8.5, and a path goes
    through every level: the share on the path may be anywhere between the paper's and a quarter
    more. A day has twenty programs, the busiest with 28 % of the traffic, so days differ by
    a tenth in that share and in concurrency; a trace here is also a tenth smaller.
    """
    rows = []
    for seed in range(4):
        found = _analysed(SynthOptions(day=DAY, traces=125, seed=seed))
        stats, trees = found.stats, list(_main_trees(found).values())
        rows.append([stats.spans[trees], stats.cp_spans[trees], stats.concurrency[trees]])
    spans, on_path, concurrency = np.concatenate(rows, axis=1).mean(axis=1)
    assert spans == pytest.approx(100, rel=0.1)
    share, paper = on_path / spans, PAPER_PATH_SPANS / PAPER_SPANS
    assert 0.9 * paper < share < 1.1 * 1.25 * paper
    assert concurrency == pytest.approx(PAPER_CONCURRENCY, rel=0.2)


def _affected(fault: str, seed: int) -> tuple[SynthOptions, PlantedFault, list[str]]:
    """A day with the fault, where it went, and the ids of the traces it changes."""
    options = SynthOptions(day=DAY, traces=300, seed=seed, faults=(parse_fault(fault),))
    planned = plan(options)
    (planted,) = planned.faults
    rows = np.flatnonzero(planned.entry == planted.fault.entry)
    ids = [trace_id(planned, index) for index in rows[rows >= planted.first].tolist()]
    return options, planted, ids


def _latency_us(found: Analysis, ids: list[str]) -> tuple[list[int], Ints]:
    """The main trees of the traces and their latencies."""
    main = _main_trees(found)
    trees = [main[name] for name in ids if name in main]
    return trees, found.forest.end_us[trees] - found.forest.start_us[trees]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("fault", "factor"), [("slow:entry=0,factor=4", 1.3), ("serialise:entry=0", 1.1)]
)
def test_a_fault_of_the_busiest_entry_moves_its_median_latency(
    fault: str, factor: float, seed: int
) -> None:
    options, _, ids = _affected(fault, seed)
    _, took = _latency_us(_analysed(options), ids)
    _, before = _latency_us(_analysed(SynthOptions(day=DAY, traces=300, seed=seed)), ids)
    assert np.median(took) > factor * np.median(before)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_slow_path_is_nearly_always_on_the_critical_path_and_holds_much_of_it(seed: int) -> None:
    options, planted, ids = _affected("slow:entry=0,factor=4", seed)
    found = _analysed(options)
    number = text_id(*planted.paths[0][-1].split("::"))
    endpoints = found.endpoints
    of_path = found.forest.endpoint_ids[endpoints.endpoint] == number
    held = np.zeros(len(found.stats.spans), np.int64)
    np.add.at(held, endpoints.tree[of_path], endpoints.exclusive_us[of_path])
    trees, took = _latency_us(found, ids)
    shares = held[trees] / took
    assert np.mean(shares > 0) > 0.95
    assert np.median(shares) > 0.3
