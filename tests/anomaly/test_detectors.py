"""What holds of every plain score."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from crisp.anomaly.detector import Detector, Frozen
from crisp.anomaly.frozen import packed, unpacked
from crisp.anomaly.isolation import fit_isolation, thaw_isolation
from crisp.anomaly.plain import (
    fit_excess,
    fit_latency,
    fit_pattern,
    thaw_excess,
    thaw_latency,
    thaw_pattern,
)
from crisp.anomaly.projection import fit_projection, thaw_projection
from crisp.anomaly.vectors import OWN, Vectors
from crisp.anomaly.vocabulary import Encoded, encode, fit_vocabulary
from tests.anomaly.drawn import TREE, Row, drawn, tree


class Kind(NamedTuple):
    fit: Callable[[Encoded], Detector]
    thaw: Callable[[Frozen], Detector]


KINDS = {
    "latency": Kind(fit_latency, thaw_latency),
    "excess": Kind(fit_excess, thaw_excess),
    "pattern": Kind(fit_pattern, thaw_pattern),
    "pca": Kind(lambda rows: fit_projection(rows, 3), thaw_projection),
    "isolation": Kind(lambda rows: fit_isolation(rows, 3), thaw_isolation),
}
ALL = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def many(n: int, seed: int = 5) -> Vectors:
    random = np.random.default_rng(seed)
    there = random.random((n, 8)) < [1, 0.9, 0.8, 0.5, 0.4, 0.3, 0.1, 0.05]
    times = np.exp(random.normal(6, 0.5, (n, 8))).astype(int)
    rows: list[Row] = [
        {path + 1: int(times[i, path]) for path in np.flatnonzero(there[i]).tolist()}
        for i in range(n)
    ]
    status: list[Row] = [{1: OWN} if random.random() < 0.02 else {} for _ in range(n)]
    return drawn(rows, status=status)


def encoded(fit: Vectors, today: Vectors) -> tuple[Encoded, Encoded]:
    words = fit_vocabulary(fit, tree(TREE), least=20)
    return encode(fit, words), encode(today, words)


@ALL
def test_a_thawed_score_gives_the_same_bits(kind: Kind) -> None:
    fit, today = encoded(many(300), many(40, seed=6))
    detector = kind.fit(fit)
    frozen = detector.freeze()
    about = json.loads(json.dumps(frozen.about, allow_nan=False))
    again = kind.thaw(Frozen(about=about, arrays=unpacked(packed(frozen.arrays))))
    assert again.name == detector.name
    assert np.array_equal(again.score(today), detector.score(today))


@ALL
def test_fitting_twice_gives_the_same_bytes(kind: Kind) -> None:
    fit, _ = encoded(many(300), many(1))
    assert packed(kind.fit(fit).freeze().arrays) == packed(kind.fit(fit).freeze().arrays)


@ALL
def test_the_score_of_a_row_depends_on_that_row_alone(kind: Kind) -> None:
    fit, today = encoded(many(300), many(40, seed=6))
    detector = kind.fit(fit)
    whole = detector.score(today)
    words = fit_vocabulary(fit.vectors, tree(TREE), least=20)
    for i in (0, 17, 39):
        alone = encode(today.vectors.take([i]), words)
        assert detector.score(alone) == pytest.approx(whole[[i]], rel=1e-12)


@ALL
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no normal traces"),
        pytest.param([{1: 100}], id="one trace"),
        pytest.param([{1: 100, 2: 7}, {3: 5}], id="two traces without a path in common"),
        pytest.param([{1: 100, 2: 7}] * 60, id="constant times"),
        pytest.param([{1: 0, 2: 0}] * 60, id="latency 0"),
        pytest.param([{}] * 5, id="rows without paths"),
        pytest.param([{1: 2**45 - 1}, {1: 0}] * 30, id="the largest time and none"),
    ],
)
def test_scores_are_finite_numbers(kind: Kind, rows: list[Row]) -> None:
    failing: Row = {1: OWN, 2: OWN}
    fit, today = encoded(
        drawn(rows, status=[failing] * len(rows), failed=[True] * len(rows)),
        drawn(
            [{1: 100}, {1: 0}, {}, {90: 5, 91: 0}, {1: 2**45 - 1, 2: 3, 3: 4}],
            status=[failing] * 5,
            failed=[True, False] * 2 + [True],
        ),
    )
    detector = kind.fit(fit)
    assert np.isfinite(detector.score(today)).all()
    assert len(detector.score(encode(drawn([]), fit_vocabulary(fit.vectors, tree(TREE), 20)))) == 0
    for array in detector.freeze().arrays.values():
        assert not np.isnan(array).any()
