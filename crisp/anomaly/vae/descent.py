"""Steps of Adam for a stack of models, with a limit on the gradient of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.adam import adam


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how fast."""

    epochs: int
    patience: int
    """Epochs without a better validation loss after which a model is done."""
    rate: float
    halve_every: int
    """Epochs after which the rate is halved, again and again"""
    rows: int
    """About as many rows a batch"""
    decay: float = 0.0
    """L2 penalty of Adam"""
    most_norm: float = 10.0
    """Gradients of a model are cut to this length."""


class Descent:
    """Adam (Kingma and Ba 2015) on tensors (m, …) of ``m`` models.

    Torch's own class of that name first imports its compiler and sympy: two seconds and 150 MB
    for each process. The function behind it does without.
    """

    def __init__(self, params: Sequence[Tensor], plan: Plan) -> None:
        self._params = list(params)
        self._plan = plan
        self._first = [torch.zeros_like(p, requires_grad=False) for p in params]
        self._second = [torch.zeros_like(p, requires_grad=False) for p in params]
        self._steps = [torch.zeros((), device=p.device) for p in params]

    def step(self, loss: Tensor, rate: float) -> None:
        """Move the parameters against the gradient of ``loss``, a sum over the models."""
        gradients = list(torch.autograd.grad(loss, self._params))
        _tame(gradients, self._plan.most_norm)
        with torch.no_grad():
            adam(
                self._params,
                gradients,
                self._first,
                self._second,
                [],
                self._steps,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=rate,
                weight_decay=self._plan.decay,
                eps=1e-8,
                maximize=False,
            )


def _tame(gradients: Sequence[Tensor], most_norm: float) -> None:
    """Cut the gradients of each model to a length; those of a model whose are no numbers to 0."""
    norm = torch.stack([(g * g).flatten(1).sum(1) for g in gradients]).sum(0).sqrt()
    sound = torch.isfinite(norm)
    scale = (most_norm / (norm + 1e-6)).clamp(max=1.0)
    every = bool(sound.all())
    for g in gradients:
        if not every:
            g.masked_fill_(_alike(~sound, g), 0.0)
        g.mul_(_alike(scale.where(sound, 1.0), g))


def _alike(of_models: Tensor, value: Tensor) -> Tensor:
    return of_models.view(-1, *[1] * (value.dim() - 1))
