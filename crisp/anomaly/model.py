"""From traces of a window to a model of each endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from crisp.anomaly.calibration import Calibration
from crisp.anomaly.detector import Detector
from crisp.anomaly.endpoint import EndpointModel, Network
from crisp.anomaly.expectation import fit_expectation
from crisp.anomaly.gate import FALLBACK, LEAST_ROWS, Choice, chosen, trials
from crisp.anomaly.networks import Course, course_of, profile_of, trained
from crisp.anomaly.parts import Part, evenly, fit_part, seed_of
from crisp.anomaly.planted import planted
from crisp.anomaly.stored import FORMAT, model_rows, models_of
from crisp.anomaly.vectors import Ints, Vectors
from crisp.anomaly.vocabulary import Encoded, callers, encode
from crisp.options import TrainOptions

__all__ = ["FORMAT", "EndpointModel", "fit_models", "model_rows", "models_of"]

_MOST_GATE_ROWS = 1_000


def fit_models(
    batch: Sequence[Vectors],
    options: TrainOptions,
    *,
    parents: tuple[Ints, Ints],
    days: tuple[str, str],
    before: Mapping[int, EndpointModel],
    threads: int = 1,
) -> list[EndpointModel]:
    """A model of each endpoint in ``batch``, in its order; networks are trained side by side.

    ``parents`` are call paths, ascending, and their parents; ``days`` the first and the last of
    the window; ``before`` models by endpoint, whose networks are kept or taken as a start.
    Plain scores use one thread, networks ``threads``.

    Raises:
        ConfigError: a network is asked for, and torch is not installed.
    """
    from threadpoolctl import threadpool_limits

    profile = profile_of(options)
    with threadpool_limits(limits=1):  # sums over several threads are rounded in another order
        parts = [fit_part(vectors, options, parents) for vectors in batch]
        courses = [
            course_of(part, options, profile, days[1], before.get(part.vectors.endpoint_id))
            for part in parts
        ]
    networks = trained(parts, courses, replace(options, profile=profile), days[1], threads)
    with threadpool_limits(limits=1):
        return [
            _model(part, course, network, options, parents, days)
            for part, course, network in zip(parts, courses, networks, strict=True)
        ]


def _model(
    part: Part,
    course: Course,
    network: Network | None,
    options: TrainOptions,
    parents: tuple[Ints, Ints],
    days: tuple[str, str],
) -> EndpointModel:
    judged = _calibrated(part, network, options)
    choice = _choice(part, judged, network, options, parents)
    reference = _reference(part.vectors, options.reference)
    return EndpointModel(
        endpoint_id=part.vectors.endpoint_id,
        profile="plain" if network is None else options.profile or "hurdle",
        features=options.features,
        first_day=days[0],
        last_day=days[1],
        traces=part.traces,
        split=part.split,
        vocabulary=part.vocabulary,
        known=part.known,
        lone=part.lone,
        plain=part.plain,
        network=network,
        trained=course.trained,
        drift=course.drift,
        expectation=fit_expectation(encode(part.fit, part.vocabulary)),
        calibration=next(each for score, each in judged if score.name == choice.serves),
        choice=choice,
        reference=reference,
        callers=callers(reference.path_id, parents),
    )


def _calibrated(
    part: Part, network: Network | None, options: TrainOptions
) -> list[tuple[Detector, Calibration]]:
    """All scores with their calibrations; that of the network, if there is one, is the last."""
    held = part.rows(part.split.fit + part.split.gate, part.split.calibration)

    def calibrated(score: Detector, rows: Encoded, *, density: bool) -> Calibration:
        return Calibration(scores=np.sort(score.score(rows)), alpha=options.alpha, density=density)

    rows = encode(held, part.vocabulary)
    found = [(score, calibrated(score, rows, density=False)) for score in part.plain]
    if network is not None:
        vae, rows = network.vae(), encode(held, network.vocabulary)
        found.append((vae, calibrated(vae, rows, density=options.profile == "paper")))
    return found


def _choice(
    part: Part,
    judged: Sequence[tuple[Detector, Calibration]],
    network: Network | None,
    options: TrainOptions,
    parents: tuple[Ints, Ints],
) -> Choice:
    always = network is not None and options.profile == "paper"
    if not part.split.gate:
        return Choice(
            serves=judged[-1][0].name if always else FALLBACK,
            reason=f"{part.traces} traces: below {LEAST_ROWS} there are none to compare scores on",
            candidates=(),
        )
    untouched = evenly(part.rows(part.split.fit, part.split.gate), _MOST_GATE_ROWS)
    seed = seed_of(options, untouched)
    changes = planted(untouched, parents, overlapping=options.features == "stv", seed=seed)
    plain = judged[: len(part.plain)]
    found = trials(plain, part.vocabulary, untouched, changes)
    deep = trials(judged[-1:], network.vocabulary, untouched, changes)[0] if network else None
    without = f"fewer than {options.least_traces} traces, so no network"
    if len(part.vectors) >= options.least_traces:
        without = "profile plain: no network"
    return chosen(found, deep, without=without, always=always, seed=seed)


def _reference(vectors: Vectors, most: int) -> Vectors:
    some = evenly(vectors, most)
    n = len(some)
    return replace(some, tree_id=np.arange(n), trace_id=[""] * n, root_span_id=[""] * n)
