"""Programs: what the service behind an entry endpoint does, as a tree of calls.

A node is one span in waiting. Nodes are immutable and shared between the programs that call
the same endpoint; a fault is a copy of a program with some nodes changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["server", "client", "internal", "producer", "consumer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all spans of one node have in common: names, and what kind of call it is.

    ``system`` is the protocol or store: http, grpc, redis, postgresql, kafka, or empty.
    """

    service: str
    operation: str
    kind: Kind
    system: str

    @property
    def endpoint(self) -> str:
        """``service::operation``."""
        return f"{self.service}::{self.operation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A span in waiting: its site (a row of ``World.sites``), own work, and calls.

    ``work_us`` is the median of the time the span spends on its own, log-normal with
    ``sigma``; it is spent before, between and after the steps in the shares ``splits``
    (one more than steps). A node with ``remote`` is the client side of a call: it has no
    steps, and its own work is the way there and back. ``spans`` is the expected number of
    spans from here down, ``depth`` the edges below.
    """

    site: int
    endpoint: str
    work_us: float
    sigma: float
    steps: tuple[Step, ...] = ()
    splits: tuple[float, ...] = (1.0,)
    remote: Node | None = None
    queued: bool = False
    spans: float = 1.0
    depth: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Calls a node makes at one point: several at once, or one, perhaps repeated.

    ``chance`` that the step happens; ``repeat`` is the mean number of calls, made ``width``
    at a time; ``attempts`` calls are made in a row, all but the last fail. A cache answers
    with probability ``hit``, else ``on_miss`` follow one by one. The node does not wait for
    a ``detached`` step.
    """

    calls: tuple[Node, ...]
    chance: float = 1.0
    repeat: float = 1.0
    width: int = 1
    attempts: int = 1
    hit: float = 1.0
    on_miss: tuple[Node, ...] = ()
    detached: bool = False

    @property
    def spans(self) -> float:
        """Expected number of spans of the step."""
        made = sum(call.spans for call in self.calls) * self.repeat * self.attempts
        missed = (1 - self.hit) * sum(call.spans for call in self.on_miss)
        return self.chance * (made + missed)

    @property
    def certain(self) -> bool:
        """Whether the step always happens and the node waits for it."""
        return self.chance >= 1 and not self.detached


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine that runs one service; ``speed`` multiplies the time of all its work."""

    service: str
    name: str
    ip: str
    zone: str
    sku: str
    version: str
    speed: float
    offset_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything that is fixed for a seed: programs, hosts, and the traffic on entries.

    ``traffic`` (shares of the traces, falling) and ``backgrounds`` (programs that start
    extra roots) belong to ``entries``; ``hosts_of`` gives rows of ``hosts`` for each site.
    """

    sites: tuple[Site, ...]
    entries: tuple[Node, ...]
    backgrounds: tuple[Node, ...]
    traffic: tuple[float, ...]
    hosts: tuple[Host, ...]
    hosts_of: tuple[tuple[int, ...], ...]


def calls_of(node: Node) -> Iterator[Node]:
    """All nodes directly below ``node``."""
    if node.remote is not None:
        yield node.remote
    for step in node.steps:
        yield from step.calls
        yield from step.on_miss


def work_path(node: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Call paths and nodes that run in every trace, one after another, parents first.

    Chances, detached work, parallel calls and repeats are left out: a change to the own work
    of one of these nodes moves the latency by just that much.
    """

    def below(path: tuple[str, ...], node: Node) -> Iterator[tuple[tuple[str, ...], Node]]:
        here = (*path, node.endpoint)
        yield here, node
        if node.remote is not None and not node.queued:
            yield from below(here, node.remote)
        for step in node.steps:
            if step.certain and len(step.calls) == 1 and step.repeat == 1:
                yield from below(here, step.calls[0])

    yield from below((), node)


def expected_us(node: Node) -> float:
    """Latency of ``node`` when every step takes its medians, in µs."""
    total = node.work_us
    if node.remote is not None and not node.queued:
        total += expected_us(node.remote)
    return total + sum(expected_step_us(step) for step in node.steps)


def expected_step_us(step: Step) -> float:
    """How long ``step`` keeps its node waiting when everything takes its median, in µs."""
    if step.detached:
        return 0.0
    longest = max(expected_us(call) for call in step.calls)
    missed = (1 - step.hit) * sum(expected_us(call) for call in step.on_miss)
    return step.chance * (longest * step.repeat * step.attempts / step.width + missed)


def rewrite(node: Node, path: tuple[str, ...], change: Callable[[Node], Node]) -> Node:
    """A copy of the program with ``change`` applied to every node at the call path ``path``."""
    if node.endpoint != path[0]:
        return node
    if len(path) == 1:
        return change(node)
    rest = path[1:]
    remote = None if node.remote is None else rewrite(node.remote, rest, change)
    steps = tuple(
        replace(
            step,
            calls=tuple(rewrite(call, rest, change) for call in step.calls),
            on_miss=tuple(rewrite(call, rest, change) for call in step.on_miss),
        )
        for step in node.steps
    )
    return replace(node, remote=remote, steps=steps)
