from __future__ import annotations

import json
from datetime import date
from itertools import pairwise
from statistics import mean
from typing import Any

import pytest

from crisp.errors import ConfigError
from crisp.synth import SynthOptions, generate, parse_fault
from crisp.synth.plan import plan
from crisp.synth.writer import truth


def _options(fault: str, **more: Any) -> SynthOptions:
    settings: dict[str, Any] = {"traces": 300, "endpoints": 3, "spans": 60, "seed": 4} | more
    return SynthOptions(
        day=date(2026, 3, 9), faults=(parse_fault(fault),), clean=True, shape="flat", **settings
    )


def _at(trace: Any, path: list[str]) -> list[Any]:
    """The spans of a trace whose call path is ``path``, with their children as ``below``."""
    spans = {span["spanID"]: span | {"below": []} for span in trace["spans"]}
    parent = {}
    for span in spans.values():
        for reference in span["references"]:
            parent[span["spanID"]] = reference["spanID"]
            spans[reference["spanID"]]["below"].append(span)

    def names(span_id: str | None) -> list[str]:
        if span_id is None:
            return []
        service = trace["processes"][spans[span_id]["processID"]]["serviceName"]
        return [*names(parent.get(span_id)), f"{service}::{spans[span_id]['operationName']}"]

    return [span for span_id, span in spans.items() if names(span_id) == path]


def _own_us(span: Any) -> int:
    """Time of a span that none of its children covers."""
    covered, until = 0, span["startTime"]
    for child in sorted(span["below"], key=lambda child: child["startTime"]):
        end = child["startTime"] + child["duration"]
        covered += max(0, end - max(until, child["startTime"]))
        until = max(until, end)
    return int(span["duration"] - covered)


def _days(options: SynthOptions) -> tuple[dict[str, Any], list[Any], list[Any], list[int]]:
    """The first fault's truth, the day with and without it, and the traces it changed."""
    planned = plan(options)
    fault = truth(planned)["faults"][0]
    without = SynthOptions(
        day=options.day,
        **{
            name: getattr(options, name)
            for name in ("traces", "endpoints", "spans", "seed", "shape", "clean")
        },
    )
    faulty = [json.loads(line) for line in generate(options)]
    plain = [json.loads(line) for line in generate(without)]
    changed = [k for k, (a, b) in enumerate(zip(faulty, plain, strict=True)) if a != b]
    return fault, faulty, plain, changed


def _assert_where(fault: dict[str, Any], faulty: list[Any], changed: list[int]) -> None:
    """The changed traces are just the last ones of the entry, as the truth says."""
    roots = [next(s for s in t["spans"] if not s["references"]) for t in faulty]
    entry = [k for k, trace in enumerate(faulty) if len(_at(trace, [fault["endpoint"]]))]
    assert entry[-fault["traces"] :] == changed
    assert faulty[changed[0]]["traceID"] == fault["first_trace"]
    assert faulty[changed[-1]]["traceID"] == fault["last_trace"]
    assert roots[changed[0] - 1]["startTime"] < fault["from_us"] <= roots[changed[0]]["startTime"]


def test_a_slow_path_takes_factor_times_its_own_work_in_the_last_traces() -> None:
    fault, faulty, plain, changed = _days(_options("slow:entry=1,factor=4,fraction=0.4"))
    _assert_where(fault, faulty, changed)
    (path,) = fault["paths"]
    ratios = [
        _own_us(slow) / _own_us(ever)
        for k in changed
        for slow, ever in zip(_at(faulty[k], path), _at(plain[k], path), strict=True)
    ]
    assert len(ratios) >= len(changed)
    assert mean(ratios) == pytest.approx(4, rel=0.05)


def test_a_slow_path_is_visible_in_the_latency_of_the_entry() -> None:
    fault, faulty, plain, changed = _days(_options("slow:entry=0,factor=5"))
    latency = [
        mean(_at(day[k], [fault["endpoint"]])[0]["duration"] for k in changed)
        for day in (faulty, plain)
    ]
    assert latency[0] > 1.15 * latency[1]


def test_serialised_calls_no_longer_overlap() -> None:
    fault, faulty, plain, changed = _days(_options("serialise:entry=0,fraction=0.5"))
    _assert_where(fault, faulty, changed)
    for day, overlaps in ((plain, True), (faulty, False)):
        trace = day[changed[-1]]
        calls = sorted(
            (span["startTime"], span["startTime"] + span["duration"])
            for path in fault["paths"]
            for span in _at(trace, path)
        )
        assert len(calls) >= 2
        assert overlaps == any(a[1] > b[0] for a, b in pairwise(calls))


def test_a_retry_storm_repeats_one_call_with_errors() -> None:
    fault, faulty, plain, changed = _days(_options("retry-storm:entry=2,attempts=5"))
    _assert_where(fault, faulty, changed)
    (path,) = fault["paths"]
    for k in changed[:20]:
        spans = _at(faulty[k], path)
        ever = _at(plain[k], path)
        wrong = [span for span in spans if any(tag["key"] == "error" for tag in span["tags"])]
        assert len(spans) % 5 == 0
        assert len(wrong) == len(spans) * 4 // 5
        assert len(ever) >= 1


def test_a_cold_cache_is_followed_by_a_read_every_time() -> None:
    fault, faulty, plain, changed = _days(_options("cold-cache:entry=0"))
    assert set(changed) <= {k for k in range(300) if _at(faulty[k], [fault["endpoint"]])}
    assert mean(len(faulty[k]["spans"]) for k in changed) > mean(
        len(plain[k]["spans"]) for k in changed
    )
    paths = [path for path in fault["paths"] if _at(faulty[changed[0]], path)]
    look_ups = [path for path in paths if path[-1].endswith("::GET")]
    assert look_ups
    for path in look_ups:
        beside = [other[-1] for other in paths if other[:-1] == path[:-1] and other != path]
        follows = {name.split("::")[1].split()[0] for name in beside}
        assert "SET" in follows
        assert follows & {"SELECT", "INSERT", "UPDATE"}  # what the database was asked


def test_two_faults_of_one_entry_do_not_change_where_the_other_is() -> None:
    one = _options("slow:entry=0,factor=9,fraction=0.2")
    both = SynthOptions(
        day=one.day,
        faults=(*one.faults, parse_fault("slow:entry=0,factor=2,fraction=0.6")),
        traces=300,
        endpoints=3,
        spans=60,
        seed=4,
        shape="flat",
        clean=True,
    )
    faults = truth(plan(both))["faults"]
    assert faults[0] == truth(plan(one))["faults"][0]
    assert faults[0]["paths"] == faults[1]["paths"]
    assert [len(versions) for versions in plan(both).programs] == [3, 1, 1]


def test_a_fault_without_a_place_says_which_entry_and_why() -> None:
    with pytest.raises(ConfigError, match=r"serialise: entry 0 .* 0 call paths"):
        plan(_options("serialise:entry=0", spans=3))
    with pytest.raises(ConfigError, match=r"slow: entry 0 .* pick=999"):
        plan(_options("slow:pick=999"))
    faults = tuple(parse_fault(f"slow:entry={entry}") for entry in range(3))
    day = date(2026, 3, 9)
    with pytest.raises(ConfigError, match="gets none of the 2 traces"):
        plan(SynthOptions(day=day, traces=2, endpoints=3, spans=30, faults=faults))
