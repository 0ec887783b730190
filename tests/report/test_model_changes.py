"""What the section «Compare» is given; the numbers are worked out beside the drawings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crisp.report.changes import Group, Sample
from crisp.report.columns import group
from crisp.report.kept import kept_tables
from crisp.report.model_changes import changes_data, differences
from crisp.report.model_endpoint import Marts as EndpointMarts
from crisp.report.model_endpoint import bands_of
from crisp.report.model_fleet import endpoints_of, names_of
from crisp.report.paths import CallPaths, Tree
from tests.report.shop_changes import with_changes

Marts = dict[str, pa.Table]


def data_of(marts: Marts) -> dict[str, Any]:
    """The data of shop::buy: rows 0 buy, 1 cart::get, 2 db::read, 3 price::quote."""
    names = names_of(marts["endpoint_names"])
    tables = EndpointMarts(
        bands=group(marts["bands"], ("band",)),
        cct=group(marts["cct"], ("band", "path_id")),
        path_stats=group(marts["path_stats"], ("path_id",)),
        exemplars=group(marts["exemplars"], ("path_id", "place", "trace_id")),
        paths=CallPaths(marts["call_paths"], names),
        kept=kept_tables(marts["kept"], marts["kept_paths"]),
    )
    (endpoint,) = endpoints_of(marts["fleet"], names)
    bands, tree = bands_of(tables.bands.of(1)), tables.tree(endpoint)
    return changes_data(
        tree,
        bands,
        tables.endpoint_data(endpoint, tree, bands)["cells"]["exclusive_us"],
        tables.kept_traces(endpoint, tree, bands),
        group(marts["groups"]).of(1),
        group(marts["group_paths"]).of(1),
        seed=0,
    )


def test_groups_are_bands_then_days_with_their_sums(shop: Marts) -> None:
    data = data_of(with_changes(shop))
    fields = ("kind", "label", "traces", "missing", "kept")
    assert [tuple(g[field] for field in fields) for g in data["groups"]] == [
        ("band", "P0–P75", 30, 0, 3),
        ("band", "P75–P100", 10, 10, 4),
        ("day", "2026-01-01", 25, 0, 4),
        ("day", "2026-01-02", 15, 5, 3),
    ]  # fmt: skip
    assert [g["sums"] for g in data["groups"]] == [
        None,
        None,
        {"path": [0, 1, 2, 3], "exclusive_us": [60_000, 90_000, 200_000, 100_000]},
        {"path": [0, 2], "exclusive_us": [50_000, 200_000]},
    ]
    assert data["first"] == {"band": (0, 1), "day": (2, 3)}


def test_change_of_bands_by_hand(shop: Marts) -> None:
    # The fast kept traces are alike. Means of 4 draws of 30, 30, 50, 50 ms deviate by 5 ms; times
    # sqrt(4 / 10 / (1 - 1/4)) that is 3.651 ms, and 1.96 of them 7.157 ms. Of the four calls that
    # are compared price::quote deviates as much, and 2.4977 of them are 9.120 ms.
    pair = data_of(with_changes(shop))["pairs"][0]
    assert (pair["a"], pair["b"], pair["change_us"]) == (0, 1, 30_000)
    ends = (pair["low_us"], pair["high_us"])
    assert ends == pytest.approx((30_000 - 7_157, 30_000 + 7_157), abs=1_000)
    changes = pair["changes"]
    # Surest first: db::read by 20 ms, then 3 ms each by name, then price::quote, at least 0.9 ms.
    assert changes["path"] == [2, 1, 0, 3]
    assert changes["change_us"] == [20_000, -3_000, 3_000, 10_000]
    assert changes["low_us"] == pytest.approx([20_000, -3_000, 3_000, 880], abs=1_200)
    assert changes["high_us"] == pytest.approx([20_000, -3_000, 3_000, 19_120], abs=1_200)
    assert changes["share"] == [0.125, -0.3, -0.075, 0.25]


def test_days_are_compared_with_the_traces_kept_of_each(shop: Marts) -> None:
    pair = data_of(with_changes(shop))["pairs"][1]
    assert (pair["a"], pair["b"], pair["change_us"]) == (2, 3, -1_333.3)
    assert pair["low_us"] < 0 < pair["high_us"]
    by_path = dict(zip(pair["changes"]["path"], pair["changes"]["change_us"], strict=True))
    assert by_path == {0: 933.3, 1: -3_600, 2: 5_333.3, 3: -4_000}


def test_without_kept_traces_there_are_no_intervals(shop: Marts) -> None:
    data = data_of(shop)
    (pair,) = data["pairs"]
    assert pair["change_us"] == 30_000
    assert (pair["low_us"], pair["high_us"]) == (None, None)
    assert pair["changes"]["low_us"] == [None] * 4
    assert pair["changes"]["path"] == [2, 3, 1, 0]  # by size, then by name


def test_a_single_day_is_not_offered(shop: Marts) -> None:
    marts = with_changes(shop)
    one = marts["groups"].filter(pa.compute.equal(marts["groups"]["label"], "2026-01-01"))
    data = data_of(marts | {"groups": one})
    assert [g["kind"] for g in data["groups"]] == ["band", "band"]


def plain(kind: str, label: str, traces: int) -> Group:
    return Group(
        kind=kind,
        label=label,
        traces=traces,
        latency_us=10 * traces,
        exclusive_us=np.array([10 * traces]),
        sample=Sample(
            latency_us=np.full(min(traces, 2), 10),
            weight=np.ones(min(traces, 2)),
            trace=np.arange(min(traces, 2)),
            path=np.zeros(min(traces, 2), dtype=np.int64),
            exclusive_us=np.full(min(traces, 2), 10),
        ),
    )


@pytest.fixture
def stump() -> Tree:
    return Tree(
        path_ids=[7],
        parent=[-1],
        name=[0],
        names=[("a", "b")],
        depth=1,
        sorted_ids=np.array([7]),
        sorted_rows=np.array([0]),
    )


def test_first_pair_of_bands_is_the_slowest_that_is_not_thin(stump: Tree) -> None:
    bands = [plain("band", str(i), n) for i, n in enumerate([50, 40, 20, 19, 0])]
    data = differences(stump, bands, seed=0)
    assert data["first"] == {"band": (0, 2)}
    assert [(pair["a"], pair["b"]) for pair in data["pairs"]] == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)
    ]  # fmt: skip


def test_groups_of_different_kinds_are_not_paired(stump: Tree) -> None:
    groups = [plain("band", "x", 5), plain("day", "1", 5), plain("day", "2", 5)]
    data = differences(stump, groups, seed=0)
    assert [(pair["a"], pair["b"]) for pair in data["pairs"]] == [(1, 2)]
    assert data["first"] == {"day": (1, 2)}


def test_endpoint_without_traces_has_nothing_to_compare(empty: Marts, stump: Tree) -> None:
    tables = kept_tables(empty["kept"], empty["kept_paths"])
    nothing = group(empty["groups"]).of(1), group(empty["group_paths"]).of(1)
    data = changes_data(stump, (), [], tables.of(1, stump, {}), *nothing, seed=0)
    assert data == {"thin": 20, "groups": [], "first": {}, "pairs": []}
