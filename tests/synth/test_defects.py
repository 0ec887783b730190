from __future__ import annotations

import json
from collections import Counter
from datetime import date
from functools import lru_cache
from typing import Any

import pytest

from crisp.synth import SynthOptions, generate, shapes

OPTIONS = SynthOptions(day=date(2026, 3, 9), traces=2000, spans=24, shape="flat", seed=11)


@lru_cache(maxsize=2)
def _traces(clean: bool) -> list[Any]:
    options = SynthOptions(
        day=OPTIONS.day, traces=OPTIONS.traces, spans=24, shape="flat", seed=11, clean=clean
    )
    return [json.loads(line) for line in generate(options)]


def _parents(span: Any) -> list[str]:
    references = span.get("references") or []
    return [r["spanID"] for r in references if r["refType"] == "CHILD_OF"]


def _share(has: Any) -> float:
    traces = _traces(False)
    return sum(1 for trace in traces if has(trace["spans"])) / len(traces)


def _dangles(spans: Any) -> bool:
    known = {span["spanID"] for span in spans}
    return any(parent not in known for span in spans for parent in _parents(span))


@pytest.mark.parametrize(
    ("published", "has"),
    [
        pytest.param(
            shapes.UBER_MULTI_ROOT,
            lambda spans: sum(not span.get("references") for span in spans) != 1,
            id="root count other than one",
        ),
        pytest.param(shapes.UBER_DANGLING, _dangles, id="missing parent"),
        pytest.param(
            shapes.UBER_SECOND_PARENT,
            lambda spans: any(len(set(_parents(span))) > 1 for span in spans),
            id="second parent",
        ),
        pytest.param(
            shapes.UBER_REPEATED_PARENT,
            lambda spans: any(len(_parents(span)) > len(set(_parents(span))) for span in spans),
            id="repeated parent",
        ),
        pytest.param(
            shapes.UBER_DUPLICATE_ID,
            lambda spans: len({span["spanID"] for span in spans}) < len(spans),
            id="duplicate id",
        ),
    ],
)
def test_defects_are_as_frequent_as_published(published: float, has: Any) -> None:
    sigma = (published * (1 - published) / OPTIONS.traces) ** 0.5
    assert _share(has) == pytest.approx(published, abs=4 * sigma + 0.03 * published)


def test_multi_root_traces_have_five_roots_in_the_middle_unless_too_small() -> None:
    roots = [sum(not s.get("references") for s in t["spans"]) for t in _traces(False)]
    many = sorted(count for count in roots if count > 1)
    assert many[len(many) // 2] in {4, 5}


def test_a_clean_trace_is_one_strict_tree_with_one_clock() -> None:
    for trace in _traces(True):
        spans = {span["spanID"]: span for span in trace["spans"]}
        assert len(spans) == len(trace["spans"])
        assert sum(not span["references"] for span in spans.values()) == 1
        for span in spans.values():
            assert span["tags"]
            assert span["logs"]
            assert "error" not in [tag["key"] for tag in span["tags"]]
            for reference in span["references"]:
                assert reference["refType"] == "CHILD_OF"
                parent = spans[reference["spanID"]]
                end = span["startTime"] + span["duration"]
                assert parent["startTime"] <= span["startTime"]
                assert end <= parent["startTime"] + parent["duration"]


def test_hosts_have_constant_offsets_that_move_children_out_of_their_parents() -> None:
    early = 0
    for trace in _traces(False):
        spans = {span["spanID"]: span for span in trace["spans"]}
        for span in spans.values():
            for parent in _parents(span):
                if parent in spans and span["startTime"] < spans[parent]["startTime"]:
                    early += 1
    assert 0.01 < early / sum(len(trace["spans"]) for trace in _traces(False)) < 0.3


def test_fields_are_null_or_missing_and_numbers_too_large_for_a_double_are_strings() -> None:
    seen: Counter[str] = Counter()
    for trace in _traces(False):
        for span in trace["spans"]:
            for name in ("references", "tags", "logs", "warnings"):
                seen[f"{name} missing"] += name not in span
                seen[f"{name} null"] += name in span and span[name] is None
            for tag in span.get("tags") or []:
                if tag["key"] == "entity.version":
                    assert tag["type"] == "int64"
                    assert int(tag["value"]) > 2**53
                    assert isinstance(tag["value"], str)
                    seen["big"] += 1
                seen["error"] += tag["key"] == "error"
    assert all(seen[f"{name} {how}"] for name in ("tags", "logs") for how in ("missing", "null"))
    assert seen["references null"]
    assert seen["references missing"]
    assert seen["big"]
    assert seen["error"]


def test_asynchronous_work_of_both_kinds_outlives_some_roots() -> None:
    late: Counter[str] = Counter()
    for trace in _traces(False):
        ends = {s["spanID"]: s["startTime"] + s["duration"] for s in trace["spans"]}
        root = next((s for s in trace["spans"] if not s.get("references")), None)
        for span in trace["spans"]:
            if root and ends[span["spanID"]] > ends[root["spanID"]]:
                for reference in span.get("references") or []:
                    late[reference["refType"]] += 1
                for tag in span.get("tags") or []:
                    late[str(tag["value"])] += tag["key"] == "span.kind"
    assert late["FOLLOWS_FROM"]
    assert late["consumer"]
