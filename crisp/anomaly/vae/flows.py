"""Posterior flows: invertible maps that bend the Gaussian of the encoder (paper 4.6.4)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from crisp.anomaly.vae.network import Arrays, Network, Params, linear

_HIDDEN = 32
_MOST_LOG_SCALE = 2.0
"""RealNVP scales by at most e², so that a long flow can't overflow."""


def initial(rng: np.random.Generator, network: Network) -> Arrays:
    """Arrays of a flow that starts close to the identity; none for flow none."""
    steps, size = network.flow_length, network.latent
    if network.flow == "planar":
        return {
            "flow.u": rng.normal(0, 0.01, (steps, size)).astype(np.float32),
            "flow.w": rng.normal(0, 0.1, (steps, size)).astype(np.float32),
            "flow.b": np.zeros(steps, np.float32),
        }
    if network.flow == "realnvp":
        half = size // 2
        return {
            "flow.in": linear(rng, half, steps, half, _HIDDEN),
            "flow.in_bias": np.zeros((steps, _HIDDEN), np.float32),
            "flow.out": np.float32(0.01) * linear(rng, _HIDDEN, steps, _HIDDEN, size),
            "flow.out_bias": np.zeros((steps, size), np.float32),
        }
    return {}


def forward(params: Params, network: Network, z: Tensor) -> tuple[Tensor, Tensor]:
    """z of (m, n, latent) after the flow, and the log of |det ∂z_K/∂z_0|, (m, n)."""
    moved = torch.zeros(z.shape[:2], dtype=z.dtype, device=z.device)
    if network.flow == "none":
        return z, moved
    step = _planar if network.flow == "planar" else _coupling
    for k in range(network.flow_length):
        z, more = step(params, k, z)
        moved = moved + more
    return z, moved


def _planar(params: Params, k: int, z: Tensor) -> tuple[Tensor, Tensor]:
    """z + û tanh(wᵀz + b), û such that the map is invertible (Rezende and Mohamed 2015, A.1)."""
    u, w, b = (params[f"flow.{name}"][:, k] for name in "uwb")
    along = (w * u).sum(1, keepdim=True)
    length = (w * w).sum(1, keepdim=True) + 1e-8
    u = u + (softplus(along) - 1 - along) * w / length
    bend = torch.tanh(torch.einsum("mnz,mz->mn", z, w) + b.unsqueeze(1))
    slope = (1 - bend**2) * (w * u).sum(1, keepdim=True)
    return z + bend.unsqueeze(2) * u.unsqueeze(1), torch.log1p(slope.clamp(min=-1 + 1e-6))


def _coupling(params: Params, k: int, z: Tensor) -> tuple[Tensor, Tensor]:
    """RealNVP: one half of z scales and moves the other; then the halves change places."""
    still, moving = z[..., : z.shape[2] // 2], z[..., z.shape[2] // 2 :]
    shift, log_scale = _shift(params, k, still)
    moving = moving * log_scale.exp() + shift
    return torch.cat((moving, still), 2), log_scale.sum(2)


def _shift(params: Params, k: int, still: Tensor) -> tuple[Tensor, Tensor]:
    hidden = torch.einsum("mnz,mzh->mnh", still, params["flow.in"][:, k])
    hidden = torch.relu(hidden + params["flow.in_bias"][:, k].unsqueeze(1))
    both = torch.einsum("mnh,mhz->mnz", hidden, params["flow.out"][:, k])
    shift, log_scale = (both + params["flow.out_bias"][:, k].unsqueeze(1)).chunk(2, 2)
    return shift, _MOST_LOG_SCALE * torch.tanh(log_scale / _MOST_LOG_SCALE)
