"""View models of the shop: the numbers are worked out in conftest.py."""

from __future__ import annotations

import pyarrow as pa
import pytest

from crisp.errors import Reject
from crisp.report.columns import dicts, group, hex_id, rows_of
from crisp.report.kept import kept_tables
from crisp.report.model import entries_of, run_of
from crisp.report.model_bottom_up import bottom_up_data, charts_of
from crisp.report.model_endpoint import Marts as EndpointMarts
from crisp.report.model_endpoint import bands_of
from crisp.report.model_fleet import endpoints_of, fleet_data, names_of
from crisp.report.model_ledger import days_of, rejected_of
from crisp.report.paths import CallPaths
from crisp.schema import LEDGER

Marts = dict[str, pa.Table]


def test_ids_are_hex_of_their_64_bits() -> None:
    assert hex_id(-1) == "ffffffffffffffff"
    assert hex_id(-(2**63) + 5) == "8000000000000005"
    assert hex_id(5) == "0000000000000005"


def test_run_sums_the_days_and_finds_the_skew_option(shop: Marts) -> None:
    run = run_of(shop["runs"])
    assert run.window == "2026-01-01 to 2026-01-02 (2 days)"
    assert (run.policy, run.skew, run.versions) == ("crisp", "edge", "0.1.0")
    assert (run.read, run.analysed, run.rejected, run.filtered) == (42, 40, 2, 3)


def test_run_without_days_knows_nothing(empty: Marts) -> None:
    run = run_of(empty["runs"])
    assert (run.window, run.policy, run.skew) == ("no day", "unknown", "unknown")


def test_every_ledger_entry_is_shown_done_or_not(shop: Marts) -> None:
    entries = entries_of(dicts(rows_of(shop["ledgers"])))
    assert [entry.entry for entry in entries] == list(LEDGER)
    done = [entry for entry in entries if entry.spans]
    assert [(e.label, e.traces, e.spans, e.amount_us, e.example) for e in done] == [
        ("clipped end", 3, 7, 1_500, "00000000000000ab")
    ]


def test_ledger_entries_of_endpoints_add_up_and_show_the_largest() -> None:
    row = {"entry": "dropped", "traces": 1, "spans": 2, "amount_us": 5, "example": "b"}
    entries = entries_of([row, row | {"amount_us": 9, "example": "z"}, row | {"example": "a"}])
    dropped = next(entry for entry in entries if entry.entry == "dropped")
    assert (dropped.traces, dropped.spans, dropped.amount_us) == (3, 6, 19)
    assert dropped.example == "z"


def test_endpoint_header_has_mean_and_what_holds_it_most(shop: Marts) -> None:
    (endpoint,) = endpoints_of(shop["fleet"], names_of(shop["endpoint_names"]))
    assert endpoint.mean_us == 17_500
    assert (endpoint.top_service, endpoint.top_operation) == ("db", "read")
    assert endpoint.top_ratio == pytest.approx(4 / 7)
    assert endpoint.error_ratio == 0.05
    assert endpoint.page == "shop-buy-0000000000000001"


def test_pages_of_hostile_names_are_plain_words(hostile: Marts) -> None:
    endpoints = endpoints_of(hostile["fleet"], names_of(hostile["endpoint_names"]))
    pages = [endpoint.page for endpoint in endpoints]
    assert len(set(pages)) == len(endpoints)
    assert all(set(page) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for page in pages)
    assert "etc-passwd-etc-passwd-000000000000006b" in pages


def test_fleet_has_one_value_per_day_in_order(shop: Marts) -> None:
    endpoints = endpoints_of(shop["fleet"], names_of(shop["endpoint_names"]))
    data = fleet_data(endpoints, shop["daily"])
    assert data["days"] == ["2026-01-01", "2026-01-02"]
    assert data["endpoints"]["daily_p50_us"] == [[10_000, 12_000]]
    assert data["endpoints"]["daily_p95_us"] == [[40_000, 44_000]]


def test_bands_are_labelled_and_thin_ones_say_what_is_missing(shop: Marts) -> None:
    fast, slow = bands_of(group(shop["bands"], ("band",)).of(1))
    assert (fast.label, fast.mean_us, fast.missing) == ("P0\u2013P75", 10_000, 0)
    assert (slow.label, slow.mean_us, slow.missing) == ("P75\u2013P100", 40_000, 10)


def test_endpoint_tree_holds_the_sums_of_the_marts(shop: Marts) -> None:
    names = names_of(shop["endpoint_names"])
    (endpoint,) = endpoints_of(shop["fleet"], names)
    grouped = {name: group(shop[name]) for name in ("bands", "cct", "path_stats", "exemplars")}
    kept = kept_tables(shop["kept"], shop["kept_paths"])
    marts = EndpointMarts(**grouped, paths=CallPaths(shop["call_paths"], names), kept=kept)
    bands = bands_of(group(shop["bands"], ("band",)).of(1))
    data = marts.endpoint_data(endpoint, marts.tree(endpoint), bands)
    assert data["paths"]["parent"] == [-1, 0, 1, 0]
    assert [data["names"][n] for n in data["paths"]["name"]] == [
        ("shop", "buy"),
        ("cart", "get"),
        ("db", "read"),
        ("price", "quote"),
    ]
    assert data["paths"]["id"][2] == "8000000000000005"
    assert data["cells"]["exclusive_us"] == [
        [60_000, 90_000, 150_000, 0],
        [50_000, 0, 250_000, 100_000],
    ]
    assert data["cells"]["error_traces"] == [[0, 0, 1, 0], [0, 0, 0, 2]]
    assert data["stats"]["exclusive_p50_us"] == [2_000, 0, 5_000, 0]
    assert data["stats"]["exclusive_p99_us"] == [0, 0, 30_001, 0]
    assert data["exemplars"]["path"] == [2]
    assert data["depth"] == 3
    for cells, band in zip(data["cells"]["exclusive_us"], data["bands"], strict=True):
        assert sum(cells) == band["latency_us"]


def test_interior_apis_come_by_rank(shop: Marts) -> None:
    endpoints = endpoints_of(shop["fleet"], names_of(shop["endpoint_names"]))
    apis = bottom_up_data(shop["bottom_up"], shop["reach"], endpoints)["apis"]
    assert apis["service"] == ["db", "cart"]
    assert apis["exclusive_us"] == [400_000, 90_000]


def test_apis_name_the_endpoints_they_slow(shop: Marts) -> None:
    endpoints = endpoints_of(shop["fleet"], names_of(shop["endpoint_names"]))
    data = bottom_up_data(shop["bottom_up"], shop["reach"], endpoints)
    assert data["entries"] == {
        "page": ["shop-buy-0000000000000001"],
        "service": ["shop"],
        "operation": ["buy"],
    }
    reach = data["reach"]
    assert (reach["api"], reach["entry"], reach["traces"]) == ([0, 1], [0, 0], [40, 30])
    assert reach["per_request_us"] == [10_000, 2_250]  # over all 40 requests
    assert reach["share"] == pytest.approx([4 / 7, 9 / 70])


def earlier(shop: Marts, **changes: float) -> pa.Table:
    row = shop["fleet"].to_pylist()[0] | {"p50_us": 8_000.0} | changes
    return pa.Table.from_pylist([row], schema=shop["fleet"].schema)


@pytest.mark.parametrize(
    ("before", "ratio", "note"),
    [
        pytest.param({}, 0.25, "median was 8.00 ms over 40 traces", id="compared"),
        pytest.param(
            {"traces": 19},
            None,
            "19 traces in the window before: 1 more needed to compare medians",
            id="too few before",
        ),
        pytest.param(
            {"endpoint_id": 9}, None, "new: it has no trace in the window before", id="new"
        ),
        pytest.param(
            {"p50_us": 0.0}, None, "its median was 0 in the window before", id="nothing before"
        ),
    ],
)
def test_medians_are_compared_with_the_window_before(
    shop: Marts, before: dict[str, float], ratio: float | None, note: str
) -> None:
    (row,) = shop["fleet"].to_pylist()
    now = pa.Table.from_pylist([row | {"p50_us": 10_000.0}], schema=shop["fleet"].schema)
    endpoints = endpoints_of(now, {})
    data = fleet_data(endpoints, shop["daily"], previous=earlier(shop, **before))["endpoints"]
    assert (data["change_ratio"], data["change_note"]) == ([ratio], [note])


def test_too_few_traces_now_are_not_compared_either(shop: Marts) -> None:
    (row,) = shop["fleet"].to_pylist()
    now = pa.Table.from_pylist([row | {"traces": 1}], schema=shop["fleet"].schema)
    data = fleet_data(endpoints_of(now, {}), shop["daily"], previous=earlier(shop))["endpoints"]
    assert data["change_ratio"] == [None]
    assert data["change_note"] == ["1 trace in this window: 19 more needed to compare medians"]


def test_without_a_window_before_or_owners_there_are_no_such_columns(shop: Marts) -> None:
    data = fleet_data(endpoints_of(shop["fleet"], {}), shop["daily"])["endpoints"]
    assert not {"change_ratio", "change_note", "owner"} & data.keys()


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        pytest.param({"shop": "a", "*": "b"}, "a", id="the first that matches"),
        pytest.param({"s?o*": "a"}, "a", id="a glob"),
        pytest.param({"SHOP": "a"}, "", id="letter case counts"),
        pytest.param({"sho": "a"}, "", id="of the whole name"),
    ],
)
def test_owners_are_found_by_glob_of_the_service(
    shop: Marts, owners: dict[str, str], owner: str
) -> None:
    endpoints = endpoints_of(shop["fleet"], {}, owners)
    data = fleet_data(endpoints, shop["daily"], owned=True)
    assert data["endpoints"]["owner"] == [owner]


def test_histograms_come_in_the_order_of_the_dictionary(shop: Marts) -> None:
    assert [(chart.title, chart.total) for chart in charts_of(shop["histograms"])] == [
        ("spans per trace", 40),
        ("latency per trace", 40),
    ]


def test_rejects_say_what_the_reason_means(shop: Marts) -> None:
    (row,) = rejected_of(shop["rejected"])
    assert (row.documents, row.meaning) == (2, Reject.NOT_JSON.meaning)


def test_days_are_listed_latest_first_with_flat_settings(shop: Marts) -> None:
    days = days_of(shop["runs"])
    assert [(day.date, day.read, day.adds_up) for day in days] == [
        ("2026-01-02", 15, True),
        ("2026-01-01", 27, True),
    ]
    assert days[0].options == (("a.skew", "edge"),)
