"""The network of an endpoint from night to night: kept, trained on, or begun anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec

from crisp.anomaly.drift import drift, sketched
from crisp.anomaly.endpoint import EndpointModel, Network
from crisp.anomaly.parts import Part
from crisp.anomaly.vocabulary import encode
from crisp.errors import ConfigError
from crisp.options import Profile, TrainOptions

_VALIDATION = 10
"""One in so many fit rows, the latest, chooses the epoch of a network."""
_COLD = 0.5
"""Drift above which the weights before are no start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What becomes of the network of an endpoint."""

    trained: str
    """cold, warm, kept or none, as in table ``models``"""
    drift: float
    """between the traces the network before was trained on and the window; 0 without one"""
    network: Network | None
    """that of the night before, to be kept or to start from"""


def profile_of(options: TrainOptions) -> Profile:
    """The profile that is asked for, or the best there is.

    Raises:
        ConfigError: it needs torch, which is not installed.
    """
    installed = find_spec("torch") is not None
    if options.profile is None:
        return "hurdle" if installed else "plain"
    if options.profile != "plain" and not installed:
        raise ConfigError(
            f"profile {options.profile} needs torch: pip install 'crisp-cpa[torch]'; or choose"
            " profile plain"
        )
    return options.profile


def _kind(options: TrainOptions, profile: Profile) -> str:
    flow = "" if options.flow == "none" else f" {options.flow} {options.flow_length}"
    return f"{options.features} {profile}{flow}"


def course_of(
    part: Part, options: TrainOptions, profile: Profile, day: str, before: EndpointModel | None
) -> Course:
    """What to do about the network of an endpoint with the window that ends on ``day``.

    One of the same kind is kept while little has changed and it is not too old; else it is
    trained again, from the weights before unless more than half has changed.
    """
    if profile == "plain" or len(part.vectors) < options.least_traces:
        return Course(trained="none", drift=0.0, network=None)
    network = before.network if before else None
    if network is None or network.kind != _kind(options, profile):
        return Course(trained="cold", drift=0.0, network=None)
    moved = drift(network.sketch, part.vectors, network.vocabulary)
    age = (date.fromisoformat(day) - date.fromisoformat(network.trained_day)).days
    if moved <= options.drift and 0 <= age < options.most_days:
        return Course(trained="kept", drift=moved, network=network)
    if moved > max(_COLD, options.drift):
        return Course(trained="cold", drift=moved, network=None)
    return Course(trained="warm", drift=moved, network=network)


def trained(
    parts: Sequence[Part],
    courses: Sequence[Course],
    options: TrainOptions,
    day: str,
    threads: int,
) -> list[Network | None]:
    """The network of each part: kept, trained on the earliest rows of the window, or None."""
    wanted = [i for i, course in enumerate(courses) if course.trained in {"cold", "warm"}]
    found = [course.network if course.trained == "kept" else None for course in courses]
    if not wanted:
        return found
    from crisp.anomaly import vae

    samples = []
    for i in wanted:
        part, before = parts[i], courses[i].network
        held = part.split.fit // _VALIDATION
        samples.append(
            vae.Sample(
                fit=encode(part.rows(0, part.split.fit - held), part.vocabulary),
                validation=encode(part.rows(part.split.fit - held, held), part.vocabulary),
                vocabulary=part.vocabulary,
                warm=vae.thaw(before.frozen) if before else None,
            )
        )
    fitted = vae.fit(samples, options, threads=threads)
    assert options.profile is not None
    for i, network in zip(wanted, fitted, strict=True):
        found[i] = Network(
            frozen=network.freeze(),
            kind=_kind(options, options.profile),
            vocabulary=parts[i].vocabulary,
            sketch=sketched(parts[i].vectors, parts[i].vocabulary),
            trained_day=day,
        )
    return found
