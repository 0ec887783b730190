"""Vectors are what the lake says, on both engines, whole or in shares."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crisp import arrow, store
from crisp.anomaly.vectors import Vectors
from crisp.errors import LakeError
from crisp.options import EngineOptions, PathOptions
from crisp.pipeline.cells import EXCLUDED, endpoint_shards, read_parents, read_vectors
from crisp.pipeline.engines import engine
from crisp.pipeline.places import places
from crisp.synth import SynthOptions, write
from tests.documents import lines
from tests.drawing import jaeger
from tests.engine.cluster import Cluster
from tests.pipeline import slow_cells
from tests.pipeline.slow_cells import Trees
from tests.running import analysed, rows

DUCKDB = EngineOptions(workers=1)


def made(out: Path, options: EngineOptions = DUCKDB, **about: Any) -> list[Vectors]:
    """The vectors of all endpoints, read shard by shard; each shard holds its promise."""
    lake = places(out).lake
    with (
        store.reading(lake, store.days(lake)) as versions,
        store.staging(out / "vectors") as folder,
        engine(out, options) as running,
    ):
        shards = endpoint_shards(running, lake, versions, folder, **{"most": 10_000, **about})
        found = []
        for shard in shards:
            part = read_vectors(shard)
            assert sum(len(each) for each in part) == shard.traces
            assert sum(len(each.path_id) for each in part) == shard.cells
            found += part
        return found


def trees(found: list[Vectors]) -> Trees:
    """The same as the slow definition writes it."""
    by: Trees = defaultdict(dict)
    for each in found:
        for row, tree in enumerate(each.tree_id.tolist()):
            at = slice(each.edges[row], each.edges[row + 1])
            paths, times = each.path_id[at].tolist(), each.time_us[at].tolist()
            assert paths == sorted(set(paths))
            cells = zip(times, each.status[at].tolist(), strict=True)
            by[each.endpoint_id][tree] = dict(zip(paths, cells, strict=True))
    return dict(by)


def lake_rows(out: Path, name: str) -> list[dict[str, Any]]:
    return rows(places(out).lake, name)


def callers(out: Path) -> dict[int, int]:
    return {row["path_id"]: row["parent_id"] for row in lake_rows(out, "call_paths")}


def services(out: Path) -> dict[int, str]:
    """Service of each call path."""
    names = {row["endpoint_id"]: row["service"] for row in lake_rows(out, "endpoint_names")}
    return {row["path_id"]: names[row["endpoint_id"]] for row in lake_rows(out, "call_paths")}


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of two synthetic days with all their defects, all call paths kept."""
    out = tmp_path_factory.mktemp("two-days")
    for number in (1, 2):
        day = date(2026, 11, number)
        options = SynthOptions(day=day, traces=400, endpoints=4, spans=25, draw=number)
        write(options, out / f"in-{number}", 1)
    sources = sorted(out.glob("in-*"))
    analysed(sources, out, path=PathOptions(all_paths=True))
    return out


def test_vectors_are_the_critical_paths_of_the_lake(two_days: Path) -> None:
    found = made(two_days)
    traces = lake_rows(two_days, "traces")
    assert trees(found) == slow_cells.cells(traces, callers(two_days))
    statuses = {status for each in found for status in each.status.tolist()}
    assert statuses == {0, 1, 2}
    facts = {
        (row["tree_id"], row["start_us"], row["latency_us"], row["trace_id"], row["error"])
        for row in traces
    }
    assert facts == {
        fact
        for each in found
        for fact in zip(
            each.tree_id.tolist(),
            each.start_us.tolist(),
            each.latency_us.tolist(),
            each.trace_id,
            each.failed.tolist(),
            strict=True,
        )
    }
    for each in found:
        assert sorted(each.start_us.tolist()) == each.start_us.tolist()


def test_vectors_of_all_paths_are_those_of_the_lake(two_days: Path) -> None:
    traces = lake_rows(two_days, "traces")
    expected = slow_cells.cells(traces, callers(two_days), stv=True)
    assert trees(made(two_days, features="stv")) == expected


def test_time_of_a_client_counts_for_the_service_it_calls(two_days: Path) -> None:
    above, service = callers(two_days), services(two_days)
    plain = slow_cells.cells(lake_rows(two_days, "traces"), above)
    expected = slow_cells.charged(plain, above, service)
    assert trees(made(two_days, charge_callee=True)) == expected != plain


def test_client_side_of_a_drawn_call_is_charged_and_work_is_not(tmp_path: Path) -> None:
    """shop's client span waits 5 ms for the network and is charged to stock; what shop does
    itself, and a span of its own that calls nobody, is not."""
    drawing = """
    shop 0 100 server op=buy
      shop 10 60 client op=call id=c
        stock 12 57 server op=take id=s
      shop 70 90 internal op=write id=w
    """
    (tmp_path / "in.json").write_bytes(lines([jaeger(drawing)["data"][0]]))
    analysed([tmp_path / "in.json"], tmp_path)
    [one] = made(tmp_path, charge_callee=True)
    names = {row["endpoint_id"]: row["operation"] for row in lake_rows(tmp_path, "endpoint_names")}
    ends = {row["path_id"]: names[row["endpoint_id"]] for row in lake_rows(tmp_path, "call_paths")}
    cells = zip(one.path_id.tolist(), one.time_us.tolist(), strict=True)
    assert {ends[path]: us for path, us in cells} == {
        "buy": 30_000,
        "take": 50_000,
        "write": 20_000,
    }


def test_shares_are_a_sample_and_the_rest_and_no_trace_is_in_two(two_days: Path) -> None:
    whole = {each.endpoint_id: set(each.tree_id.tolist()) for each in made(two_days)}
    parts: dict[int, list[set[int]]] = defaultdict(list)
    for each in made(two_days, most=100):
        parts[each.endpoint_id].append(set(each.tree_id.tolist()))
    assert max(map(len, parts.values())) > 2
    for endpoint, shares in parts.items():
        assert set.union(*shares) == whole[endpoint]
        assert sum(map(len, shares)) == len(whole[endpoint])
        assert [len(share) for share in shares[:-1]] == [100] * (len(shares) - 1)
        assert shares[0] == set(sorted(whole[endpoint])[:100])


def test_days_of_an_endpoint_are_left_out_for_it_alone(two_days: Path) -> None:
    found = made(two_days)
    largest = max(found, key=len)
    midnight = int(largest.start_us.max()) // 86_400_000_000 * 86_400_000_000
    days = {
        "endpoint_id": [largest.endpoint_id],
        "start_us": [midnight],
        "end_us": [midnight + 86_400_000_000],
    }
    excluded = pa.Table.from_batches([arrow.batch(days, EXCLUDED)])
    kept = {each.endpoint_id: each for each in made(two_days, excluded=excluded)}
    for each in found:
        expected = each.start_us[each.start_us < midnight] if each is largest else each.start_us
        assert kept[each.endpoint_id].start_us.tolist() == expected.tolist()


def test_lake_of_critical_paths_cannot_give_all_paths(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(lines([jaeger("shop 0 100")["data"][0]]))
    analysed([tmp_path / "in.json"], tmp_path)
    with pytest.raises(LakeError, match="--all-paths for 2023-11-14 again"):
        made(tmp_path, features="stv")


def test_callers_are_those_of_the_lake(two_days: Path) -> None:
    lake = places(two_days).lake
    with (
        store.reading(lake, store.days(lake)) as versions,
        store.staging(two_days / "vectors") as folder,
        engine(two_days, DUCKDB) as running,
    ):
        shard = endpoint_shards(running, lake, versions, folder, most=100)[0]
        paths, parents = read_parents(shard)
    assert paths.tolist() == sorted(callers(two_days))
    assert dict(zip(paths.tolist(), parents.tolist(), strict=True)) == callers(two_days)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("charge_callee", [False, True])
def test_spark_makes_the_same_vectors(two_days: Path, driver: Cluster, charge_callee: bool) -> None:
    about = {"most": 100, "charge_callee": charge_callee}
    ours = made(two_days, DUCKDB, **about)
    theirs = made(two_days, EngineOptions(name="spark"), **about)
    assert [each.endpoint_id for each in theirs] == [each.endpoint_id for each in ours]
    assert trees(theirs) == trees(ours)
