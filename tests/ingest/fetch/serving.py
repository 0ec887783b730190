"""A small HTTP server for what a real Jaeger cannot be made to do, and one that only counts."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    target: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What it gets. ``lie`` adds to the length that is announced, ``wait_s`` comes before."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    lie: int = 0
    wait_s: float = 0.0


@dataclass(slots=True)
class Served:
    """A running server."""

    url: str
    requests: list[Request]

    def searches(self) -> list[tuple[str, int, int]]:
        """Service, start and end of the searches by v1, in order."""
        return [
            (r.query["service"], int(r.query["start"]), int(r.query["end"]))
            for r in self.requests
            if r.path == "/api/traces" and r.query["service"] != "crisp"
        ]


Answer = Callable[[Request], Reply]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        request = Request(parts.path, query, dict(self.headers), self.path)
        self.server.requests.append(request)
        reply = self.server.answer(request)
        time.sleep(reply.wait_s)
        self.close_connection = bool(reply.lie)
        with suppress(OSError):  # the client has gone
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + reply.lie))
            self.end_headers()
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Answer, requests: list[Request]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.requests = answer, requests

    def shutdown_request(self, request: Any) -> None:
        """Let the client read why; unread words of its own would reset the connection."""
        if isinstance(request, ssl.SSLSocket):
            with socket.socket(fileno=request.detach()) as raw, suppress(OSError):
                raw.settimeout(1)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(65536):
                    pass
        else:
            super().shutdown_request(request)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # broken connections are what some tests are about


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Served]:
    """A server on loopback that replies as ``answer`` says."""
    requests: list[Request] = []
    server = _Server(answer, requests)
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "https" if tls else "http"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Served(f"{scheme}://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def forwarding(url: str) -> Answer:
    """Ask the server at ``url`` the same."""

    def answer(request: Request) -> Reply:
        try:
            with urllib.request.urlopen(url + request.target, timeout=60) as reply:  # noqa: S310
                return Reply(reply.status, reply.read(), {"Content-Type": "application/json"})
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.read())
        except OSError:
            return Reply(502)

    return answer


def store(
    documents: Sequence[dict[str, Any]], services: Sequence[str] = ("shop", "store")
) -> Answer:
    """Jaeger v1 over some traces in memory, newest first, both ends of a window included."""

    def answer(request: Request) -> Reply:
        if request.path == "/api/services":
            return _json(list(services))
        if request.path == "/api/operations":
            return _json([{"name": name, "spanKind": ""} for name in ("GET /", "find", "pay")])
        if request.path == "/api/traces":
            found = [each for each in documents if _matches(each, request.query)]
            found.sort(key=lambda each: -each["spans"][0]["startTime"])
            return _json(found[: int(request.query["limit"])])
        return Reply(404, b"404 page not found")

    return answer


def _json(data: object) -> Reply:
    text = {"data": data, "total": 0, "limit": 0, "offset": 0, "errors": None}
    return Reply(200, json.dumps(text).encode(), {"Content-Type": "application/json"})


def _matches(trace: dict[str, Any], query: dict[str, str]) -> bool:
    return any(
        trace["processes"][span["processID"]]["serviceName"] == query["service"]
        and query.get("operation", span["operationName"]) == span["operationName"]
        and int(query["start"]) <= span["startTime"] <= int(query["end"])
        and _us(query.get("minDuration", "0us")) <= span["duration"]
        and span["duration"] <= _us(query.get("maxDuration", f"{2**60}us"))
        for span in trace["spans"]
    )


def _us(text: str) -> int:
    return int(text.removesuffix("us"))


def in_turn(*answers: Answer | Reply) -> Answer:
    """The first answer for the first request, and so on; the last for all others."""
    left = list(answers)

    def answer(request: Request) -> Reply:
        now = left.pop(0) if len(left) > 1 else left[0]
        return now if isinstance(now, Reply) else now(request)

    return answer
