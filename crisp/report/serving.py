"""A site over HTTP, for those who look at it: files of one folder, and nothing else."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET6
from typing import Any

from crisp.errors import ConfigError, InputError

_INDEX = "index.html"


class _Files(SimpleHTTPRequestHandler):
    """Answers with files of a folder. Each is looked for anew, so a site that is replaced
    meanwhile shows at the next click."""

    def end_headers(self) -> None:
        """Let browsers ask again, since the next night writes to the same addresses."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def list_directory(self, _path: Any) -> None:
        """A folder without a page is not there."""
        self.send_error(404)

    def log_message(self, *_what: Any) -> None:
        """Say nothing of requests."""


class _Server6(ThreadingHTTPServer):
    address_family = AF_INET6


def find_site(folder: Path) -> Path:
    """The site in ``folder``, or in ``folder``/site, where a run writes it.

    Raises:
        InputError: there is none.
    """
    for place in (folder, folder / "site"):
        if (place / _INDEX).is_file():
            return place
    raise InputError(f"{folder}: no site there: neither {_INDEX} nor site/{_INDEX}")


def server(site: Path, host: str, port: int) -> ThreadingHTTPServer:
    """A server of the files in ``site`` that listens already; port 0 takes any free one.

    Raises:
        ConfigError: it cannot listen there.
    """
    kind = _Server6 if ":" in host else ThreadingHTTPServer
    try:
        return kind((host, port), partial(_Files, directory=str(site)))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{host}, port {port}: {reason}; choose with --host and --port"
        ) from error


def address(listening: ThreadingHTTPServer) -> str:
    """What to type into a browser."""
    host, port = listening.server_address[:2]
    text = host.decode() if isinstance(host, bytes | bytearray) else host
    return f"http://[{text}]:{port}/" if ":" in text else f"http://{text}:{port}/"
