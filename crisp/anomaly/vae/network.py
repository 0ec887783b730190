"""What networks have in common: their sizes, arrays and layers, for many models at once.

Every tensor has a leading dimension of models. A model's arrays are drawn by its own generator
at its own number of columns and padded with zeros to that of the stack, so that a model does
not depend on what is trained beside it: a padded column is in no row, and no gradient reaches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from crisp.options import Flow

Arrays = dict[str, npt.NDArray[np.float32]]
"""Of one model. Those whose name starts with `COLUMN` have a row for each column, (d, …)."""
Params = Mapping[str, Tensor]
"""Of a stack of models, (m, …)."""

COLUMN = "column."
FIXED = "column.fixed."
"""Arrays of columns that come from counting and are not trained."""
LATENT = 10
"""Size of z, as in TraceAnomaly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What must be equal for models to be trained side by side, or one from another."""

    profile: str
    """hurdle or paper"""
    hidden: int
    flow: Flow
    flow_length: int
    latent: int = LATENT


def linear(rng: np.random.Generator, fan_in: float, *shape: int) -> npt.NDArray[np.float32]:
    """Normal weights whose sums over ``fan_in`` inputs of variance 1 have variance 2 (He)."""
    draws: npt.NDArray[np.float32] = rng.standard_normal(shape, dtype=np.float32)
    return draws * np.float32(np.sqrt(2 / max(fan_in, 1)))


def stacked(models: Sequence[Arrays], width: int, device: torch.device) -> dict[str, Tensor]:
    """The arrays of some models as tensors (m, …), columns padded with zeros to ``width``."""
    return {
        name: torch.from_numpy(np.stack([_padded(name, one[name], width) for one in models])).to(
            device
        )
        for name in models[0]
    }


def _padded(name: str, array: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    if not name.startswith(COLUMN):
        return array
    return np.pad(array, [(0, width - len(array)), *[(0, 0)] * (array.ndim - 1)])


def unstacked(params: Params, model: int, columns: int) -> Arrays:
    """The arrays of one model of a stack, without padding."""
    arrays = {name: value[model].cpu().numpy() for name, value in params.items()}
    return {
        name: np.array(value[:columns] if name.startswith(COLUMN) else value)
        for name, value in arrays.items()
    }


def dense(params: Params, name: str, values: Tensor) -> Tensor:
    """(m, n, out) from (m, n, in) by ``name.weight`` (m, in, out) and ``name.bias`` (m, out)."""
    return torch.baddbmm(params[f"{name}.bias"].unsqueeze(1), values, params[f"{name}.weight"])


def dense_arrays(rng: np.random.Generator, name: str, fan_in: int, fan_out: int) -> Arrays:
    """The initial arrays of a `dense` layer."""
    return {
        f"{name}.weight": linear(rng, fan_in, fan_in, fan_out),
        f"{name}.bias": np.zeros(fan_out, np.float32),
    }


def per_column(params: Params, name: str, values: Tensor) -> Tensor:
    """(m, n, width) from (m, n, in): one number for each column, by ``column.name.weight``
    (m, width, in) and ``column.name.bias`` (m, width)."""
    bias = params[f"{COLUMN}{name}.bias"].unsqueeze(1)
    return torch.baddbmm(bias, values, params[f"{COLUMN}{name}.weight"].transpose(1, 2))
