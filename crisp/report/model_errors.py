"""The section «Errors on the path»: where calls fail, and where their callers make up for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crisp.report.columns import Rows
from crisp.report.paths import Tree
from crisp.units import count, micros, share

_COLUMNS = ("traces", "own", "propagated", "stopped", "stopped_us", "failed_us")


@dataclass(frozen=True, slots=True)
class Errors:
    """What the section says above its table; no paths: no call failed."""

    paths: int
    sentence: str


def errors_of(errors: Rows, latency_us: int) -> Errors:
    """The totals in words; ``errors`` are rows of the mart, ``latency_us`` the sum of latencies.

    A trace in which two call paths were stopped counts with both, and of two of which one is
    below the other the time counts twice; so does an attempt that worked on the path of one that
    failed. Hence "up to".
    """
    paths = len(errors)
    stopped, stopped_us = errors.ints("stopped"), int(errors.ints("stopped_us").sum())
    places, times = int((stopped > 0).sum()), int(stopped.sum())
    if not paths:
        return Errors(0, "No call failed on the critical path of these traces.")
    failed = f"Calls failed on {_number(paths, 'call path', 'call paths')}"
    if not times:
        return Errors(paths, f"{failed}. No error was stopped on its way up: callers failed too.")
    where = (
        f"in {_number(times, 'trace', 'traces')}"
        if places == 1
        else f"{count(times)} times, on {count(places)} of them"
    )
    ratio = stopped_us / latency_us if latency_us else 0.0
    return Errors(
        paths,
        f"{failed}. Errors were stopped {where}: up to {micros(stopped_us)} of critical path went "
        f"into calls that failed and were made up for, {share(ratio)} of all latency.",
    )


def errors_data(errors: Rows, tree: Tree, latency_us: int) -> dict[str, Any]:
    """The call paths that fail, by column: most time spent on stopped errors first.

    Ties go by traces, then in the order of the tree. ``share`` is ``stopped_us`` of all latency.
    """
    found = {name: errors.ints(name) for name in _COLUMNS}
    path = tree.rows_of(errors.ints("path_id"))
    order = sorted(
        range(len(path)), key=lambda i: (-found["stopped_us"][i], -found["traces"][i], path[i])
    )
    stopped_us = found["stopped_us"][order].tolist()
    return {
        "path": path[order].tolist(),
        **{name: values[order].tolist() for name, values in found.items()},
        "share": [value / latency_us if latency_us else 0.0 for value in stopped_us],
    }


def _number(value: int, one: str, many: str) -> str:
    return f"{count(value)} {one if value == 1 else many}"
