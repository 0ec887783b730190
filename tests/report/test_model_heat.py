"""The numbers of the heat map: by hand, by a slow definition, and as the lake has them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.options import AggregateOptions
from crisp.pipeline.places import places
from crisp.report import model_heat
from crisp.report.kept import Kept, kept_tables
from crisp.report.model_endpoint import Band
from crisp.report.model_fleet import names_of
from crisp.report.model_heat import heat_cells, heat_data, weighted_percentiles
from crisp.report.paths import CallPaths, Tree
from tests.drawing import jaeger
from tests.running import aggregated, analysed, rows, table

NAMES = [("cart", "get"), ("db", "read"), ("shop", "buy")]
CART, DB, SHOP = range(3)
# shop::buy ─┬─ cart::get ─── db::read ─── cart::get     rows 0, 1, 2, 3
#            └─ db::read                                 row 4
PARENT, NAME = [-1, 0, 1, 2, 0], [SHOP, CART, DB, CART, DB]


def tree(parent: list[int] | None = None, name: list[int] | None = None) -> Tree:
    rows = np.arange(len(PARENT if parent is None else parent))
    return Tree(
        path_ids=rows.tolist(),
        parent=PARENT if parent is None else parent,
        name=NAME if name is None else name,
        names=NAMES,
        depth=4,
        sorted_ids=rows,
        sorted_rows=rows,
    )


def kept(latency: list[int], weight: list[float], cells: list[tuple[int, int, int, int]]) -> Kept:
    """Traces of band 7; cells are (trace, path, exclusive, inclusive)."""
    columns = np.array(cells, dtype=np.int64).reshape(-1, 4).T
    n = len(latency)
    return Kept(
        trace_id=[f"t{i}" for i in range(n)],
        span_id=[f"s{i}" for i in range(n)],
        start_us=np.arange(n, dtype=np.int64),
        latency_us=np.array(latency, dtype=np.int64),
        band=np.full(n, 7, dtype=np.int64),
        weight=np.array(weight, dtype=np.float64),
        error=[False] * n,
        version=[""] * n,
        trace=columns[0],
        path=columns[1],
        host=np.zeros(len(cells), dtype=np.int64),
        exclusive_us=columns[2],
        inclusive_us=columns[3],
        hosts=[""],
    )


def bands(*traces: int) -> tuple[Band, ...]:
    """Bands numbered 3, 7, … of so many traces."""
    nothing = {"lo_percentile": 0, "hi_percentile": 100, "lo_us": 0, "hi_us": 0, "latency_us": 0}
    return tuple(Band(band=3 + 4 * i, traces=n, **nothing) for i, n in enumerate(traces))


TWO = kept(
    [100, 60],
    [1, 3],
    [
        *((0, 0, 10, 100), (0, 1, 5, 60), (0, 2, 15, 55), (0, 3, 40, 40), (0, 4, 30, 30)),
        *((1, 0, 20, 60), (1, 1, 40, 40)),
    ],
)
"""Trace 0 has all five paths, trace 1 two of them and stands for three traces."""


def test_paths_to_one_endpoint_are_one_cell_and_inclusive_counts_the_outermost() -> None:
    """cart::get below itself adds to exclusive time alone; db::read is called twice, side by side.

    In trace 0 cart holds 5 + 40 itself and 60 in all; db holds 15 + 30 and 55 + 30.
    """
    data = heat_data(TWO, tree(), bands(0, 4))
    assert data["rows"]["name"] == [CART, SHOP, DB]  # 45 + 3·40, 10 + 3·20, 45
    assert data["cells"] == {
        "first": [0, 3, 5],
        "row": [0, 2, 1, 0, 1],  # by name in a trace: cart, db, shop
        "exclusive_us": [45, 45, 10, 40, 20],
        "inclusive_us": [60, 85, 100, 40, 60],
    }
    assert data["traces"] == {
        "trace_id": ["t0", "t1"],
        "span_id": ["s0", "s1"],
        "start_us": [0, 1],
        "latency_us": [100, 60],
        "band": [1, 1],
        "error": [False, False],
    }
    assert (data["total"], data["left_out"], data["missing"]) == (4, 0, 18)


def test_percentiles_speak_of_all_traces() -> None:
    """The four traces hold, in cart 40 40 40 45, in shop 10 20 20 20, in db 0 0 0 45."""
    found = heat_data(TWO, tree(), bands(0, 4))["rows"]
    assert found["exclusive_p50_us"] == [40, 20, 0]
    assert found["exclusive_p95_us"] == [44, 20, 38]  # 40 + 0.85 · 5, and 0.85 · 45
    assert found["inclusive_p50_us"] == [40, 60, 0]
    assert found["inclusive_p99_us"] == [59, 99, 82]  # 40 + 0.97 · 20, 60 + 0.97 · 40, 0.97 · 85


def test_chains_come_by_their_share_of_all_exclusive_time() -> None:
    """Of cart's 45 + 120, path 1 has 5 + 120 and path 3 has 40; of db's 45, path 4 has 30."""
    found = heat_data(TWO, tree(), bands(0, 4))["rows"]
    assert found["chains"] == [[1, 3], [0], [4, 2]]
    assert found["shares"] == [[0.757576, 0.242424], [1], [0.666667, 0.333333]]


def test_an_endpoint_that_only_waits_has_chains_by_inclusive_time_and_no_shares() -> None:
    waiting = kept([50], [1], [(0, 0, 0, 50), (0, 1, 20, 20), (0, 2, 0, 9), (0, 4, 0, 30)])
    found = heat_data(waiting, tree(), bands(0, 1))["rows"]
    assert found["name"] == [CART, DB, SHOP]  # those of nothing by name
    assert found["chains"][1:] == [[4, 2], [0]]
    assert found["shares"][1:] == [[None, None], [None]]


def test_five_chains_are_named() -> None:
    wide = tree([-1, *[0] * 7], [SHOP, *[DB] * 7])
    held = kept([100], [1], [(0, path, 10 * path, 10 * path) for path in range(1, 8)])
    assert heat_data(held, wide, bands(0, 1))["rows"]["chains"] == [[7, 6, 5, 4, 3]]


def test_rows_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_heat, "ROWS", 1)
    data = heat_data(TWO, tree(), bands(0, 4))
    assert (data["rows"]["name"], data["left_out"]) == ([CART], 2)
    assert data["cells"]["row"] == [0, 0]
    assert data["cells"]["exclusive_us"] == [45, 40]


def test_an_endpoint_without_traces_has_no_rows() -> None:
    data = heat_data(kept([], [], []), tree([], []), ())
    assert (data["rows"]["name"], data["cells"]["first"], data["missing"]) == ([], [0], 20)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=30
    ),
    st.integers(0, 5),
)
def test_percentiles_are_numpys_of_the_repeated_values(
    cells: list[tuple[int, int, int]], absent: int
) -> None:
    """Rows hold at most all traces: the others are 0."""
    row, value, weight = np.array(cells, dtype=np.int64).T
    repeated = [np.repeat(value[row == r], weight[row == r]) for r in range(3)]
    total = max(len(values) for values in repeated) + absent
    q = (0, 5, 50, 95, 99, 100)
    expected = [
        np.percentile(np.concatenate([values, np.zeros(total - len(values))]), q)
        for values in repeated
    ]
    found = weighted_percentiles(row, value, weight.astype(float), rows=3, total=total, q=q)
    assert found == pytest.approx(np.array(expected))


def test_weights_that_are_quotients_sum_to_whole_places() -> None:
    """Ten traces, three kept: 10/3 each. In ascending order place 3 is still the 1, place 6 the 2.

    P50 is at place 4.5, both neighbours the 2; P25 at 2.25; P35 at 3.15, so 1 + 0.15.
    """
    found = weighted_percentiles(
        np.zeros(3, dtype=np.int64),
        np.array([1, 2, 3]),
        np.full(3, 10 / 3),
        rows=1,
        total=10 / 3 * 3,
        q=(25, 35, 50, 100),
    )
    assert found[0].tolist() == pytest.approx([1, 1.15, 2, 3])


RECURSION = """
A          0 100 op=a
  B       10  90 op=b
    C     20  80 op=c host=h1
      B2  30  60 op=b
    C2    82  88 op=c host=h2
"""


def test_cells_are_what_the_lake_says_of_endpoints(tmp_path: Path) -> None:
    """Over recorded traces of the shop, and one in which an endpoint calls itself."""
    drawn = jaeger(RECURSION)
    for process in drawn["data"][0]["processes"].values():
        process["serviceName"] = "x"  # so that B and B2 are one endpoint, C and C2 too
    (tmp_path / "drawn.json").write_text(json.dumps(drawn))
    recorded = Path(__file__).parents[2] / "examples" / "traces" / "retry-storm.jsonl.zst"
    analysed([tmp_path / "drawn.json", recorded], tmp_path)
    marts = aggregated(tmp_path, options=AggregateOptions(kept=40))
    names = names_of(table(marts, "endpoint_names"))
    paths = CallPaths(table(marts, "call_paths"), names)
    tables = kept_tables(table(marts, "kept"), table(marts, "kept_paths"))
    lake = {t["trace_id"]: t for t in rows(places(tmp_path).lake, "traces")}
    recursive = 0
    for endpoint in {row["endpoint_id"] for row in rows(marts, "fleet")}:
        cct = [row for row in rows(marts, "cct") if row["endpoint_id"] == endpoint]
        counted: dict[int, int] = {}
        for row in rows(marts, "bands"):
            if row["endpoint_id"] == endpoint:
                counted[row["band"]] = row["traces"]
        of = paths.tree(np.array([r["path_id"] for r in cct]), np.zeros(len(cct), np.int64))
        traces = tables.of(endpoint, of, counted)
        cells = heat_cells(traces, of)
        found = {
            (traces.trace_id[t], of.names[n], e, i)
            for t, n, e, i in zip(
                cells.trace, cells.name, cells.exclusive_us, cells.inclusive_us, strict=True
            )
        }
        expected = {
            (trace_id, names[use["endpoint_id"]], use["exclusive_us"], use["inclusive_us"])
            for trace_id in traces.trace_id
            for use in lake[trace_id]["endpoints"]
            if use["inclusive_us"]
        }
        assert found == expected
        recursive += len(set(of.name)) < len(of.name)
    assert recursive
