"""Fitted networks: how many are made at once, what one says of traces, how it is stored."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from crisp.anomaly.detector import Frozen
from crisp.anomaly.vae import hurdle, paper
from crisp.anomaly.vae.batches import batch, joined
from crisp.anomaly.vae.descent import Plan
from crisp.anomaly.vae.fitting import Course, Kind, batches, trained
from crisp.anomaly.vae.network import COLUMN, FIXED, Arrays, Network, stacked
from crisp.anomaly.vectors import Floats, Ints
from crisp.anomaly.vocabulary import Encoded, Vocabulary
from crisp.errors import ConfigError, CrispError
from crisp.options import TrainOptions
from crisp.stable import text_id

HURDLE = Plan(epochs=30, patience=5, rate=3e-3, halve_every=15, rows=256)
PAPER = Plan(epochs=200, patience=20, rate=1e-3, halve_every=100, rows=256, decay=1e-4)
FEW_ROWS = 4_096
"""Hurdle networks of fewer rows are given smaller batches, for more steps an epoch."""
WARM_EPOCHS = 5
WIDTHS = (32, 64, 128, 256)
"""Hurdle networks up to these widths are trained side by side, `SIDE_BY_SIDE` at once; wider ones
gain nothing, nor do those of the paper with their 500 × 500 layers, and go alone."""
SIDE_BY_SIDE = 16
_CHUNK = 2_000_000
"""Numbers in the rows scored at once, were they dense."""
_KINDS: dict[str, Kind] = {"hurdle": hurdle, "paper": paper}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a network of one endpoint is fitted on."""

    fit: Encoded
    """At least one row"""
    validation: Encoded
    """Later rows, to choose the best epoch; where there are none, those of the fit"""
    vocabulary: Vocabulary
    warm: Vae | None
    """Where to start from, if its network is of the same sizes"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vae:
    """A fitted network of one endpoint."""

    network: Network
    keys: Ints
    """(d,) what its columns are, as in `Vocabulary`"""
    arrays: Arrays

    @property
    def name(self) -> str:
        """As it is called in tables."""
        return "vae"

    def score(self, rows: Encoded) -> Floats:
        """(n,) finite; the larger, the less normal. Each row's depends on that row alone, up to
        rounding. Takes one core, whatever torch would take: workers share a machine."""
        kind, width, n = _KINDS[self.network.profile], len(self.keys), len(rows.latency_us)
        device = torch.device("cpu")
        pool = joined([kind.prepared(self.arrays, rows)], width)
        scores = np.empty(n)
        size = min(max(_CHUNK // width, 64), 4096)
        with _settings(1, device), torch.inference_mode():
            params = stacked([self.arrays], width, device)
            for start in range(0, n, size):
                some = np.arange(start, min(start + size, n))
                part = batch(pool, some[np.newaxis], width, device)
                scores[some] = kind.score(params, self.network, part)[0].numpy()
        assert np.isfinite(scores).all()
        return scores

    def freeze(self) -> Frozen:
        """All that `score` needs, as JSON and arrays."""
        network = {name: getattr(self.network, name) for name in Network.__dataclass_fields__}
        return Frozen(about={"network": network}, arrays={"keys": self.keys, **self.arrays})


def thaw(frozen: Frozen) -> Vae:
    """The model that `Vae.freeze` gave."""
    arrays = {name: np.asarray(value) for name, value in frozen.arrays.items()}
    keys = arrays.pop("keys")
    return Vae(network=Network(**frozen.about["network"]), keys=keys, arrays=arrays)


def fit(samples: Sequence[Sample], options: TrainOptions, *, threads: int = 1) -> list[Vae]:
    """A network for each sample, in their order; profile None is hurdle.

    What comes out for a sample does not depend on the others, up to rounding; the same call
    gives the same bytes. Weights, batches and noise are drawn from the seed and the endpoint's id.

    Raises:
        ConfigError: device cuda, and there is none.
        CrispError: the loss of an endpoint never was a finite number.
    """
    device = _device(options)
    made: dict[int, Vae] = {}
    with _settings(threads, device):
        courses = [_course(sample, options) for sample in samples]
        groups = defaultdict(list)
        for i, (course, network, plan) in enumerate(courses):
            steps = batches(len(course.fit), plan.rows)
            groups[network, plan, _bucket(course.columns), steps].append(i)
        for (network, plan, width, _), members in groups.items():
            most = SIDE_BY_SIDE if width in WIDTHS and network.profile == "hurdle" else 1
            for start in range(0, len(members), most):
                some = members[start : start + most]
                kind, stack = _KINDS[network.profile], [courses[i][0] for i in some]
                results = trained(stack, kind, network, plan, width, device)
                for i, result in zip(some, results, strict=True):
                    made[i] = _finished(samples[i], network, *result)
    return [made[i] for i in range(len(samples))]


def _course(sample: Sample, options: TrainOptions) -> tuple[Course, Network, Plan]:
    """What to train, from where, and for how long."""
    network = _network(options, sample.vocabulary.columns)
    kind = _KINDS[network.profile]
    endpoint = sample.fit.vectors.endpoint_id
    rng = np.random.default_rng(text_id("vae", str(options.seed), str(endpoint)) % 2**64)
    arrays = kind.initial(rng, network, sample.fit)
    plan = PAPER if network.profile == "paper" else HURDLE
    if network.profile == "hurdle" and len(sample.fit.latency_us) < FEW_ROWS:
        plan = replace(plan, rows=64)
    if sample.warm is not None and sample.warm.network == network:
        arrays = _warmed(arrays, sample.vocabulary.keys, sample.warm)
        plan = replace(plan, epochs=WARM_EPOCHS)
    seen = kind.prepared(arrays, sample.fit)
    held = kind.prepared(arrays, sample.validation)
    course = Course(
        arrays=arrays,
        fit=seen,
        validation=held if len(held) else seen,
        columns=sample.vocabulary.columns,
        rng=rng,
    )
    return course, network, plan


def _network(options: TrainOptions, columns: int) -> Network:
    flow = options.flow
    if options.profile == "paper":
        flow, hidden = ("planar" if flow == "none" else flow), 500
    else:
        hidden = 64 if columns <= 64 else 128
    return Network(
        profile=options.profile or "hurdle",
        hidden=hidden,
        flow=flow,
        flow_length=0 if flow == "none" else options.flow_length,
    )


def _warmed(fresh: Arrays, keys: Ints, warm: Vae) -> Arrays:
    """The arrays of ``warm``, columns matched by key; new columns stay fresh, and so do counts."""
    _, here, there = np.intersect1d(keys, warm.keys, return_indices=True)
    arrays = dict(fresh)
    for name, value in warm.arrays.items():
        if name.startswith(FIXED):
            continue
        if name.startswith(COLUMN):
            arrays[name] = arrays[name].copy()
            arrays[name][here] = value[there]
        else:
            arrays[name] = value
    return arrays


def _bucket(columns: int) -> int:
    """Columns of the stack that a model of so many is trained in."""
    return next((width for width in WIDTHS if columns <= width), columns)


def _finished(sample: Sample, network: Network, arrays: Arrays, loss: float) -> Vae:
    endpoint = sample.fit.vectors.endpoint_id
    if not np.isfinite(loss):
        raise CrispError(f"the network of endpoint {endpoint} never had a finite loss")
    return Vae(network=network, keys=sample.vocabulary.keys, arrays=arrays)


def _device(options: TrainOptions) -> torch.device:
    if options.device == "cpu":
        return torch.device("cpu")
    found = torch.cuda.is_available()
    if options.device == "cuda" and not found:
        raise ConfigError("device is cuda, but torch finds no GPU here")
    return torch.device("cuda" if found else "cpu")


@contextmanager
def _settings(threads: int, device: torch.device) -> Iterator[None]:
    """So many threads, and on a GPU only operations that give the same bytes each time; what
    was set before is set again afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    # asking torch for this imports its compiler, two seconds and 150 MB: not where it is no matter
    exact = device.type == "cuda" and not torch.are_deterministic_algorithms_enabled()
    if exact:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        if exact:
            torch.use_deterministic_algorithms(False)
