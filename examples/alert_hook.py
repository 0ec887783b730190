"""A receiver of alerts, to start from: what `crisp alert --webhook` promises, and no more.

    python examples/alert_hook.py 127.0.0.1:8099 told.txt

It takes both forms: single events as JSON on any path, and Alertmanager's API v2 on
``/api/v2/alerts``. Each event is told once, as a line of a file. That file is also its memory: an
event comes again when its answer was lost on the way, and alerts that fire come every night in
the second form. It answers 200 only when the line is on the disk, because crisp forgets an event
that was taken; anything else makes crisp keep it and send it again.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

ONE_AT_A_TIME = Lock()


def events(path: str, body: Any) -> list[tuple[str, str]]:
    """Id and text of what a request tells. Raises LookupError, TypeError or ValueError."""
    if not path.endswith("/api/v2/alerts"):
        return [(str(body["id"]), f"{body['status']}: {body['summary']}")]
    found = []
    for alert in body:
        labels = alert["labels"]
        fires = datetime.fromisoformat(alert["endsAt"]) > datetime.now(UTC)
        status = f"firing-{labels['severity']}" if fires else "resolved"
        text = f"{'firing' if fires else 'resolved'}: {alert['annotations']['summary']}"
        found.append((f"{labels['alert_id']}-{status}", text))
    return found


def tell(file: Path, told: list[tuple[str, str]]) -> None:
    """Add those events to the file that it does not hold."""
    with ONE_AT_A_TIME, file.open("a+", encoding="utf-8") as lines:
        lines.seek(0)
        known = {line.split("\t")[0] for line in lines}
        for event_id, text in told:
            if event_id not in known:
                known.add(event_id)
                lines.write(f"{event_id}\t{text}\n")
        lines.flush()
        os.fsync(lines.fileno())


class Hook(BaseHTTPRequestHandler):
    """Answers 200 for what was told, 400 for what it does not understand."""

    protocol_version = "HTTP/1.1"
    file: Path

    def do_POST(self) -> None:  # the name that http.server calls
        """Take one request."""
        content = self.rfile.read(int(self.headers["Content-Length"] or 0))
        try:
            told = events(self.path, json.loads(content))
        except (LookupError, TypeError, ValueError) as error:
            self._answer(400, f"{type(error).__name__}: {error}")
        else:
            tell(self.file, told)
            self._answer(200, "taken")

    def do_GET(self) -> None:  # the name that http.server calls
        """Say that it is there."""
        self._answer(200, "a receiver of crisp alerts")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as it is called
        """Say nothing: addresses may be secrets."""

    def _answer(self, status: int, text: str) -> None:
        body = f"{text}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(address: str, file: str) -> None:
    """Serve until the process is ended."""
    host, _, port = address.rpartition(":")
    Hook.file = Path(file)
    ThreadingHTTPServer((host, int(port)), Hook).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
