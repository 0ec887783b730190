from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.anomaly import measures, power, tails
from benchmarks.anomaly.__main__ import main
from benchmarks.anomaly.boutique import Boutique, Label, read_labels
from benchmarks.anomaly.faults import window_level
from benchmarks.anomaly.nights import Verdict, evenly, services_of, verdicts
from benchmarks.anomaly.nulls import NOISES, discovery, nights
from benchmarks.anomaly.paths import joined_vectors
from benchmarks.anomaly.requests import DAY_US, MONDAY_US
from benchmarks.anomaly.small import DAYS, PATHS, Noise, small_endpoint, window
from benchmarks.anomaly.tables import figure, table
from crisp.options import AlertOptions

MINUTE_US = 60_000_000


def test_area_under_the_curve_counts_pairs_and_ties_by_half() -> None:
    scores, abnormal = np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, False, True, True])
    assert measures.auc(scores, abnormal) == (1 + 0.5 + 1 + 1) / 4
    assert math.isnan(measures.auc(scores, np.zeros(4, np.bool_)))


def test_precision_is_of_the_called_and_recall_of_the_abnormal() -> None:
    called = np.array([True, True, True, False, False])
    abnormal = np.array([True, False, True, True, True])
    assert measures.precision(called, abnormal) == 2 / 3
    assert measures.recall(called, abnormal) == 2 / 4
    assert measures.false_positive_rate(called, abnormal) == 1.0
    assert math.isnan(measures.precision(np.zeros(5, np.bool_), abnormal))
    assert measures.mean([1.0, math.nan, 2.0]) == 1.5


def test_a_table_sets_numbers_right() -> None:
    rows = [{"method": "plain", "recall": "0.5"}, {"method": "vae", "recall": "–"}]
    assert table("P1", rows).splitlines()[2:] == [
        "| method | recall |",
        "|--------|-------:|",
        "| plain  |    0.5 |",
        "| vae    |      – |",
    ]
    assert figure(math.nan) == "–"


@pytest.mark.parametrize("noise", NOISES)
def test_a_small_endpoint_is_what_it_says(noise: Noise) -> None:
    small, rng = small_endpoint(3, noise), np.random.default_rng(0)
    rows = window(small, 4_000, 0, DAYS, rng)
    sums = np.add.reduceat(rows.time_us, rows.edges[:-1])
    assert sums.tolist() == rows.latency_us.tolist()
    assert (np.diff(rows.start_us) >= 0).all()
    assert rows.start_us[0] >= MONDAY_US
    assert rows.start_us[-1] < MONDAY_US + DAYS * DAY_US
    for place in range(PATHS):
        share = (rows.path_id == small.path_id[place]).sum() / 4_000
        assert share == pytest.approx(small.chance[place], abs=0.04)


def test_requests_of_bursts_come_in_bunches() -> None:
    rng = np.random.default_rng(0)
    calm, bursts = (window(small_endpoint(3, noise), 2_000, 0, 1, rng) for noise in NOISES[::2])
    assert len(np.unique(calm.start_us // MINUTE_US)) > 900
    assert len(np.unique(bursts.start_us // MINUTE_US)) <= 200


def test_a_slower_path_of_a_small_endpoint_is_named_first() -> None:
    small, rng = small_endpoint(3, "iid"), np.random.default_rng(0)
    slow = int(np.argmax(np.where(small.chance == 1, small.centre, 0)))
    before = window(small, 2_000, 0, DAYS, rng)
    today = window(small, 300, DAYS, 1, rng, (slow, 1.5))
    found = verdicts([(before, today)], small.parents, AlertOptions())[small.endpoint_id]
    assert found.alert
    assert found.paths[0] == small.path_id[slow]
    assert found.change_us > 0


def test_a_fleet_asks_for_smaller_p_values() -> None:
    one = Verdict(
        alert=True, paths=(1,), tests=10, smallest_p=1e-9, changed_p=1e-7, change_us=1, before_us=2
    )
    assert one.in_fleet(endpoints=10_000, level=0.01)
    assert not one.in_fleet(endpoints=10_001, level=0.01)


def test_services_are_named_once_in_the_order_of_paths() -> None:
    assert services_of([5, 0, 7, 6], {5: "cart", 6: "shop", 7: "cart"}) == ["cart", "shop"]


def test_rows_are_thinned_evenly() -> None:
    rows = window(small_endpoint(1, "iid"), 100, 0, 1, np.random.default_rng(0))
    assert [tree // 20 for tree in (evenly(rows, 5).tree_id - rows.tree_id[0]).tolist()] == [
        *range(5)
    ]
    assert evenly(rows, 100) is rows


def test_nights_without_change_and_one_with_some() -> None:
    options = AlertOptions()
    calm = nights("iid", endpoints=4, traces=100, nights=3, options=options)
    assert (calm.endpoints, calm.nights) == (4, 3)
    assert calm.false_nights <= calm.false_alerts
    found = discovery("iid", endpoints=60, traces=300, options=options)
    assert 0 < found.slower < 12
    assert found.found == found.slower
    assert found.alerts == found.found + found.false_alerts


def test_labels_are_read_by_trace(tmp_path: Path) -> None:
    text = (
        "traceID,source,start_us,root_dur_us,spans,family,label,inject_pod,inject_time,"
        "sec_since_inject\nab,x.csv,1,2,3,home,return,cart-57-fr,2022-08-23 12:10:21,2.7\n"
    )
    (tmp_path / "labels.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert read_labels(tmp_path) == {
        "ab": Label(fault="return", pod="cart-57-fr", injected="2022-08-23 12:10:21", family="home")
    }


def test_windows_of_faults_are_judged_by_what_came_before() -> None:
    small, rng = small_endpoint(3, "iid"), np.random.default_rng(0)
    slow = int(np.argmax(np.where(small.chance == 1, small.centre, 0)))
    parts = [
        replace(each, start_us=MONDAY_US + day * DAY_US + np.arange(len(each)) * 1_000_000)
        for day, each in (
            (0, window(small, 1_000, 0, 1, rng)),
            (2, window(small, 300, 2, 1, rng, (slow, 2.0))),
            (4, window(small, 300, 4, 1, rng)),
        )
    ]
    fine = Label(fault="normal", pod="", injected="", family="home")
    ill = Label(fault="delay", pod="cart-579b-fr", injected="x", family="home")
    boutique = Boutique(
        vectors=joined_vectors(parts),
        labels=(fine,) * 1_000 + (ill,) * 300 + (fine,) * 300,
        parents=(small.path_id, np.array(list(small.parents.values()))),
        services={
            int(path): "cart" if n == slow else "shop" for n, path in enumerate(small.path_id)
        },
        operations={int(path): f"call {n}" for n, path in enumerate(small.path_id)},
    )
    rows = window_level(boutique, "SCPV", by_family=False)
    assert [(row.fault, row.traces, row.reference) for row in rows] == [
        ("delay", 300, 1_000),
        ("normal", 300, 1_000),
    ]
    assert rows[0].alert
    assert (rows[0].place, rows[0].first) == (1, f"cart::call {slow}")


def test_the_command_prints_tables_and_writes_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "figures.json"
    sizes = ["--services", "1", "--seeds", "1", "--traces", "400", "--threads", "1"]
    methods = ["--methods", "pattern,node count", "--features", "scpv"]
    command = ["anomaly", "--protocol", "P1", *sizes, *methods, "--json", str(target)]
    monkeypatch.setattr("sys.argv", command)
    main()
    printed = capsys.readouterr().out
    assert "### P1, in the shape of Table 4.2" in printed
    rows = json.loads(target.read_text(encoding="utf-8"))["P1"]
    assert [row["method"] for row in rows] == ["pattern", "node count"]
    assert all(0 <= value <= 1 for row in rows for value in row["auc"].values())


def test_power_is_all_where_days_are_alike_and_nothing_where_they_differ_by_half() -> None:
    alike = power.of(0.0, 0.3, 2, AlertOptions())
    assert (alike.found, alike.named_first) == (1.0, 1.0)
    assert power.of(0.5, 0.3, 2, AlertOptions()).found == 0


def test_tails_count_all_paths_that_were_timed() -> None:
    found = tails.tail("iid", endpoints=3, traces=200, options=AlertOptions())
    assert 20 <= found.tests <= 3 * PATHS
    assert found.smallest > 1e-5  # one in 4,000 such runs, at most
    assert found.factors[1e-5] == 0
