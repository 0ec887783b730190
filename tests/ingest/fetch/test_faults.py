"""Whatever the server does, the fetch is complete or says why it is not."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import zstandard

from crisp.errors import FetchError
from tests.documents import trace, traces
from tests.ingest.fetch.pulling import landed, pulled
from tests.ingest.fetch.serving import Reply, Request, in_turn, serving, store

SHOP = store(traces(50))
COMPLETE = [document["traceID"] for document in traces(50)]


def _ids(landing: Path) -> list[str]:
    return [document["traceID"] for document in landed(landing)]


def test_a_server_that_is_busy_is_left_alone_for_as_long_as_it_asks(tmp_path: Path) -> None:
    busy = Reply(429, b"slow down", {"Retry-After": "2"})
    began = time.monotonic()
    with serving(in_turn(busy, SHOP)) as server:
        result = pulled(server.url, tmp_path)
    assert time.monotonic() - began >= 2
    assert result.retries == 1
    assert _ids(tmp_path) == COMPLETE


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Reply(500), id="an inner error"),
        pytest.param(Reply(503, b"<html>down</html>"), id="out of service"),
        pytest.param(Reply(200, b'{"data":[{"traceID":'), id="broken JSON"),
        pytest.param(Reply(200, b'{"data":["a"]}', lie=100), id="a body that is cut off"),
        pytest.param(Reply(200, b'{"data":null,"errors":[{"code":500,"msg":"x"}]}'), id="errors"),
        pytest.param(Reply(200, b"nonsense", {"Content-Encoding": "gzip"}), id="bad compression"),
        pytest.param(Reply(200, wait_s=1.5), id="silence"),
    ],
)
def test_a_passing_fault_costs_only_a_retry(fault: Reply, tmp_path: Path) -> None:
    faults = [fault, fault]

    def answer(request: Request) -> Reply:
        if request.path == "/api/traces" and faults:
            return faults.pop()
        return SHOP(request)

    with serving(answer) as server:
        result = pulled(server.url, tmp_path, timeout_s=1 if fault.wait_s else 60)
    assert result.retries == 2 or (fault.wait_s and result.retries > 2)
    assert _ids(tmp_path) == COMPLETE


def test_a_server_that_stays_away_is_an_error_that_says_so(tmp_path: Path) -> None:
    with serving(lambda _: Reply(503, b"no storage")) as server:
        with pytest.raises(FetchError, match=r"HTTP 503: no storage; tried for 1\.5 s"):
            pulled(server.url, tmp_path, retry_s=1.5)
        assert len(server.requests) >= 2
    with pytest.raises(FetchError, match="connection"):
        pulled(server.url, tmp_path, retry_s=0.5)


def test_a_server_that_asks_for_more_patience_than_there_is_is_not_waited_for(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    busy = Reply(429, b"slow down", {"Retry-After": "3600"})
    said = r"HTTP 429: slow down; asks for a pause of 3,600 s, beyond retry_s \(20 s\)"
    with serving(lambda _: busy) as server, pytest.raises(FetchError, match=said):
        pulled(server.url, tmp_path)
    assert time.monotonic() - began < 10
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(401, b"who are you"), "HTTP 401: who are you"),
        (Reply(400, b'{"errors":[{"code":400,"msg":"bad start"}]}'), "HTTP 400: bad start"),
        (Reply(403, b'{"error":{"httpCode":403,"message":"not you"}}'), "HTTP 403: not you"),
        (Reply(302, b"", {"Location": "https://login/"}), "HTTP 302 to https://login/, which"),
        (Reply(200, b"<!DOCTYPE html><p>UI"), "a web page, not JSON"),
    ],
)
def test_a_refusal_ends_the_fetch_at_once_in_the_words_of_the_server(
    reply: Reply, said: str, tmp_path: Path
) -> None:
    with serving(lambda _: reply) as server:
        with pytest.raises(FetchError, match=said):
            pulled(server.url, tmp_path)
        assert len(server.requests) == 1


def test_what_came_before_a_failure_is_kept_and_not_asked_again(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        failing = request.path == "/api/traces" and request.query["service"] == "store"
        return Reply(403, b"not you") if failing and not healed else SHOP(request)

    healed = False
    with serving(answer) as server:
        with pytest.raises(FetchError, match="not you"):
            pulled(server.url, tmp_path, concurrency=1)
        assert _ids(tmp_path) == COMPLETE
        healed = True
        before = len(server.requests)
        result = pulled(server.url, tmp_path, concurrency=1)
        assert [s for s, _, _ in server.searches()[-1:]] == ["store"]
        assert len(server.requests) - before == 4, "services, two lists of operations, one search"
    assert (result.traces, result.duplicates, result.complete) == (0, 50, True)


def test_a_reply_too_large_for_memory_is_asked_for_in_halves(tmp_path: Path) -> None:
    large = [trace(f"{n:08x}", start=n * 10_000_000_000) for n in range(4)]
    for document in large:
        document["spans"][0]["tags"] = [{"key": "k", "type": "string", "value": "x" * 700_000}]
    with serving(store(large)) as server:
        result = pulled(server.url, tmp_path, "shop", reply_mb=1)
    assert result.splits >= 3, "no two of them fit"
    assert _ids(tmp_path) == [document["traceID"] for document in large]


def test_requests_come_no_faster_than_allowed(tmp_path: Path) -> None:
    began = time.monotonic()
    with serving(SHOP) as server:
        result = pulled(server.url, tmp_path, rate=10, concurrency=8)
    assert result.requests == 5
    assert time.monotonic() - began >= 0.2, "three after the services: the first at once"


def test_no_more_requests_are_under_way_than_allowed(tmp_path: Path) -> None:
    """One service alone: workers share its day among them."""
    under_way: list[int] = []
    counting = threading.Lock()
    now = 0

    def answer(request: Request) -> Reply:
        nonlocal now
        with counting:
            now += 1
            under_way.append(now)
        time.sleep(0.02)
        reply = SHOP(request)
        with counting:
            now -= 1
        return reply

    with serving(answer) as server:
        pulled(server.url, tmp_path, "shop", limit=10, concurrency=3)
    assert 2 <= max(under_way) <= 3


def test_trouble_is_told_while_it_lasts(tmp_path: Path) -> None:
    said: list[str] = []
    with serving(in_turn(Reply(503, b"starting"), SHOP)) as server:
        pulled(server.url, tmp_path, on_trouble=said.append)
    assert len(said) == 1
    assert said[0].startswith(f"{server.url}: HTTP 503: starting; again in ")


def test_bare_and_unknown_traces_are_kept_as_they_came(tmp_path: Path) -> None:
    odd = b'{"data":[{"traceID":"","spans":[]},\n {"spans":7},{"traceID":"xyz"}]}'

    def answer(request: Request) -> Reply:
        return Reply(200, odd) if request.path == "/api/traces" else SHOP(request)

    with serving(answer) as server:
        result = pulled(server.url, tmp_path, "shop")
    assert result.traces == 3
    lines = [d for p in sorted(tmp_path.rglob("part-*")) for d in _raw(p)]
    assert sorted(lines) == [b'{"spans":7}', b'{"traceID":"","spans":[]}', b'{"traceID":"xyz"}']


def _raw(path: Path) -> list[bytes]:
    return zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()).splitlines()
