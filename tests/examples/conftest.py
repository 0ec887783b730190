"""The shop of examples/shop as processes, and recordings of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.examples.evidence import Phase
from tests.processes import end_session
from tests.servers import ROOT, jaeger

_PYTHON = ROOT / ".venv-shop" / "bin" / "python"
RECORDING = ROOT / "examples" / "traces"
Phases = dict[str, Phase]


@pytest.fixture(scope="session")
def shop() -> list[str]:
    """The command that runs the shop."""
    if not _PYTHON.exists():
        pytest.fail("the shop's packages are missing: run `make setup-shop`", pytrace=False)
    return [str(_PYTHON), "-m", "examples.shop"]


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A shop in a session of its own, after it has said that it runs; ``folder`` is its /tmp."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        end_session(process.pid)
        if process.stdout is not None:
            process.stdout.close()


def said(process: subprocess.Popen[str]) -> dict[str, str]:
    """What a shop says when it runs: the place of each thing, and of each fault's switch."""
    places: dict[str, str] = {}
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("Ctrl-C"):
            return places
        words = line.split()
        if line.startswith("  http"):
            places[words[0].rpartition("/")[2]] = words[0]
        else:
            places[words[0]] = words[-1]
    pytest.fail(f"the shop did not start: {places}", pytrace=False)


@pytest.fixture(scope="session")
def recorded() -> Phases:
    """The committed recording, by name of its phases."""
    return phases(RECORDING)


@pytest.fixture(scope="session")
def recorded_now(shop: list[str], tmp_path_factory: pytest.TempPathFactory) -> Phases:
    """A short recording of today, through a real Jaeger."""
    folder = tmp_path_factory.mktemp("shop")
    target = folder / "traces"
    with jaeger(folder) as server:
        load = ["--requests", "120", "--rate", "30", "--seed", "test"]
        places = ["--otlp", server.otlp, "--jaeger", server.url, "--record", str(target)]
        with running([*shop, *places, *load], folder) as process:
            told, _ = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return phases(target)


def phases(folder: Path) -> Phases:
    """The files of a recording."""
    return {file.name.removesuffix(".jsonl.zst"): Phase(file) for file in folder.glob("*.zst")}
