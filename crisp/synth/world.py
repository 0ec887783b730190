"""The fixed part of a synthetic day: programs of the wanted size, hosts, and traffic."""

from __future__ import annotations

from functools import lru_cache
from random import Random

from crisp.synth import build, names, shapes
from crisp.synth.options import SynthOptions
from crisp.synth.parts import Builder
from crisp.synth.programs import World

_TRIES = 8
_CLOSE_ENOUGH = 0.02


def make_world(options: SynthOptions) -> World:
    """The world of ``options``; it depends on seed, endpoints, services, spans and shape only.

    Entries are ordered by traffic, falling as 1/rank. The sizes that the programs are built
    for are scaled until the expected spans per trace are near ``options.spans``: the best of
    some tries counts, so the mean may be a few per cent off when there are few endpoints.
    """
    return _world(options.seed, options.endpoints, options.services, options.spans, options.shape)


@lru_cache(maxsize=4)
def _world(seed: int, endpoints: int, services: int, spans: float, shape: str) -> World:
    harmonic = sum(1 / rank for rank in range(1, endpoints + 1))
    traffic = tuple(1 / rank / harmonic for rank in range(1, endpoints + 1))
    sizes = _sizes(seed, traffic, flat=shape == "flat")
    scale = spans / sum(size * share for size, share in zip(sizes, traffic, strict=True))
    best, best_error = None, float("inf")
    for _ in range(_TRIES):
        world = _built(seed, services, traffic, [max(size * scale, 3) for size in sizes])
        pairs = zip(world.entries, traffic, strict=True)
        mean = sum(entry.spans * share for entry, share in pairs)
        error = abs(mean / spans - 1)
        if error < best_error:
            best, best_error = world, error
        if error <= _CLOSE_ENOUGH:
            break
        scale *= spans / mean
    assert best is not None
    return best


def _sizes(seed: int, traffic: tuple[float, ...], flat: bool) -> list[float]:
    """Spans per trace of every entry before scaling, as many of each size as Uber has.

    The busiest entry has traces of middling size and the rarest the largest, the rest is drawn.
    """
    count = len(traffic)
    if flat:
        return [1.0] * count
    others = list(range(1, count - 1))
    Random(f"{seed}/sizes").shuffle(others)
    half = len(others) // 2
    order = [*others[:half], 0, *others[half:], count - 1] if count > 1 else [0]
    sizes = [0.0] * count
    strata = shapes.size_strata([traffic[k] for k in order])
    for k, size in zip(order, strata, strict=True):
        sizes[k] = size
    return sizes


def _built(seed: int, services: int, traffic: tuple[float, ...], sizes: list[float]) -> World:
    draw = Random(f"{seed}/programs")
    gateways = names.gateway_names(max(services // 8, 1))
    inner = names.service_names(services - len(gateways))
    builder = Builder(draw, inner)
    entries = []
    for k, size in enumerate(sizes):
        turn, gateway = divmod(k, len(gateways))
        entries.append(build.entry(builder, turn, gateways[gateway], size))
    backgrounds = [build.background(builder, k) for k in range(len(sizes))]
    hosts = names.make_hosts(gateways + inner, Random(f"{seed}/hosts"))
    of_service: dict[str, list[int]] = {}
    for row, host in enumerate(hosts):
        of_service.setdefault(host.service, []).append(row)
    return World(
        sites=tuple(builder.sites),
        entries=tuple(entries),
        backgrounds=tuple(backgrounds),
        traffic=traffic,
        hosts=tuple(hosts),
        hosts_of=tuple(tuple(of_service[site.service]) for site in builder.sites),
    )
