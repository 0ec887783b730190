from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly.sparse import edges_of, find, merge, row_largest, row_sums

cells = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-3, 3), st.integers(0, 2**44), st.integers(0, 2)),
    max_size=30,
).map(lambda rows: sorted(rows, key=lambda cell: cell[0]))
"""(row, column, time, status), ordered by row"""


@given(cells)
def test_cells_of_the_same_row_and_column_become_one(
    these: list[tuple[int, int, int, int]],
) -> None:
    sums: defaultdict[tuple[int, int], int] = defaultdict(int)
    worst: defaultdict[tuple[int, int], int] = defaultdict(int)
    for row, column, time, status in these:
        sums[row, column] += time
        worst[row, column] = max(worst[row, column], status)
    table = np.array(these, np.int64).reshape(-1, 4)
    found = merge(table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(np.int8), 5)
    rows = np.repeat(np.arange(5), np.diff(found.edges))
    keys = list(zip(rows.tolist(), found.column.tolist(), strict=True))
    assert keys == sorted(sums)
    assert found.time_us.tolist() == [sums[key] for key in keys]
    assert found.status.tolist() == [worst[key] for key in keys]
    assert [keys[cell] for cell in found.of] == [(a, b) for a, b, *_ in these]


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=6))
def test_rows_without_cells_have_the_sum_zero_and_the_largest_they_are_given(
    rows: list[list[int]],
) -> None:
    edges = edges_of(np.array([len(row) for row in rows], np.int64))
    values = np.array([value for row in rows for value in row], np.int64)
    assert row_sums(edges, values).tolist() == [sum(row) for row in rows]
    assert row_largest(edges, values, -99).tolist() == [max(row, default=-99) for row in rows]


def test_what_is_not_known_is_found_behind_the_last() -> None:
    place, there = find(np.array([2, 5, 9]), np.array([5, 1, 9, 10, 6]))
    assert place.tolist() == [1, 3, 2, 3, 3]
    assert there.tolist() == [True, False, True, False, False]
    place, there = find(np.empty(0, np.int64), np.array([5]))
    assert (place.tolist(), there.tolist()) == ([0], [False])
