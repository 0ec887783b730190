"""A day of an endpoint against the days before it: one test for each call path and question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crisp import arrow, schema
from crisp.anomaly.blocks import (
    DAY_US,
    Blocks,
    Deviates,
    blocks,
    comparable,
    count_deviates,
    rank_deviates,
    together,
)
from crisp.anomaly.calibration import beta_binomial_tail
from crisp.anomaly.counts import exact_tests
from crisp.anomaly.inflation import inflations
from crisp.anomaly.rank import LEAST_P, deflated, rank_tests, ranks
from crisp.anomaly.sides import Sides, sides, topped_means
from crisp.anomaly.vectors import Flags, Floats, Ints, Vectors
from crisp.options import AlertOptions

LEAST_TIMES = 10
"""Traces with a path that both sides must have for its times to be compared."""
LEAST_TRACES = 10
"""Of both sides together: rarer paths count for the one that calls them."""
LEAST_ERRORS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AbnormalCounts:
    """Traces with a small p-value, among all that were scored."""

    k_test: int
    """of the day"""
    n_test: int
    k_cal: int
    """of the calibration rows, which no score was fitted on"""
    n_cal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """One test of each of ``g`` subjects; columns as in `schema.SHIFTS`, (g,)."""

    test: str
    path_id: Ints
    traces: Floats
    reference_traces: Floats
    today: Floats
    before: Floats
    change_us: Floats
    p: Floats
    deviates: Deviates


def shifts(
    reference: Vectors,
    today: Vectors,
    parents: Mapping[int, int],
    abnormal: AbnormalCounts,
    options: AlertOptions,
) -> pa.RecordBatch:
    """Rows of `schema.SHIFTS` for one endpoint; ``q`` is 1 until `crisp.anomaly.fleet` knows it.

    Path 0 stands for the endpoint: its rows are "latency", "failed" and, where traces were
    scored, "abnormal". A path has a row "time" where both sides have it in ten traces, a row
    "presence" where it comes and goes or has no other, and a row "error" where it failed in
    three. Paths in fewer than ten traces count for the nearest one above them in ``parents``
    (path to parent, 0 above a root) that is in more. So the changes of all paths sum to that
    of the mean latency. No row where a side has fewer than ``least_traces``, or
    the reference fewer than ``least_days`` days.

    In rows "time" ``today`` and ``before`` are means without the topmost 0.5 %, see
    `topped_means`. All other means are plain, and shares are of traces. The p-values allow for
    days that differ anyway, see `crisp.anomaly.inflation`, and for that reason a day is compared
    with no more than twice the traces that the reference has of a day, evenly over the day.
    """
    days = len(np.unique(reference.start_us // DAY_US))
    few = min(len(reference), len(today)) < max(options.least_traces, 2)
    if few or days < options.least_days:
        return arrow.rows([], schema.SHIFTS)
    today = today.take(comparable(len(reference), days, len(today), options.least_traces))
    parts = blocks(reference.start_us, today.start_us)
    both = sides(reference, today, parents, LEAST_TRACES)
    found = [
        _latency(reference, today, parts),
        _failed(reference, today, parts),
        *_of_paths(both, parts),
    ]
    if abnormal.n_test and abnormal.n_cal:
        found.append(_abnormal(abnormal, parts))
    columns = {name: np.concatenate([getattr(tests, name) for tests in found]) for name in _COLUMNS}
    columns["inflation"] = inflations(
        together([tests.deviates for tests in found]),
        _sizes(columns["traces"], columns["reference_traces"]),
        parts.of_day,
    )
    columns["p"] = deflated(columns["p"], columns["inflation"], parts.count)
    order = np.lexsort((columns["path_id"],))  # then in the order of `TESTS`, as they come here
    names = [tests.test for tests in found for _ in tests.path_id]
    return arrow.batch(
        {name: values[order] for name, values in columns.items()}
        | {
            "endpoint_id": np.full(len(order), reference.endpoint_id),
            "test": [names[i] for i in order.tolist()],
            "q": np.ones(len(order)),
            "changed": np.zeros(len(order), np.bool_),
        },
        schema.SHIFTS,
    )


_COLUMNS = ("path_id", "traces", "reference_traces", "today", "before", "change_us", "p")


def _sizes(n: Floats, m: Floats) -> Floats:
    return n * m / np.maximum(n + m, 1)


def _latency(reference: Vectors, today: Vectors, parts: Blocks) -> _Tests:
    value = np.concatenate((reference.latency_us, today.latency_us))
    of_day = np.arange(len(value)) >= len(reference)
    zero = np.zeros(len(reference), np.int64)
    now, then = float(today.latency_us.mean()), float(reference.latency_us.mean())
    return _whole(
        "latency",
        (len(today), len(reference)),
        (now, then, now - then),
        rank_tests(ranks(np.zeros(len(value), np.int64), value, 1), of_day),
        rank_deviates(zero, reference.latency_us, 1, parts, np.arange(len(reference))),
    )


def _failed(reference: Vectors, today: Vectors, parts: Blocks) -> _Tests:
    n, m, k, before = len(today), len(reference), today.failed.sum(), reference.failed.sum()
    return _whole(
        "failed",
        (n, m),
        (k / n, before / m, 0.0),
        exact_tests(k, n, k + before, n + m),
        count_deviates(
            _histogram(parts.of_row[reference.failed], parts.count)[None, :],
            _histogram(parts.of_row, parts.count),
        ),
    )


def _abnormal(counts: AbnormalCounts, parts: Blocks) -> _Tests:
    p = beta_binomial_tail(counts.k_test, counts.n_test, counts.k_cal, counts.n_cal)
    none = np.zeros((1, parts.count))
    return _whole(
        "abnormal",
        (counts.n_test, counts.n_cal),
        (counts.k_test / counts.n_test, counts.k_cal / counts.n_cal, 0.0),
        np.clip(np.ravel(p), LEAST_P, 1),
        Deviates(square=none, weight=none, response=np.zeros(1)),
    )


def _whole(
    test: str,
    traces: tuple[int, int],
    values: tuple[float, float, float],
    p: Floats,
    deviates: Deviates,
) -> _Tests:
    """A test of the endpoint; ``values`` are today, before and change_us."""
    columns = (*traces, *values)
    n, m, now, then, change = (np.array([float(value)]) for value in columns)
    return _Tests(
        test=test,
        path_id=np.zeros(1, np.int64),
        traces=n,
        reference_traces=m,
        today=now,
        before=then,
        change_us=change,
        p=p,
        deviates=deviates,
    )


def _of_paths(both: Sides, parts: Blocks) -> list[_Tests]:
    day = both.of_day
    n, m = float(both.today), float(both.reference)
    seen, seen_before = both.totals(day), both.totals(~day)
    times = both.time_us.astype(np.float64)
    change = both.totals(day, times) / n - both.totals(~day, times) / m
    failed, failed_before = both.totals(day & both.own), both.totals(~day & both.own)
    timed = (seen >= LEAST_TIMES) & (seen_before >= LEAST_TIMES)
    on_path = seen + seen_before
    varying = np.minimum(on_path, n + m - on_path) >= LEAST_TRACES
    kinds = (
        ("presence", varying | ~timed, seen, seen_before, np.ones(len(both.row), np.bool_)),
        ("error", failed + failed_before >= LEAST_ERRORS, failed, failed_before, both.own),
    )
    return [
        _times(both, parts, timed, change),
        *(
            _Tests(
                test=test,
                path_id=both.paths[chosen],
                traces=np.full(chosen.sum(), n),
                reference_traces=np.full(chosen.sum(), m),
                today=k[chosen] / n,
                before=before[chosen] / m,
                change_us=change[chosen],
                p=exact_tests(k[chosen], n, (k + before)[chosen], n + m),
                deviates=_share_deviates(both, parts, cells & ~day, chosen),
            )
            for test, chosen, k, before, cells in kinds
        ),
    ]


def _times(both: Sides, parts: Blocks, timed: Flags, change: Floats) -> _Tests:
    group, groups = np.cumsum(timed) - 1, int(timed.sum())
    cells = timed[both.path]
    place, value, day = group[both.path[cells]], both.time_us[cells], both.of_day[cells]
    return _Tests(
        test="time",
        path_id=both.paths[timed],
        traces=both.totals(both.of_day)[timed],
        reference_traces=both.totals(~both.of_day)[timed],
        today=topped_means(place[day], value[day], groups),
        before=topped_means(place[~day], value[~day], groups),
        change_us=change[timed],
        p=rank_tests(ranks(place, value, groups), day),
        deviates=rank_deviates(place[~day], value[~day], groups, parts, both.row[cells][~day]),
    )


def _share_deviates(both: Sides, parts: Blocks, cells: Flags, chosen: Flags) -> Deviates:
    place = both.path[cells] * parts.count + parts.of_row[both.row[cells]]
    marked = _histogram(place, len(both.paths) * parts.count)
    rows = _histogram(parts.of_row, parts.count)
    return count_deviates(marked.reshape(-1, parts.count)[chosen], rows)


def _histogram(place: Ints, count: int) -> Floats:
    return np.bincount(place, minlength=count).astype(np.float64)
