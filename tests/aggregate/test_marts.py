"""Every mart is what its definition says, for any traces."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crisp.options import LARGEST_DURATION_US, LARGEST_TIME_US, AggregateOptions, PathOptions
from crisp.pipeline.places import places
from tests.aggregate.comparing import check_marts
from tests.documents import DAY, SECOND_DAY, Json, lines, span, trace, traces
from tests.running import aggregated, analysed, check_lake, rows

EDGES = [(0, 50, 90, 95, 99, 100), (0, 100), (0, 33.3, 66.6, 100), (0, 0.5, 99.999, 100)]
NAMES = ["a", "b", "c"]


@st.composite
def documents(draw: st.DrawFn) -> list[Json]:
    """Small traces of few endpoints, with ties, errors, weights and several days."""
    made = []
    for number in range(draw(st.integers(1, 12))):
        spans = []
        for k in range(draw(st.integers(1, 6))):
            begin = draw(st.integers(0, 30))
            tags: list[Json] = []
            if draw(st.integers(0, 4)) == 0:
                tags.append({"key": "error", "value": True})
            if k == 0 and draw(st.booleans()):
                tags.append({"key": "sampler.type", "value": "probabilistic"})
                probability = draw(
                    st.sampled_from([1, 0.5, 0.3, 0.001, 0, -1, 2, "0.1", "x", None])
                )
                tags.append({"key": "sampler.param", "value": probability})
            spans.append(
                span(
                    f"s{k}",
                    0 if k == 0 else begin,
                    draw(st.integers(0, 40)) if k == 0 else begin + draw(st.integers(0, 30)),
                    parent=f"s{draw(st.integers(0, k - 1))}" if k else "",
                    name=draw(st.sampled_from(NAMES)),
                    process=draw(st.sampled_from(["p1", "p2", "p3"])),
                    trace_id=f"t{number}",
                    tags=tags,
                )
            )
            spans[-1]["startTime"] += draw(st.sampled_from([0, SECOND_DAY - DAY])) if k == 0 else 0
        for one in spans[1:]:
            one["startTime"] += spans[0]["startTime"] - DAY
        host = draw(st.sampled_from(["h1", "h2", "h4"]))
        version = draw(st.sampled_from(["1", "2", ""]))
        told = draw(st.sampled_from(["version", "service.version", "zone"]))
        made.append(
            {
                "traceID": f"t{number}",
                "spans": spans,
                "processes": {
                    "p1": {
                        "serviceName": "x",
                        "tags": [
                            {"key": "hostname", "value": host},
                            {"key": told, "value": version},
                        ],
                    },
                    "p2": {"serviceName": "x", "tags": [{"key": "hostname", "value": "h3"}]},
                    "p3": {
                        "serviceName": "y",
                        "tags": [
                            {"key": "hostname", "value": host},
                            {"key": "service.version", "value": "y"},
                        ],
                    },
                },
            }
        )
    return made


@pytest.mark.slow
@settings(max_examples=20)
@given(documents(), st.sampled_from(EDGES), st.integers(1, 3), st.integers(1, 6), st.booleans())
def test_marts_agree_with_their_slow_definitions(
    made: list[Json], edges: tuple[float, ...], exemplars: int, kept: int, all_paths: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        (out / "in.json").write_bytes(lines(made))
        result = analysed([out / "in.json"], out, path=PathOptions(all_paths=all_paths))
        check_lake(out, result)
        kept += len(edges) - 2  # at least one for each band
        options = AggregateOptions(edges=edges, exemplars=exemplars, kept=kept)
        aggregated(out, result.days, options)
        check_marts(out, result.days, edges, exemplars, kept)


def test_a_version_is_that_of_the_service_not_of_its_host(tmp_path: Path) -> None:
    """On h1 the shop tells none, on h2 one, on h3 two of service.version, which hide its version;
    a store with a version of its own runs on all three."""
    made = []
    for number, (host, tags) in enumerate(
        [
            ("h1", {}),
            ("h2", {"version": "2"}),
            ("h3", {"service.version": "3", "version": "9"}),
            ("h3", {"service.version": "4", "version": "9"}),
        ]
    ):
        one = trace(f"t{number}")
        for process, more in (("p1", tags), ("p2", {"service.version": "7"})):
            one["processes"][process]["tags"] = [
                {"key": key, "value": value} for key, value in {"hostname": host, **more}.items()
            ]
        made.append(one)
    (tmp_path / "in.json").write_bytes(lines(made))
    result = analysed([tmp_path / "in.json"], tmp_path)
    marts = aggregated(tmp_path)
    check_marts(tmp_path, result.days)
    found = {row["trace_id"]: row["version"] for row in rows(marts, "kept")}
    assert found == {"t0": "", "t1": "2", "t2": "", "t3": ""}


def test_20_entries_are_named_for_an_api(tmp_path: Path) -> None:
    """Of 25 that call it, those on whose paths it is longest."""
    made = []
    for number in range(25):
        one = trace(f"t{number}", latency=1_000 + 10 * number)
        one["spans"][0]["operationName"] = f"GET /{number}"
        made.append(one)
    (tmp_path / "in.json").write_bytes(lines(made))
    result = analysed([tmp_path / "in.json"], tmp_path)
    marts = aggregated(tmp_path)
    check_marts(tmp_path, result.days)
    names = {row["endpoint_id"]: row["operation"] for row in rows(marts, "endpoint_names")}
    found = [row for row in rows(marts, "reach") if names[row["endpoint_id"]] == "find"]
    assert [names[row["entry_id"]] for row in found] == [f"GET /{n}" for n in range(24, 4, -1)]


def test_a_window_of_some_days_holds_these_alone(tmp_path: Path) -> None:
    step = SECOND_DAY - DAY
    made = [
        trace(f"d{day}-{k}", latency=100 + 13 * k + day, day=DAY + day * step)
        for day in range(5)
        for k in range(9)
    ]
    (tmp_path / "in.json").write_bytes(lines(made))
    days = analysed([tmp_path / "in.json"], tmp_path).days
    aggregated(tmp_path, days[1:4])
    check_marts(tmp_path, days[1:4])


def test_bands_hold_exact_ranks(tmp_path: Path) -> None:
    """Of 200 traces the bands hold 100, 80, 10, 8 and 2; equal latencies go by trace id."""
    made = [trace(f"{n:03d}", latency=100) for n in range(200)]
    (tmp_path / "in.json").write_bytes(lines(made[::-1]))
    analysed([tmp_path / "in.json"], tmp_path)
    marts = aggregated(tmp_path)
    assert [row["traces"] for row in rows(marts, "bands")] == [100, 80, 10, 8, 2]


def test_cumulative_slices_are_sums_of_bands(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(lines(traces(150)))
    analysed([tmp_path / "in.json"], tmp_path)
    marts = aggregated(tmp_path)
    trees = sorted(
        rows(places(tmp_path).lake, "traces"), key=lambda t: (t["latency_us"], t["trace_id"])
    )
    cct = rows(marts, "cct")
    for bands, share in ((1, 50), (4, 99), (5, 100)):
        slice_ = trees[: len(trees) * share // 100]
        for path in {row["path_id"] for row in cct}:
            summed = sum(
                r["exclusive_us"] for r in cct if r["path_id"] == path and r["band"] < bands
            )
            uses = [use for tree in slice_ for use in tree["paths"] if use["path_id"] == path]
            assert summed == sum(use["exclusive_us"] for use in uses)


ODD_WEIGHTS = [
    1e-320,
    1e-300,
    1e-30,
    "1e-309",
    5e-324,
    True,
    "nan",
    "inf",
    -0.0,
    [0.5],
    {"a": 1},
    10**30,
    10**400,
]


@pytest.mark.parametrize("probability", ODD_WEIGHTS, ids=repr)
def test_no_sampling_probability_stops_the_day(tmp_path: Path, probability: Any) -> None:
    one = trace("odd")
    one["spans"][0]["tags"] = [
        {"key": "sampler.type", "value": "probabilistic"},
        {"key": "sampler.param", "value": probability},
    ]
    (tmp_path / "in.json").write_bytes(lines([one, trace("good", latency=LARGEST_DURATION_US)]))
    result = analysed([tmp_path / "in.json"], tmp_path)
    assert result.analysed == 2
    aggregated(tmp_path)
    check_marts(tmp_path, result.days)


def test_days_of_the_longest_traces_can_be_summed(tmp_path: Path) -> None:
    """What is believed can be summed; what a clock that starts at 0 says is not believed."""
    made = [trace(f"{n:04d}", latency=LARGEST_DURATION_US - n) for n in range(2500)]
    (tmp_path / "in.json").write_bytes(lines([*made, *traces(3)]))
    result = analysed([tmp_path / "in.json"], tmp_path)
    assert result.read == 2503
    aggregated(tmp_path)
    assert rows(places(tmp_path).marts, "fleet")


def test_a_ledger_of_the_longest_spans_does_not_overflow(tmp_path: Path) -> None:
    one = trace("odd")
    one["spans"] += [
        span(f"s{n}", 2000, 2000 + LARGEST_DURATION_US, parent="a", trace_id="odd")
        for n in range(2500)
    ]
    (tmp_path / "in.json").write_bytes(lines([one, trace("good")]))
    analysed([tmp_path / "in.json"], tmp_path)
    for tree in rows(places(tmp_path).lake, "traces"):
        assert all(entry["amount_us"] >= 0 for entry in tree["ledger"])
    aggregated(tmp_path)


@pytest.mark.parametrize("start", [0, LARGEST_TIME_US, 253_402_300_800_000_000])
def test_traces_of_any_day_have_a_day(tmp_path: Path, start: int) -> None:
    one = {"traceID": "t", "spans": [span("a", start - DAY, start - DAY + 9, trace_id="t")]}
    (tmp_path / "in.json").write_bytes(lines([one, trace("good")]))
    result = analysed([tmp_path / "in.json"], tmp_path)
    assert result.read == 2
    aggregated(tmp_path)
