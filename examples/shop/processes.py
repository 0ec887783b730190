"""The processes of a running shop: started together, ended by their ids, never left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from examples.shop.plan import SERVICES

ROOT = Path(__file__).parent.parent.parent
START_SECONDS = 60
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
_libc = ctypes.CDLL(None)


class ShopError(Exception):
    """The shop can't run; the text says why."""


@dataclass(frozen=True, slots=True)
class Running:
    """A process and where it says that it is well."""

    name: str
    process: subprocess.Popen[bytes]
    health: str
    log: Path


@dataclass(frozen=True, slots=True)
class Jaeger:
    """Where spans go, and where traces come from."""

    otlp: str
    query: str | None


def free_ports(count: int) -> list[int]:
    """Ports of loopback that were free a moment ago."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


@contextmanager
def jaeger(folder: Path) -> Iterator[Jaeger]:
    """Jaeger v2 with its data in ``folder``, on free ports.

    Raises:
        ShopError: it can't be built or does not start.
    """
    built = subprocess.run(
        [ROOT / "scripts" / "setup-servers", "jaeger"], stdout=subprocess.PIPE, check=False
    )
    if built.returncode:
        raise ShopError("there is no Jaeger; name a running one with --otlp URL")
    names = ("JAEGER_HTTP", "JAEGER_GRPC", "JAEGER_OTLP", "JAEGER_HEALTH")
    at = {name: f"127.0.0.1:{port}" for name, port in zip(names, free_ports(4), strict=True)}
    command = [built.stdout.decode().strip(), "--config", str(ROOT / "deploy" / "jaeger.yaml")]
    running = _start(
        "jaeger",
        command,
        at | {"JAEGER_DATA": str(folder / "jaeger")},
        f"http://{at['JAEGER_HEALTH']}/status",
        folder,
    )
    try:
        _wait_until_healthy([running])
        yield Jaeger(f"http://{at['JAEGER_OTLP']}", f"http://{at['JAEGER_HTTP']}")
    finally:
        _stop([running])


@contextmanager
def services(otlp: str, folder: Path, seed: str) -> Iterator[dict[str, str]]:
    """All services of the shop, each a process on a free port; their URLs by name.

    Raises:
        ShopError: one does not start.
    """
    ports = free_ports(len(SERVICES))
    urls = {name: f"http://127.0.0.1:{port}" for name, port in zip(SERVICES, ports, strict=True)}
    peers = [f"--peer={name}={url}" for name, url in urls.items()]
    running: list[Running] = []
    try:
        for name, port in zip(SERVICES, ports, strict=True):
            command = [sys.executable, "-m", "examples.shop.serve", name, "--port", str(port)]
            options = [f"--otlp={otlp}", f"--data={folder}", f"--seed={seed}", *peers]
            running.append(_start(name, [*command, *options], {}, f"{urls[name]}/health", folder))
        _wait_until_healthy(running)
        yield urls
    finally:
        _stop(running)


def _start(
    name: str, command: Sequence[str], environment: Mapping[str, str], health: str, folder: Path
) -> Running:
    log = folder / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            process_group=0,  # so that Ctrl-C reaches the runner alone, which then ends them all
            preexec_fn=_end_with(os.getpid()),  # noqa: PLW1509  # there are no threads yet
        )
    return Running(name, process, health, log)


def _end_with(parent: int) -> Callable[[], None]:
    """Have Linux kill the child when ``parent`` ends, however it ends."""

    def ask() -> None:
        _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask


def wait_for(url: str) -> None:
    """Wait until a service that somebody else starts is well.

    Raises:
        ShopError: it is not within a minute.
    """
    deadline = time.monotonic() + START_SECONDS
    while not _healthy(f"{url}/health"):
        if time.monotonic() > deadline:
            raise ShopError(f"{url} does not answer")
        time.sleep(0.5)


def _wait_until_healthy(started: Sequence[Running]) -> None:
    deadline = time.monotonic() + START_SECONDS
    waiting = list(started)
    while waiting:
        one = waiting[0]
        if _healthy(one.health):
            waiting.pop(0)
        elif one.process.poll() is not None or time.monotonic() > deadline:
            text = one.log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise ShopError(f"{one.name} does not start:\n{text}")
        else:
            time.sleep(0.1)


def _healthy(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.TransportError:
        return False


def _stop(running: Sequence[Running]) -> None:
    """Ask all to end, then make those end that have not after some seconds."""
    for one in running:
        if one.process.poll() is None:
            one.process.terminate()
    deadline = time.monotonic() + 8
    for one in running:
        try:
            one.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.process.kill()
            one.process.wait()
