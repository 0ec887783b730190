"""Distributions by host: quantiles, densities and tests against definitions, and what is shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from crisp.report.columns import Floats
from crisp.report.host_values import host_values
from crisp.report.kept import Kept
from crisp.report.model_violins import violins_data
from crisp.report.paths import Tree
from crisp.report.violins import (
    POINTS,
    Axis,
    axis_of,
    bandwidth,
    density,
    holm,
    kruskal_wallis,
    log_time,
    weighted_quantiles,
)
from crisp.schema import HOSTS

Observed = list[tuple[int, int, str, int]]
"""Cells: trace, row of the tree, host, exclusive time in ms."""


def random_times(seed: int, n: int) -> Floats:
    return np.random.default_rng(seed).lognormal(8, 1, n)


# --- numbers


def test_quantiles_are_those_of_numpy_where_all_weigh_the_same() -> None:
    values = random_times(1, 101)
    wanted = np.array([0.0, 0.25, 0.5, 0.95, 0.99, 1.0])
    found = weighted_quantiles(values, np.full(101, 3.5), wanted)
    np.testing.assert_allclose(found, np.quantile(values, wanted))


def test_a_heavy_value_draws_the_quantile_towards_it() -> None:
    # W = 1, 2, 6: the places are 0, 1, 3.5 of 3.5, and the median lies at 1.75 of them,
    # 0.75 / 2.5 = 0.3 of the way from 20 to 30.
    values, weights = np.array([30.0, 10.0, 20.0]), np.array([4.0, 1.0, 1.0])
    found = weighted_quantiles(values, weights, np.array([0.5]))
    assert found.tolist() == pytest.approx([23.0])


def test_bandwidth_is_silvermans_rule() -> None:
    # 32 values, 16 times 0 and 16 times 2: s = 1, n^(1/5) = 2, IQR / 1.34 = 2 / 1.34 > s.
    logs, weights = np.repeat([0.0, 2.0], 16), np.ones(32)
    assert bandwidth(logs, weights, 2.0) == pytest.approx(0.45)
    assert bandwidth(logs, weights, 0.67) == pytest.approx(0.225)
    assert bandwidth(np.ones(32), weights, 0.0) == 0.02


def test_bandwidth_knows_how_few_observations_have_all_the_weight() -> None:
    # The heavy ones count 32 times 1, the others nothing to speak of: Kish's n is 32 again.
    logs = np.concatenate([np.repeat([0.0, 2.0], 16), np.zeros(1000)])
    weights = np.concatenate([np.ones(32), np.full(1000, 1e-9)])
    assert bandwidth(logs, weights, 2.0) == pytest.approx(0.45, rel=1e-4)


def test_density_is_the_sum_of_a_bell_for_every_observation() -> None:
    logs = log_time(random_times(2, 200))
    weights = np.random.default_rng(3).uniform(1, 5, 200)
    width = 0.15
    axis = axis_of([logs], [width])
    grid = np.linspace(axis.low, axis.high, POINTS)
    slow = [
        sum(w * math.exp(-0.5 * ((x - y) / width) ** 2) for y, w in zip(logs, weights, strict=True))
        for x in grid
    ]
    expected = np.array(slow) / max(slow)
    np.testing.assert_allclose(density(logs, weights, width, axis), expected, atol=0.02)


def test_axis_reaches_three_bandwidths_beyond_the_times_but_not_below_none() -> None:
    axis = axis_of([np.array([0.2, 3.0]), np.array([2.0, 4.0])], [0.1, 0.5])
    assert axis == Axis(0.0, 5.5)
    assert Axis(1.0, 3.0).at(99) == 0.5  # log10(99 + 1) = 2


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_difference_is_tested_as_by_scipy_ties_and_all(groups: int) -> None:
    random = np.random.default_rng(groups)
    group = np.concatenate([np.arange(groups), random.integers(0, groups, 200)])
    values = np.round(random.lognormal(1, 1, len(group)) + 0.3 * group)
    expected = stats.kruskal(*(values[group == g] for g in range(groups))).pvalue
    assert kruskal_wallis(values, group, groups) == pytest.approx(expected, rel=1e-9)


def test_two_groups_are_tested_as_by_mann_and_whitney() -> None:
    values, group = random_times(4, 60), np.repeat([0, 1], 30)
    expected = stats.mannwhitneyu(
        values[:30], values[30:], method="asymptotic", use_continuity=False
    ).pvalue
    assert kruskal_wallis(values, group, 2) == pytest.approx(expected, rel=1e-9)


def test_equal_times_are_no_difference() -> None:
    assert kruskal_wallis(np.full(40, 7.0), np.repeat([0, 1], 20), 2) == 1.0


def test_holm_adjusts_in_steps_and_never_back() -> None:
    # sorted 0.01, 0.02, 0.03, 0.5: times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.5
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.4, 0.9]) == [0.8, 0.9]
    assert holm([]) == []


# --- the section


def tree_of(*names: tuple[str, str]) -> Tree:
    """The first name calls the others, each on a call path of its own."""
    rows = np.arange(len(names))
    distinct = sorted(set(names))
    return Tree(
        path_ids=rows.tolist(),
        parent=[-1] + [0] * (len(names) - 1),
        name=[distinct.index(name) for name in names],
        names=distinct,
        depth=2,
        sorted_ids=rows,
        sorted_rows=rows,
    )


def kept_of(cells: Observed, weight: list[float] | None = None) -> Kept:
    traces = max(trace for trace, *_ in cells) + 1 if cells else 0
    hosts = sorted({host for _, _, host, _ in cells})
    nothing = np.zeros(traces, dtype=np.int64)
    times = np.array([1_000 * ms for *_, ms in cells], dtype=np.int64)
    return Kept(
        trace_id=[str(i) for i in range(traces)],
        span_id=[""] * traces,
        start_us=nothing,
        latency_us=nothing,
        band=nothing,
        weight=np.array(weight or [1.0] * traces),
        error=[False] * traces,
        version=[""] * traces,
        trace=np.array([trace for trace, *_ in cells], dtype=np.int64),
        path=np.array([path for _, path, *_ in cells], dtype=np.int64),
        host=np.array([hosts.index(host) for _, _, host, _ in cells], dtype=np.int64),
        exclusive_us=times,
        inclusive_us=times,
        hosts=hosts,
    )


def known(**hosts: str) -> pa.Table:
    """The mart of hosts: ``h1="zone=a sku=x"``."""
    rows = [
        {"host": host, "service": "db", "attribute": attribute, "value": value}
        for host, pairs in hosts.items()
        for attribute, value in (pair.split("=") for pair in pairs.split())
    ]
    return pa.Table.from_pylist(rows, schema=HOSTS)


SHOP = tree_of(("shop", "buy"), ("db", "read"))


def shown(cells: Observed, hosts: pa.Table, weight: list[float] | None = None) -> dict[str, Any]:
    kept = kept_of(cells, weight)
    return violins_data(kept, SHOP, host_values(hosts, kept.hosts))


def test_what_one_service_says_of_a_host_says_nothing_of_another() -> None:
    """Both run on h1 and h2; only db names its versions."""
    hosts = ("h1", "h2")
    cells = [(i, path, hosts[i % 2], 100 + i) for i in range(40) for path in (0, 1)]
    data = shown(cells, known(h1="version=1", h2="version=2"))
    found = {e["service"]: [a["attribute"] for a in e["attributes"]] for e in data["endpoints"]}
    assert found == {"shop": ["host"], "db": ["host", "version"]}


def by_zone(slow_ms: int, fast_ms: int, each: int = 20) -> Observed:
    """db::read in 2 * each traces, in turns on h1 (slow) and h2; one more ms every trace."""
    return [
        (i, 1, "h1" if i % 2 == 0 else "h2", (slow_ms if i % 2 == 0 else fast_ms) + i)
        for i in range(2 * each)
    ]


def test_values_with_20_observations_are_compared_and_the_effect_is_in_words() -> None:
    data = shown(by_zone(300, 100), known(h1="zone=a", h2="zone=b"))
    (endpoint,) = data["endpoints"]
    assert (endpoint["service"], endpoint["operation"]) == ("db", "read")
    host, zone = endpoint["attributes"]
    assert [value["value"] for value in host["values"]] == ["h1", "h2"]
    assert [value["n"] for value in zone["values"]] == [20, 20]
    # 300, 302, … 338 and 101, 103, … 139: medians 319 and 120
    assert [value["p50_us"] for value in zone["values"]] == [319_000, 120_000]
    assert [value["p99_us"] for value in zone["values"]] == [None, None]
    assert zone["effect"]["words"] == "199 ms higher, 2.7 times that on"
    assert (zone["effect"]["high"], zone["effect"]["low"]) == (0, 1)
    assert (zone["p"], zone["different"], data["tests"]) == ("p < 0.001", True, 2)
    for value in zone["values"]:
        assert len(value["density"]) == POINTS
        assert max(value["density"]) >= 99
        peak = value["density"].index(max(value["density"])) / (POINTS - 1)
        assert peak == pytest.approx(value["p50_at"], abs=0.1)


def test_a_difference_of_chance_is_called_none() -> None:
    data = shown(by_zone(100, 100), known())
    (host,) = data["endpoints"][0]["attributes"]
    assert not host["different"]
    assert host["p"].startswith("p = 0.")
    # 100, 102, … 138 and 101, 103, … 139: medians 119 and 120
    assert host["effect"]["words"] == "less than 1 % (1.00 ms) higher than on"
    assert host["effect"]["slight"]


def test_an_observation_is_one_trace_and_host_over_all_call_paths() -> None:
    tree = tree_of(("shop", "buy"), ("db", "read"), ("db", "read"))
    cells = [
        cell
        for i in range(40)
        for cell in ((i, 1, f"h{i % 2}", 3), (i, 2, f"h{i % 2}", 4), (i, 0, "web", 1))
    ]
    kept = kept_of(cells)
    data = violins_data(kept, tree, host_values(known(), kept.hosts))
    (db,) = data["endpoints"]  # shop::buy ran on one host only
    assert [value["n"] for value in db["attributes"][0]["values"]] == [20, 20]
    assert [value["p50_us"] for value in db["attributes"][0]["values"]] == [7_000, 7_000]
    assert db["attributes"][0]["effect"]["equal"]


def test_quantiles_speak_of_all_traces_by_their_weights() -> None:
    # On each host one trace of 900 ms that is all there is, and 20 of 10 ms that stand for 400.
    cells = [(i, 1, f"h{i % 2}", 900 if i < 2 else 10) for i in range(42)]
    data = shown(cells, known(), [1.0] * 2 + [20.0] * 40)
    (host,) = data["endpoints"][0]["attributes"]
    assert [value["n"] for value in host["values"]] == [21, 21]
    assert [value["p95_us"] for value in host["values"]] == [10_000, 10_000]
    alike = shown(cells, known())["endpoints"][0]["attributes"][0]
    assert alike["values"][0]["p95_us"] == 10_000
    assert sum(alike["values"][0]["density"]) > sum(host["values"][0]["density"])


def test_values_seen_too_rarely_say_how_many_observations_are_missing() -> None:
    cells = [(i, 1, "h1" if i < 25 else "h2", 5) for i in range(28)]
    data = shown(cells, known(h1="zone=a", h2="zone=b"))
    for attribute in data["endpoints"][0]["attributes"]:
        assert attribute["values"] == []
        assert attribute["p"] is None
    zone = data["endpoints"][0]["attributes"][1]
    assert zone["few"] == [{"value": "b", "n": 3, "missing": 17}]
    assert data["tests"] == 0


def test_a_host_with_two_values_of_an_attribute_has_none() -> None:
    twice = pa.concat_tables([known(h1="zone=a", h2="zone=b", h3="zone=c"), known(h3="zone=a")])
    cells = [(i, 1, f"h{1 + i % 3}", 5 + i) for i in range(60)]
    zone = shown(cells, twice)["endpoints"][0]["attributes"][1]
    assert [(value["value"], value["n"]) for value in zone["values"]] == [("a", 20), ("b", 20)]
    assert zone["unknown"] == 20


def test_of_many_hosts_only_their_attributes_are_compared() -> None:
    cells = [(i, 1, f"h{i % 13:02}", 5 + i % 7) for i in range(520)]
    hosts = known(**{f"h{i:02}": f"zone={'ab'[i % 2]}" for i in range(13)})
    (endpoint,) = shown(cells, hosts)["endpoints"]
    assert [a["attribute"] for a in endpoint["attributes"]] == ["zone"]


def test_values_say_on_how_many_hosts_they_were_seen() -> None:
    cells = [(i, 1, f"h{i % 3}", 5 + i % 7) for i in range(75)]
    hosts = known(h0="zone=a", h1="zone=a", h2="zone=b")
    zone = shown(cells, hosts)["endpoints"][0]["attributes"][1]
    assert [(v["value"], v["n"], v["hosts"]) for v in zone["values"]] == [
        ("a", 50, 2),
        ("b", 25, 1),
    ]


def test_endpoints_come_by_time_of_all_traces_and_at_most_eight() -> None:
    names = [("shop", "buy"), *(("svc", f"op{i}") for i in range(1, 11))]
    tree = tree_of(*names)
    cells = [(i, row, f"h{i % 2}", row) for i in range(40) for row in range(11)]
    kept = kept_of(cells)
    data = violins_data(kept, tree, host_values(known(), kept.hosts))
    assert [e["operation"] for e in data["endpoints"]] == [f"op{i}" for i in range(10, 2, -1)]
    assert data["tests"] == 8


def test_the_comparison_least_likely_to_be_chance_is_shown_first() -> None:
    slow = [(i, 0, f"h{i % 2}", 1_000 + i) for i in range(40)]
    cells = [cell for pair in zip(slow, by_zone(300, 100), strict=True) for cell in pair]
    data = shown(cells, known(h1="zone=a", h2="zone=b"))
    assert [e["operation"] for e in data["endpoints"]] == ["buy", "read"]
    assert data["chosen"] == [1, 0]


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        pytest.param([], "No trace of this endpoint is kept whole", id="no traces"),
        pytest.param([(0, 1, "", 5)], "do not say which hosts", id="hosts unknown"),
        pytest.param([(0, 1, "h", 5), (1, 1, "h", 5)], "Nothing to compare", id="one host"),
    ],
)
def test_without_anything_to_compare_it_says_why(cells: Observed, why: str) -> None:
    data = shown(cells, known())
    assert data["endpoints"] == []
    assert why in data["empty"]
