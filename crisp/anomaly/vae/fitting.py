"""Training of a stack of models, each as if it were alone.

The models of a stack have as many batches an epoch, and each its own random numbers, its own
limit on gradients and its own best epoch; Adam works on each number by itself. So all that a
model shares with the others are the calls, and these cost more than the arithmetic of small ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from crisp.anomaly.vae.batches import Batch, Cells, batch, joined
from crisp.anomaly.vae.descent import Descent, Plan
from crisp.anomaly.vae.network import FIXED, Arrays, Network, Params, stacked, unstacked
from crisp.anomaly.vectors import Flags, Floats, Ints
from crisp.anomaly.vocabulary import Encoded

_HELD = 512
"""Validation rows of a model measured at once."""


class Kind(Protocol):
    """What a module of a network offers."""

    def initial(self, rng: np.random.Generator, network: Network, rows: Encoded) -> Arrays:
        """Arrays before training."""
        ...

    def prepared(self, arrays: Arrays, rows: Encoded) -> Cells:
        """The rows as the network takes them."""
        ...

    def loss(self, params: Params, network: Network, batch: Batch, noise: Tensor | None) -> Tensor:
        """(m, n) what training makes small."""
        ...

    def score(self, params: Params, network: Network, batch: Batch) -> Tensor:
        """(m, n) how unlike the rows of training a row is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One model to be trained."""

    arrays: Arrays
    """where it starts"""
    fit: Cells
    validation: Cells
    columns: int
    rng: np.random.Generator


def batches(rows: int, about: int) -> int:
    """Batches an epoch: powers of two and those times three, so that many models share a number."""
    wanted, power = -(-rows // about), 1
    while power < wanted:
        power *= 2
    return power // 4 * 3 if power >= 4 and power // 4 * 3 >= wanted else power


def trained(
    courses: Sequence[Course],
    kind: Kind,
    network: Network,
    plan: Plan,
    width: int,
    device: torch.device,
) -> list[tuple[Arrays, float]]:
    """The arrays of each model at its best epoch, none of training being one of them, and its
    validation loss there; infinite if it never was a number.

    All ``courses`` have the same number of `batches` and at most ``width`` columns.
    """
    params = stacked([one.arrays for one in courses], width, device)
    free = [p.requires_grad_() for name, p in params.items() if not name.startswith(FIXED)]
    pool = joined([one.fit for one in courses], width)
    validate = _validation(courses, kind, network, width, device)
    descent = Descent(free, plan)
    best = {name: value.detach().clone() for name, value in params.items()}
    lowest, stale = validate(params), np.zeros(len(courses), np.int64)
    for epoch in range(plan.epochs):
        rate = plan.rate * 0.5 ** (epoch // plan.halve_every)
        for rows, noise in _epoch(courses, network, plan):
            part = batch(pool, rows, width, device)
            loss = kind.loss(params, network, part, torch.from_numpy(noise).to(device))
            mean = (loss * part.weight).sum(1) / part.weight.sum(1)
            descent.step(mean.sum(), rate)
        found = validate(params)
        better = (found < lowest) & (stale < plan.patience)
        _keep(best, params, better)
        lowest = np.where(better, found, lowest)
        stale = np.where(better, 0, stale + 1)
        if (stale >= plan.patience).all():
            break
    return [(unstacked(best, i, one.columns), lowest[i]) for i, one in enumerate(courses)]


def _epoch(
    courses: Sequence[Course], network: Network, plan: Plan
) -> Iterator[tuple[Ints, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]]:
    """Batches of row numbers of the pool, (m, rows), −1 for filling, with their noise."""
    count = batches(len(courses[0].fit), plan.rows)
    sizes = [len(one.fit) for one in courses]
    starts = np.cumsum([0, *sizes])
    orders = [np.array_split(one.rng.permutation(len(one.fit)), count) for one in courses]
    for step in range(count):
        longest = max(len(order[step]) for order in orders)
        rows = np.full((len(courses), longest), -1)
        noise = np.zeros((len(courses), longest, network.latent), np.float32)
        for i, (one, order) in enumerate(zip(courses, orders, strict=True)):
            drawn = order[step]
            rows[i, : len(drawn)] = starts[i] + drawn
            one.rng.standard_normal(out=noise[i, : len(drawn)], dtype=np.float32)
        yield rows, noise


def _validation(
    courses: Sequence[Course], kind: Kind, network: Network, width: int, device: torch.device
) -> Callable[[Params], Floats]:
    """(m,) mean loss over the validation rows of each model, with the same noise every time;
    infinite where it is not a number."""
    pool = joined([one.validation for one in courses], width)
    sizes = np.array([len(one.validation) for one in courses])
    rows = np.full((len(courses), sizes.max()), -1)
    noise = np.zeros((*rows.shape, network.latent), np.float32)
    for i, (start, size) in enumerate(zip(np.cumsum(sizes) - sizes, sizes, strict=True)):
        rows[i, :size] = start + np.arange(size)
        noise[i, :size] = courses[i].rng.standard_normal((size, network.latent), np.float32)
    parts = [
        (
            batch(pool, rows[:, start : start + _HELD], width, device),
            torch.from_numpy(noise[:, start : start + _HELD]).to(device),
        )
        for start in range(0, rows.shape[1], _HELD)
    ]

    def measured(params: Params) -> Floats:
        total = torch.zeros(len(courses), device=device)
        with torch.no_grad():
            for part, drawn in parts:
                total += (kind.loss(params, network, part, drawn) * part.weight).sum(1)
        mean = total.cpu().numpy().astype(np.float64) / sizes
        return np.where(np.isfinite(mean), mean, np.inf)

    return measured


def _keep(best: Mapping[str, Tensor], params: Params, better: Flags) -> None:
    """Copy the arrays of the models that got better."""
    which = torch.from_numpy(np.flatnonzero(better))
    for name, value in best.items():
        value[which] = params[name].detach()[which]
