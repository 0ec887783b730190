"""Plants faults into programs, and says exactly which call paths they change.

Candidates are nodes that run in every trace with nothing beside them, ranked by how much of
the expected latency the fault would move, so the first pick is one that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from crisp.errors import ConfigError
from crisp.synth.options import Fault
from crisp.synth.programs import Node, Step, expected_us, rewrite, work_path

CallPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """How to put a fault into any version of a program, and the call paths it changes."""

    change: Callable[[Node], Node]
    paths: tuple[CallPath, ...]


def plant(fault: Fault, program: Node) -> Planted:
    """Where ``fault`` goes in the clean ``program``.

    Raises: ConfigError when the program has no place for the fault.
    """
    match fault.kind:
        case "slow":
            return _slow(fault, program)
        case "serialise":
            return _serialise(fault, program)
        case "retry-storm":
            return _retry_storm(fault, program)
        case "cold-cache":
            return _cold_cache(fault, program)


def _slow(fault: Fault, program: Node) -> Planted:
    """The own work of every span at one call path takes ``factor`` times as long."""
    ranked = [(node.work_us, path) for path, node in work_path(program) if len(path) > 1]
    path = _picked(fault, program, ranked or [(program.work_us, (program.endpoint,))])

    def slower(node: Node) -> Node:
        return replace(node, work_us=node.work_us * fault.factor)

    return Planted(change=lambda program: rewrite(program, path, slower), paths=(path,))


def _serialise(fault: Fault, program: Node) -> Planted:
    """Calls that were made at once are made one after another, in their written order."""
    ranked = []
    for path, node in work_path(program):
        gain = sum(_wait_us(step) for step in node.steps if step.certain)
        if gain > 0:
            ranked.append((gain, path))
    path = _picked(fault, program, ranked)
    node = next(node for at, node in work_path(program) if at == path)
    at_once = [step for step in node.steps if step.certain and len(step.calls) > 1]
    below = {(*path, call.endpoint) for step in at_once for call in step.calls}
    return Planted(
        change=lambda program: rewrite(program, path, _one_by_one), paths=tuple(sorted(below))
    )


def _wait_us(step: Step) -> float:
    """How much longer the calls of a parallel step take one after another, µs."""
    times = [expected_us(call) for call in step.calls]
    return sum(times) - max(times)


def _one_by_one(node: Node) -> Node:
    steps: list[Step] = []
    splits: list[float] = []
    for step, split in zip(node.steps, node.splits, strict=False):
        alone = [step] if not step.certain else [replace(step, calls=(c,)) for c in step.calls]
        steps += alone
        splits += [split / len(alone)] * len(alone)
    return replace(node, steps=tuple(steps), splits=(*splits, node.splits[-1]))


def _retry_storm(fault: Fault, program: Node) -> Planted:
    """A call is made ``attempts`` times; all but the last attempt fail."""
    ranked = [
        (expected_us(node), path)
        for path, node in work_path(program)
        if len(path) > 1 and node.remote is not None and not node.queued
    ]
    path = _picked(fault, program, ranked)

    def repeatedly(node: Node) -> Node:
        steps = tuple(
            replace(step, attempts=fault.attempts)
            if len(step.calls) == 1 and step.repeat == 1 and step.calls[0].endpoint == path[-1]
            else step
            for step in node.steps
        )
        return replace(node, steps=steps)

    return Planted(change=lambda program: rewrite(program, path[:-1], repeatedly), paths=(path,))


def _cold_cache(fault: Fault, program: Node) -> Planted:
    """Every cache of the program misses, so each look-up is followed by a read and a write."""
    paths = tuple(sorted(set(_look_ups(program, ()))))
    if not paths:
        raise _no_place(fault, program)
    return Planted(change=lambda program: _each(program, _missing), paths=paths)


def _look_ups(node: Node, above: CallPath) -> Iterator[CallPath]:
    """Call paths of the cache look-ups that can miss, and of the calls that follow when they do:
    a look-up that misses takes no longer, what follows it does."""
    here = (*above, node.endpoint)
    if node.remote is not None:
        yield from _look_ups(node.remote, here)
    for step in node.steps:
        if step.on_miss:
            yield (*here, step.calls[0].endpoint)
            yield from ((*here, call.endpoint) for call in step.on_miss)
        for call in step.calls:
            yield from _look_ups(call, here)


def _missing(node: Node) -> Node:
    steps = tuple(replace(step, hit=0.0) if step.on_miss else step for step in node.steps)
    return replace(node, steps=steps)


def _each(node: Node, change: Callable[[Node], Node]) -> Node:
    """A copy of the program with ``change`` applied to every node."""
    remote = None if node.remote is None else _each(node.remote, change)
    steps = tuple(
        replace(step, calls=tuple(_each(call, change) for call in step.calls))
        for step in node.steps
    )
    return change(replace(node, remote=remote, steps=steps))


def _picked(fault: Fault, program: Node, ranked: list[tuple[float, CallPath]]) -> CallPath:
    """The path of the asked rank; several nodes at one path count together."""
    weights: dict[CallPath, float] = {}
    for weight, path in ranked:
        weights[path] = weights.get(path, 0.0) + weight
    paths = sorted(weights, key=lambda path: (-weights[path], path))
    if fault.pick >= len(paths):
        raise _no_place(fault, program, len(paths))
    return paths[fault.pick]


def _no_place(fault: Fault, program: Node, places: int = 0) -> ConfigError:
    return ConfigError(
        f"{fault.kind}: entry {fault.entry} ({program.endpoint}, about {program.spans:.0f} spans "
        f"a trace) has {places} call paths for this fault, so pick={fault.pick} is not there; "
        "choose another entry or a smaller pick"
    )
