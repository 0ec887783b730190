"""Networks of endpoints: many at once, each as if alone; what they find; what they withstand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from crisp.anomaly.vae import Sample, Vae, fit, hurdle, models, thaw
from crisp.anomaly.vectors import Floats, Ints
from crisp.errors import ConfigError, CrispError
from crisp.options import Flow, Profile, TrainOptions
from tests.anomaly.vae_rows import (
    ABSENT,
    Dense,
    drop_and_shuffle,
    drop_subtrees,
    encoded,
    parents,
    requests,
    vocabulary,
)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """TraceAnomaly's network trains for minutes; what is tested here shows sooner."""
    monkeypatch.setattr(models, "PAPER", replace(models.PAPER, epochs=15))


def day(n: int, columns: int, seed: int, *, always: float = 0.8) -> tuple[Dense, Ints]:
    """Traces of the one endpoint that has so many paths; another seed, other traces."""
    tree = parents(columns, np.random.default_rng(columns))
    shape = np.random.default_rng(columns + 1)
    return requests(n, tree, np.random.default_rng(seed), shape, always), tree


def sample(
    x: Dense,
    validation: Dense | None = None,
    *,
    paths: Ints | None = None,
    endpoint: int = 1,
    warm: Vae | None = None,
) -> Sample:
    held = x[:0] if validation is None else validation
    return Sample(
        fit=encoded(x, paths=paths, endpoint=endpoint),
        validation=encoded(held, paths=paths, endpoint=endpoint),
        vocabulary=vocabulary(np.arange(1, x.shape[1] + 1) if paths is None else paths),
        warm=warm,
    )


def auc(normal: Floats, other: Floats) -> float:
    labels = np.r_[np.zeros(len(normal)), np.ones(len(other))]
    return float(roc_auc_score(labels, np.r_[normal, other]))


@pytest.fixture(scope="module")
def fitted() -> Vae:
    return fit([sample(day(1500, 30, 1)[0], day(300, 30, 2)[0])], TrainOptions())[0]


def test_dropped_and_shuffled_paths_are_told_from_normal_ones(fitted: Vae) -> None:
    normal = day(400, 30, 3)[0]
    faulty = drop_and_shuffle(normal, np.random.default_rng(4))
    assert auc(fitted.score(encoded(normal)), fitted.score(encoded(faulty))) >= 0.99


def test_dropped_subtrees_are_told_from_normal_ones(fitted: Vae) -> None:
    normal, tree = day(400, 30, 3)
    faulty = drop_subtrees(normal, tree, np.random.default_rng(4))
    assert auc(fitted.score(encoded(normal)), fitted.score(encoded(faulty))) >= 0.95


def test_a_new_day_without_change_scores_as_the_days_of_the_fit(fitted: Vae) -> None:
    old, new = (fitted.score(encoded(day(1500, 30, seed)[0])) for seed in (1, 5))
    assert abs(auc(old, new) - 0.5) < 0.05


def test_one_path_ten_times_slower_and_one_ten_times_faster_score_higher(fitted: Vae) -> None:
    normal = day(400, 30, 3)[0]
    for factor in (0.1, 10.0):
        changed = normal.copy()
        changed[:, 0] *= factor
        assert auc(fitted.score(encoded(normal)), fitted.score(encoded(changed))) >= 0.9


def test_a_failure_where_none_was_seen_scores_higher(fitted: Vae) -> None:
    rows = day(200, 30, 3)[0]
    own = np.zeros(rows.shape, np.bool_)
    own[:, 0] = True
    # (0 + ½) / (1500 + 1): 8 nats, over at most 31 nodes and 10 of the latent
    more = fitted.score(encoded(rows, own=own)) - fitted.score(encoded(rows))
    assert more.min() > 0
    assert np.median(more) > 7 / 41


@pytest.mark.parametrize(
    ("profile", "flow"),
    [("hurdle", "planar"), ("hurdle", "realnvp"), ("paper", "none"), ("paper", "realnvp")],
)
@pytest.mark.slow
def test_every_network_tells_dropped_and_shuffled_paths(profile: Profile, flow: Flow) -> None:
    options = TrainOptions(profile=profile, flow=flow, flow_length=4)
    model = fit([sample(day(600, 20, 1)[0], day(100, 20, 2)[0])], options)[0]
    assert model.network.flow == ("planar" if flow == "none" else flow)
    normal = day(60, 20, 3)[0]
    faulty = drop_and_shuffle(normal, np.random.default_rng(4))
    assert auc(model.score(encoded(normal)), model.score(encoded(faulty))) >= 0.95


@pytest.mark.parametrize("profile", ["hurdle", "paper"])
def test_what_was_frozen_and_thawed_scores_the_same_to_the_bit(profile: Profile) -> None:
    x = day(80, 12, 1)[0]
    model = fit([sample(x)], TrainOptions(profile=profile))[0]
    frozen = model.freeze()
    assert_array_equal(thaw(frozen).score(encoded(x[:20])), model.score(encoded(x[:20])))
    assert {a.dtype for name, a in frozen.arrays.items() if name != "keys"} == {np.dtype("f4")}


@pytest.mark.parametrize("profile", ["hurdle", "paper"])
def test_a_row_scores_the_same_whatever_rows_are_beside_it(profile: Profile) -> None:
    x = day(80, 12, 1)[0]
    model = fit([sample(x)], TrainOptions(profile=profile))[0]
    alone = [model.score(encoded(x[i : i + 1]))[0] for i in range(5)]
    assert_allclose(model.score(encoded(x))[:5], alone, rtol=1e-4)


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_the_same_call_gives_the_same_bytes_and_leaves_torch_as_it_was(threads: int) -> None:
    x, state = day(150, 12, 1)[0], torch.get_rng_state()
    models_ = [fit([sample(x)], TrainOptions(), threads=1)[0] for _ in range(2)]
    for name, array in models_[0].arrays.items():
        assert array.tobytes() == models_[1].arrays[name].tobytes()
    assert_array_equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    other = fit([sample(x)], TrainOptions(seed=1))[0]
    assert not np.array_equal(other.arrays["back.weight"], models_[0].arrays["back.weight"])


@pytest.mark.parametrize("flow", ["none", "planar"])
def test_a_model_does_not_depend_on_those_trained_beside_it(
    flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "HURDLE", replace(models.HURDLE, epochs=6))
    options = TrainOptions(flow=flow)
    sizes = [(150, 12), (170, 20), (40, 12), (150, 40)]
    samples = [
        sample(day(n, d, i)[0], day(10 + i, d, 90 + i)[0], endpoint=i)
        for i, (n, d) in enumerate(sizes)
    ]
    together, alone = fit(samples, options), [fit([one], options)[0] for one in samples]
    for i, (n, d) in enumerate(sizes):
        rows = encoded(day(n, d, i)[0])
        assert_allclose(together[i].score(rows), alone[i].score(rows), rtol=5e-3, atol=5e-3)


def test_a_warm_start_takes_columns_by_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "WARM_EPOCHS", 0)
    x = day(300, 12, 1)[0]
    cold = fit([sample(x)], TrainOptions())[0]
    order = np.array([3, 7, 1, 2, 12, 11, 10, 9, 8, 6, 5, 4])
    shuffled = replace(sample(x, warm=cold))
    assert_allclose(
        fit([shuffled], TrainOptions())[0].score(encoded(x)), cold.score(encoded(x)), rtol=1e-5
    )
    # the same traces, their columns in another order, which the keys tell
    turned = x[:, order - 1]
    moved = Sample(
        fit=encoded(turned),
        validation=encoded(turned[:0]),
        vocabulary=replace(vocabulary(np.arange(1, 13)), keys=np.append(order, 0)),
        warm=cold,
    )
    warm = fit([moved], TrainOptions())[0]
    assert_allclose(warm.score(encoded(turned)), cold.score(encoded(x)), rtol=1e-3)


def test_a_warm_start_with_a_new_path_beats_a_cold_one_of_as_many_epochs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "WARM_EPOCHS", 2)
    before, after = day(1000, 20, 1)[0], day(300, 20, 2)[0]
    old = fit([sample(before[:, :15], paths=np.arange(1, 16))], TrainOptions())[0]
    warm = fit([sample(after, warm=old)], TrainOptions())[0]
    monkeypatch.setattr(models, "HURDLE", replace(models.HURDLE, epochs=2))
    cold = fit([sample(after)], TrainOptions())[0]
    rows = encoded(day(300, 20, 3)[0])
    assert warm.score(rows).mean() < cold.score(rows).mean()


def test_a_warm_start_from_a_network_of_other_sizes_is_a_cold_one() -> None:
    x = day(60, 12, 1)[0]
    other = fit([sample(x)], TrainOptions(flow="planar"))[0]
    cold, warm = (fit([sample(x, warm=w)], TrainOptions())[0] for w in (None, other))
    assert_array_equal(cold.score(encoded(x)), warm.score(encoded(x)))


DEGENERATE = {
    "one trace": np.array([[5.0, 7.0, ABSENT]]),
    "one path": np.full((30, 1), 1000.0),
    "constant columns": np.tile([1000.0, 2000.0, 0.0], (50, 1)),
    "no time at all": np.zeros((40, 3)),
    "a path in no row": np.tile([1000.0, ABSENT, 3.0], (50, 1)),
    "no path known": np.full((20, 3), ABSENT),
    "407 days": np.array([[2.0**45 - 1, 1.0, 0.0]] * 3 + [[1.0, ABSENT, 2.0**45 - 1]] * 3),
}


@pytest.mark.parametrize("profile", ["hurdle", "paper"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_traces_give_finite_scores(name: str, profile: Profile) -> None:
    x = DEGENERATE[name]
    model = fit([sample(x)], TrainOptions(profile=profile))[0]
    strange = np.full((4, x.shape[1]), ABSENT)
    strange[1], strange[2], strange[3, 0] = 0.0, 2.0**45 - 1, 1.0
    for rows in (x, strange, x[:0]):
        found = model.score(encoded(rows))
        assert found.shape == (len(rows),)
        assert np.isfinite(found).all()


@pytest.fixture(scope="module")
def small() -> dict[str, Vae]:
    x = day(30, 4, 1)[0]
    return {name: fit([sample(x)], TrainOptions(profile=name))[0] for name in ("hurdle", "paper")}


@given(
    arrays(np.float64, (3, 6), elements=st.integers(0, 2**45 - 1) | st.just(ABSENT)),
    arrays(np.bool_, (3, 6)),
    st.sampled_from(["hurdle", "paper"]),
)
@settings(max_examples=50, deadline=None)
def test_no_row_has_a_score_that_is_no_number(
    small: dict[str, Vae], x: Dense, own: Dense, profile: str
) -> None:
    # paths 5 and 6 are not in the vocabulary
    assert np.isfinite(small[profile].score(encoded(x, paths=np.arange(1, 5), own=own))).all()


def test_a_path_never_seen_scores_higher_the_more_traces_were_fitted() -> None:
    x = day(400, 6, 1)[0]
    news = np.c_[x, np.full(len(x), 1000.0)]
    more = []
    for n in (20, 400):
        model = fit([sample(x[:n])], TrainOptions())[0]
        known, unseen = (model.score(encoded(rows, paths=np.arange(1, 7))) for rows in (x, news))
        more.append(np.median(unseen - known))
    assert 0 < more[0] < more[1]


def test_a_gpu_that_is_not_there_is_an_error_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    x = day(20, 3, 1)[0]
    with pytest.raises(ConfigError, match="torch finds no GPU"):
        fit([sample(x)], TrainOptions(device="cuda"))
    assert fit([sample(x)], TrainOptions(device="auto"))[0].name == "vae"


def test_a_loss_that_never_is_a_number_names_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    right = hurdle.loss
    monkeypatch.setattr(hurdle, "loss", lambda *arguments: right(*arguments) * float("nan"))
    with pytest.raises(CrispError, match="endpoint 77"):
        fit([sample(day(20, 3, 1)[0], endpoint=77)], TrainOptions())


def test_no_samples_give_no_models() -> None:
    assert fit([], TrainOptions()) == []
