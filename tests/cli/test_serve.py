"""`crisp serve`: the files of a site over HTTP, and nothing else."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Crisp


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Something like what a run wrote."""
    (tmp_path / "out" / "site" / "endpoint").mkdir(parents=True)
    (tmp_path / "out" / "site" / "index.html").write_text("<!doctype html>fleet")
    (tmp_path / "out" / "site" / "app.js").write_text("1")
    (tmp_path / "out" / "site" / "endpoint" / "a.html").write_text("one endpoint")
    (tmp_path / "out" / "secret").write_text("not of the site")
    return tmp_path / "out"


@contextmanager
def serving(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "crisp", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        yield process, next(word for word in said.split() if word.startswith("http"))
    finally:
        process.kill()
        process.communicate()


def get(address: str, path: str) -> tuple[int, str, str]:
    """Status, type and text. The path goes as it is: clients would tidy it up."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    kind = answer.headers.get_content_type()
    return answer.status, kind, answer.read().decode()


def test_pages_and_their_files_are_there_and_nothing_beside(out: Path) -> None:
    with serving(out, "--port", 0) as (_, address):
        assert urlsplit(address).hostname == "127.0.0.1"
        assert get(address, "/") == (200, "text/html", "<!doctype html>fleet")
        assert get(address, "/endpoint/a.html")[2] == "one endpoint"
        assert get(address, "/app.js")[1] == "text/javascript"
        for path in ("/endpoint/", "/nothing.html", "/../secret", "/%2e%2e/secret", "/site/"):
            assert get(address, path)[0] == 404, path


def test_the_site_of_the_next_night_is_there_at_once(out: Path) -> None:
    with serving(out / "site", "--port", 0) as (_, address):
        (out / "site").rename(out / "old")
        (out / "site").mkdir()
        (out / "site" / "index.html").write_text("tonight")
        assert get(address, "/")[2] == "tonight"


def test_ctrl_c_ends_it_without_a_word(out: Path) -> None:
    with serving(out, "--port", 0) as (process, address):
        get(address, "/")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_no_site_is_an_error(crisp: Crisp, tmp_path: Path) -> None:
    result = crisp("serve", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert (
        result.err == f"crisp: {tmp_path}: no site there: neither index.html nor site/index.html\n"
    )


def test_a_taken_port_is_an_error(crisp: Crisp, out: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = crisp("serve", out, "--port", port)
    assert (result.code, result.out) == (2, "")
    assert f"127.0.0.1, port {port}: Address already in use; choose with --host" in result.err
