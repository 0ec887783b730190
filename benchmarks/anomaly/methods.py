"""The scores that are compared, each with what makes it a decision.

All are fitted on the earliest three quarters of the training traces and calibrated on the rest.
Timed are the parts a night would do: training from vectors to thresholds, inference from
vectors to decisions. Times are those of the processor, all threads together: they do not
depend on what else the machine does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from benchmarks.anomaly.services import Flags, Floats, Ints
from crisp.anomaly.calibration import conformal, density_p
from crisp.anomaly.model import EndpointModel, fit_models, model_rows
from crisp.anomaly.vectors import Vectors
from crisp.anomaly.vocabulary import Encoded, Vocabulary, encode, fit_vocabulary
from crisp.cpa.rows import day_of
from crisp.options import Features, Profile, TrainOptions

FIT_SHARE = 0.75
LEAST = 20
"""Paths in fewer fit traces are folded, except by the paper's network."""

Score = Callable[[Encoded], Floats]


class Judge(Protocol):
    """Something fitted that calls traces abnormal."""

    @property
    def columns(self) -> int:
        """Columns it was fitted on."""
        ...

    @property
    def train_s(self) -> float:
        """Processor seconds it took to make."""
        ...

    @property
    def note(self) -> str:
        """What else is to be known of it."""
        ...

    def judge(self, vectors: Vectors, alpha: float) -> tuple[Floats, Flags]:
        """(n,) score, and whether the trace is called abnormal."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A fitted score and its threshold."""

    vocabulary: Vocabulary
    score: Score
    calibration: Floats
    """scores of the calibration traces, ascending"""
    paper: bool
    """p by kernel density, and a trace with an unseen call path is abnormal"""
    train_s: float
    columns: int
    note: str = ""

    def judge(self, vectors: Vectors, alpha: float) -> tuple[Floats, Flags]:
        """(n,) score, and whether the trace is called abnormal."""
        rows = encode(vectors, self.vocabulary)
        scores = self.score(rows)
        if self.paper:
            return scores, (density_p(self.calibration, scores) <= alpha) | (rows.unseen > 0)
        return scores, conformal(self.calibration, scores) <= alpha


Fit = Callable[[Encoded], Score]


def fit_method(
    train: Vectors, parents: tuple[Ints, Ints], fit: Fit, *, paper: bool = False
) -> Method:
    """A method on these traces, which are in order of time."""
    began = time.process_time()
    cut = int(FIT_SHARE * len(train))
    early, late = train.take(np.arange(cut)), train.take(np.arange(cut, len(train)))
    vocabulary = fit_vocabulary(early, parents, 1 if paper else LEAST)
    score = fit(encode(early, vocabulary))
    calibration = np.sort(score(encode(late, vocabulary)))
    return Method(
        vocabulary=vocabulary,
        score=score,
        calibration=calibration,
        paper=paper,
        train_s=time.process_time() - began,
        columns=vocabulary.columns,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The model that `crisp train` makes, with all it chooses by itself."""

    model: EndpointModel
    columns: int
    train_s: float
    note: str

    def judge(self, vectors: Vectors, alpha: float) -> tuple[Floats, Flags]:
        """(n,) score, and whether the trace is called abnormal: small p, or new paths."""
        found = self.model.score(vectors)
        p, new = found["p"].to_pylist(), found["unseen"].to_pylist()
        small = np.array([value is not None and value <= alpha for value in p], np.bool_)
        if self.model.unseen_counts:
            small |= np.array([bool(paths) for paths in new], np.bool_)
        return np.array(found["score"].to_pylist(), np.float64), small


def fit_product(
    train: Vectors, parents: tuple[Ints, Ints], options: TrainOptions, threads: int
) -> Product:
    """What the product makes of these traces."""
    began = time.process_time()
    days = day_of(int(train.start_us.min())), day_of(int(train.start_us.max()))
    model = fit_models([train], options, parents=parents, days=days, before={}, threads=threads)[0]
    spent = time.process_time() - began
    row = pa.Table.from_batches([model_rows([model])])
    served = row["serves"][0].as_py()
    return Product(model=model, columns=row["columns"][0].as_py(), train_s=spent, note=served)


def fitted(
    name: str,
    train: Vectors,
    parents: tuple[Ints, Ints],
    features: Features,
    *,
    seed: int,
    threads: int,
    alpha: float = 0.001,
) -> Judge:
    """A plain or trivial score by name, "hurdle", "paper", or "default": the product's choice."""
    if name == "default":
        options = TrainOptions(features=features, seed=seed, device="cpu", alpha=alpha)
        return fit_product(train, parents, options, threads)
    simple = {**plain_fits(seed), **trivial_fits()}
    if name in simple:
        return fit_method(train, parents, simple[name])
    profile: Profile = "paper" if name == "paper" else "hurdle"
    fit = network_fit(parents, profile, seed, threads)
    return fit_method(train, parents, fit, paper=name == "paper")


def plain_fits(seed: int) -> dict[str, Fit]:
    """The plain scores of the product."""
    from crisp.anomaly import plain
    from crisp.anomaly.isolation import fit_isolation
    from crisp.anomaly.projection import fit_projection

    return {
        "latency": lambda rows: plain.fit_latency(rows).score,
        "excess": lambda rows: plain.fit_excess(rows).score,
        "pattern": lambda rows: plain.fit_pattern(rows).score,
        "pca": lambda rows: fit_projection(rows, seed).score,
        "isolation": lambda rows: fit_isolation(rows, seed).score,
    }


def trivial_fits() -> dict[str, Fit]:
    """Scores of a line or two: whatever they solve is no proof of a network."""
    return {"mean z²": _mean_square, "node count": _node_count}


def _mean_square(rows: Encoded) -> Score:
    """Mean over the row's cells of ((time − mean) / std)², std ≥ 1 ms."""
    cells = rows.time_us
    width = cells.shape[1]
    count = np.maximum(np.bincount(cells.indices, minlength=width), 1)
    mean = np.bincount(cells.indices, cells.data, minlength=width) / count
    square = np.bincount(cells.indices, (cells.data - mean[cells.indices]) ** 2, minlength=width)
    std = np.maximum(np.sqrt(square / count), 1_000.0)

    def score(some: Encoded) -> Floats:
        found = some.time_us
        z = ((found.data - mean[found.indices]) / std[found.indices]) ** 2
        sizes = np.diff(found.indptr)
        row = np.repeat(np.arange(found.shape[0]), sizes)
        sums = np.bincount(row, z, minlength=found.shape[0])
        return np.asarray(sums / np.maximum(sizes, 1), np.float64)

    return score


def _node_count(rows: Encoded) -> Score:
    """How far the logarithm of the number of cells is from its median."""
    centre = float(np.median(np.log(np.maximum(np.diff(rows.vectors.edges), 1))))
    return lambda some: np.abs(np.log(np.maximum(np.diff(some.vectors.edges), 1)) - centre)


def network_fit(parents: tuple[Ints, Ints], profile: Profile, seed: int, threads: int) -> Fit:
    """The network of a profile; the last tenth of the fit rows chooses its best epoch."""
    from crisp.anomaly import vae

    options = TrainOptions(
        profile=profile, flow="planar" if profile == "paper" else "none", seed=seed, device="cpu"
    )

    def fit(rows: Encoded) -> Score:
        count = len(rows.latency_us)
        cut = count - max(1, count // 10)
        vocabulary = fit_vocabulary(rows.vectors, parents, 1 if profile == "paper" else LEAST)
        sample = vae.Sample(
            fit=encode(rows.vectors.take(np.arange(cut)), vocabulary),
            validation=encode(rows.vectors.take(np.arange(cut, count)), vocabulary),
            vocabulary=vocabulary,
            warm=None,
        )
        return vae.fit([sample], options, threads=threads)[0].score

    return fit


@contextmanager
def reduced(epochs: int, samples: int) -> Iterator[None]:
    """The paper's network with fewer epochs and draws than it has, so that it runs here."""
    from crisp.anomaly.vae import models, paper

    before = models.PAPER, paper.SAMPLES
    models.PAPER = replace(models.PAPER, epochs=min(epochs, before[0].epochs))
    paper.SAMPLES = samples
    try:
        yield
    finally:
        models.PAPER, paper.SAMPLES = before


def seconds_per_thousand(judge: Judge, vectors: Vectors, alpha: float) -> float:
    """Processor seconds of inference, the best of two."""
    spent = []
    for _ in range(2):
        began = time.process_time()
        judge.judge(vectors, alpha)
        spent.append(time.process_time() - began)
    return min(spent) / len(vectors) * 1_000
