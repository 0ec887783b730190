"""Abnormal requests by column: how late they were, and which calls made them so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crisp import units
from crisp.report.model_shifts import places
from crisp.report.paths import CallPaths


def requests_data(rows: Sequence[Mapping[str, Any]], paths: CallPaths) -> dict[str, Any]:
    """Rows of `schema.SCORES` in their order, and the call paths that they name as a tree.

    ``first[i]:first[i + 1]`` are the contributions of request i, ``unseen_first`` its unseen
    paths. The contributions of a request and its ``other_us`` add up to ``change_us``. A path is a
    row of ``paths``, or -1 where the window does not hold it.
    """
    contributions = [each for row in rows for each in row["contributions"] or []]
    unseen = [path for row in rows for path in row["unseen"] or []]
    named = [each["path_id"] for each in contributions] + unseen
    tree = paths.forest(np.array(named, dtype=np.int64))
    place = places(tree)
    return {
        **tree.data(),
        "requests": {
            **{name: [row[name] for row in rows] for name in _COLUMNS},
            "change_us": [row["latency_us"] - row["expected_us"] for row in rows],
            "p": [_number(row["p"]) for row in rows],
            "chance": [_chance(row["p"]) for row in rows],
            "first": _edges(row["contributions"] for row in rows),
            "unseen_first": _edges(row["unseen"] for row in rows),
        },
        "contributions": {
            "path": [place.get(each["path_id"], -1) for each in contributions],
            "change_us": [each["change_us"] for each in contributions],
        },
        "unseen": [place.get(path, -1) for path in unseen],
    }


_COLUMNS = (
    *("trace_id", "root_span_id", "start_us", "latency_us", "expected_us", "other_us"),
    *("abnormal", "unseen_counts", "model", "served_by", "p_how"),
)


def _chance(p: float | None) -> str:
    number = _number(p)
    return "cannot be said" if number is None else units.chance(number)


def _number(p: float | None) -> float | None:
    """None for what cannot be said, which tables of numbers hold as NaN."""
    return p if p is not None and np.isfinite(p) else None


def _edges(lists: Any) -> list[int]:
    return [0, *np.cumsum([len(each or []) for each in lists], dtype=np.int64).tolist()]
