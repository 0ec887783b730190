"""Run commands in this process, as the installed script does."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crisp.cli import main
from tests.documents import SECOND_DAY, lines, trace, traces


@dataclass(frozen=True, slots=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object it printed."""
        found: dict[str, Any] = json.loads(self.out)
        return found


Crisp = Callable[..., Result]


@pytest.fixture
def crisp(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Crisp:
    """Call as ``crisp("run", source, "-o", out)``."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["crisp", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capfd.readouterr()
        return Result(code, shown.out, shown.err)

    return call


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Thirty traces of 2023-11-15 and ten of the day after, and a line that is none."""
    path = tmp_path / "traces.jsonl"
    second = [trace(f"next{n}", start=10 * n, latency=500 + n, day=SECOND_DAY) for n in range(10)]
    path.write_bytes(lines([*traces(30), *second]) + b"{broken\n")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder that is not there yet."""
    return tmp_path / "out"
