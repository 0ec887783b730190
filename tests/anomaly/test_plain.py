from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from scipy.sparse import csr_array

from crisp.anomaly.plain import column_quantile, fit_excess, fit_latency, fit_pattern
from crisp.anomaly.vectors import OWN, PROPAGATED
from crisp.anomaly.vocabulary import Encoded, Vocabulary, encode, fit_vocabulary
from tests.anomaly.drawn import TREE, Row, drawn, tree


def fitted(rows: Sequence[Row], least: int = 1) -> tuple[Encoded, Vocabulary]:
    vectors = drawn(rows)
    words = fit_vocabulary(vectors, tree(TREE), least)
    return encode(vectors, words), words


def test_latency_is_far_from_the_median_in_either_direction() -> None:
    rows, words = fitted([{1: 9}, {1: 99}, {1: 999}])  # logs: 1, 2 and 3 times ln 10
    score = fit_latency(rows).score(encode(drawn([{1: 9}, {1: 99}, {1: 9_999}]), words))
    one_away = 1 / 1.4826022
    assert score == pytest.approx([one_away, 0, 2 * one_away], rel=1e-6)


def test_latencies_that_never_differ_leave_a_spread_of_one_percent() -> None:
    rows, words = fitted([{1: 99}] * 5)
    score = fit_latency(rows).score(encode(drawn([{1: 100}]), words))
    assert score == pytest.approx([log(101 / 100) / 0.01])


def test_the_quantile_of_a_column_counts_absent_cells_as_zero() -> None:
    random = np.random.default_rng(1)
    for n in (1, 2, 7, 150):
        there = random.random((n, 6)) < [0, 0.01, 0.3, 0.9, 1, 1]
        dense = random.integers(0, 1000, (n, 6)) * there
        for q in (0.0, 0.5, 0.99, 1.0):
            found = column_quantile(csr_array(dense.astype(float)), q)
            assert found == pytest.approx(np.quantile(dense, q, axis=0))
    assert column_quantile(csr_array((0, 3)), 0.99).tolist() == [0, 0, 0]


def test_excess_adds_up_what_each_path_took_over_its_99th_percentile() -> None:
    rows, words = fitted([{1: 100, 2: i} for i in range(101)])  # of path 2: 99
    today = drawn([{1: 100, 2: 99}, {1: 90, 2: 109}, {1: 150, 2: 100, 5: 7}, {}])
    assert fit_excess(rows).score(encode(today, words)) == pytest.approx([0, 10, 50 + 1 + 7, 0])


# Paths 1 and 2 in three rows and path 1 alone in one; all times are 99, so logs are ln 100.
FOUR = [{1: 99, 2: 99}, {1: 99, 2: 99}, {1: 99, 2: 99}, {1: 99}]


def test_pattern_adds_rarity_of_the_columns_and_the_largest_z() -> None:
    rows, words = fitted(FOUR)
    today = drawn([{1: 99, 2: 99}, {1: 999, 2: 99}, {1: 99}, {2: 999}, {1: 99, 2: 99, 5: 1}, {}])
    assert fit_pattern(rows).score(encode(today, words)) == pytest.approx(
        [
            -log(4 / 5),
            -log(4 / 5) + log(10) / 0.2,
            log(5),  # only one fit row is like it
            log(5) + log(5 / 0.5) + log(10) / 0.2,  # path 1, which all have, is missing
            log(5),
            log(5) + log(5 / 0.5),
        ]
    )


def test_failures_count_where_they_are_of_a_path_itself_or_of_the_root() -> None:
    rows, words = fitted(FOUR)
    usual: Row = {1: 99, 2: 99}
    today = drawn(
        [usual] * 5,
        status=[{}, {1: OWN}, {2: OWN}, {1: PROPAGATED}, {1: OWN, 2: OWN}],
        failed=[True, False, False, False, True],
    )
    share_1 = share_root = 0.5 / 5
    share_2 = 0.5 / 4
    terms = [share_root, share_1, share_2, 1.0, share_1]
    assert fit_pattern(rows).score(encode(today, words)) == pytest.approx(
        [-log(4 / 5) - log(term) for term in terms]
    )


def test_a_failure_where_there_are_none_is_above_every_row_that_was_fitted_on() -> None:
    random = np.random.default_rng(2)
    normal = [
        {1: int(a), 2: int(b), **({3: 5} if c < 0.02 else {})}
        for a, b, c in np.exp(random.normal([5, 6, 0], [1, 2, 1], (500, 3)))
    ]
    rows, words = fitted(normal)
    pattern = fit_pattern(rows)
    failing = drawn([{1: 148, 2: 403}], status=[{2: OWN}])
    assert pattern.score(encode(failing, words))[0] > pattern.score(rows).max()
    stopped = drawn([{1: 148, 2: 403}], failed=[True])
    assert pattern.score(encode(stopped, words))[0] > pattern.score(rows).max()


def test_failures_that_are_common_are_no_surprise() -> None:
    normal: list[Row] = [{1: 99, 2: 99}] * 200
    vectors = drawn(normal, status=[{2: OWN}] * 100)
    words = fit_vocabulary(vectors, tree(TREE), 1)
    pattern = fit_pattern(encode(vectors, words))
    score = pattern.score(encode(drawn(normal[:2], status=[{2: OWN}]), words))
    assert score[0] - score[1] == pytest.approx(-log(100.5 / 201))
