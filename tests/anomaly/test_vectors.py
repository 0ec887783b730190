from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly.vectors import CELLS, vectors
from tests.anomaly.drawn import Row, drawn, rows_of_times, undrawn


def test_cells_become_one_record_per_endpoint_with_a_row_per_trace() -> None:
    cells = [
        # endpoint, tree, start, latency, trace, root, failed, path, time, status
        (3, 7, 100, 30, "a", "r", False, 1, 10, 0),
        (3, 7, 100, 30, "a", "r", False, 4, 20, 2),
        (3, 5, 200, 8, "b", "q", True, 1, 8, 1),
        (9, 6, 50, 1, "c", "p", False, 2, 1, 0),
    ]
    names = [
        "endpoint_id",
        "tree_id",
        "start_us",
        "latency_us",
        "trace_id",
        "root_span_id",
        "failed",
        "path_id",
        "time_us",
        "status",
    ]
    table = pa.Table.from_pylist(
        [dict(zip(names, cell, strict=True)) for cell in cells], schema=CELLS
    )
    first, second = vectors(table)
    assert (first.endpoint_id, second.endpoint_id) == (3, 9)
    assert first.tree_id.tolist() == [7, 5]
    assert list(first.trace_id) == ["a", "b"]
    assert list(first.root_span_id) == ["r", "q"]
    assert first.latency_us.tolist() == [30, 8]
    assert first.failed.tolist() == [False, True]
    assert first.edges.tolist() == [0, 2, 3]
    assert undrawn(first) == [{1: 10, 4: 20}, {1: 8}]
    assert first.status.tolist() == [0, 2, 1]
    assert first.row.tolist() == [0, 0, 1]
    assert undrawn(second) == [{2: 1}]


def test_a_table_without_cells_has_no_endpoints() -> None:
    assert vectors(CELLS.empty_table()) == []


@given(rows_of_times, st.data())
def test_rows_are_taken_by_numbers_or_by_flags(rows: list[Row], data: st.DataObject) -> None:
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    all_of_them = drawn(rows)
    for chosen in (flags, np.flatnonzero(flags)):
        some = all_of_them.take(chosen)
        assert undrawn(some) == [row for row, wanted in zip(rows, flags, strict=True) if wanted]
        assert list(some.trace_id) == [f"t{i}" for i in np.flatnonzero(flags)]
        assert some.tree_id.tolist() == (np.flatnonzero(flags) + 100).tolist()


def test_a_matrix_holds_the_wanted_paths_and_stores_times_of_zero() -> None:
    matrix = drawn([{1: 5, 2: 0, 9: 7}, {9: 1}, {2: 3}]).matrix(np.array([2, 9, 11]))
    assert matrix.toarray().tolist() == [[0, 7, 0], [0, 1, 0], [3, 0, 0]]
    assert matrix.nnz == 4
