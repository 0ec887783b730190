from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from crisp import schema
from crisp.anomaly import endpoint, networks
from crisp.anomaly.model import EndpointModel, fit_models, model_rows, models_of
from crisp.anomaly.vectors import OWN, Vectors
from crisp.anomaly.vocabulary import encode
from crisp.errors import ConfigError, LakeError
from crisp.options import Features, TrainOptions
from tests.anomaly import vae_rows
from tests.anomaly.drawn import TREE, Row, drawn, tree

PLAIN = TrainOptions(profile="plain")
DAYS = ("2026-08-01", "2026-08-14")


def traces(n: int, seed: int = 1, slower: float = 1.0, endpoint: int = 1) -> Vectors:
    """Requests over 40 paths of which families come and go, on an endpoint that stays the same."""
    shape = np.random.default_rng(0)
    parent = vae_rows.parents(40, shape)
    times = vae_rows.requests(n, parent, np.random.default_rng(seed), shape)
    times[:, 0] *= slower
    return vae_rows.traces(times, endpoint=endpoint)


def tree_of_traces() -> tuple[np.ndarray, np.ndarray]:
    above = vae_rows.parents(40, np.random.default_rng(0)) + 1
    return np.arange(1, 41), above


def fit(
    vectors: Vectors,
    options: TrainOptions = PLAIN,
    before: Mapping[int, EndpointModel] | None = None,
    days: tuple[str, str] = DAYS,
) -> EndpointModel:
    (model,) = fit_models(
        [vectors], options, parents=tree_of_traces(), days=days, before=before or {}
    )
    return model


def table(*models: EndpointModel) -> pa.Table:
    return pa.Table.from_batches([model_rows(models)])


def test_a_model_says_of_itself_what_it_was_made_from() -> None:
    (row,) = table(fit(traces(400))).to_pylist()
    assert (row["endpoint_id"], row["profile"], row["features"]) == (1, "plain", "scpv")
    assert (row["first_day"], row["last_day"], row["traces"]) == (*DAYS, 400)
    assert (row["fit_rows"], row["gate_rows"], row["calibration_rows"]) == (240, 60, 100)
    assert [each["score"] for each in row["candidates"]] == [
        "latency",
        "excess",
        "pattern",
        "pca",
        "isolation",
    ]
    assert row["serves"] in {each["score"] for each in row["candidates"]}
    assert row["reason"].startswith(row["serves"] + " finds")
    assert (row["trained"], row["trained_day"], row["drift"]) == ("none", "", 0)


def test_scores_are_a_table_of_their_schema_with_changes_that_add_up() -> None:
    model, today = fit(traces(1000)), traces(50, seed=9, slower=4)
    found = model.score(today)
    found.validate(full=True)
    assert found.schema.equals(schema.SCORES)
    for row, latency in zip(found.to_pylist(), today.latency_us.tolist(), strict=True):
        named = sum(each["change_us"] for each in row["contributions"])
        assert named + row["other_us"] == latency - row["expected_us"]
        assert row["score"] == row[model.choice.serves]
        assert row["abnormal"] == (row["p"] <= 0.001)
        assert row["p_how"].startswith("conformal, 250 traces")
    assert found["model"][0].as_py() == "plain 2026-08-14"


def test_a_stored_model_says_the_same_and_is_stored_as_the_same_bytes() -> None:
    model, today = fit(traces(600)), traces(50, seed=9)
    rows = table(model)
    (again,) = models_of(rows)
    assert again.score(today).equals(model.score(today))
    assert table(again).equals(rows)
    assert table(fit(traces(600))).equals(rows)
    assert np.array_equal(again.reference.path_id, model.reference.path_id)
    assert np.array_equal(again.reference.start_us, model.reference.start_us)


def test_the_reference_is_as_many_traces_evenly_over_the_window() -> None:
    model = fit(traces(1000), replace(PLAIN, reference=100))
    assert len(model.reference) == 100
    assert (model.reference.start_us // 10).tolist() == list(range(100))
    assert set(model.reference.trace_id) == {""}


def test_of_too_many_traces_some_are_fitted_on_and_all_paths_are_known() -> None:
    vectors = drawn([{1: 5, **({7: 1} if i == 3 else {})} for i in range(500)])
    model = fit(vectors, replace(PLAIN, most_traces=100))
    assert model.split.fit == 60
    assert (model.traces, model.lone) == (500, 1)
    (row,) = model.score(vectors.take([3])).to_pylist()
    assert row["unseen"] == []


def test_a_model_of_another_format_is_refused() -> None:
    rows = table(fit(traces(60)))
    other = rows.set_column(1, "format", pa.array([7]))
    with pytest.raises(LakeError, match=r"format 7, .* reads format 1: run crisp train again"):
        models_of(other)


def test_a_new_path_counts_only_where_normal_traces_have_none() -> None:
    steady: list[Row] = [{1: 100 + i % 7} for i in range(2000)]
    today = drawn([{1: 100, 5: 30}])
    (row,) = fit(drawn(steady)).score(today).to_pylist()
    assert (row["unseen"], row["unseen_counts"], row["abnormal"]) == ([5], True, True)
    assert {"path_id": 5, "change_us": 30} in row["contributions"]

    moving: list[Row] = [{1: 100, 1000 + i: 1} if i % 50 == 0 else {1: 100} for i in range(1200)]
    model = fit(drawn(moving))
    assert model.new_path_rate == pytest.approx(24 / 1200)
    (row,) = model.score(drawn([{1: 100, 5: 1}])).to_pylist()
    assert (row["unseen"], row["unseen_counts"]) == ([5], False)
    assert row["abnormal"] == (row["p"] <= 0.001)

    few = fit(drawn(steady[:1200]))  # one in 1,200 could be new, for all that is known
    assert few.score(today)["unseen_counts"].to_pylist() == [False]


def test_below_forty_traces_nothing_is_said_of_p() -> None:
    (row,) = fit(traces(39)).score(traces(1, seed=5)).to_pylist()
    assert (row["p"], row["abnormal"], row["served_by"]) == (None, False, "latency")
    assert row["p_how"] == "too few traces to keep some back for p-values"


@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param(drawn([]), id="no traces"),
        pytest.param(drawn([{1: 100}]), id="one trace"),
        pytest.param(drawn([{1: 100, 2: 50}] * 100), id="constant times"),
        pytest.param(drawn([{1: 0}] * 100), id="latency 0"),
        pytest.param(
            drawn([{1: 5, 2: 6}] * 100, status=[{1: OWN, 2: OWN}] * 100, failed=[True] * 100),
            id="all failed",
        ),
        pytest.param(drawn([{1000 + i: 7} for i in range(100)]), id="no two traces alike"),
        pytest.param(drawn([{1: 10**6 * (i + 1)} for i in range(50)]), id="one path"),
    ],
)
@pytest.mark.parametrize("features", ["scpv", "stv"])
def test_poor_data_makes_a_model_of_finite_numbers(vectors: Vectors, features: Features) -> None:
    options = replace(PLAIN, features=features)
    (model,) = fit_models([vectors], options, parents=tree(TREE), days=DAYS, before={})
    (again,) = models_of(table(model))
    today = drawn([{1: 100, 2: 50}, {1: 0}, {77: 5, 78: 0}, {}], failed=[True, False] * 2)
    for known in (model, again):
        found = known.score(today)
        for name in ("score", "p", "latency", "excess", "pattern", "pca", "isolation"):
            values = [value for value in found[name].to_pylist() if value is not None]
            assert np.isfinite(values).all()
        assert known.score(today.take([])).num_rows == 0


@pytest.mark.slow
def test_traces_called_abnormal_are_as_many_as_promised() -> None:
    """Eight endpoints with 1,000 calibration traces each and 10,000 others: the mean realised
    rate of p ≤ 0.01 is known to 0.0012, as the calibration traces are a sample themselves."""
    rates = []
    for seed in range(8):
        model = fit(traces(4000, seed=seed), replace(PLAIN, alpha=0.01))
        rates.append(np.mean(model.score(traces(10_000, seed=1000 + seed))["abnormal"].to_pylist()))
    assert 0.01 / 1.5 <= np.mean(rates) <= 0.01 * 1.5


def test_a_change_is_found_and_named() -> None:
    model = fit(traces(3000))
    today = model.score(traces(300, seed=5, slower=30))
    p = np.array(today["p"].to_pylist())
    first = [row[0]["path_id"] if row else None for row in today["contributions"].to_pylist()]
    assert np.median(p) < 0.01
    assert np.mean([path == 1 for path in first]) > 0.5


torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
HURDLE = TrainOptions(profile="hurdle", least_traces=100)


@torch
@pytest.mark.slow
def test_a_network_is_kept_then_warmed_and_begun_anew_as_traces_change() -> None:
    first = fit(traces(400), HURDLE)
    assert (first.profile, first.trained, first.drift) == ("hurdle", "cold", 0)
    assert [each.score for each in first.choice.candidates][-1] == "vae"
    (stored,) = models_of(table(first))
    today = traces(40, seed=9)
    assert stored.score(today).equals(first.score(today))
    assert stored.network is not None
    assert first.network is not None
    rows = encode(today, first.network.vocabulary)
    assert np.array_equal(stored.network.vae().score(rows), first.network.vae().score(rows))

    def night(vectors: Vectors, day: str, options: TrainOptions = HURDLE) -> EndpointModel:
        return fit(vectors, options, {1: stored}, ("2026-08-02", day))

    kept = night(traces(400, seed=2), "2026-08-15")
    assert kept.network is not None
    assert (kept.trained, kept.network.trained_day) == ("kept", "2026-08-14")
    assert kept.network.frozen is stored.network.frozen
    assert kept.score(today).num_rows == 40

    old = night(traces(400, seed=2), "2026-08-21")
    assert old.network is not None
    assert (old.trained, old.network.trained_day) == ("warm", "2026-08-21")
    moved = night(traces(400, seed=2, slower=1.4), "2026-08-15")
    assert moved.trained == "warm"
    assert 0.1 < moved.drift < 0.5
    other = night(traces(400, seed=2, slower=50), "2026-08-15")
    assert other.trained == "cold"
    assert other.drift > 0.5
    flow = night(traces(400, seed=2), "2026-08-15", replace(HURDLE, flow="planar"))
    assert flow.trained == "cold"


@torch
def test_few_traces_get_no_network() -> None:
    model = fit(traces(99), HURDLE)
    assert (model.profile, model.trained, model.network) == ("plain", "none", None)
    assert model.choice.reason.endswith("fewer than 100 traces, so no network")


@torch
@pytest.mark.slow
def test_by_the_paper_the_network_serves_with_a_density_and_new_paths_always_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from crisp.anomaly.vae import models as vae

    monkeypatch.setattr(vae, "PAPER", replace(vae.PAPER, epochs=5))
    model = fit(traces(120), TrainOptions(profile="paper", least_traces=100, flow_length=2))
    assert (model.profile, model.choice.serves) == ("paper", "vae")
    assert "profile paper: the network always serves" in model.choice.reason
    usual, new = traces(1, seed=5), drawn([{1: 10_000, 500: 1}])
    (row,) = model.score(usual).to_pylist()
    assert (row["served_by"], row["p_how"]) == ("vae", "kernel density, 30 traces")
    assert row["unseen_counts"]
    (row,) = model.score(new).to_pylist()
    assert (row["unseen"], row["abnormal"]) == ([500], True)
    (again,) = models_of(table(model))
    assert again.score(usual).equals(model.score(usual))
    monkeypatch.setattr(endpoint, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="a network serves here, which needs torch"):
        again.score(usual)


def test_a_profile_that_needs_torch_says_so_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(networks, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"profile hurdle needs torch: pip install"):
        fit(traces(300), HURDLE)
    assert fit(traces(300), TrainOptions()).profile == "plain"


def test_endpoints_of_a_batch_are_the_models_they_are_alone() -> None:
    batch = [traces(300, seed=i, endpoint=i) for i in (4, 2)]
    together = fit_models(batch, PLAIN, parents=tree_of_traces(), days=DAYS, before={})
    assert table(*together).equals(table(*(fit(vectors) for vectors in batch)))


def test_a_model_knows_the_callers_of_paths_that_a_day_may_lack() -> None:
    fitted = fit(traces(400))
    (thawed,) = models_of(table(fitted))
    known = dict(zip(*(numbers.tolist() for numbers in thawed.callers), strict=True))
    assert set(thawed.reference.path_id.tolist()) <= known.keys()
    assert set(known.values()) <= known.keys() | {0}
    wanted = dict(zip(*(numbers.tolist() for numbers in tree_of_traces()), strict=True))
    assert known == {path: wanted[path] for path in known}
