from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from crisp.anomaly.calibration import Calibration
from crisp.anomaly.detector import Frozen
from crisp.anomaly.gate import Candidate, Split, Trial, chosen, split, trials
from crisp.anomaly.planted import Planted
from crisp.anomaly.vectors import Floats
from crisp.anomaly.vocabulary import Encoded, fit_vocabulary
from tests.anomaly.drawn import TREE, drawn, tree


def test_a_window_is_split_by_time_and_below_forty_traces_not_at_all() -> None:
    assert split(39) == Split(39, 0, 0)
    assert split(40) == Split(24, 6, 10)
    assert split(20_000) == Split(12_000, 3_000, 5_000)
    assert split(41) == Split(24, 6, 11)
    assert split(0) == Split(0, 0, 0)


@dataclass(frozen=True)
class Total:
    """The latency is the score."""

    name: str = "total"

    def score(self, rows: Encoded) -> Floats:
        return rows.latency_us

    def freeze(self) -> Frozen:
        raise AssertionError("nobody stores it")


def test_recall_auc_and_false_positives_are_counted_as_drawn() -> None:
    untouched = drawn([{1: 10}, {1: 20}, {1: 30}, {1: 95}])
    words = fit_vocabulary(untouched, tree(TREE), 1)
    change = Planted(
        kind="slower",
        vectors=drawn([{1: 20}, {1: 99}, {1: 200}, {1: 7}]),
        changed=np.array([True, True, True, False]),
    )
    # Of 19 calibration scores, 9 … 90, p ≤ 0.05 means above all of them.
    held = Calibration(scores=np.linspace(9, 90, 19), alpha=0.05, density=False)
    (trial,) = trials([(Total(), held)], words, untouched, [change])
    of = trial.candidate
    assert (of.score, of.false_positive_rate) == ("total", 0.25)
    assert (of.recall, of.auc) == pytest.approx((2 / 3, (1.5 / 4 + 1 + 1) / 3))
    assert trial.merit == pytest.approx([(0 + 1.5 / 4) / 2, 1, 1])
    assert trial.calm  # one of four is well possible where 0.05 is promised


def test_a_score_that_calls_too_many_untouched_traces_abnormal_is_not_calm() -> None:
    untouched = drawn([{1: 1000}] * 10 + [{1: 10}] * 190)
    words = fit_vocabulary(untouched, tree(TREE), 1)
    change = Planted(kind="none", vectors=untouched, changed=np.zeros(200, np.bool_))
    held = Calibration(scores=np.arange(999.0), alpha=0.001, density=False)
    (trial,) = trials([(Total(), held)], words, untouched, [change])
    assert not trial.calm
    assert (trial.candidate.recall, trial.candidate.auc, len(trial.merit)) == (0, 0.5, 0)


def drawn_trial(name: str, merit: Floats, *, calm: bool = True, rate: float = 0.001) -> Trial:
    mean = float(merit.mean())
    of = Candidate(score=name, recall=mean, auc=mean, false_positive_rate=rate)
    return Trial(candidate=of, merit=merit, calm=calm)


NOISE = np.random.default_rng(0).normal(0, 0.2, (2, 200))
PLAIN = [
    drawn_trial("latency", 0.30 + NOISE[0]),
    drawn_trial("excess", 0.50 + NOISE[0]),
    drawn_trial("pattern", 0.90 + NOISE[0], calm=False, rate=0.07),
]


def serves(network: Trial | None, *, always: bool = False) -> tuple[str, str]:
    choice = chosen(PLAIN, network, without="profile plain: no network", always=always, seed=0)
    assert len(choice.candidates) == 3 + (network is not None)
    return choice.serves, choice.reason


def test_the_best_calm_plain_score_serves_where_there_is_no_network() -> None:
    name, reason = serves(None)
    assert name == "excess"
    assert "excess finds 5" in reason
    assert reason.endswith("profile plain: no network")


def test_the_network_serves_where_it_is_better_beyond_chance() -> None:
    assert serves(drawn_trial("vae", 0.60 + NOISE[1]))[0] == "vae"
    name, reason = serves(drawn_trial("vae", PLAIN[1].merit + 0.3 * NOISE[1] + 0.001))
    assert name == "excess"
    assert "no sure gain" in reason


def test_a_network_that_is_not_calm_does_not_serve() -> None:
    name, reason = serves(drawn_trial("vae", 0.8 + NOISE[1], calm=False, rate=0.05))
    assert name == "excess"
    assert "5.00% of untouched traces abnormal: too many" in reason


def test_by_the_papers_rule_the_network_always_serves() -> None:
    name, reason = serves(drawn_trial("vae", 0.1 + NOISE[1], calm=False), always=True)
    assert name == "vae"
    assert "always serves" in reason


def test_where_no_plain_score_is_calm_the_quietest_serves() -> None:
    loud = [drawn_trial(f"s{i}", 0.5 + NOISE[0], calm=False, rate=1 / (i + 2)) for i in range(4)]
    choice = chosen(loud, None, without="", always=False, seed=0)
    assert choice.serves == "s3"
    assert "comes closest" in choice.reason


def test_of_equals_the_first_serves() -> None:
    same = [drawn_trial(name, 0.5 + NOISE[0]) for name in ("latency", "excess")]
    assert chosen(same, None, without="", always=False, seed=0).serves == "latency"
