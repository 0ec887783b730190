from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from crisp.report.paths import CallPaths
from crisp.schema import CALL_PATHS

NAMES = {n: ("svc", f"op{n}") for n in range(1, 9)}


def call_paths(*rows: tuple[int, int, int, int]) -> CallPaths:
    names = CALL_PATHS.names
    table = pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows], schema=CALL_PATHS
    )
    return CallPaths(table, NAMES)


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


PATHS = call_paths((40, 30, 3, 4), (10, 0, 1, 1), (30, 10, 2, 3), (20, 10, 2, 2), (99, 0, 1, 5))


def test_parents_come_first_and_heavier_siblings_before_lighter_ones() -> None:
    tree = PATHS.tree(ints(10, 20, 30, 40), ints(5, 20, 1, 30))
    assert tree.path_ids == [10, 30, 40, 20]
    assert tree.parent == [-1, 0, 1, 0]
    assert [tree.names[n] for n in tree.name] == [NAMES[n] for n in (1, 3, 4, 2)]
    assert tree.depth == 3
    assert tree.rows_of(ints(40, 10, 20)).tolist() == [2, 0, 3]


def test_siblings_that_are_equal_are_ordered_by_name() -> None:
    assert PATHS.tree(ints(30, 20), ints(7, 7)).path_ids == [10, 20, 30]


def test_paths_above_are_added_although_they_hold_nothing() -> None:
    assert PATHS.tree(ints(40), ints(3)).path_ids == [10, 30, 40]


def test_ids_repeat_once_per_band() -> None:
    assert PATHS.tree(ints(20, 30, 20), ints(2, 3, 2)).path_ids == [10, 20, 30]


def test_no_paths_are_an_empty_tree() -> None:
    tree = PATHS.tree(ints(), ints())
    assert (tree.path_ids, tree.parent, tree.depth) == ([], [], 0)


def test_unknown_paths_and_two_roots_are_refused() -> None:
    with pytest.raises(KeyError, match="no path 7"):
        PATHS.tree(ints(7), ints(1))
    with pytest.raises(KeyError, match="2 roots"):
        PATHS.tree(ints(20, 99), ints(1, 1))


def test_chain_of_100_000_calls_is_ordered_without_recursion() -> None:
    size = 100_000
    ids = np.arange(1, size + 1, dtype=np.int64)
    table = pa.table([ids, ids - 1, ids, np.ones_like(ids)], schema=CALL_PATHS)
    tree = CallPaths(table, NAMES).tree(ids, ids)
    assert tree.parent == list(range(-1, size - 1))
