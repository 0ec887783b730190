"""Few false alerts over all endpoints, and no alerts for what is too small to matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from crisp import schema
from crisp.anomaly.fleet import adjusted, over_fleet, robust_change_us, sizes
from crisp.options import AlertOptions


def row(**changes: Any) -> dict[str, Any]:
    return {
        "endpoint_id": 1,
        "path_id": 0,
        "test": "latency",
        "traces": 100,
        "reference_traces": 1000,
        "today": 1000.0,
        "before": 1000.0,
        "change_us": 0.0,
        "inflation": 1.0,
        "p": 1.0,
        "q": 1.0,
        "changed": False,
    } | changes


def fleet(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema.SHIFTS)


def test_q_by_hand() -> None:
    # In order .005 .01 .03 .04 times 4 / rank: .02 .02 .04 .04
    assert_allclose(adjusted(np.array([0.01, 0.04, 0.03, 0.005])), [0.02, 0.04, 0.04, 0.02])
    assert adjusted(np.empty(0)).tolist() == []


@given(st.lists(st.sampled_from([1e-12, 1e-3, 0.01, 0.02, 0.5, 1.0]), min_size=1))
def test_q_is_monotone_with_shared_ties_and_as_others_compute_it(p: list[float]) -> None:
    q = adjusted(np.array(p))
    assert_allclose(q, stats.false_discovery_control(p))
    by_p = dict(zip(p, q.tolist(), strict=True))
    assert [by_p[x] for x in p] == q.tolist()
    assert sorted(by_p.values()) == [by_p[x] for x in sorted(by_p)]


@pytest.mark.parametrize(
    ("found", "size"),
    [
        (
            row(path_id=2, test="time", traces=50, reference_traces=500, today=240.0, before=200.0),
            0.02,
        ),
        (row(path_id=2, test="presence", today=1.0, before=0.5, change_us=-300.0), 0.3),
        (row(path_id=2, test="error", today=0.05, before=0.01, change_us=900.0), 0.04),
        (row(test="failed", today=0.0, before=0.25), 0.25),
        (row(test="abnormal", today=0.03, before=0.001), 0.029),
        (row(endpoint_id=2, today=330.0, before=300.0, change_us=30.0), 0.1),
    ],
)
def test_sizes_by_hand(found: dict[str, Any], size: float) -> None:
    table = fleet(row(endpoint_id=3, before=1.0), found, row())
    assert sizes(table)[1] == pytest.approx(size)


def test_the_change_of_a_path_includes_that_it_is_there_more_often() -> None:
    time = row(path_id=2, test="time", traces=90, reference_traces=100, today=100.0, before=100.0)
    assert robust_change_us(fleet(row(), time))[1] == pytest.approx(90 - 10)


def test_a_row_changed_when_it_is_unlikely_and_large_enough() -> None:
    options = AlertOptions(level=0.01, least_change=0.1)
    small = row(endpoint_id=2, p=1e-9, today=1050.0, change_us=50.0)
    large = row(endpoint_id=3, p=1e-9, today=800.0, change_us=-200.0)
    likely = row(endpoint_id=4, p=0.02, today=2000.0, change_us=1000.0)
    found = over_fleet(fleet(small, large, likely), options)
    assert found["changed"].to_pylist() == [False, True, False]
    assert_allclose(found["q"].to_pylist(), [1.5e-9, 1.5e-9, 0.02])
    schema.check("shifts", found.schema, schema.SHIFTS)


def test_a_fleet_of_nothing_has_no_changes() -> None:
    assert over_fleet(fleet(), AlertOptions()).num_rows == 0


def test_a_night_without_changes_has_a_row_under_the_level_as_seldom_as_said() -> None:
    p = np.random.default_rng(0).random((4000, 300))
    alarms = sum(bool(adjusted(night).min() <= 0.05) for night in p)
    assert alarms / 4000 == pytest.approx(0.05, abs=0.012)
