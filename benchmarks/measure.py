"""Run a command and watch what its whole process tree uses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

_INTERVAL_S = 0.1
"""Adding up the memory of a process costs it time, so not more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a command cost, its children and theirs included."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    """largest sum of proportional set sizes: shared pages count once"""


def watch(command: Sequence[str]) -> Usage:
    """Run ``command`` to its end.

    CPU time is what each process had used when it was last seen, so a process may go uncounted
    for its last `_INTERVAL_S` seconds.

    Raises:
        RuntimeError: the command failed.
    """
    began = time.perf_counter()
    process = psutil.Popen(command, stdout=-3)
    cpu: dict[int, float] = {}
    peak = 0
    while process.poll() is None:
        held = 0
        for member in _tree(process):
            try:
                held += member.memory_full_info().pss
                times = member.cpu_times()
            except psutil.Error:
                continue
            cpu[member.pid] = times.user + times.system
        peak = max(peak, held)
        time.sleep(_INTERVAL_S)
    wall = time.perf_counter() - began
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    return Usage(wall_s=wall, cpu_s=sum(cpu.values()), peak_mb=peak / 1e6)


def _tree(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []
