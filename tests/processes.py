"""Watch the processes that a test started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def until(holds: Callable[[], object], seconds: float = 20) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """The process runs; a zombie does not."""
    fields = _stat(Path("/proc") / str(pid) / "stat")
    return bool(fields) and fields[0] not in "ZX"


def in_session(session: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        fields = _stat(path)
        if fields and int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(path.parent.name))
    return found


def end_session(session: int) -> None:
    """Kill what is left of a session, by id."""
    for pid in in_session(session):
        os.kill(pid, signal.SIGKILL)


def _stat(path: Path) -> list[str]:
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []
