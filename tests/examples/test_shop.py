"""The real shop behind a real Jaeger: what its traces hold, and what faults do to them."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.conftest import Phases, running, said
from tests.examples.evidence import (
    CHECKOUT,
    FAULTS,
    PRODUCT,
    SEARCH,
    SIGNS,
    Sign,
    Trace,
    calls_on_path,
    names_of,
    paths_of,
    trees,
)
from tests.processes import in_session, until
from tests.servers import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shop")]
Span = dict[str, Any]


def _tag(span: Span, key: str) -> Any:
    return next((tag["value"] for tag in span["tags"] if tag["key"] == key), None)


def _root(trace: Trace) -> Span:
    found: list[Span] = [span for span in trace["spans"] if not _parents(span)]
    assert len(found) == 1
    return found[0]


def _parents(span: Span) -> list[str]:
    return [r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"]


def _children(trace: Trace, span: Span) -> list[Span]:
    found = [one for one in trace["spans"] if span["spanID"] in _parents(one)]
    return sorted(found, key=lambda one: (one["startTime"], one["spanID"]))


def _end(span: Span) -> int:
    end: int = span["startTime"] + span["duration"]
    return end


def _of(phases: Phases, name: str, operation: str) -> list[Trace]:
    return [t for t in phases[name].traces if _root(t)["operationName"] == operation]


def test_every_service_traces_itself_on_a_host_of_its_own(recorded_now: Phases) -> None:
    hosts: dict[str, set[str]] = {}
    for trace in recorded_now["normal"].traces:
        for process in trace["processes"].values():
            about = {tag["key"]: tag["value"] for tag in process["tags"]}
            assert about["service.version"]
            assert about["cloud.availability_zone"] in {"zone-a", "zone-b"}
            hosts.setdefault(process["serviceName"], set()).add(about["host.name"])
    assert set(hosts) == {
        "frontend", "catalogue", "cart", "checkout", "payment", "inventory", "shipping",
    }  # fmt: skip
    assert len(set.union(*hosts.values())) == len(hosts) == sum(map(len, hosts.values()))


def test_traces_hold_every_kind_of_span(recorded_now: Phases) -> None:
    kinds = Counter(
        _tag(span, "span.kind")
        for trace in recorded_now["normal"].traces
        for span in trace["spans"]
    )
    assert set(kinds) == {"server", "client", "internal", "producer", "consumer"}


def test_contexts_reach_four_services_deep(recorded_now: Phases) -> None:
    deepest = max(paths_of(recorded_now["normal"].mapped).values(), key=len)
    services = list(dict.fromkeys(name.partition("::")[0] for name in deepest))
    assert services == ["frontend", "checkout", "cart", "catalogue"]
    assert len(deepest) == 8


def test_calls_of_the_product_page_run_side_by_side(recorded_now: Phases) -> None:
    overlapping = []
    for trace in _of(recorded_now, "normal", "GET /product/{id}"):
        calls = _children(trace, _root(trace))
        assert len(calls) == 3
        overlapping.append(max(c["startTime"] for c in calls) < min(map(_end, calls)))
    assert sum(overlapping) >= 0.8 * len(overlapping)  # a busy machine starts one late now and then


def test_the_search_page_asks_one_after_another(recorded_now: Phases) -> None:
    for trace in _of(recorded_now, "normal", "GET /search"):
        products, stock = _children(trace, _root(trace))
        assert _end(products) <= stock["startTime"]
        assert products["operationName"] == "GET /products"
    mapped = recorded_now["normal"].mapped
    assert set(calls_on_path(mapped, SEARCH)) == {2}


def test_the_critical_path_of_every_trace_tiles_its_root(recorded_now: Phases) -> None:
    for phase in recorded_now.values():
        assert phase.mapped.reasons == []  # and `mapped` has checked every tree
        assert len(phase.mapped.traces) == len(phase.traces)


def test_the_consumer_of_an_order_is_in_its_trace_and_off_its_path(recorded_now: Phases) -> None:
    ordered = 0
    for trace in _of(recorded_now, "normal", "POST /checkout"):
        consumers = [s for s in trace["spans"] if s["operationName"] == "process orders"]
        for consumer in consumers:
            [producer] = [s for s in trace["spans"] if s["spanID"] in _parents(consumer)]
            assert producer["operationName"] == "send orders"
            assert _children(trace, consumer)
        ordered += bool(consumers)
    mapped = recorded_now["normal"].mapped
    pruned = [
        row
        for tree in trees(mapped, CHECKOUT)
        for row in tree["ledger"]
        if row["entry"] == "pruned"
    ]
    assert ordered == sum(row["spans"] for row in pruned) > 0
    assert not any("shipping" in name for path in paths_of(mapped).values() for name in path[1:])


def test_a_van_is_a_trace_of_its_own_that_links_to_its_orders(recorded_now: Phases) -> None:
    vans = _of(recorded_now, "normal", "dispatch van")
    assert vans
    for van in vans:
        links = _root(van)["references"]
        assert len(links) == _tag(_root(van), "shop.parcels")
        assert {link["refType"] for link in links} == {"FOLLOWS_FROM"}
        assert van["traceID"] not in {link["traceID"] for link in links}


def test_hits_and_misses_of_the_cache_are_seen(recorded_now: Phases) -> None:
    def hits(phase: str) -> Counter[bool]:
        spans = [span for trace in recorded_now[phase].traces for span in trace["spans"]]
        return Counter(_tag(s, "cache.hit") for s in spans if s["operationName"] == "cache get")

    assert set(hits("normal")) == {True, False}
    assert set(hits("cold-cache")) == {False}


def test_a_refused_charge_is_an_error_and_asked_again(recorded_now: Phases) -> None:
    spans = [span for trace in recorded_now["retry-storm"].traces for span in trace["spans"]]
    bank = [span for span in spans if span["operationName"] == "POST /bank/charges"]
    refused = [span for span in bank if _tag(span, "http.response.status_code") == 503]
    assert refused
    assert all(_tag(span, "error") is True for span in refused)
    assert any(_tag(span, "http.request.resend_count") for span in bank)


@pytest.mark.parametrize(
    "sign", [s for s in SIGNS if s.surely is not None], ids=lambda s: f"{s.fault}: {s.what}"
)
def test_a_fault_shows_on_the_critical_path(recorded_now: Phases, sign: Sign) -> None:
    normal, fault = recorded_now["normal"], recorded_now[sign.fault]
    assert sign.is_seen(normal, fault), sign.row(normal, fault)


def test_in_line_every_call_of_the_product_page_is_on_the_path(recorded_now: Phases) -> None:
    mapped = recorded_now["needless-serialisation"].mapped
    assert set(calls_on_path(mapped, PRODUCT)) == {3}


def test_an_early_answer_leaves_a_child_that_ends_after_its_parent(recorded_now: Phases) -> None:
    def late(phase: str) -> list[bool]:
        found = []
        for trace in _of(recorded_now, phase, "POST /cart"):
            [insert] = [s for s in trace["spans"] if s["operationName"] == "INSERT items"]
            [parent] = [s for s in trace["spans"] if s["spanID"] in _parents(insert)]
            found.append(_end(insert) > _end(parent))
        return found

    assert not any(late("normal"))
    assert sum(late("early-return")) > 0.5 * len(late("early-return"))


def test_spans_say_which_fault_acted_in_them(recorded_now: Phases) -> None:
    for name, phase in recorded_now.items():
        marks = {_tag(span, "shop.fault") for trace in phase.traces for span in trace["spans"]}
        assert marks - {None} == ({name} if name in FAULTS else set())


@pytest.fixture
def places(shop: list[str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where things are in a shop without load."""
    with running([*shop, "--otlp", "http://127.0.0.1:9", "--rate", "0.01"], tmp_path) as process:
        yield said(process)


def _ask(method: str, url: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, method=method)  # noqa: S310  # loopback
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # loopback
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_faults_are_switched_by_http_while_the_shop_runs(places: dict[str, str]) -> None:
    assert set(FAULTS) < set(places)
    cold = places["cold-cache"]
    assert _ask("PUT", cold) == (200, {"cold-cache": True, "clock-offset": False})
    assert _ask("GET", cold.rpartition("/")[0])[1]["cold-cache"] is True
    assert _ask("DELETE", cold) == (200, {"cold-cache": False, "clock-offset": False})
    status, told = _ask("PUT", cold.replace("cold-cache", "slow-query"))
    assert (status, told["error"]) == (404, "'slow-query' is a fault of inventory, not catalogue")
    status, told = _ask("PUT", cold.replace("cold-cache", "fire"))
    assert status == 404
    assert "no fault 'fire'; there are slow-query," in told["error"]


def test_people_shop_where_a_shop_runs_also_while_jaeger_is_away(
    shop: list[str], places: dict[str, str]
) -> None:
    done = subprocess.run(
        [*shop, "--at", places["shop"], "--requests", "12", "--rate", "50"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "answers: 12 × 2xx\n", "")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
    ids=["Ctrl-C", "terminated", "killed"],
)
def test_no_process_outlives_the_shop(
    shop: list[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with running([*shop, "--fault", "cold-cache"], tmp_path) as process:
        places = said(process)
        assert places["traces"].startswith("http://127.0.0.1:")
        assert len(in_session(process.pid)) == 1 + 1 + 8  # the runner, Jaeger, the services
        process.send_signal(number)
        process.wait(30)
        until(lambda: not in_session(process.pid))
        assert process.returncode == code
    if number is not signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []


def test_a_recording_needs_to_know_where_traces_come_from(shop: list[str]) -> None:
    done = subprocess.run(
        [*shop, "--record", "nowhere", "--otlp", "http://127.0.0.1:9"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("shop: to record")
    assert "--jaeger" in done.stderr


def test_endpoints_are_templates(recorded_now: Phases) -> None:
    names = set(names_of(recorded_now["normal"].mapped).values())
    assert {"catalogue::GET /products/{id}", "frontend::GET /products/{id}"} < names
    assert len(names) < 60
    assert not any(character.isdigit() for name in names for character in name)
