"""Runs that once gave a false number, lost a trace, or failed too late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crisp import store
from tests.cli.conftest import Crisp
from tests.documents import DAY, SECOND_DAY, Json, lines, span, trace


def _rows(out: Path, day: str, table: str) -> list[dict[str, Any]]:
    files = store.files(out / "lake", day, table)
    rows: list[dict[str, Any]] = pq.ParquetFile(files[0]).read().to_pylist()
    return rows


@pytest.mark.parametrize("day", ["2023-11-5", "20231115", "2023-W46-3", " 2023-11-15"])
def test_a_day_written_otherwise_is_refused_before_anything_is_read(
    crisp: Crisp, source: Path, out: Path, day: str
) -> None:
    result = crisp("run", source, "-o", out, "--date", day)
    assert (result.code, out.exists()) == (2, False)
    assert "a day looks like" in result.err


def test_a_span_of_time_beyond_the_calendar_is_refused(
    crisp: Crisp, source: Path, out: Path
) -> None:
    result = crisp("run", source, "-o", out, "--since", "999999d")
    assert (result.code, result.err.count("\n")) == (2, 1)


def test_a_wrong_link_template_is_refused_before_anything_is_read(
    crisp: Crisp, source: Path, out: Path
) -> None:
    result = crisp("run", source, "-o", out, "--jaeger-url", "localhost/{trace_id}")
    assert (result.code, (out / "lake").exists()) == (2, False)


def test_an_output_of_no_known_kind_is_refused(
    crisp: Crisp, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = crisp("run", source, "-o", "nosuch://bucket/prefix")
    assert (result.code, [path.name for path in tmp_path.iterdir()]) == (2, [source.name])
    assert "nosuch" in result.err


def test_a_file_url_is_the_folder_it_names(crisp: Crisp, source: Path, tmp_path: Path) -> None:
    result = crisp("run", source, "-o", f"file://{tmp_path}/made", "--json")
    assert result.json["site"] == str(tmp_path / "made" / "site" / "index.html")
    assert (tmp_path / "made" / "site" / "index.html").is_file()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--engine", "flink"), "engine must be one of duckdb, spark"),
        (("--master", "local[2]"), "--master and --spark-conf need --engine spark"),
        (("--spark-conf", "spark.executor.memory=1g"), "need --engine spark"),
        (("--engine", "spark", "--spark-conf", "spark.x"), "looks like KEY=VALUE"),
        (("--engine", "spark", "--workers", "2"), "are DuckDB's"),
        (("--engine", "spark", "--memory-limit", "2GB"), "are DuckDB's"),
    ],
)
def test_engine_settings_without_effect_are_refused(
    crisp: Crisp, source: Path, out: Path, given: tuple[str, ...], told: str
) -> None:
    result = crisp("analyse", source, "-o", out, *given)
    assert (result.code, out.exists()) == (2, False)
    assert told in result.err


def test_a_run_merges_the_days_it_analysed_and_none_between(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines([trace("t1", start=0, latency=10)]))
    crisp("run", tmp_path / "a.jsonl", "-o", out)
    early = trace("t2", start=0, latency=10, day=DAY - 5 * (SECOND_DAY - DAY))
    late = trace("t3", start=0, latency=10, day=SECOND_DAY)
    (tmp_path / "b.jsonl").write_bytes(lines([early, late]))
    crisp("run", tmp_path / "b.jsonl", "-o", out)
    assert store.run_record(out / "marts", "2023-11-16")["days"] == ["2023-11-10", "2023-11-16"]


def test_what_belongs_to_no_day_is_counted_once_over_the_days(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    given = [
        trace("t1", start=0, latency=10),
        trace("t2", start=0, latency=10, day=SECOND_DAY),
        trace("t3", start=0, latency=10, day=SECOND_DAY + 5 * (SECOND_DAY - DAY)),
    ]
    (tmp_path / "a.jsonl").write_bytes(lines(given))
    crisp("analyse", tmp_path / "a.jsonl", "-o", out, "--end", "2023-11-17")
    records = [store.run_record(out / "lake", day) for day in ("2023-11-15", "2023-11-16")]
    assert [record["filtered"] for record in records] == [0, 1]


def test_traces_without_an_id_are_told_apart_by_their_spans(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    one, other = (_nameless(start) for start in (0, 500))
    (tmp_path / "a.jsonl").write_bytes(lines([one, other, one]))
    summary = crisp("analyse", tmp_path / "a.jsonl", "-o", out, "--json").json
    assert (summary["analysed"], summary["reasons"]) == (2, {"duplicate-trace": 1})


def _nameless(start: int) -> Json:
    alone = span("1", start, start + 10, trace_id="")
    return {"spans": [alone], "processes": {"p1": {"serviceName": "a", "tags": []}}}


def test_a_tree_below_the_root_stands_for_as_many_requests_as_its_trace(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    sampled: list[Json] = [
        {"key": "sampler.type", "type": "string", "value": "probabilistic"},
        {"key": "sampler.param", "type": "float64", "value": 0.01},
    ]
    given = {
        "traceID": "t1",
        "spans": [
            span("1", 0, 100, tags=sampled),
            span("2", 10, 50, parent="1", name="inner"),
        ],
        "processes": {"p1": {"serviceName": "a", "tags": []}},
    }
    (tmp_path / "a.json").write_text(json.dumps(given))
    crisp("analyse", tmp_path / "a.json", "-o", out, "--roots", "endpoint", "--operation", "inner")
    assert [row["weight"] for row in _rows(out, "2023-11-15", "traces")] == [100.0]


def test_a_host_is_filed_under_the_days_it_was_seen_on(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    given = [_on_host("t1", "h1", DAY), _on_host("t2", "h2", SECOND_DAY)]
    (tmp_path / "a.jsonl").write_bytes(lines(given))
    crisp("analyse", tmp_path / "a.jsonl", "-o", out)
    days = ("2023-11-15", "2023-11-16")
    hosts = [{row["host"] for row in _rows(out, day, "hosts")} for day in days]
    assert hosts == [{"h1"}, {"h2"}]


def _on_host(trace_id: str, host: str, day: int) -> Json:
    found = trace(trace_id, start=0, latency=10, day=day)
    tags = [{"key": "hostname", "value": host}, {"key": "zone", "value": "z"}]
    found["processes"] = {
        name: process | {"tags": tags} for name, process in found["processes"].items()
    }
    return found


def test_a_day_replaced_by_a_selection_is_warned_about(
    crisp: Crisp, source: Path, out: Path
) -> None:
    crisp("analyse", source, "-o", out)
    result = crisp("analyse", source, "-o", out, "--service", "shop")
    assert "warning: 2023-11-15" in result.err
    assert crisp("analyse", source, "-o", out).err == ""
