"""Alerts to deliver, and receivers on loopback that do as a test tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pyarrow as pa

from crisp import schema
from tests.servers import free_port

DAY = "2026-08-21"


def alert(**changes: Any) -> dict[str, Any]:
    """A row of `schema.ALERTS`: checkout takes 42 ms more, since payments does."""
    return {
        "alert_id": "00000000000000aa",
        "endpoint_id": -7,
        "service": "checkout",
        "operation": "POST /order",
        "status": "firing",
        "severity": "warning",
        "since": DAY,
        "nights": 1,
        "summary": f"checkout POST /order takes 42 ms more per request (+18 %) since {DAY}",
        "latency_us": 275_000.0,
        "before_us": 233_000.0,
        "change_us": 42_000.0,
        "traces": 300,
        "abnormal": 12,
        "paths": [
            {
                "path_id": 9_007_199_254_740_993,
                "name": "checkout::POST /order > payments::charge",
                "test": "time",
                "today": 91_000.0,
                "before": 60_000.0,
                "change_us": 31_000.0,
                "q": 1e-9,
            }
        ],
        "exemplars": [
            {
                "trace_id": "ab12",
                "span_id": "cd/34",
                "start_us": 1,
                "latency_us": 400_000,
                "time_us": 200_000,
            }
        ],
        "silence": "",
        "ended": "",
    } | changes


def table(*rows: Mapping[str, Any]) -> pa.Table:
    """Alerts of a night."""
    return pa.Table.from_pylist(list(rows), schema=schema.ALERTS)


@dataclass
class Receiver:
    """Counts what it is sent; answers with the next status that it was told, else 200."""

    port: int
    statuses: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """answers to come, with headers"""
    refused: str = "nothing contains this"
    """what it answers 400 to"""
    said: bytes = b"ok"
    bodies: list[Any] = field(default_factory=list)
    """what it took"""
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    """of all requests"""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def receiver(port: int | None = None) -> Iterator[Receiver]:
    """A receiver, on a port of its own if none is given, while the block lasts."""
    state = Receiver(port or free_port())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            state.paths.append(self.path)
            state.headers.append(dict(self.headers))
            status, extra = state.statuses.pop(0) if state.statuses else (200, {})
            if state.refused in text:
                status = 400
            if status == 200:
                state.bodies.append(json.loads(text))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(state.said)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(state.said)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", state.port), Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
