"""The hurdle VAE: is a call path there, and if so, how long did it take.

A row x is, for each column c, whether its path is there (Bernoulli), whether it then has a
failure of its own (Bernoulli, at the rate of the fit rows), and the logarithm of its time
(Gaussian, with a mean by the decoder and a deviation by column, its variance at least
0.2²). With z the latent and f the flow, what is minimised and what is the score are one formula,

    (−log p(x | z_K) + ½ |z_K|² − Σ log σ − ½ dim z − log |det ∂f|) / (nodes + dim z),

with z_0 drawn from N(µ(x), σ(x)²) in training and z_0 = µ(x) in scoring. The division makes long
and short traces comparable; dim z stands in it so that a trace of one or two nodes does not
count the whole divergence of z for them.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

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

STD_FLOOR = 0.2
"""Least deviation of log time: 20 %. Faster clocks than that are noise."""
_MOST_LOGIT = 15.0
_MOST_INPUT = 8.0
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def initial(rng: np.random.Generator, network: Network, rows: Encoded) -> Arrays:
    """Arrays before training: a decoder that knows each column's rate and typical time."""
    n, width = rows.time_us.shape
    mean, std, count = moments(rows, STD_FLOOR, logarithm=True)
    own = np.bincount(rows.time_us.indices, cells(rows, mean, std, logarithm=True).own, width)
    small, hidden = np.float32(0.1), network.hidden
    fixed = {
        "mean": mean,
        "std": std,
        "failure": np.log((own + 0.5) / (count - own + 0.5)),
        "real": np.ones(width),
    }
    return {
        **{
            f"{COLUMN}in.{name}": linear(rng, 2 * rows.time_us.nnz / max(n, 1), width, hidden)
            for name in ("there", "time", "own")
        },
        "in.bias": np.zeros(hidden, np.float32),
        **dense_arrays(rng, "code", hidden, 2 * network.latent),
        **flows.initial(rng, network),
        **dense_arrays(rng, "back", network.latent, hidden),
        f"{COLUMN}there.weight": small * linear(rng, hidden, width, hidden),
        f"{COLUMN}there.bias": np.log((count + 0.5) / (n - count + 0.5)).astype(np.float32),
        f"{COLUMN}time.weight": small * linear(rng, hidden, width, hidden),
        f"{COLUMN}time.bias": np.zeros(width, np.float32),
        f"{COLUMN}log_std": np.zeros(width, np.float32),
        **{FIXED + name: value.astype(np.float32) for name, value in fixed.items()},
    }


def prepared(arrays: Arrays, rows: Encoded) -> Cells:
    """The rows as the network takes them."""
    mean, std = (arrays[FIXED + name].astype(np.float64) for name in ("mean", "std"))
    return cells(rows, mean, std, logarithm=True)


def loss(params: Params, network: Network, batch: Batch, noise: Tensor | None) -> Tensor:
    """(m, n) the formula above; ``noise`` (m, n, latent) is standard normal, None is zero."""
    code = dense(params, "code", torch.relu(_first(params, batch)))
    mean, log_std = code.chunk(2, 2)
    log_std = log_std.clamp(-6, 3)
    z, moved = flows.forward(
        params, network, mean if noise is None else mean + log_std.exp() * noise
    )
    divergence = (0.5 * z * z - log_std - 0.5).sum(2) - moved
    back = torch.relu(dense(params, "back", z))
    return (divergence + _surprise(params, batch, back)) / (batch.nodes + network.latent)


def score(params: Params, network: Network, batch: Batch) -> Tensor:
    """(m, n) the same at the posterior mean: one pass, nothing drawn."""
    return loss(params, network, batch, None)


def _first(params: Params, batch: Batch) -> Tensor:
    """(m, n, hidden) of which paths are there, how long each took, and which failed by itself."""
    models, rows, width = batch.shape
    x = batch.value.new_zeros(2, models * rows * width)
    x[0, batch.place] = 1.0
    x[1, batch.place] = batch.value.clamp(-_MOST_INPUT, _MOST_INPUT)
    there, time = x.view(2, models, rows, width)
    hidden = torch.baddbmm(params["in.bias"].unsqueeze(1), there, params[f"{COLUMN}in.there"])
    hidden = torch.baddbmm(hidden, time, params[f"{COLUMN}in.time"])
    # failures are few: their vectors are added one by one
    failed = batch.own.nonzero().squeeze(1)
    table = params[f"{COLUMN}in.own"].flatten(0, 1)
    vectors = table.index_select(0, batch.column[failed])
    return hidden.view(models * rows, -1).index_add(0, batch.bag[failed], vectors).view_as(hidden)


def _surprise(params: Params, batch: Batch, back: Tensor) -> Tensor:
    """(m, n) −log p(x | z)."""
    place, column = batch.place, batch.column
    logit = per_column(params, "there", back).clamp(-_MOST_LOGIT, _MOST_LOGIT)
    nothing_there = torch.bmm(softplus(logit), params[f"{FIXED}real"].unsqueeze(2)).squeeze(2)
    typical = per_column(params, "time", back).view(-1).index_select(0, place)
    std = params[f"{FIXED}std"]
    log_std = params[f"{COLUMN}log_std"].clamp(-7, 3)
    # in logarithms of µs; padded columns have std 0 and are never looked up
    variance = (std * log_std.exp()) ** 2 + STD_FLOOR**2
    off = (batch.value - typical) * _at(std, column)
    deviation = _at(variance, column)
    failure = _at(params[f"{FIXED}failure"], column)
    there = (
        0.5 * off * off / deviation
        + 0.5 * deviation.log()
        + _HALF_LOG_2PI
        + softplus(failure)
        - batch.own * failure
        - logit.view(-1).index_select(0, place)
    )
    return nothing_there + batch.per_row(there)


def _at(of_columns: Tensor, column: Tensor) -> Tensor:
    return of_columns.view(-1).index_select(0, column)
