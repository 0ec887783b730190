"""Second definition of the vectors: rows of the lake, one at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Cell = tuple[int, int]
"""Time in microseconds, and status."""
Trees = dict[int, dict[int, dict[int, Cell]]]
"""Cells by endpoint, tree and call path."""


def cells(traces: Sequence[Row], callers: Mapping[int, int], *, stv: bool = False) -> Trees:
    """Cells of all trees; ``callers`` gives the path above each path."""
    found: Trees = defaultdict(dict)
    for trace in traces:
        time_us: dict[int, int] = defaultdict(int)
        failed: set[int] = set()
        for path in trace["paths"]:
            time_us[path["path_id"]] += path["exclusive_us"]
            if path["error"]:
                failed.add(path["path_id"])
        from_below = {callers[path] for path in failed}
        if stv:
            time_us = {each["path_id"]: each["duration_us"] for each in trace["all_paths"]}
        found[trace["endpoint_id"]][trace["tree_id"]] = {
            path: (us, 0 if path not in failed else 1 if path in from_below else 2)
            for path, us in time_us.items()
        }
    return dict(found)


def charged(trees: Trees, callers: Mapping[int, int], service: Mapping[int, str]) -> Trees:
    """The same with the time of a client's side counted for the one service it calls."""
    callees: dict[int, list[int]] = defaultdict(list)
    for path, caller in callers.items():
        callees[caller].append(path)

    def target(path: int) -> int:
        below = callees[path]
        is_client = service.get(callers[path]) == service[path] and len(below) == 1
        return below[0] if is_client and service[below[0]] != service[path] else path

    found: Trees = {}
    for endpoint, each in trees.items():
        found[endpoint] = {}
        for tree, cells in each.items():
            merged: dict[int, Cell] = {}
            for path, (us, status) in cells.items():
                before = merged.get(target(path), (0, 0))
                merged[target(path)] = (before[0] + us, max(before[1], status))
            found[endpoint][tree] = merged
    return found
