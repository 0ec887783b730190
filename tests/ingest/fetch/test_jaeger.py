"""Against a real Jaeger: a fetch gets exactly the traces of the day, whatever happens to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from crisp.ingest.fetch import books
from crisp.ingest.fetch.places import place
from tests.ingest.fetch.pulling import ids, landed, pulled
from tests.ingest.fetch.rich import rich
from tests.ingest.fetch.serving import forwarding, serving
from tests.ingest.fetch.world import (
    DAY,
    DAY_US,
    LENGTH_US,
    OPERATIONS,
    SERVICES,
    Spanned,
    Traced,
    post,
    world,
)
from tests.processes import until
from tests.running import analysed, rows
from tests.servers import S3, Jaeger, jaeger, versitygw

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("jaeger")]
FOLDER = f"date={DAY}"


@pytest.fixture(scope="module")
def traces() -> list[Traced]:
    """20,000 traces of 30 endpoints and three days."""
    made = world()
    assert len(made) == 20_000
    assert len({(s.service, s.operation) for t in made for s in t.spans}) == 30
    return made


@pytest.fixture(scope="module")
def server(traces: list[Traced], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """A Jaeger that holds them."""
    with jaeger(tmp_path_factory.mktemp("jaeger")) as running:
        post(running.otlp, traces)
        running.stop()  # which writes what waits in the collector
        running.start()
        yield running
        running.kill()


@pytest.fixture(scope="module")
def expected(traces: list[Traced]) -> list[int]:
    """The traces with a span that starts on the day."""
    return sorted(int(t.trace_id, 16) for t in traces if t.is_of(DAY_US, DAY_US + LENGTH_US))


@pytest.fixture(scope="module")
def by_v1(server: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A landing fetched with limit 2,000, the interface found by asking."""
    landing = tmp_path_factory.mktemp("v1")
    result = pulled(server.url, landing, day=DAY, limit=2000, api="auto")
    assert (result.gaps, result.retries, result.services) == ([], 0, len(SERVICES))
    return landing


def test_a_large_limit_gets_exactly_the_day(by_v1: Path, expected: list[int]) -> None:
    assert ids(by_v1) == expected


def test_a_small_limit_gets_exactly_the_day_though_the_server_is_killed_in_the_middle(
    server: Jaeger, expected: list[int], tmp_path: Path
) -> None:
    def kill(done: int, total: int) -> None:
        if done > total / 3 and not again:
            server.kill()
            again.append(threading.Timer(1.5, server.start))
            again[0].start()

    again: list[threading.Timer] = []
    try:
        result = pulled(
            server.url, tmp_path, day=DAY, limit=100, on_progress=kill, retry_s=60, timeout_s=10
        )
    finally:
        again[0].join()
    assert ids(tmp_path) == expected
    assert result.retries > 0
    assert result.splits > 100
    assert result.gaps == [], "150 traces start in one microsecond, no endpoint has 100 of them"


def _analysed(landing: Path, out: Path) -> list[dict[str, Any]]:
    analysed([landing / FOLDER], out)
    found = rows(out / "lake", "traces")
    return sorted(found, key=lambda row: (row["trace_id"], row["root_span_id"]))


def test_v3_gives_the_same_result_after_analysis(
    server: Jaeger, by_v1: Path, expected: list[int], tmp_path: Path
) -> None:
    pulled(server.url, tmp_path / "v3", day=DAY, limit=2000, api="v3")
    assert ids(tmp_path / "v3") == expected
    one, other = _analysed(by_v1, tmp_path / "one"), _analysed(tmp_path / "v3", tmp_path / "two")
    assert len(one) >= len(expected)
    for row in (*one, *other):  # what tells of the files is another matter
        del row["source"], row["position"], row["tree_id"]
    assert other == one


def test_a_fetch_that_is_killed_goes_on_where_it_was(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    services = ("cart", "front", "pay")
    (tmp_path / "endpoints").write_text("".join(f"{name}::find\n" for name in services))
    landing = tmp_path / "landing"
    with serving(forwarding(server.url)) as counting:
        words = ["fetch", "--jaeger", counting.url, "-o", landing, "--date", DAY, "--json"]
        words += ["--endpoints", tmp_path / "endpoints", "--limit", 100, "--concurrency", 1]
        command = [sys.executable, "-m", "crisp", *map(str, words)]
        first = subprocess.Popen(command, start_new_session=True)
        try:
            record = f"{FOLDER}/.fetch/record-*"
            until(lambda: [*landing.glob(record)] or first.poll() is not None, 60)
        finally:
            os.killpg(first.pid, signal.SIGKILL)
            first.wait()
        assert first.returncode == -signal.SIGKILL, "it was still at work"
        where = place(landing / FOLDER)
        done = books.done(books.read_records(where, where.names()).values())
        before = len(counting.searches())
        second = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        later = counting.searches()[before:]
    known = {endpoint.service for endpoint in done}
    assert known
    assert known < set(services)
    assert {service for service, _, _ in later} == set(services) - known
    wanted = [
        int(t.trace_id, 16)
        for t in traces
        if any(s.service in services and s.operation == "find" and _is_today(s) for s in t.spans)
    ]
    assert ids(landing) == sorted(wanted)
    assert json.loads(second.stdout)["traces_on_disk"] == len(wanted)


def _is_today(span: Spanned) -> bool:
    return DAY_US <= span.start_us < DAY_US + LENGTH_US


def test_each_day_gets_its_own_and_those_over_midnight_are_in_both(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    after = DAY + timedelta(days=1)
    start = DAY_US + LENGTH_US
    wanted = sorted(int(t.trace_id, 16) for t in traces if t.is_of(start, start + LENGTH_US))
    pulled(server.url, tmp_path, day=after, limit=500)
    assert ids(tmp_path) == wanted


def test_an_endpoint_gets_the_traces_with_a_span_of_it(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    service, operation = "front", OPERATIONS[2]
    wanted = sorted(
        int(t.trace_id, 16)
        for t in traces
        if any((s.service, s.operation) == (service, operation) and _is_today(s) for s in t.spans)
    )
    pulled(server.url, tmp_path, f"{service}::{operation}", day=DAY, limit=100)
    assert ids(tmp_path) == wanted


def test_a_gap_is_reported_and_all_the_rest_is_there(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    result = pulled(server.url, tmp_path, "cart::find", day=DAY, limit=4)
    assert result.gaps
    for gap in result.gaps:
        inside = sum(
            (s.service, s.operation) == (gap.service, gap.operation)
            and gap.start_us <= s.start_us <= gap.end_us
            for t in traces
            for s in t.spans
        )
        assert inside >= 4
    times = {
        int(t.trace_id, 16): found
        for t in traces
        if (found := [s.start_us for s in t.spans if (s.service, s.operation) == ("cart", "find")])
        and any(DAY_US <= start < DAY_US + LENGTH_US for start in found)
    }
    lost = times.keys() - set(ids(tmp_path))
    assert lost, "there is a gap indeed"
    for trace_id in lost:
        start = times[trace_id][0]
        assert any(gap.start_us <= start <= gap.end_us for gap in result.gaps)


def test_a_sample_is_the_same_each_time_and_holds_slow_traces_in_their_share(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        pulled(server.url, tmp_path / name, "shop::find", day=DAY, sample=100, limit=300)
    assert ids(tmp_path / "one") == ids(tmp_path / "two")
    assert len(ids(tmp_path / "one")) == 100
    population = sorted(
        max(s.duration_us for s in found)
        for t in traces
        if (found := [s for s in t.spans if (s.service, s.operation) == ("shop", "find")])
        and t.is_of(DAY_US, DAY_US + LENGTH_US)
    )
    median = population[len(population) // 2]
    slow = population[len(population) * 9 // 10]
    chosen = [_latency(document, "shop", "find") for document in landed(tmp_path / "one")]
    assert 35 <= sum(latency >= median for latency in chosen) <= 65
    assert 4 <= sum(latency >= slow for latency in chosen) <= 20
    where = place(tmp_path / "one" / FOLDER)
    record = next(iter(books.read_records(where, where.names()).values()))
    assert [s.taken for s in record.sampled[0].strata] == [10] * 10


def _latency(document: dict[str, Any], service: str, operation: str) -> int:
    return max(
        int(span["duration"])
        for span in document["spans"]
        if document["processes"][span["processID"]]["serviceName"] == service
        and span["operationName"] == operation
    )


def test_landing_may_be_an_object_store(
    server: Jaeger, traces: list[Traced], tmp_path: Path
) -> None:
    with versitygw(tmp_path) as s3:
        landing = f"{s3.bucket('landing')}/deep"
        first = pulled(server.url, landing, "pay::find", day=DAY, limit=300)
        again = pulled(server.url, landing, "pay::find", day=DAY)
        fresh = pulled(server.url, landing, "pay::find", day=DAY, limit=500, refetch=True)
        assert (again.requests, again.traces_on_disk) == (0, first.traces)
        assert fresh.traces == fresh.traces_on_disk == first.traces
        _same_in_bucket(s3, landing, tmp_path, first.traces)


def _same_in_bucket(s3: S3, landing: str, tmp_path: Path, count: int) -> None:
    import fsspec

    system, path = fsspec.core.url_to_fs(landing)
    assert {name.split("/")[2] for name in system.find(path)} == {FOLDER}
    for name in system.find(path):
        target = tmp_path / "copy" / name.removeprefix("landing/deep/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(system.cat_file(name))
    assert len(ids(tmp_path / "copy")) == len(set(ids(tmp_path / "copy"))) == count


def test_otlp_becomes_what_the_first_interface_says(server: Jaeger, tmp_path: Path) -> None:
    """Everything a span can hold, through both interfaces of the same server."""
    begin = (DAY_US + LENGTH_US) * 1000 - 5_000_000_000  # of a service of its own
    httpx.post(f"{server.otlp}/v1/traces", json=rich(begin)).raise_for_status()
    until(lambda: "rich" in httpx.get(f"{server.url}/api/services").json()["data"])
    time.sleep(1)  # the collector writes by the batch
    for api in ("v1", "v3"):
        pulled(server.url, tmp_path / api, "rich", day=DAY, api=api)
    one, other = landed(tmp_path / "v1"), landed(tmp_path / "v3")
    assert len(one) == 2
    assert list(map(_normal, other)) == list(map(_normal, one))


def _normal(document: dict[str, Any]) -> dict[str, Any]:
    """Without the arbitrary: the names of processes, the order of spans and tags."""
    processes = {
        name: (process["serviceName"], sorted(map(_tag, process["tags"])))
        for name, process in document["processes"].items()
    }
    spans = [
        span
        | {
            "processID": processes[span["processID"]],
            "tags": sorted(map(_tag, span["tags"])),
            "logs": [(log["timestamp"], sorted(map(_tag, log["fields"]))) for log in span["logs"]],
        }
        for span in document["spans"]
    ]
    return document | {"processes": None, "spans": sorted(spans, key=lambda s: str(s["spanID"]))}


def _tag(tag: dict[str, Any]) -> tuple[str, str, str]:
    return tag["key"], tag["type"], str(tag["value"])
