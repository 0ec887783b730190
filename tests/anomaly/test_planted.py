from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly.planted import Planted, family, planted
from crisp.anomaly.vectors import Vectors
from tests.anomaly.drawn import TREE, Row, drawn, rows_of_times, tree, undrawn


def above(path: int) -> set[int]:
    """The paths above one, by walking up."""
    found = set()
    while path := TREE.get(path, 0):
        found.add(path)
    return found


def plant(rows: list[Row], *, overlapping: bool = False, seed: int = 0) -> list[Planted]:
    return planted(drawn(rows), tree(TREE), overlapping=overlapping, seed=seed)


def latencies(vectors: Vectors) -> list[int]:
    found: list[int] = vectors.latency_us.tolist()
    return found


def test_the_family_of_some_paths_knows_all_that_are_above_them() -> None:
    found = family(np.array([5, 8, 90, 5]), tree(TREE))
    assert found.paths.tolist() == [1, 2, 3, 5, 6, 8, 90]
    assert found.top.tolist() == [True, False, False, False, False, False, True]
    for i, one in enumerate(found.paths.tolist()):
        for j, other in enumerate(found.paths.tolist()):
            below = found.first[i] <= found.first[j] <= found.last[i]
            assert below == (other == one or one in above(other))


def test_no_paths_have_no_family() -> None:
    assert len(family(np.empty(0, np.int64), tree(TREE)).paths) == 0


@given(rows_of_times, st.integers(0, 3))
def test_one_path_gets_slower_and_the_trace_with_it(rows: list[Row], seed: int) -> None:
    for change, factor in zip(plant(rows, seed=seed)[:2], (2, 4), strict=True):
        for before, after, changed in zip(
            rows, undrawn(change.vectors), change.changed, strict=True
        ):
            differ = [path for path in before if after[path] != before[path]]
            assert len(differ) == int(changed) == int(sum(before.values()) > 0)
            assert all(after[path] == factor * before[path] for path in differ)
        assert latencies(change.vectors) == [sum(row.values()) for row in undrawn(change.vectors)]


@given(rows_of_times, st.integers(0, 3))
def test_an_early_return_takes_away_a_path_with_all_below_it(rows: list[Row], seed: int) -> None:
    change = plant(rows, seed=seed)[2]
    for before, after, changed in zip(rows, undrawn(change.vectors), change.changed, strict=True):
        gone = before.keys() - after.keys()
        assert all(after[path] == before[path] for path in after)
        assert bool(gone) == changed == any(TREE.get(path) for path in before)
        tops = [path for path in gone if not above(path) & gone]
        assert len(tops) == int(changed)
        assert gone == {path for path in before if path in tops or above(path) & set(tops)}
    assert latencies(change.vectors) == [sum(row.values()) for row in undrawn(change.vectors)]


@given(rows_of_times, st.integers(0, 3))
def test_the_papers_change_drops_a_fifth_and_shuffles_the_times_of_the_rest(
    rows: list[Row], seed: int
) -> None:
    change = plant(rows, seed=seed)[3]
    for before, after, changed in zip(rows, undrawn(change.vectors), change.changed, strict=True):
        assert after.keys() <= before.keys()
        assert changed == (len(before) > 1)
        assert len(before) - len(after) == (max(1, round(len(before) / 5)) if changed else 0)
        left = list(before.values())
        for time in after.values():
            left.remove(time)  # each time is one of the row, used once
    assert latencies(change.vectors) == [sum(row.values()) for row in undrawn(change.vectors)]


def test_where_times_count_those_below_the_paths_above_change_too() -> None:
    row: Row = {1: 100, 2: 60, 4: 20, 3: 30}
    seen = set()
    for seed in range(40):
        slower, _, early, _ = planted(
            drawn([row], latency=[100]), tree(TREE), overlapping=True, seed=seed
        )
        (after,) = undrawn(slower.vectors)
        bottom = max(
            (path for path in row if after[path] != row[path]), key=lambda p: len(above(p))
        )
        more = row[bottom]
        assert after == {
            path: time + (more if path == bottom or path in above(bottom) else 0)
            for path, time in row.items()
        }
        assert latencies(slower.vectors) == [100 + more]
        (after,) = undrawn(early.vectors)
        top = min(row.keys() - after.keys(), key=lambda path: len(above(path)))
        assert after == {
            path: time - (row[top] if path in above(top) else 0)
            for path, time in row.items()
            if path != top and top not in above(path)
        }
        assert latencies(early.vectors) == [100 - row[top]]
        seen |= {bottom, -top}
    assert seen == {1, 2, 3, 4, -2, -3, -4}


def test_a_path_gets_slower_as_often_as_it_takes_of_the_time() -> None:
    slower = plant([{1: 300, 2: 700}] * 2000)[0].vectors
    share = np.mean(slower.matrix(np.array([2])).toarray() == 1400)
    assert abs(share - 0.7) < 0.04


def test_the_same_seed_plants_the_same_and_another_does_not() -> None:
    rows: list[Row] = [{1: 5, 2: 6, 3: 7, 4: 8, 6: 9}] * 20
    one, again, other = (plant(rows, seed=seed) for seed in (1, 1, 2))
    for a, b, c in zip(one, again, other, strict=True):
        assert undrawn(a.vectors) == undrawn(b.vectors) != undrawn(c.vectors)
