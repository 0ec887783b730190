from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly.vectors import OWN, PROPAGATED
from crisp.anomaly.vocabulary import callers, encode, fit_vocabulary
from tests.anomaly.drawn import TREE, Row, drawn, rows_of_times, tree

# Path 1 is in all rows, 2 in three, the others in one each: 4 and 5 hang below 2, 6 below 3.
ROWS = [{1: 10, 2: 20, 4: 1}, {1: 10, 2: 5, 5: 2}, {1: 7, 2: 9, 6: 3}]


def test_paths_in_few_traces_share_a_column_with_others_below_the_same_parent() -> None:
    words = fit_vocabulary(drawn(ROWS), tree(TREE), least=3)
    assert words.paths.tolist() == [1, 2, 4, 5, 6]
    assert words.column.tolist() == [0, 1, 2, 2, 3]
    assert words.folded_parent.tolist() == [2, 3]
    assert words.columns == 5
    assert words.keys[:2].tolist() == [1, 2]
    assert words.keys[-1] == 0
    assert len(set(words.keys.tolist())) == 5


def test_a_path_that_call_paths_do_not_hold_is_folded_as_one_without_a_parent() -> None:
    words = fit_vocabulary(drawn([{77: 1}, {1: 1}]), tree(TREE), least=2)
    assert words.folded_parent.tolist() == [0]
    assert words.column.tolist() == [0, 0]


def test_a_folded_column_has_the_same_key_in_any_vocabulary() -> None:
    one = fit_vocabulary(drawn(ROWS), tree(TREE), least=3)
    other = fit_vocabulary(drawn([{5: 1}, {9: 1}, {9: 1}]), tree({5: 2, 9: 0}), least=2)
    assert one.keys[one.column[2]] == other.keys[other.column[0]]


def test_times_of_a_column_add_up_and_its_worst_status_stays() -> None:
    words = fit_vocabulary(drawn(ROWS), tree(TREE), least=3)
    today = drawn(
        [{1: 3, 4: 10, 5: 20, 8: 40, 9: 5}, {2: 0}, {}],
        status=[{4: PROPAGATED, 5: OWN, 9: PROPAGATED}],
    )
    rows = encode(today, words)
    assert rows.time_us.toarray().tolist() == [[3, 0, 30, 0, 45], [0] * 5, [0] * 5]
    assert rows.time_us.nnz == 4  # path 2 took 0 µs, and is there
    assert rows.status.tolist() == [0, OWN, PROPAGATED, 0]
    assert rows.merged.tolist() == [0, 1, 1, 2, 2, 3]
    assert rows.unseen.tolist() == [2, 0, 0]
    assert rows.latency_us.tolist() == [78, 0, 0]


@given(rows_of_times, rows_of_times, st.integers(1, 4))
def test_a_row_keeps_its_sum_whatever_it_holds(
    seen: list[Row], today: list[Row], least: int
) -> None:
    rows = encode(drawn(today), fit_vocabulary(drawn(seen), tree(TREE), least))
    assert rows.time_us.sum(axis=1).tolist() == [sum(row.values()) for row in today]
    known = {path for row in seen for path in row}
    assert rows.unseen.tolist() == [len(row.keys() - known) for row in today]


@given(rows_of_times, rows_of_times)
def test_patterns_are_the_same_where_the_same_columns_are_there(
    seen: list[Row], today: list[Row]
) -> None:
    rows = encode(drawn(today), fit_vocabulary(drawn(seen), tree(TREE), least=2))
    columns = [
        tuple(rows.time_us.indices[a:b])
        for a, b in zip(rows.time_us.indptr, rows.time_us.indptr[1:], strict=False)
    ]
    for i, one in enumerate(columns):
        for j, other in enumerate(columns):
            assert (one == other) == (rows.pattern[i] == rows.pattern[j])


def test_no_traces_make_a_vocabulary_that_knows_nothing() -> None:
    words = fit_vocabulary(drawn([]), tree(TREE), least=20)
    assert (words.columns, len(words.paths), words.keys.tolist()) == (1, 0, [0])
    assert encode(drawn([{5: 2, 6: 3}]), words).time_us.toarray().tolist() == [[5]]
    assert np.array_equal(encode(drawn([]), words).time_us.shape, (0, 1))


def test_callers_are_the_paths_and_all_above_them() -> None:
    paths, above = callers(np.array([8, 5, 8, 90]), tree(TREE))
    assert paths.tolist() == [1, 2, 3, 5, 6, 8, 90]
    assert above.tolist() == [0, 1, 1, 2, 3, 6, 0]
