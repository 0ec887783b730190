"""Real servers on loopback: Jaeger v2, S3 over a folder, Alertmanager. Each ends with its test."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest
from s3fs import S3FileSystem

ROOT = Path(__file__).parent.parent
SECRET = "crisp-secret"  # noqa: S105  # of servers that live for a test
"""Of the S3 servers."""


def free_port() -> int:
    """A port that was free a moment ago, of those that Linux gives to nobody who asks for any.

    A server that a test kills comes back to its port: one that the system deals out is taken
    by then, as often as not, by a connection of the servers that live.
    """
    while True:
        port = random.randrange(10_240, 32_768)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


@cache
def binary(name: str) -> Path:
    """A server that scripts/setup-servers has built, or builds now."""
    made = subprocess.run(
        [ROOT / "scripts" / "setup-servers", name], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.fail(made.stderr, pytrace=False)
    return Path(made.stdout.strip())


def answers(url: str) -> bool:
    """Something speaks HTTP there, and not of an inner error."""
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310  # loopback
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


class Server:
    """A process in a group of its own that can be killed and started again."""

    def __init__(
        self, command: Sequence[str | Path], environment: Mapping[str, str], health: str, log: Path
    ) -> None:
        self._command, self._environment = [str(word) for word in command], environment
        self._health, self._log = health, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=os.environ | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not answers(self._health):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                text = self._log.read_text(encoding="utf-8", errors="replace")
                pytest.fail(f"{self._command[0]} does not answer:\n{text[-3000:]}", pytrace=False)
            time.sleep(0.05)

    def stop(self) -> None:
        """End it as an operator would; a kill after ten seconds."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Jaeger(Server):
    """Jaeger v2 with badger in ``folder``, which outlives the process; old times are kept."""

    def __init__(self, folder: Path) -> None:
        names = ("JAEGER_HTTP", "JAEGER_GRPC", "JAEGER_OTLP", "JAEGER_HEALTH")
        at = {name: f"127.0.0.1:{free_port()}" for name in names}
        self.url = f"http://{at['JAEGER_HTTP']}"
        """the query API"""
        self.otlp = f"http://{at['JAEGER_OTLP']}"
        """OTLP over HTTP, without /v1/traces"""
        super().__init__(
            [binary("jaeger"), "--config", ROOT / "deploy" / "jaeger.yaml"],
            at | {"JAEGER_DATA": str(folder / "data"), "JAEGER_TTL": "87600h"},
            f"http://{at['JAEGER_HEALTH']}/status",
            folder / "jaeger.log",
        )


class S3(Server):
    """versitygw over ``folder``/buckets."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._buckets = folder / "buckets"
        sidecar = folder / "sidecar"  # entity tags; not every file system has attributes for them
        for made in (self._buckets, sidecar):
            made.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "crisp",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        """What a client needs to know"""
        super().__init__(
            [
                *(binary("versitygw"), "--port", f"127.0.0.1:{port}", "--quiet"),
                *("posix", "--sidecar", sidecar, self._buckets),
            ],
            {"ROOT_ACCESS_KEY": "crisp", "ROOT_SECRET_KEY": SECRET},
            self.url,
            folder / "versitygw.log",
        )

    def bucket(self, name: str) -> str:
        """A new bucket; its URL."""
        (self._buckets / name).mkdir()
        return f"s3://{name}"


class Alertmanager(Server):
    """Alertmanager that notifies a webhook at once, and its state in ``folder``."""

    def __init__(self, folder: Path, webhook: str) -> None:
        at = f"127.0.0.1:{free_port()}"
        self.url = f"http://{at}"
        settings = folder / "alertmanager.yml"
        settings.write_text(_ALERTMANAGER.format(webhook=webhook), encoding="utf-8")
        super().__init__(
            [
                *(binary("alertmanager"), f"--config.file={settings}"),
                *(f"--storage.path={folder / 'data'}", f"--web.listen-address={at}"),
                "--cluster.listen-address=",
            ],
            {},
            f"{self.url}/-/ready",
            folder / "alertmanager.log",
        )


_ALERTMANAGER = """\
route:
  receiver: hook
  group_by: ["..."]
  group_wait: 100ms
  group_interval: 300ms
  repeat_interval: 24h
receivers:
  - name: hook
    webhook_configs:
      - url: {webhook}
        send_resolved: true
"""


@contextmanager
def jaeger(folder: Path) -> Iterator[Jaeger]:
    """A running Jaeger."""
    server = Jaeger(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def alertmanager(folder: Path, webhook: str) -> Iterator[Alertmanager]:
    """A running Alertmanager."""
    server = Alertmanager(folder, webhook)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def versitygw(folder: Path) -> Iterator[S3]:
    """A running S3 server that is the one of this process."""
    server = S3(folder)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        S3FileSystem.clear_instance_cache()  # it holds clients of the server before
        try:
            yield server
        finally:
            server.stop()
            S3FileSystem.clear_instance_cache()
