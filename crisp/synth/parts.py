"""The parts that programs are put together from: caches, stores, and detached work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import exp
from random import Random

from crisp.synth import names
from crisp.synth.programs import Kind, Node, Site, Step

# Medians of the own work of a span by kind of node, µs, and how much nodes of a kind differ.
_WORK_US = {"server": 3500.0, "db": 6000.0, "cache": 500.0, "internal": 1200.0, "net": 450.0}
_SPREAD = 0.8


@dataclass(slots=True)
class Builder:
    """The register that programs are built into; ``draw`` decides everything."""

    draw: Random
    services: list[str]
    sites: list[Site] = field(default_factory=list)
    numbers: dict[Site, int] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    register: dict[tuple[int, int], list[Node]] = field(default_factory=dict)

    def site(self, service: str, operation: str, kind: Kind, system: str = "") -> int:
        """The row of the site in ``sites``, added when it is new."""
        made = Site(service=service, operation=operation, kind=kind, system=system)
        if made not in self.numbers:
            self.numbers[made] = len(self.sites)
            self.sites.append(made)
        return self.numbers[made]

    def work(self, of: str) -> float:
        """A median of own work, µs."""
        return _WORK_US[of] * exp(self.draw.gauss(0, _SPREAD))


def cache(builder: Builder, service: str, hit: float, chance: float = 1.0) -> Step:
    """A look-up that is followed by a read and a write-back when it misses."""
    get = store(builder, service, "cache", "GET")
    on_miss = (store(builder, service, "db"), store(builder, service, "cache", "SET"))
    return Step(calls=(get,), chance=chance, hit=hit, on_miss=on_miss)


def detached(builder: Builder, service: str) -> Step:
    """Work the service does not wait for: a message to a consumer, or a task left running."""
    draw = builder.draw
    chance = draw.uniform(0.2, 0.6)
    if draw.random() < 0.5:
        site = builder.site(service, "audit.flush", "internal")
        leaf = store(builder, service, "db")
        task = make_node(builder, site, "internal", [Step(calls=(leaf,))], slower=8)
        return Step(calls=(task,), chance=chance, detached=True)
    topic = names.queue_name(service, draw)
    other = draw.choice(builder.services)
    site = builder.site(other, f"{topic} process", "consumer", "kafka")
    write = Step(calls=(store(builder, other, "db"),))
    consumer = make_node(builder, site, "server", [write], slower=4)
    producer = Node(
        site=builder.site(service, f"{topic} publish", "producer", "kafka"),
        endpoint=f"{service}::{topic} publish",
        work_us=builder.work("cache"),
        sigma=0.3,
        remote=consumer,
        queued=True,
        spans=1 + consumer.spans,
        depth=1 + consumer.depth,
    )
    return Step(calls=(producer,), chance=chance)


def store(builder: Builder, service: str, sort: str, verb: str = "GET") -> Node:
    """A call of a cache or database, which records no spans of its own."""
    if sort == "cache":
        site = builder.site(service, verb, "client", "redis")
    else:
        operation = names.store_operation(service, builder.draw)
        site = builder.site(service, operation, "client", "postgresql")
    return make_node(builder, site, sort, [])


def make_node(
    builder: Builder, site: int, of: str, steps: Iterable[Step], slower: float = 1.0
) -> Node:
    """A node that works between its ``steps``: most of it before the first and after the last."""
    draw = builder.draw
    steps = tuple(steps)
    shares = [draw.uniform(0.2, 1.0) for _ in range(len(steps) + 1)]
    shares[0] += 0.5 * len(steps)
    shares[-1] += 0.5 * len(steps)
    total = sum(shares)
    below = [call.depth for step in steps for call in (*step.calls, *step.on_miss)]
    return Node(
        site=site,
        endpoint=builder.sites[site].endpoint,
        work_us=builder.work(of) * slower,
        sigma=draw.uniform(0.25, 0.7),
        steps=steps,
        splits=tuple(share / total for share in shares),
        spans=1 + sum(step.spans for step in steps),
        depth=1 + max(below) if below else 0,
    )
