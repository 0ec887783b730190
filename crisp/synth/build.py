"""Draws the programs of a day: which endpoint calls what, how often, and how long it takes.

A program is built top-down with a budget of spans, depth and fan-out. Interior endpoints are
kept in a register and called again by later programs, so that one slow interior endpoint
shows up under many entries. Nothing in a program may depend on a trace.
"""

from __future__ import annotations

from dataclasses import replace
from math import log
from random import Random

from crisp.synth import names, shapes
from crisp.synth.parts import Builder, cache, detached, make_node, store
from crisp.synth.programs import Node, Step, expected_step_us

# How often a call goes to an endpoint that exists already, if one of the right size does.
_SHARED = 0.5
_OPTIONAL = 0.25
_ASYNCHRONOUS = 0.22
# How often neighbours that are plain calls are made at once, and how many of them at most.
_PARALLEL = 0.15
_MOST = 5
# Calls made at once hold this share of the spans below a server: together with their number
# it decides how much of a trace is off its critical path, and how many spans are open at once.
_SCATTERED = (0.55, 0.85)
# There are two of them and a drawn number more, below this and one for each so many spans.
_MORE = 1.5
_SPANS_PER_CALL = 45
# The deepest of them is this many times as large as the mean, and large enough for its depth:
# some spans for each level. The others are flat, up to a size.
_DEEP = (1.0, 1.5)
_SPANS_PER_LEVEL = 1.3
_FLAT = 25
# Own work of an entry's main call beside the latency of all other calls.
_MAIN = (0.2, 0.4)


def entry(builder: Builder, number: int, service: str, spans: float) -> Node:
    """The program of the ``number``-th entry of ``service``, of about ``spans`` spans."""
    operation = names.entry_operation(service, number)
    site = builder.site(service, operation, "server", "http")
    depth, fanout = shapes.depth_of(spans), shapes.fanout_of(spans)
    return _server(builder, site, spans, depth, fanout, main=spans >= 12)


def background(builder: Builder, number: int) -> Node:
    """A small program that starts a root of its own under somebody else's trace id."""
    draw = builder.draw
    service = draw.choice(builder.services)
    site = builder.site(service, f"refresh.cache-{number % 7}", "internal")
    leaf = store(builder, service, "cache")
    return make_node(builder, site, "internal", [Step(calls=(leaf,))] if number % 2 else [])


def _server(
    builder: Builder, site: int, spans: float, depth: int, fanout: int, main: bool = False
) -> Node:
    """A server node: calls at once, one of them deep; a fan-out; others until the budget ends.

    With ``main`` it also has a cache, and a call with nothing beside it that weighs much in
    its latency, so that every kind of fault finds a place where it shows.
    """
    draw = builder.draw
    service = builder.sites[site].service
    steps = [cache(builder, service, 0.85)] if main else []
    left = spans - 1 - sum(step.spans for step in steps) - 3 * main
    if depth >= 2 and left >= 2:
        few = left <= max(6, _SPANS_PER_LEVEL * depth)
        size = left if few else left * draw.uniform(*_SCATTERED)
        below = fanout if size > 3 * fanout and draw.random() < 0.6 else 0
        fanout = 0 if below else fanout
        steps.append(_scatter(builder, service, size, depth - 2, below))
        left -= steps[-1].spans
    if fanout > 3 and left >= fanout / 2:
        loop = _loop(builder, service, left, depth, fanout)
        steps.append(loop)
        left -= loop.spans
    while left >= 0.5:
        step = _any_step(builder, service, left, depth)
        steps.append(step)
        left -= step.spans
    steps = _arranged(steps, draw)
    if main:
        steps.insert(draw.randrange(len(steps) + 1), _main_call(builder, service, steps))
    return make_node(builder, site, "server", steps)


def _scatter(builder: Builder, caller: str, spans: float, depth: int, fanout: int) -> Step:
    """Calls made at once, of ``spans`` in all: one ``depth`` deep, others flat and about as large.

    The more spans, the more calls: Uber's spans open at once grow with the size of a trace.
    """
    draw = builder.draw
    count = 2 + int(draw.random() * (_MORE + spans / _SPANS_PER_CALL))
    count = min(count, max(int(spans / 2), 1))
    deep = max(spans * draw.uniform(*_DEEP) / count, _SPANS_PER_LEVEL * depth + 2)
    calls = [_call(builder, caller, max(min(deep, spans) - 1, 1), depth, fanout)]
    size = (spans - calls[0].spans) / max(count - 1, 1)
    while len(calls) < count and size >= 1:
        below = min(depth, 2 if size > _FLAT else 0)
        calls.append(_call(builder, caller, max(size - 1, 1), below, 0))
    return Step(calls=tuple(calls))


def _main_call(builder: Builder, caller: str, others: list[Step]) -> Step:
    """A call of three spans whose server works for a good part of its caller's latency.

    As in the paper (section 4.7.1), where one endpoint below the entry holds 47 % of it.
    """
    draw = builder.draw
    service = draw.choice(builder.services)
    read = Step(calls=(store(builder, service, "db"),))
    server = make_node(builder, _new_site(builder, service), "server", [read])
    least = draw.uniform(*_MAIN) * sum(expected_step_us(step) for step in others)
    server = replace(server, work_us=max(server.work_us, least))
    return Step(calls=(_client(builder, caller, server),))


def _any_step(builder: Builder, service: str, left: float, depth: int) -> Step:
    """A call that costs at most about ``left`` spans, at times optional or detached."""
    draw = builder.draw
    if left >= 4 and depth >= 2 and draw.random() < _ASYNCHRONOUS:
        return detached(builder, service)
    chance = draw.uniform(0.2, 0.95) if draw.random() < _OPTIONAL else 1.0
    if depth >= 2 and left >= 2 and draw.random() < 0.55:
        size = max(left * draw.uniform(0.2, 0.8) - 1, 1)
        below = min(shapes.depth_of(size), depth - 2)
        return Step(calls=(_call(builder, service, size, below, 0),), chance=chance)
    sort = draw.choices(("cache", "db", "internal"), (0.62, 0.14, 0.24))[0]
    if sort == "cache" and left >= 1.5:
        return cache(builder, service, draw.uniform(0.75, 0.98), chance)
    if sort == "internal":
        site = builder.site(service, names.work_operation(draw), "internal")
        return Step(calls=(make_node(builder, site, "internal", []),), chance=chance)
    return Step(calls=(store(builder, service, sort),), chance=chance)


def _loop(builder: Builder, service: str, left: float, depth: int, fanout: int) -> Step:
    """Many calls of the same endpoint, some at a time: what makes the widest spans."""
    draw = builder.draw
    repeat = 0.6 * fanout
    serial = draw.random() < (0.3 if fanout < 12 else 0.1)
    width = 1 if serial else draw.randint(max(2, fanout // 5), max(4, fanout // 2))
    if depth >= 2 and left >= 2.5 * repeat:
        size = min(left / repeat, 6) - 1
        call = _call(builder, service, size, min(depth - 2, 2), 0)
        return Step(calls=(call,), repeat=max(1.0, min(repeat, left / call.spans)), width=width)
    call = store(builder, service, draw.choice(("cache", "cache", "db")))
    return Step(calls=(call,), repeat=max(1.0, min(repeat, left)), width=width)


def _call(builder: Builder, caller: str, spans: float, depth: int, fanout: int) -> Node:
    """The client side of a call to an endpoint of about ``spans`` spans, new or known."""
    draw = builder.draw
    size = _size_class(spans)
    known = builder.register.get((size, draw.randint(depth - 1, depth + 1)))
    if known and not fanout and draw.random() < _SHARED:
        server = draw.choice(known)
    else:
        service = builder.services[int(len(builder.services) * draw.random() ** 1.5)]
        server = _server(builder, _new_site(builder, service), spans, max(depth, 0), fanout)
        builder.register.setdefault((_size_class(server.spans), server.depth), []).append(server)
    return _client(builder, caller, server)


def _new_site(builder: Builder, service: str) -> int:
    """The site of a new endpoint of ``service``, by RPC or HTTP as often as Alibaba's."""
    number = builder.operations.get(service, 0)
    builder.operations[service] = number + 1
    rpc, http = (shapes.ALIBABA_CALLS[kind] for kind in ("rpc", "http"))
    if builder.draw.random() < rpc / (rpc + http):
        return builder.site(service, names.rpc_operation(service, number), "server", "grpc")
    return builder.site(service, names.http_operation(service, number), "server", "http")


def _client(builder: Builder, caller: str, server: Node) -> Node:
    """The client side of a call of ``server``."""
    target = builder.sites[server.site]
    site = builder.site(caller, target.operation, "client", target.system)
    return Node(
        site=site,
        endpoint=builder.sites[site].endpoint,
        work_us=builder.work("net"),
        sigma=0.3,
        remote=server,
        spans=1 + server.spans,
        depth=1 + server.depth,
    )


def _size_class(spans: float) -> int:
    """Sizes that may stand in for each other: within about a sixth."""
    return round(3 * log(max(spans, 1)))


def _arranged(steps: list[Step], draw: Random) -> list[Step]:
    """The steps in random order; some neighbours that are plain calls happen at once."""
    draw.shuffle(steps)
    arranged: list[Step] = []
    for step in steps:
        last = arranged[-1] if arranged else None
        if last and _plain(step) and _plain(last) and draw.random() < _PARALLEL:
            arranged[-1] = Step(calls=last.calls + step.calls)
        else:
            arranged.append(step)
    return arranged


def _plain(step: Step) -> bool:
    """Whether the step is a few calls that always happen, once each."""
    return step.certain and step.repeat == 1 and not step.on_miss and len(step.calls) <= _MOST
