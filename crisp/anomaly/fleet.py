"""Which of all tests of a night count: few false alerts over the whole fleet."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crisp import arrow
from crisp.anomaly.vectors import Flags, Floats, Ints
from crisp.options import AlertOptions

SHARES = ("presence", "error", "failed", "abnormal")
"""Tests whose values are shares of traces."""


def over_fleet(shifts: pa.Table, options: AlertOptions) -> pa.Table:
    """``shifts`` of all endpoints of a night with ``q`` and ``changed``; rows stay in order.

    ``q`` is the p-value after Benjamini and Hochberg (1995) over all rows. On a night without
    any change, some row has q <= level with a chance of about the level. A row is ``changed``
    when q <= level and the change is not too small to matter, see `sizes`.
    """
    q = adjusted(numbers(shifts, "p"))
    changed = (q <= options.level) & (sizes(shifts) >= options.least_change)
    for name, column in (("q", arrow.doubles(q)), ("changed", arrow.flags(changed))):
        place = shifts.schema.get_field_index(name)
        shifts = shifts.set_column(place, shifts.schema.field(place), column)
    return shifts


def adjusted(p: Floats) -> Floats:
    """(n,) the smallest level of false discoveries at which each is one; ties share theirs."""
    order = np.argsort(p, kind="stable")
    count = len(p)
    raised = p[order] * count / np.arange(1, count + 1)
    q = np.empty(count)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1)
    return q


def sizes(shifts: pa.Table) -> Floats:
    """(n,) how large the change of each row is, as a share, at least 0.

    "error", "failed", "abnormal": difference of the shares of traces. The others: time per
    request in that of the mean latency before. For "time" that is `robust_change_us`, so that a
    few very slow requests make no change large.
    """
    before = latency_before_us(shifts)
    relative = np.abs(robust_change_us(shifts)) / np.maximum(before, 1)
    shares = np.abs(numbers(shifts, "today") - numbers(shifts, "before"))
    return np.where(is_test(shifts, "error", "failed", "abnormal"), shares, relative)


def robust_change_us(shifts: pa.Table) -> Floats:
    """(n,) signed time per request that a path takes more, from means without the topmost 0.5 %
    where the row has them ("time"), else ``change_us``."""
    endpoint = numbers(shifts, "endpoint_id")
    traces, before = numbers(shifts, "traces"), numbers(shifts, "reference_traces")
    whole = _of_endpoint(endpoint, is_test(shifts, "latency"))
    now = numbers(shifts, "today") * traces / np.maximum(traces[whole], 1)
    then = numbers(shifts, "before") * before / np.maximum(before[whole], 1)
    return np.where(is_test(shifts, "time"), now - then, numbers(shifts, "change_us"))


def latency_before_us(shifts: pa.Table) -> Floats:
    """(n,) mean latency of the days before of the endpoint of each row."""
    whole = _of_endpoint(numbers(shifts, "endpoint_id"), is_test(shifts, "latency"))
    return numbers(shifts, "before")[whole]


def _of_endpoint(endpoint: Ints, marked: Flags) -> Ints:
    """(n,) number of the one marked row of the endpoint of each row."""
    rows = np.flatnonzero(marked)
    rows = rows[np.argsort(endpoint[rows], kind="stable")]
    return rows[np.searchsorted(endpoint[rows], endpoint)]


def is_test(shifts: pa.Table, *tests: str) -> Flags:
    """(n,) the row is of one of these tests."""
    found = pc.is_in(shifts["test"], value_set=arrow.texts(tests))
    return np.array(found.to_pylist(), np.bool_)


def numbers(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """A column without nulls as an array."""
    column = table[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return arrow.numbers(column)
