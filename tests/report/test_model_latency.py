"""The sections «Latency» and «Errors on the path» of the shop: numbers are in conftest.py."""

from __future__ import annotations

import math
from itertools import pairwise

import pyarrow as pa
import pytest

from crisp.report.columns import Rows, group
from crisp.report.log_ticks import round_times
from crisp.report.model_endpoint import bands_of
from crisp.report.model_errors import errors_data, errors_of
from crisp.report.model_fleet import names_of
from crisp.report.model_latency import HEIGHT, WIDTH, LatencyChart, bounds_us, latency_chart
from crisp.report.paths import CallPaths, Tree
from tests.report.conftest import drawn

Marts = dict[str, pa.Table]
LATENCY_US = 700_000


def chart_of(latencies: pa.Table, bands: pa.Table) -> LatencyChart:
    chart = latency_chart(group(latencies).of(1), bands_of(group(bands, ("band",)).of(1)))
    assert chart is not None
    return chart


def test_buckets_hold_exactly_their_latencies() -> None:
    for latency_us in (0, 1, 9, 10, 99, 998, 999, 1_000, 4_321, 999_999, 10**9):
        low, high = bounds_us(math.floor(20 * math.log10(latency_us + 1)))
        assert low <= latency_us < high
    assert bounds_us(60) == (999, 1_122)  # 10^3 is 999 + 1, and 1122 + 1 the first from 10^3.05


def test_every_bucket_says_its_range_and_the_traces_of_each_band(shop: Marts) -> None:
    chart = chart_of(shop["latencies"], shop["bands"])
    assert chart.traces == 40
    assert chart.bands == ("P0\u2013P75", "P75\u2013P100")
    assert [(line.range, line.in_band) for line in chart.lines] == [
        ("5.01 ms to below 5.62 ms", (10, 0)),
        ("10.0 ms to below 11.2 ms", (20, 0)),
        ("20.0 ms to below 22.4 ms", (0, 6)),
        ("56.2 ms to below 63.1 ms", (0, 4)),
    ]
    assert [piece.label for piece in chart.pieces][2] == (
        "20.0 ms to below 22.4 ms: 6 traces of P75\u2013P100"
    )


def test_bars_are_as_high_as_their_traces_and_the_edge_stands_at_its_latency(shop: Marts) -> None:
    chart = chart_of(shop["latencies"], shop["bands"])
    assert [piece.height for piece in chart.pieces] == [HEIGHT / 2, HEIGHT, 45, 30]
    assert all(round(piece.y + piece.height, 1) == chart.base for piece in chart.pieces)
    assert [piece.shade for piece in chart.pieces] == [0.3, 0.3, 1, 1]
    (edge,) = chart.edges
    assert edge.label == "P75 19.0 ms"
    assert edge.hint == "P75: 75 % of the traces took 19.0 ms or less"
    # buckets 74 to 96 over the whole width, and 19 ms is 20 log10(19001) = 85.58
    assert edge.x == pytest.approx((85.576 - 74) / 22 * WIDTH, abs=0.1)
    assert [tick.label for tick in chart.ticks] == ["10.0 ms", "20.0 ms", "50.0 ms"]


def test_bands_of_one_bucket_are_stacked_and_thin_ones_still_show() -> None:
    latencies = drawn("latencies", "band bucket traces\n0 80 999\n1 80 1\n1 81 2")
    bands = drawn(
        "bands",
        """
        band  lo_percentile  hi_percentile  traces  lo_us  hi_us  latency_us
        0     0              99             999     10000  11000  1
        1     99             100            3       11001  12000  1
        """,
    )
    chart = chart_of(latencies, bands)
    low, high, beside = chart.pieces
    assert (high.x, round(high.y + high.height, 1)) == (low.x, low.y)
    assert high.height == beside.height == 2
    assert beside.x > low.x + low.width


def test_labels_of_close_edges_lie_on_lines_of_their_own() -> None:
    bands = "band lo_percentile hi_percentile traces lo_us hi_us latency_us"
    for number, hi_us in enumerate((9_999, 10_999, 11_999, 500_000, 999_999)):
        bands += f"\n{number} {20 * number} {20 * number + 20} 20 {hi_us - 1} {hi_us} 1"
    latencies = drawn("latencies", "band bucket traces\n0 60 20\n4 119 20")
    chart = chart_of(latencies, drawn("bands", bands))
    assert [edge.label for edge in chart.edges] == [
        "P20 10.0 ms",
        "P40 11.0 ms",
        "P60 12.0 ms",
        "P80 500 ms",
    ]
    first, second, third, last = (edge.y for edge in chart.edges)
    assert first < second < third
    assert last == first
    assert chart.edges[-1].anchor == "end"


def test_without_traces_there_is_no_chart(empty: Marts) -> None:
    assert latency_chart(group(empty["latencies"]).of(1), ()) is None


def test_ticks_are_round_and_at_least_two_where_there_is_room() -> None:
    assert round_times(900, 1_200_000) == [1_000, 10_000, 100_000, 1_000_000]
    assert round_times(1_500, 30_000) == [2_000, 5_000, 10_000, 20_000]
    assert round_times(5_500, 8_500) == [6_000, 7_000, 8_000]
    found = round_times(1_050, 1_350)
    assert found == pytest.approx([1_100, 1_200, 1_300])
    assert all(a < b for a, b in pairwise(found))


# --- errors


def of_shop(shop: Marts) -> tuple[Rows, Tree]:
    names = names_of(shop["endpoint_names"])
    cct = group(shop["cct"]).of(1)
    paths = CallPaths(shop["call_paths"], names)
    return group(shop["errors"]).of(1), paths.tree(cct.ints("path_id"), cct.ints("exclusive_us"))


def test_errors_come_by_the_time_that_was_made_up_for(shop: Marts) -> None:
    errors, tree = of_shop(shop)
    data = errors_data(errors, tree, LATENCY_US)
    assert [tree.names[tree.name[row]] for row in data["path"]] == [
        ("price", "quote"),
        ("cart", "get"),
        ("db", "read"),
    ]
    assert data["stopped_us"] == [14_000, 7_000, 0]
    assert data["own"] == [2, 0, 1]
    assert data["propagated"] == [0, 1, 0]
    assert data["share"] == pytest.approx([0.02, 0.01, 0])


def test_totals_of_stopped_errors_are_in_words(shop: Marts) -> None:
    errors, _ = of_shop(shop)
    assert errors_of(errors, LATENCY_US).sentence == (
        "Calls failed on 3 call paths. Errors were stopped 3 times, on 2 of them: up to 21.0 ms of "
        "critical path went into calls that failed and were made up for, 3.0 % of all latency."
    )


def test_errors_stopped_at_one_path_are_counted_in_traces() -> None:
    errors = drawn(
        "errors", "path_id traces own stopped stopped_us failed_us\n12 15 15 12 34000 50000"
    )
    assert errors_of(group(errors).of(1), 2_833_333).sentence == (
        "Calls failed on 1 call path. Errors were stopped in 12 traces: up to 34.0 ms of critical "
        "path went into calls that failed and were made up for, 1.2 % of all latency."
    )


def test_errors_that_nobody_stopped_and_no_errors_are_said(empty: Marts) -> None:
    errors = drawn("errors", "path_id traces own failed_us\n11 2 2 700")
    assert "No error was stopped" in errors_of(group(errors).of(1), LATENCY_US).sentence
    none = errors_of(group(empty["errors"]).of(1), 0)
    assert none.sentence == "No call failed on the critical path of these traces."
    assert none.paths == 0
