from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.anomaly import expectation
from crisp.anomaly.detector import Frozen
from crisp.anomaly.expectation import Explained, explained, fit_expectation, thaw_expectation
from crisp.anomaly.frozen import packed, unpacked
from crisp.anomaly.vocabulary import encode, fit_vocabulary
from tests.anomaly.drawn import TREE, Row, drawn, rows_of_times, tree


def explain(seen: Sequence[Row], today: Sequence[Row], least: int = 1, **how: bool) -> Explained:
    fit, vectors = drawn(seen), drawn(today)
    words = fit_vocabulary(fit, tree(TREE), least)
    fitted = fit_expectation(encode(fit, words))
    overlapping = how.get("overlapping", False)
    return explained(encode(vectors, words), fitted, overlapping=overlapping)


def changes(found: Explained) -> list[list[tuple[int, int]]]:
    lists = found.contributions.to_pylist()
    return [[(each["path_id"], each["change_us"]) for each in row] for row in lists]


# Path 2 takes 100 where path 3 is there, and 40 where it is not.
TWO = [{1: 10, 2: 100, 3: 5}] * 60 + [{1: 10, 2: 40}] * 60


def test_a_frequent_pattern_has_expectations_of_its_own() -> None:
    found = explain(TWO, [{1: 10, 2: 100, 3: 6}, {1: 10, 2: 100}, {1: 30, 2: 40}])
    assert found.expected_us.tolist() == [115, 50, 50]
    assert changes(found) == [[(3, 1)], [(2, 60)], [(1, 20)]]
    assert found.other_us.tolist() == [0, 0, 0]


def test_a_rare_pattern_is_expected_to_take_what_its_paths_take_elsewhere() -> None:
    found = explain(TWO, [{2: 75, 3: 5}, {1: 10, 9: 7}, {}])
    assert found.expected_us.tolist() == [70 + 5, 10, 0]
    assert changes(found) == [[(2, 5)], [(9, 7)], []]


def test_the_five_largest_changes_are_named_and_the_others_added_up() -> None:
    normal: Row = dict.fromkeys(range(1, 9), 100)
    today: Row = {1: 101, 2: 90, 3: 150, 4: 103, 5: 98, 6: 100, 7: 104, 8: 97}
    found = explain([normal] * 60, [today])
    assert changes(found) == [[(3, 50), (2, -10), (7, 4), (4, 3), (8, -3)]]
    assert found.other_us.tolist() == [1 - 2]
    assert found.expected_us.tolist() == [800]


def test_a_folded_column_is_shared_out_to_the_paths_that_are_in_it() -> None:
    # 4 and 5 hang below 2 and are rare: their column takes 30 on average.
    rare: list[Row] = [{1: 10, 2: 10, 4: 40}, {1: 10, 2: 10, 5: 20}]
    seen = [*[{1: 10, 2: 10}] * 58, *rare]
    found = explain(seen, [{1: 10, 2: 10, 4: 50, 5: 100}, {1: 10, 2: 10, 4: 0, 5: 0}], least=2)
    assert changes(found) == [[(5, 80), (4, 40)], [(4, -30)]]
    assert found.expected_us.tolist() == [50, 50]


def test_times_that_count_each_other_are_expected_to_sum_to_the_mean_latency() -> None:
    seen = drawn([{1: 100, 2: 80}] * 60, latency=[100] * 60)
    words = fit_vocabulary(seen, tree(TREE), 1)
    fitted = fit_expectation(encode(seen, words))
    today = drawn([{1: 130, 2: 110}], latency=[130])
    found = explained(encode(today, words), fitted, overlapping=True)
    assert changes(found) == [[(1, 30), (2, 30)]]
    assert (found.expected_us.tolist(), found.other_us.tolist()) == ([100], [-30])


@given(rows_of_times, rows_of_times, st.integers(1, 4), st.booleans())
def test_changes_add_up_to_what_the_trace_took_more(
    seen: list[Row], today: list[Row], least: int, overlapping: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectation, "_OFTEN", 2)
        found = explain(seen, today, least, overlapping=overlapping)
    named = [sum(change for _, change in row) for row in changes(found)]
    latency = [sum(row.values()) for row in today]
    assert found.expected_us.tolist() == [
        took - change - other
        for took, change, other in zip(latency, named, found.other_us.tolist(), strict=True)
    ]
    for row, took, other in zip(changes(found), today, found.other_us.tolist(), strict=True):
        assert {path for path, _ in row} <= took.keys()
        if not overlapping and len(took) <= 5:  # all changes are named
            assert other == 0


def test_a_thawed_expectation_is_the_same() -> None:
    fit = drawn(TWO)
    words = fit_vocabulary(fit, tree(TREE), 1)
    fitted = fit_expectation(encode(fit, words))
    frozen = fitted.freeze()
    again = thaw_expectation(
        Frozen(about=json.loads(json.dumps(frozen.about)), arrays=unpacked(packed(frozen.arrays)))
    )
    rows = encode(drawn([{1: 30, 2: 40}, {2: 9}]), words)
    one, other = (explained(rows, each, overlapping=False) for each in (fitted, again))
    assert one.contributions.equals(other.contributions)
    assert np.array_equal(one.expected_us, other.expected_us)
