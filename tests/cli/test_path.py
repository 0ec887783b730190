"""`crisp path`: one trace in the terminal and for scripts."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Crisp
from tests.conftest import Golden
from tests.documents import Json, lines, span, trace

KEYS = {
    "trace_id", "root_span_id", "endpoint", "policy", "latency_us", "segments", "call_paths",
    "ledger",
}  # fmt: skip


def order() -> Json:
    """An order: a cart asked twice, a payment that ends late, a mail nobody waits for."""
    made = trace("order-1")
    made["spans"] = [
        span("root", 0, 10_000, name="POST /order", trace_id="order-1"),
        span("cart1", 500, 2_000, parent="root", name="read", process="p2", trace_id="order-1"),
        span("cart2", 2_000, 4_000, parent="root", name="read", process="p2", trace_id="order-1"),
        span("pay", 4_500, 10_250, parent="root", name="pay", process="p3", trace_id="order-1"),
        span("bank", 5_000, 9_000, parent="pay", name="charge <b>", process="p3"),
        span("mail", 4_600, 40_000, parent="root", name="send", process="p2", trace_id="order-1"),
    ]  # fmt: skip
    made["spans"][-2]["references"][0]["traceID"] = "order-1"
    made["spans"][-1]["references"][0]["refType"] = "FOLLOWS_FROM"
    made["processes"]["p3"] = {"serviceName": "till\x1b[31m", "tags": []}
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "order.json"
    path.write_bytes(lines([order()]))
    return path


def test_a_trace_is_printed_as_a_tree_and_in_time(
    crisp: Crisp, source: Path, golden: Golden
) -> None:
    result = crisp("path", source)
    assert (result.code, result.err) == (0, "")
    golden.check("order.txt", result.out)


def test_a_trace_as_json_is_one_object_of_the_promised_shape(
    crisp: Crisp, source: Path, golden: Golden
) -> None:
    result = crisp("path", source, "--json")
    assert result.out.count("\n") == 1
    found = result.json
    assert set(found) == KEYS
    assert all(
        set(segment) == {"span_id", "service", "operation", "start_us", "end_us"}
        for segment in found["segments"]
    )
    assert all(
        set(row) == {"path", "spans", "exclusive_us", "inclusive_us"} for row in found["call_paths"]
    )
    golden.check("order.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def check(found: dict[str, Any]) -> None:
    """Segments tile the root, and call paths sum up to it."""
    segments = found["segments"]
    assert sum(s["end_us"] - s["start_us"] for s in segments) == found["latency_us"]
    assert all(s["start_us"] < s["end_us"] for s in segments)
    assert all(a["end_us"] == b["start_us"] for a, b in pairwise(segments))
    paths = found["call_paths"]
    assert sum(row["exclusive_us"] for row in paths) == found["latency_us"]
    assert paths[0]["path"] == [found["endpoint"]]
    assert paths[0]["inclusive_us"] == found["latency_us"]
    assert all(row["path"][0] == found["endpoint"] for row in paths)


@pytest.mark.parametrize("policy", ["crisp", "paper", "crisp-oss", "jaeger-ui"])
def test_every_policy_tiles_the_root(crisp: Crisp, source: Path, policy: str) -> None:
    found = crisp("path", source, "--json", "--policy", policy).json
    assert found["policy"] == policy
    check(found)


def test_every_analysis_root_is_one_object_a_line(crisp: Crisp, tmp_path: Path) -> None:
    two = trace("two")
    two["spans"] += [
        span("x", 0, 50, trace_id="two"),
        span("y", 0, 70, parent="gone", trace_id="two"),
    ]
    path = tmp_path / "two.json"
    path.write_bytes(lines([two, trace("one")]))
    found = [json.loads(line) for line in crisp("path", path, "--json").out.splitlines()]
    assert sorted((one["trace_id"], one["root_span_id"]) for one in found) == [
        ("one", "a"),
        ("two", "a"),
        ("two", "x"),
    ]
    for one in found:
        check(one)
    alone = crisp("path", path, "--json", "--trace-id", "one").json
    assert alone == next(one for one in found if one["trace_id"] == "one")
    roots = crisp("path", path, "--json", "--roots", "orphans", "--trace-id", "two").out
    assert {json.loads(line)["root_span_id"] for line in roots.splitlines()} == {"a", "x", "y"}
    inside = crisp("path", path, "--json", "--roots", "endpoint", "--service", "store").out
    assert [json.loads(line)["root_span_id"] for line in inside.splitlines()] == ["b", "b"]


def test_a_root_of_no_length_has_a_path_of_no_length(crisp: Crisp, tmp_path: Path) -> None:
    path = tmp_path / "instant.json"
    path.write_bytes(lines([{"traceID": "t", "spans": [span("a", 5, 5, trace_id="t")]}]))
    found = crisp("path", path, "--json").json
    assert (found["latency_us"], found["segments"]) == (0, [])
    assert found["endpoint"] == "(unknown)::op"
    assert crisp("path", path).code == 0


def test_good_traces_are_printed_beside_bad_ones(crisp: Crisp, tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_bytes(b"{broken\n" + lines([trace("good"), {"spans": []}]))
    assert crisp("path", path, "--json").json["trace_id"] == "good"


@pytest.mark.parametrize("name", ["a\0b", "\u202eabc", "[bold]x[/bold]", "a\nb", "<script>", "é"])
def test_odd_names_do_not_move_the_cursor(crisp: Crisp, tmp_path: Path, name: str) -> None:
    odd = trace("odd")
    odd["spans"][0]["operationName"] = name
    path = tmp_path / "odd.json"
    path.write_bytes(lines([odd]))
    result = crisp("path", path)
    assert result.code == 0
    hidden = {c for c in result.out if (ord(c) < 32 and c != "\n") or c in "\u202e\u200f\x7f"}
    assert hidden == set()
    assert crisp("path", path, "--json").json["endpoint"] == f"shop::{name}"
