"""Draws the programs of a day: which endpoint calls what, how often, and how long it takes.

A program is built top-down with a budget of spans, depth and fan-out. Interior endpoints are
kept in a register and called again by later programs, so that one slow interior endpoint
shows up under many entries. Nothing in a program may depend on a trace.
"""

from __future__ import annotations

from math import log
from random import Random

from crisp.synth import names, shapes
from crisp.synth.parts import Builder, cache, detached, make_node, store
from crisp.synth.programs import Node, Step

# How often a call goes to an endpoint that exists already, if one of the right size does.
_SHARED = 0.5
_OPTIONAL = 0.25
_PARALLEL = 0.35
_ASYNCHRONOUS = 0.12
_MOST = 3


def entry(builder: Builder, number: int, service: str, spans: float) -> Node:
    """The program of the ``number``-th entry of ``service``, of about ``spans`` spans."""
    operation = names.entry_operation(service, number)
    site = builder.site(service, operation, "server", "http")
    return _server(
        builder, site, spans, shapes.depth_of(spans), shapes.fanout_of(spans), pair=spans >= 12
    )


def background(builder: Builder, number: int) -> Node:
    """A small program that starts a root of its own under somebody else's trace id."""
    draw = builder.draw
    service = draw.choice(builder.services)
    site = builder.site(service, f"refresh.cache-{number % 7}", "internal")
    leaf = store(builder, service, "cache")
    return make_node(builder, site, "internal", [Step(calls=(leaf,))] if number % 2 else [])


def _server(
    builder: Builder, site: int, spans: float, depth: int, fanout: int, pair: bool = False
) -> Node:
    """A server node: one deep call, a fan-out, and other calls until the budget is spent.

    With ``pair`` it has a parallel pair, a cache, and a deep call with nothing beside it, so
    that every kind of fault finds a place.
    """
    draw = builder.draw
    service = builder.sites[site].service
    left = spans - 1
    steps = []
    alone = None
    if pair:
        sides = [_call(builder, service, max(left * 0.08, 1), depth - 2, 0) for _ in range(2)]
        steps.append(Step(calls=tuple(sides)))
        steps.append(cache(builder, service, 0.85))
        left -= steps[0].spans + steps[1].spans
    if depth >= 2 and left >= 2:
        share = draw.uniform(0.5, 0.8) if left > 6 else 1.0
        inner = max(left * share - 1, 1)
        below = fanout if inner > 2 * fanout and draw.random() < 0.6 else 0
        deep = _call(builder, service, inner, depth - 2, below)
        fanout = 0 if below else fanout
        steps.append(Step(calls=(deep,)))
        alone = steps[-1] if pair else None
        left -= deep.spans
    if fanout > 3 and left >= fanout / 2:
        loop = _loop(builder, service, left, depth, fanout)
        steps.append(loop)
        left -= loop.spans
    while left >= 0.5:
        step = _any_step(builder, service, left, depth)
        steps.append(step)
        left -= step.spans
    return make_node(builder, site, "server", _arranged(steps, alone, draw))


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
    width = 1 if serial else draw.randint(max(2, fanout // 3), max(4, fanout))
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
        number = builder.operations.get(service, 0)
        builder.operations[service] = number + 1
        rpc = draw.random() < shapes.ALIBABA_CALLS["rpc"] / (
            shapes.ALIBABA_CALLS["rpc"] + shapes.ALIBABA_CALLS["http"]
        )
        operation = (names.rpc_operation if rpc else names.http_operation)(service, number)
        site = builder.site(service, operation, "server", "grpc" if rpc else "http")
        server = _server(builder, site, spans, max(depth, 0), fanout)
        builder.register.setdefault((_size_class(server.spans), server.depth), []).append(server)
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


def _arranged(steps: list[Step], alone: Step | None, draw: Random) -> list[Step]:
    """The steps in random order; some neighbours that are plain calls happen at once."""
    draw.shuffle(steps)
    arranged: list[Step] = []
    for step in steps:
        last = arranged[-1] if arranged else step
        joins = last is not step and step is not alone and last is not alone
        if joins and _plain(step) and _plain(last) and draw.random() < _PARALLEL:
            arranged[-1] = Step(calls=last.calls + step.calls)
        else:
            arranged.append(step)
    return arranged


def _plain(step: Step) -> bool:
    """Whether the step is a few calls that always happen, once each."""
    return step.certain and step.repeat == 1 and not step.on_miss and len(step.calls) <= _MOST
