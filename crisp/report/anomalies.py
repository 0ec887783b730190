"""What the anomaly stages found on a night, as the site shows it: only as much as people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crisp import arrow, schema
from crisp.options import AlertOptions
from crisp.report.columns import Ints

STRIP_NIGHTS = 14
"""Nights that the history of an alert goes back."""
_REQUESTS, _SHIFTS = 20, 8
"""Rows of an endpoint that a page has room for, beside paths that changed."""

HISTORY = pa.schema(
    [
        ("date", pa.string()),
        ("endpoint_id", pa.int64()),
        ("status", pa.string()),
        ("change_us", pa.float64()),
        ("severity", pa.string()),
    ]
)
"""Columns of `Anomalies.history`: one row an alert and night."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomalies:
    """The newest night; any table may be empty."""

    day: str
    """the UTC day that was compared with those before it"""
    nights: tuple[str, ...]
    """days of which alerts are known at all, so that a quiet night is told from a missing one"""
    options: AlertOptions
    """that the night was judged by"""
    alerts: pa.Table
    """`schema.ALERTS` of the night"""
    shifts: pa.Table
    """`schema.SHIFTS` of the night: what changed and, of each endpoint, the largest others"""
    scores: pa.Table
    """`schema.SCORES` of the night: of each endpoint the least normal traces"""
    models: pa.Table
    """`schema.MODELS` of the newest models, perhaps without ``about`` and ``tensors``"""
    history: pa.Table
    """`HISTORY` of the last nights, this one included"""
    calibration_needed: int
    """traces that have to calibrate a model for its smallest p-value to make a trace abnormal"""

    def trimmed(self) -> Anomalies:
        """With as few rows of each endpoint as its page shows, in the order it shows them: of
        traces the abnormal first, then those with the smallest p and the largest change; of
        shifts those that changed first, then the largest, calls before the endpoint as a whole; a
        call that did not change has one row. Ties go by tree or path."""
        scores, shifts = self.scores, self.shifts
        if scores.num_rows:
            change = _floats(scores, "latency_us") - _floats(scores, "expected_us")
            p = np.nan_to_num(_floats(scores, "p"), nan=2.0)  # what can't be said comes last
            keys = (_ints(scores, "tree_id"), -np.abs(change), p, ~_flags(scores, "abnormal"))
            scores = _first(scores, keys, _REQUESTS, np.zeros(scores.num_rows, np.bool_))
        if shifts.num_rows:
            flags = _flags(shifts, "changed")
            whole = _ints(shifts, "path_id") == 0
            shifts = shifts.filter(arrow.flags(flags | whole | _likeliest(shifts)))
            flags, whole = _flags(shifts, "changed"), _ints(shifts, "path_id") == 0
            size = -np.abs(_floats(shifts, "change_us"))
            by = (
                _test(shifts),
                _ints(shifts, "path_id"),
                _floats(shifts, "q"),
                size,
                whole,
                ~flags,
            )
            shifts = _first(shifts, by, _SHIFTS, flags | whole)
        light = [name for name in schema.MODELS.names if name not in {"about", "tensors"}]
        models = self.models.select([n for n in light if n in self.models.column_names])
        return replace(self, scores=scores, shifts=shifts, models=models)


def _first(table: pa.Table, keys: Sequence[Any], most: int, always: Any) -> pa.Table:
    """Of each endpoint the rows marked by ``always`` and so many others, ascending by endpoint,
    then by ``keys``, the last of which counts most."""
    endpoint = _ints(table, "endpoint_id")
    order = np.lexsort((*keys, endpoint))
    sorted_id, other = endpoint[order], ~always[order]
    starts = np.flatnonzero(np.append(True, np.diff(sorted_id) != 0))
    before = np.cumsum(other) - other
    place = before - np.repeat(before[starts], np.diff(np.append(starts, len(order))))
    return table.take(arrow.ints(order[~other | (place < most)]))


def _likeliest(shifts: pa.Table) -> Any:
    """Marks the row of each path that tells most: of tests with the same p one of the time."""
    endpoint, path = _ints(shifts, "endpoint_id"), _ints(shifts, "path_id")
    order = np.lexsort(
        (_test(shifts), _floats(shifts, "p"), ~_flags(shifts, "changed"), path, endpoint)
    )
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(path[order]) != 0) | (np.diff(endpoint[order]) != 0)
    marked = np.zeros(len(order), np.bool_)
    marked[order[first]] = True
    return marked


def _test(shifts: pa.Table) -> Ints:
    """The place of each test among `schema.TESTS`, which begin with times."""
    found = pc.index_in(shifts["test"], value_set=pa.array(list(schema.TESTS)))
    return np.asarray(found.fill_null(len(schema.TESTS)).to_numpy(), dtype=np.int64)


def _ints(table: pa.Table, name: str) -> Ints:
    return np.asarray(table[name].to_numpy(), dtype=np.int64)


def _floats(table: pa.Table, name: str) -> Any:
    return np.asarray(table[name].to_numpy(), dtype=np.float64)


def _flags(table: pa.Table, name: str) -> Any:
    return np.asarray(table[name].to_numpy(), dtype=np.bool_)
