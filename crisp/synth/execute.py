"""Runs a program once: one request, as spans with start, end, host and parent.

Times are integer µs on one true clock. What holds, before any defect: a span lies inside its
parent unless its parent does not wait for it; calls made one after another do not overlap; a
client span contains its server span with network time on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp
from random import Random

from crisp.synth.programs import Node, Step, World

# Upper 1 % of a standard normal, and how fast work grows beyond it: the heavy tail.
_TAIL_AT = 2.33
_TAIL_SIGMA = 2.0
# All work of one request shares a factor: exp of a normal with this sigma.
_LOAD_SIGMA = 0.2
_REPEAT_SIGMA = 0.4
_STAGGER_US = 15
_BACKOFF_US = 2000
_QUEUE_US = 5000.0
# How often a request leaves the host of a service that it used before.
_WANDERS = 0.1


@dataclass(slots=True)
class Spans:
    """Columns of the spans of one trace, in the order they started, parents first.

    ``parent`` is a row, or -1 for a root; ``detached`` holds the rows nobody waits for;
    ``failed`` the rows that end in an error.
    """

    node: list[Node] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    host: list[int] = field(default_factory=list)
    detached: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Run:
    """One run of a program: where spans go, and what all of them share."""

    world: World
    draw: Random
    spans: Spans
    asynchronous: float
    load: float
    affinity: float


def execute(
    world: World, program: Node, begin_us: int, draw: Random, *, asynchronous: float, into: Spans
) -> None:
    """Append the spans of one run of ``program`` that starts at ``begin_us``.

    ``asynchronous`` scales the chance of work that the program does not wait for. The draws
    do not depend on durations, so a program with slower nodes takes the same turns.
    """
    load = exp(_LOAD_SIGMA * draw.gauss(0.0, 1.0))
    run = _Run(world, draw, into, asynchronous, load, draw.random())
    hosts = world.hosts_of[program.site]
    _span(run, program, -1, begin_us, hosts[int(len(hosts) * run.affinity)])


def _span(run: _Run, node: Node, above: int, begin: int, host: int) -> int:
    """Append a span and all below it; its end."""
    spans = run.spans
    row = len(spans.node)
    spans.node.append(node)
    spans.parent.append(above)
    spans.start.append(begin)
    spans.end.append(begin)
    spans.host.append(host)
    z = run.draw.gauss(0.0, 1.0)
    stretch = node.sigma * z if z < _TAIL_AT else node.sigma * z + _TAIL_SIGMA * (z - _TAIL_AT)
    work = node.work_us * run.load * run.world.hosts[host].speed * exp(stretch)
    if node.remote is not None:
        far = _queue if node.queued else _remote
        now = far(run, node.remote, row, begin, work)
    elif not node.steps:
        now = begin + 1 + int(work)
    else:
        now = begin
        for step, split in zip(node.steps, node.splits, strict=False):
            now += 1 + int(work * split)
            if step.chance >= 1.0 or run.draw.random() < step.chance:
                now = _step(run, step, row, now, host)
        now += 1 + int(work * node.splits[-1])
    spans.end[row] = now
    return now


def _host_of(run: _Run, site: int) -> int:
    """The host that answers: mostly the same for all calls of a service in one request."""
    hosts = run.world.hosts_of[site]
    place = run.affinity if run.draw.random() > _WANDERS else run.draw.random()
    return hosts[int(len(hosts) * place)]


def _remote(run: _Run, server: Node, row: int, begin: int, work: float) -> int:
    """A call that waits for its server; ``work`` is the way there and back, µs."""
    there = 1 + int(work * (0.3 + 0.4 * run.draw.random()))
    end = _span(run, server, row, begin + there, _host_of(run, server.site))
    return end + max(1, int(work) - there)


def _queue(run: _Run, consumer: Node, row: int, begin: int, work: float) -> int:
    """A message that is handed over at the end of ``work`` and consumed some time later."""
    end = begin + 1 + int(work)
    wait = int(_QUEUE_US * run.load * exp(run.draw.gauss(0.0, 1.0)))
    if run.draw.random() < run.asynchronous:
        run.spans.detached.add(len(run.spans.node))
        _span(run, consumer, row, end + wait, _host_of(run, consumer.site))
    return end


def _step(run: _Run, step: Step, row: int, now: int, host: int) -> int:
    """The calls of one step; when the last of those that are waited for ends."""
    calls = step.calls
    if step.detached:
        if run.draw.random() < run.asynchronous:
            run.spans.detached.add(len(run.spans.node))
            _span(run, calls[0], row, now, host)
        return now
    if len(calls) > 1:
        begins = range(now, now + _STAGGER_US * len(calls), _STAGGER_US)
        pairs = zip(calls, begins, strict=True)
        return max(_span(run, call, row, begin, host) for call, begin in pairs)
    if step.repeat != 1.0:
        return _in_turns(run, step, row, now, host)
    for attempt in range(1, step.attempts):
        first = len(run.spans.node)
        now = _span(run, calls[0], row, now, host) + _BACKOFF_US * attempt
        run.spans.failed.update((first, first + 1) if calls[0].remote else (first,))
    now = _span(run, calls[0], row, now, host)
    if step.on_miss and run.draw.random() >= step.hit:
        for call in step.on_miss:
            now = _span(run, call, row, now + 1, host)
    return now


def _in_turns(run: _Run, step: Step, row: int, now: int, host: int) -> int:
    """Repeated calls, ``width`` at a time: the next begins when one of them ends."""
    spread = exp(_REPEAT_SIGMA * run.draw.gauss(0.0, 1.0) - _REPEAT_SIGMA**2 / 2)
    count = max(1, round(step.repeat * spread))
    free = [now + k * _STAGGER_US for k in range(min(step.width, count))]
    for _ in range(count):
        soonest = free.index(min(free))
        free[soonest] = _span(run, step.calls[0], row, free[soonest], host) + 2
    return max(free)
