from __future__ import annotations

import numpy as np
import pytest

from crisp.anomaly.detector import Frozen
from crisp.anomaly.drift import drift, sketched, thaw_sketch
from crisp.anomaly.frozen import packed, unpacked
from crisp.anomaly.vectors import Vectors
from crisp.anomaly.vocabulary import fit_vocabulary
from tests.anomaly.drawn import TREE, drawn, tree


def window(n: int, seed: int, slower: float = 0.0) -> Vectors:
    random = np.random.default_rng(seed)
    times = np.exp(random.normal([5, 6 + slower, 4], 0.5, (n, 3))).astype(int)
    return drawn([{1: int(a), 2: int(b), 3: int(c)} for a, b, c in times])


def moved(then: Vectors, now: Vectors) -> float:
    words = fit_vocabulary(then, tree(TREE), least=20)
    return drift(sketched(then, words), now, words)


def test_chance_alone_is_no_drift_in_nineteen_of_twenty_windows() -> None:
    found = [moved(window(250, seed), window(250, seed + 1000)) for seed in range(100)]
    assert sum(each > 0 for each in found) <= 10
    assert max(found) < 0.1


def test_drift_is_the_largest_difference_of_the_distributions_less_that_of_chance() -> None:
    """Of path 2, moved by one standard deviation: 2 Φ(1/2) − 1 = 0.383."""
    n = 20_000
    chance = np.sqrt(np.log(2 * 4 / 0.05) / 2 * (2 / n))
    found = moved(window(n, 1), window(n, 2, slower=0.5))
    assert found == pytest.approx(0.383 - chance, abs=0.02)


def test_time_in_paths_without_a_column_of_their_own_is_drift() -> None:
    then = drawn([{1: 100}] * 100)
    words = fit_vocabulary(then, tree(TREE), least=20)
    now = drawn([{1: 100, 9: 300}] * 100, latency=[100] * 100)
    assert drift(sketched(then, words), now, words) == pytest.approx(0.75)


def test_times_that_never_differ_and_empty_windows_are_no_drift() -> None:
    then = drawn([{1: 100, 2: 0}] * 30)
    assert moved(then, drawn([{1: 100, 2: 0}] * 50)) == 0
    assert moved(then, drawn([])) == 0
    assert moved(drawn([{1: 0}] * 30), drawn([{1: 0}] * 50)) == 0


def test_paths_that_changed_entirely_are_all_drift() -> None:
    assert moved(drawn([{1: 10}] * 100), drawn([{6: 10}] * 100)) == 1


def test_a_thawed_sketch_says_the_same() -> None:
    then, now = window(300, 1), window(300, 2, slower=0.4)
    words = fit_vocabulary(then, tree(TREE), least=20)
    sketch = sketched(then, words)
    frozen = sketch.freeze()
    again = thaw_sketch(Frozen(about=frozen.about, arrays=unpacked(packed(frozen.arrays))))
    assert drift(again, now, words) == drift(sketch, now, words) > 0
