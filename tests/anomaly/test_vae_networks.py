"""Flows, likelihoods and steps of the networks, against definitions and numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from torch import Tensor

from crisp.anomaly.vae import flows, hurdle, paper
from crisp.anomaly.vae.batches import Batch, batch, cells, joined, moments
from crisp.anomaly.vae.descent import Descent, Plan
from crisp.anomaly.vae.fitting import batches
from crisp.anomaly.vae.network import Arrays, Network, stacked
from crisp.options import Flow
from tests.anomaly.vae_rows import ABSENT, Dense, encoded

CPU = torch.device("cpu")


def network(flow: Flow = "none", *, length: int = 3, latent: int = 4, hidden: int = 8) -> Network:
    return Network(
        profile="any",
        hidden=hidden,
        flow=flow,
        flow_length=0 if flow == "none" else length,
        latent=latent,
    )


def bent(flow: Flow, seed: int) -> dict[str, Tensor]:
    """Arrays of two flows, far from the identity."""
    shapes = flows.initial(np.random.default_rng(0), network(flow))
    rng = np.random.default_rng(seed)
    return {name: torch.from_numpy(rng.normal(0, 1, (2, *a.shape))) for name, a in shapes.items()}


def as_batch(x: Dense, own: Dense | bool = False) -> Batch:
    """Dense rows with times as they are: mean 0, std 1, no logarithm."""
    rows = encoded(x, own=own)
    width = x.shape[1] + 1

    pool = joined([cells(rows, np.zeros(width), np.ones(width), logarithm=False)], width)
    return batch(pool, np.arange(len(x))[np.newaxis], width, CPU)


@pytest.mark.parametrize("flow", ["planar", "realnvp"])
@pytest.mark.parametrize("seed", range(5))
def test_the_log_determinant_of_a_flow_is_that_of_its_jacobian(flow: Flow, seed: int) -> None:
    params = bent(flow, seed)
    z = torch.from_numpy(np.random.default_rng(seed + 9).normal(0, 1.5, (2, 3, 4)))
    _, moved = flows.forward(params, network(flow), z)

    for model in range(2):
        alone = {name: p[model : model + 1] for name, p in params.items()}
        for row in range(3):
            at = z[model, row].clone().requires_grad_()
            out = flows.forward(alone, network(flow), at.view(1, 1, 4))[0].view(4)
            slopes = [torch.autograd.grad(out[i], at, retain_graph=True)[0] for i in range(4)]
            assert_allclose(
                moved[model, row], torch.linalg.slogdet(torch.stack(slopes))[1], rtol=1e-6
            )


def test_realnvp_can_be_undone() -> None:
    params, z = (
        bent("realnvp", 3),
        torch.from_numpy(np.random.default_rng(1).normal(0, 1, (2, 5, 4))),
    )
    out, _ = flows.forward(params, network("realnvp"), z)
    for k in reversed(range(3)):
        moved, still = out[..., :2], out[..., 2:]
        shift, log_scale = flows._shift(params, k, still)
        out = torch.cat((still, (moved - shift) / log_scale.exp()), 2)
    assert_allclose(out, z, atol=1e-9)


@given(
    arrays(np.float64, (2, 1, 1, 4), elements=st.floats(-50, 50)),
    arrays(np.float64, (1, 1, 4), elements=st.floats(-50, 50)),
)
def test_a_planar_step_never_folds_space(uw: Dense, z: Dense) -> None:
    params = {
        "flow.u": torch.from_numpy(uw[0]),
        "flow.w": torch.from_numpy(uw[1]),
        "flow.b": torch.zeros(1, 1, dtype=torch.float64),
    }
    moved = flows.forward(params, network("planar", length=1), torch.from_numpy(z))[1]
    assert bool(torch.isfinite(moved).all())


def test_flow_none_leaves_z_as_it_is() -> None:
    z = torch.ones(1, 2, 4)
    out, moved = flows.forward({}, network(), z)
    assert out is z
    assert moved.tolist() == [[0.0, 0.0]]


def zeros(arrays: Arrays) -> Arrays:
    """The same names and shapes, all zero but what counting gave."""
    return {
        name: value if name.startswith("column.fixed.") else np.zeros_like(value)
        for name, value in arrays.items()
    }


def test_the_hurdle_loss_of_two_columns_is_that_by_hand() -> None:
    fit = encoded(np.array([[math.e - 1, ABSENT], [math.e**3 - 1, math.e**2 - 1]]))
    net = network(hidden=3, latent=2)
    made = zeros(hurdle.initial(np.random.default_rng(0), net, fit))
    made["column.there.bias"] = np.array([math.log(3), 0.0, -math.log(4)], np.float32)
    made["column.time.bias"] = np.array([0.5, 0.0, 0.0], np.float32)
    # times are cut to whole µs: 1 and 19 in the first column, 6 in the second
    low, high = math.log(2), math.log(20)
    mean, std = (low + high) / 2, (high - low) / 2
    row = np.array([[math.e**2 - 1, ABSENT]])  # 6 µs
    pool = joined([hurdle.prepared(made, encoded(row))], 3)
    found = hurdle.score(stacked([made], 3, CPU), net, batch(pool, np.array([[0]]), 3, CPU))

    variance = std**2 + 0.2**2
    off = math.log(7) - (mean + 0.5 * std)
    there = -math.log(3 / 4)
    absent = -math.log(1 / 2) - math.log(4 / 5)
    slow = 0.5 * off**2 / variance + 0.5 * math.log(2 * math.pi * variance)
    sound = -math.log(2.5 / 3)  # no failure in two rows: (0 + ½) / (2 + 1)
    # µ(x) = 0 and σ(x) = 1: the divergence by the formula is −½ dim z = −1
    assert_allclose(found.item(), (there + absent + slow + sound - 1) / (1 + 2), rtol=1e-5)


def test_the_std_of_a_column_that_never_changes_is_a_fifth() -> None:
    fit = encoded(np.full((50, 1), 1000.0))
    net = network(hidden=3, latent=2)
    made = zeros(hurdle.initial(np.random.default_rng(0), net, fit))
    params = stacked([made], 2, CPU)

    def score(time: float) -> float:
        pool = joined([hurdle.prepared(made, encoded(np.array([[time]])))], 2)
        return hurdle.score(params, net, batch(pool, np.array([[0]]), 2, CPU)).item()

    # std of the decoder, exp(0) × 0.2, and the floor 0.2: variance 0.08
    expected = 0.5 * math.log(2002 / 1001) ** 2 / 0.08 / (1 + 2)
    assert_allclose(score(2001) - score(1000), expected, rtol=1e-4)


def test_moments_are_those_of_the_rows_that_have_the_column() -> None:
    rows = encoded(np.array([[10.0, 7.0], [20.0, ABSENT], [30.0, ABSENT]]))
    mean, std, count = moments(rows, 1.0, logarithm=False)
    assert count.tolist() == [3, 1, 0]
    assert_allclose(mean, [20, 7, 67 / 4])  # no row has the last: mean of all cells
    every = np.array([10.0, 20.0, 30.0, 7.0])
    assert_allclose(std, [math.sqrt(200 / 3), 1, float(every.std())])


def test_a_row_of_the_paper_is_standardised_and_minus_one_where_a_path_is_missing() -> None:
    fit = encoded(np.array([[1000.0, 5000.0], [9000.0, 5000.0], [5000.0, ABSENT]]))
    made = paper.initial(np.random.default_rng(0), network(), fit)
    rows = encoded(np.array([[5000.0 + math.sqrt(32e6 / 3), ABSENT], [ABSENT, 7000.0]]))
    pool = joined([paper.prepared(made, rows)], 3)
    dense = paper._dense_rows(batch(pool, np.array([[0, 1]]), 3, CPU))
    # 1000.27… µs are cut to whole ones; the std of the second column is 0, so 1 ms
    assert_allclose(dense[0], [[1, -1, -1], [-1, 2, -1]], atol=1e-3)


def linear_gaussian(weights: Dense, bias: Dense, std: float) -> Arrays:
    """A network whose decoder is x = z W + b + std ε, and whose posterior is the prior.

    Two hidden units carry z + 50, which leaky ReLU leaves as it is."""
    latent, width = weights.shape
    eye = np.eye(latent, dtype=np.float32)
    inverse = math.log(math.expm1(1 - 1e-4))  # softplus of it is 1 less the least deviation
    return {
        "column.in": np.zeros((width, latent), np.float32),
        "in.bias": np.zeros(latent, np.float32),
        "encoder.weight": np.zeros((latent, latent), np.float32),
        "encoder.bias": np.zeros(latent, np.float32),
        "code.weight": np.zeros((latent, 2 * latent), np.float32),
        "code.bias": np.array([0] * latent + [inverse] * latent, np.float32),
        "back.weight": eye,
        "back.bias": np.full(latent, 50, np.float32),
        "decoder.weight": eye,
        "decoder.bias": np.zeros(latent, np.float32),
        "column.mean.weight": weights.T.astype(np.float32),
        "column.mean.bias": (bias - 50 * weights.sum(0)).astype(np.float32),
        "column.deviation.weight": np.zeros((width, latent), np.float32),
        "column.deviation.bias": np.full(width, math.log(math.expm1(std - 1e-4)), np.float32),
        "column.fixed.real": np.ones(width, np.float32),
    }


def test_the_sampled_likelihood_is_near_that_of_a_linear_gaussian_model() -> None:
    weights = np.array([[0.5, -0.3, 0.2], [0.1, 0.6, -0.4]])
    bias, std = np.array([1.0, 2.0, -1.0]), 0.8
    params = stacked([linear_gaussian(weights, bias, std)], 3, CPU)
    x = np.array([[1.0, 2.0], [2.0, 2.0], [0.0, 3.0]])  # the last column is missing: −1
    found = paper.score(params, network(latent=2, hidden=2), as_batch(x))[0]
    truth = multivariate_normal(bias, weights.T @ weights + std**2 * np.eye(3))
    expected = -truth.logpdf(np.c_[x, [-1, -1, -1]]) / 3
    # 500 draws: the error of the log is about 0.05, a third of it after the division
    assert_allclose(found, expected, atol=0.05)


def test_the_bound_that_training_lifts_stays_below_the_likelihood() -> None:
    weights, bias, std = np.array([[0.5, -0.3, 0.2]]), np.zeros(3), 0.8
    params = stacked([linear_gaussian(weights, bias, std)], 3, CPU)
    net, x = network(latent=1, hidden=1), np.tile([1.0, 2.0], (4000, 1))
    noise = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 4000, 1), np.float32))
    bound = -paper.loss(params, net, as_batch(x), noise).mean().item()
    truth = multivariate_normal(bias, weights.T @ weights + std**2 * np.eye(3))
    likelihood = truth.logpdf([1, 2, -1])
    # E log p(x|z) under the prior by hand: z only adds its variance through the weights
    every = np.array([1, 2, -1])
    by_hand = sum(
        -0.5 * (every[c] ** 2 + weights[0, c] ** 2) / std**2
        - math.log(std * math.sqrt(2 * math.pi))
        for c in range(3)
    )
    assert bound == pytest.approx(by_hand, abs=0.05)
    assert bound < likelihood


def test_gradients_are_cut_model_by_model_and_those_that_are_no_numbers_are_none() -> None:
    p = torch.zeros(3, 2, requires_grad=True)
    plan = Plan(epochs=1, patience=1, rate=1.0, halve_every=1, rows=1, most_norm=10)
    descent = Descent([p], plan)
    slope = torch.tensor([[3.0, 4.0], [300.0, 400.0], [math.nan, 1.0]])
    descent.step((p * slope).sum(), 1.0)
    # after one step the first moment is a tenth of the gradient
    assert_allclose(descent._first[0], [[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]], rtol=1e-5)
    assert_allclose(p.detach(), [[-1.0, -1.0], [-1.0, -1.0], [0.0, 0.0]], rtol=1e-5)


@given(st.integers(1, 100_000), st.integers(1, 512))
def test_batches_are_a_power_of_two_or_three_times_one_and_at_most_half_too_many(
    rows: int, about: int
) -> None:
    found, wanted = batches(rows, about), math.ceil(rows / about)
    assert wanted <= found <= max(1.5 * wanted, 1)
    assert found & (found - 1) == 0 or (found % 3 == 0 and (found // 3) & (found // 3 - 1) == 0)


def test_filling_is_empty_and_rows_keep_their_cells() -> None:

    parts = [
        cells(encoded(x), np.zeros(3), np.ones(3), logarithm=False)
        for x in (np.array([[1.0, 2.0], [ABSENT, 3.0]]), np.array([[4.0, ABSENT]]))
    ]
    found = batch(joined(parts, 5), np.array([[1, 0], [2, -1]]), 5, CPU)
    dense = torch.zeros(20).index_put((found.place,), found.value).view(2, 2, 5)
    assert dense.tolist() == [[[0, 3, 0, 0, 0], [1, 2, 0, 0, 0]], [[4, 0, 0, 0, 0], [0] * 5]]
    assert found.nodes.tolist() == [[1, 2], [1, 0]]
    assert found.weight.tolist() == [[1, 1], [1, 0]]
    assert found.per_row(found.value).tolist() == [[3, 3], [4, 0]]
