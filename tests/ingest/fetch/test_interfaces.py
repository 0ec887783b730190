"""Which interface a server has, and what is asked through each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crisp.errors import FetchError
from tests.documents import DAY as DAY_US
from tests.documents import traces
from tests.ingest.fetch.pulling import landed, pulled
from tests.ingest.fetch.serving import Answer, Reply, Request, serving, store

PAGE = Reply(200, b"<!DOCTYPE html><title>Jaeger UI</title>", {"Content-Type": "text/html"})
NOTHING = Reply(404, b'{"error":{"httpCode":404,"message":"No traces found"}}\n')
V1 = store(traces(5))


def _resource(number: int) -> dict[str, Any]:
    begin = (DAY_US + number) * 1000
    span = {
        "traceId": f"{number + 1:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "GET /",
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 5000),
    }
    name = {"key": "service.name", "value": {"stringValue": "shop"}}
    return {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": [span]}]}


def _v3(count: int, *, honest: bool = True) -> Answer:
    """Jaeger v3 with some traces in the first microseconds of the day."""

    def answer(request: Request) -> Reply:
        if request.path == "/api/v3/services":
            return _json({"services": ["shop"]})
        if request.path == "/api/v3/operations":
            assert request.query == {"service": "shop"}
            return _json({"operations": [{"name": "GET /", "spanKind": "server"}]})
        if request.path == "/api/v3/traces":
            if not request.query["query.start_time_min"].startswith("2023-11-15T00:00:00.00"):
                return NOTHING
            limit = int(request.query["query.num_traces"]) if honest else 100
            return _json({"result": {"resourceSpans": list(map(_resource, range(count)))[:limit]}})
        return PAGE

    return answer


def _json(data: object) -> Reply:
    return Reply(200, json.dumps(data).encode())


@pytest.mark.parametrize(
    "absent",
    [PAGE, Reply(404, b"404 page not found"), Reply(405), Reply(410), Reply(200, b'{"a":1}')],
)
def test_a_server_without_the_first_interface_is_asked_through_the_third(
    absent: Reply, tmp_path: Path
) -> None:
    third = _v3(3)
    with serving(lambda r: third(r) if "/v3/" in r.path else absent) as server:
        pulled(server.url, tmp_path, api="auto")
    assert [d["traceID"] for d in landed(tmp_path)] == [f"{n:016x}" for n in (1, 2, 3)]


def test_a_server_with_both_is_asked_through_the_first(tmp_path: Path) -> None:
    third = _v3(3)
    with serving(lambda r: third(r) if "/v3/" in r.path else V1(r)) as server:
        pulled(server.url, tmp_path, api="auto")
    assert not any("/v3/" in request.path for request in server.requests)
    assert len(landed(tmp_path)) == 5


@pytest.mark.parametrize("reply", [PAGE, Reply(404)])
def test_a_server_with_neither_is_no_jaeger(reply: Reply, tmp_path: Path) -> None:
    with (
        serving(lambda _: reply) as server,
        pytest.raises(FetchError, match=r"neither /api/traces nor /api/v3 answers as Jaeger"),
    ):
        pulled(server.url, tmp_path, api="auto")


def test_the_first_interface_is_asked_in_microseconds_for_raw_traces(tmp_path: Path) -> None:
    with serving(V1) as server:
        pulled(server.url, tmp_path, "shop::GET /", limit=7)
    assert server.requests[-1].query == {
        "service": "shop",
        "operation": "GET /",
        "start": "1700006400000000",
        "end": "1700092800000000",
        "limit": "7",
        "raw": "true",
    }


def test_the_third_interface_is_asked_in_both_spellings(tmp_path: Path) -> None:
    with serving(_v3(3)) as server:
        pulled(server.url, tmp_path, "shop::GET /", limit=7, api="v3")
    query = server.requests[-1].query
    assert query["query.service_name"] == query["query.serviceName"] == "shop"
    assert query["query.operation_name"] == query["query.operationName"] == "GET /"
    assert query["query.start_time_min"] == "2023-11-15T00:00:00.000000Z"
    assert query["query.startTimeMax"] == "2023-11-16T00:00:00.000000Z"
    assert query["query.num_traces"] == query["query.searchDepth"] == "7"
    assert query["query.raw_traces"] == query["query.rawTraces"] == "true"


def test_a_server_below_a_path_is_found_there(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if not request.path.startswith("/jaeger/ui/"):
            return PAGE
        path = request.path.removeprefix("/jaeger/ui")
        return V1(Request(path, request.query, request.headers, request.target))

    with serving(answer) as server:
        pulled(server.url + "/jaeger/ui/", tmp_path, api="auto")
    assert len(landed(tmp_path)) == 5


def test_a_third_interface_that_takes_its_own_limit_is_noticed(tmp_path: Path) -> None:
    """It would name 100 traces whatever the limit, and a fetch would believe these to be all."""
    with serving(_v3(150, honest=False)) as server:
        result = pulled(server.url, tmp_path, "shop", api="v3")
    assert result.splits > 10


def test_nothing_found_is_told_from_an_address_that_is_not_there(tmp_path: Path) -> None:
    third = _v3(1)

    def answer(request: Request) -> Reply:
        return Reply(404, b"<html>") if request.path == "/api/v3/traces" else third(request)

    with (
        serving(answer) as server,
        pytest.raises(FetchError, match="a web page, not JSON"),
    ):
        pulled(server.url, tmp_path, api="v3")


def test_a_gateway_that_knows_no_way_is_not_taken_for_nothing_found(tmp_path: Path) -> None:
    third = _v3(3)
    faults = [
        Reply(404, b'{"error":"no route to upstream"}'),
        Reply(404, b'{"error":{"httpCode":503,"message":"no healthy upstream"}}'),
        Reply(404, b'{"message":"no Route matched"}'),
    ]

    def answer(request: Request) -> Reply:
        if request.path == "/api/v3/traces" and faults:
            return faults.pop()
        return third(request)

    with serving(answer) as server:
        result = pulled(server.url, tmp_path, api="v3")
    assert (result.retries, result.traces) == (3, 3)


def test_an_empty_store_knows_no_services(tmp_path: Path) -> None:
    empty = {"data": None, "errors": None}
    with serving(lambda _: _json(empty)) as server:
        with pytest.raises(FetchError, match="knows no services"):
            pulled(server.url, tmp_path)
        with pytest.raises(FetchError, match="knows no service basket, till"):
            pulled(server.url, tmp_path, "till", "basket::GET /")


def test_services_that_are_unknown_beside_known_ones_are_named(tmp_path: Path) -> None:
    with serving(V1) as server:
        assert pulled(server.url, tmp_path, "till", "shop").unknown == ["till"]


def test_an_operation_that_is_not_listed_is_named_and_asked_for(tmp_path: Path) -> None:
    """The server may have forgotten its name and not yet its traces."""
    with serving(V1) as server:
        result = pulled(server.url, tmp_path, "shop::typo", "shop::pay", "till::GET /")
        assert {r.query.get("operation") for r in server.requests} == {None, "typo", "pay"}
    assert result.unknown == ["shop::typo", "till"]
    assert result.traces == 5
