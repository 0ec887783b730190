"""TraceAnomaly's network as CRISP uses it (paper 4.6.4, 4.6.5; profile ``paper``).

x is (time − mean) / std of each column over the rows that have it, std at least 1 ms, and −1 where
the path is missing. Encoder and decoder are two layers of 500 leaky ReLU; each ends in a mean
and in a standard deviation of 1e-4 + softplus(…); between them a posterior flow bends z. Trained
on the evidence lower bound of one sample; scored by the importance-sampled likelihood

    −log 1/L Σ_l p(x | z_l) p(z_l) / q(z_l | x)  /  d,    L = 500,

with the same 500 normal draws for every row, so that a score depends on its row alone.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import leaky_relu, softplus

from crisp.anomaly.vae import flows
from crisp.anomaly.vae.batches import Batch, Cells, cells, moments
from crisp.anomaly.vae.network import (
    COLUMN,
    FIXED,
    Arrays,
    Network,
    Params,
    dense,
    dense_arrays,
    linear,
    per_column,
)
from crisp.anomaly.vocabulary import Encoded

SAMPLES = 500
"""Draws of z behind a score."""
LEAST_STD_US = 1_000.0
MISSING = -1.0
_LEAST_DEVIATION = 1e-4
_CHUNK = 4_000_000
"""Numbers of the decoder's output held at once."""
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def initial(rng: np.random.Generator, network: Network, rows: Encoded) -> Arrays:
    """Arrays before training."""
    width, hidden, latent = rows.time_us.shape[1], network.hidden, network.latent
    mean, std, _ = moments(rows, LEAST_STD_US, logarithm=False)
    heads: Arrays = {}
    for name in ("mean", "deviation"):
        heads[f"{COLUMN}{name}.weight"] = np.float32(0.1) * linear(rng, hidden, width, hidden)
        heads[f"{COLUMN}{name}.bias"] = np.zeros(width, np.float32)
    return {
        f"{COLUMN}in": linear(rng, width, width, hidden),
        "in.bias": np.zeros(hidden, np.float32),
        **dense_arrays(rng, "encoder", hidden, hidden),
        **dense_arrays(rng, "code", hidden, 2 * latent),
        **flows.initial(rng, network),
        **dense_arrays(rng, "back", latent, hidden),
        **dense_arrays(rng, "decoder", hidden, hidden),
        **heads,
        f"{FIXED}mean": mean.astype(np.float32),
        f"{FIXED}std": std.astype(np.float32),
        f"{FIXED}real": np.ones(width, np.float32),
    }


def prepared(arrays: Arrays, rows: Encoded) -> Cells:
    """The rows as the network takes them."""
    mean, std = (arrays[FIXED + name].astype(np.float64) for name in ("mean", "std"))
    return cells(rows, mean, std, logarithm=False)


def loss(params: Params, network: Network, batch: Batch, noise: Tensor | None) -> Tensor:
    """(m, n) minus the lower bound at z of ``noise`` (m, n, latent); None is the mean."""
    if noise is None:
        noise = params["in.bias"].new_zeros(*batch.shape[:2], network.latent)
    x = _dense_rows(batch)
    z, weight = _sampled(params, network, _encoded(params, x), noise)
    return -(weight + _log_normal(x, *_decoded(params, z), params))


def score(params: Params, network: Network, batch: Batch) -> Tensor:
    """(1, n) minus the importance-sampled log-likelihood, divided by the number of columns."""
    _, rows, width = batch.shape
    draws = np.random.default_rng(0).standard_normal((SAMPLES, network.latent), np.float32)
    noise = torch.from_numpy(draws).to(batch.value.device)
    x = _dense_rows(batch)
    code = _encoded(params, x)
    chunk = max(1, _CHUNK // (SAMPLES * width))
    parts = []
    for start in range(0, rows, chunk):
        part = [value[:, start : start + chunk].repeat_interleave(SAMPLES, 1) for value in code]
        count = part[0].shape[1] // SAMPLES
        repeated = noise.repeat(count, 1).unsqueeze(0)
        z, weight = _sampled(params, network, (part[0], part[1]), repeated)
        mean, deviation = (v.view(count, SAMPLES, width) for v in _decoded(params, z))
        seen = x[0, start : start + chunk].unsqueeze(1)
        likelihood = _log_normal(seen, mean, deviation, params)
        parts.append(torch.logsumexp(likelihood + weight.view(count, SAMPLES), 1))
    return (math.log(SAMPLES) - torch.cat(parts)).unsqueeze(0) / params[f"{FIXED}real"].sum()


def _dense_rows(batch: Batch) -> Tensor:
    """(m, n, width)"""
    x = torch.full(batch.shape, MISSING, device=batch.value.device)
    x.view(-1)[batch.place] = batch.value
    return x


def _encoded(params: Params, x: Tensor) -> tuple[Tensor, Tensor]:
    """(m, n, latent) mean and standard deviation of q(z | x)."""
    bias = params["in.bias"].unsqueeze(1)
    hidden = leaky_relu(torch.baddbmm(bias, x, params[f"{COLUMN}in"]))
    hidden = leaky_relu(dense(params, "encoder", hidden))
    mean, raw = dense(params, "code", hidden).chunk(2, 2)
    return mean, _LEAST_DEVIATION + softplus(raw)


def _sampled(
    params: Params, network: Network, code: tuple[Tensor, Tensor], noise: Tensor
) -> tuple[Tensor, Tensor]:
    """z after the flow, and (m, n) log p(z) − log q(z | x)."""
    mean, deviation = code
    z, moved = flows.forward(params, network, mean + deviation * noise)
    inner = 0.5 * noise * noise + deviation.log() - 0.5 * z * z
    return z, inner.sum(2) + moved


def _decoded(params: Params, z: Tensor) -> tuple[Tensor, Tensor]:
    """(m, n, width) mean and standard deviation of p(x | z)."""
    hidden = leaky_relu(dense(params, "back", z))
    hidden = leaky_relu(dense(params, "decoder", hidden))
    raw = per_column(params, "deviation", hidden)
    return per_column(params, "mean", hidden), _LEAST_DEVIATION + softplus(raw)


def _log_normal(x: Tensor, mean: Tensor, deviation: Tensor, params: Params) -> Tensor:
    """Sum over real columns of the log density of independent normals; (m, n, width) to (m, n)."""
    each = -0.5 * ((x - mean) / deviation) ** 2 - deviation.log() - _HALF_LOG_2PI
    return torch.matmul(each, params[f"{FIXED}real"].unsqueeze(2)).squeeze(2)
