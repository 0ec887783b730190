"""A planned day: which trace calls which program and when, and the bytes of each trace.

Trace i depends on the options and i alone, so any process can write any part of a day.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

import numpy as np
import numpy.typing as npt

from crisp.errors import ConfigError
from crisp.synth import encode
from crisp.synth.defects import Marks, add_defects
from crisp.synth.execute import Spans, execute
from crisp.synth.faults import CallPath, plant
from crisp.synth.options import Fault, SynthOptions
from crisp.synth.programs import Node, World
from crisp.synth.world import make_world

DAY_US = 86_400_000_000
_INDEX_BITS = 40

Change = Callable[[Node], Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """A fault with where it went: paths, and the traces of the entry from ``first`` on."""

    fault: Fault
    paths: tuple[CallPath, ...]
    first: int
    last: int
    traces: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """Everything needed to write any trace.

    ``entry`` holds the entry endpoint of every trace, shape (traces,). ``programs`` holds, for
    every entry, (first trace, program) with rising first traces: the last that has begun runs.
    """

    options: SynthOptions
    world: World
    texts: encode.Texts
    day_us: int
    offsets_us: tuple[int, ...]
    entry: npt.NDArray[np.int32]
    programs: tuple[tuple[tuple[int, Node], ...], ...]
    faults: tuple[PlantedFault, ...]


def plan(options: SynthOptions) -> Plan:
    """The day that ``options`` ask for.

    Raises: ConfigError when an entry has no place for its fault, or no trace at all.
    """
    world = make_world(options)
    entry = _entries(options, world.traffic)
    faults = []
    changes: dict[int, list[tuple[int, Change]]] = {}
    for fault in options.faults:
        planted = plant(fault, world.entries[fault.entry])
        rows = np.flatnonzero(entry == fault.entry)
        if not len(rows):
            raise ConfigError(
                f"{fault.kind}: entry {fault.entry} gets none of the {options.traces} traces; "
                "ask for more traces or choose an entry with more traffic (0 has most)"
            )
        affected = rows[len(rows) - math.ceil(len(rows) * fault.fraction) :]
        first, last = int(affected[0]), int(affected[-1])
        changes.setdefault(fault.entry, []).append((first, planted.change))
        faults.append(
            PlantedFault(
                fault=fault, paths=planted.paths, first=first, last=last, traces=len(affected)
            )
        )
    midnight = datetime(options.day.year, options.day.month, options.day.day, tzinfo=UTC)
    return Plan(
        options=options,
        world=world,
        texts=encode.prepare(world),
        day_us=int(midnight.timestamp()) * 1_000_000,
        offsets_us=tuple(round(h.offset_us * options.rates.clock) for h in world.hosts),
        entry=entry,
        programs=tuple(
            _versions(program, changes.get(k, [])) for k, program in enumerate(world.entries)
        ),
        faults=tuple(faults),
    )


def _entries(options: SynthOptions, traffic: Sequence[float]) -> npt.NDArray[np.int32]:
    """The entry of every trace: exact shares of the traffic, in random order."""
    rng = np.random.default_rng([options.seed, 1, options.draw])
    ranks = (np.arange(options.traces) + rng.random()) / options.traces
    entry = np.searchsorted(np.cumsum(traffic)[:-1], ranks, side="right")
    return rng.permutation(entry).astype(np.int32)


def _versions(program: Node, changes: list[tuple[int, Change]]) -> tuple[tuple[int, Node], ...]:
    """(first trace, program) with rising first traces; ``changes`` begin at a trace each."""
    versions = []
    for start in sorted({0, *(first for first, _ in changes)}):
        version = program
        for first, change in changes:
            if first <= start:
                version = change(version)
        versions.append((start, version))
    return tuple(versions)


def trace_id(plan: Plan, index: int) -> str:
    """The id of trace ``index``: 16 hexadecimal digits."""
    return f"{_draw(plan, index).getrandbits(64):016x}"


def _draw(plan: Plan, index: int) -> Random:
    """What is random in a trace. Days of the same system differ by their ``draw``, of 64 bits or
    less, above those of the seed."""
    options = plan.options
    return Random((options.draw << 64 | options.seed) << _INDEX_BITS | index)


def trace_json(plan: Plan, index: int) -> tuple[bytes, int]:
    """Trace ``index`` as one bare JSON object without line break, and its number of spans."""
    draw = _draw(plan, index)
    name = f"{draw.getrandbits(64):016x}"
    begin = plan.day_us + int((index + draw.random()) / plan.options.traces * DAY_US)
    entry = int(plan.entry[index])
    program = next(p for first, p in reversed(plan.programs[entry]) if first <= index)
    rates = plan.options.rates
    spans = Spans()
    execute(plan.world, program, begin, draw, asynchronous=rates.asynchronous, into=spans)
    marks = add_defects(plan.world, spans, plan.world.backgrounds[entry], rates, draw)
    return _encoded(plan, name, spans, marks)


def _encoded(plan: Plan, name: str, spans: Spans, marks: Marks) -> tuple[bytes, int]:
    """The bytes and the number of spans written."""
    sites, hosts, offsets = plan.texts.sites, plan.world.hosts, plan.offsets_us
    ids, placed = marks.span_id, plan.texts.hosts
    simple = f'"references":[{encode.reference("CHILD_OF", name, "%s")}],'
    processes: dict[int, str] = {}
    written = []
    for row, (node, above, start, end, host) in enumerate(
        zip(spans.node, spans.parent, spans.start, spans.end, spans.host, strict=True)
    ):
        if row in marks.dropped:
            continue
        process = processes.get(host)
        if process is None:
            process = processes[host] = f"p{len(processes) + 1}"
        if above >= 0 and row not in marks.parents and row not in spans.detached:
            references = simple % ids[above]
        else:
            references = _references(name, spans, marks, row)
        text = sites[node.site]
        form = text.failed if row in spans.failed else text.plain
        if row in marks.sparse:
            form = text.sparse[marks.sparse[row]]
        big = f",{encode.tag('entity.version', marks.big[row])}" if row in marks.big else ""
        shown = start + offsets[host]
        noise = int(ids[row][:4], 16)
        caller = hosts[spans.host[above] if above >= 0 else host].name[-5:]
        middle = shown + ((end - start) >> 1)
        span = form % (
            *(name, ids[row], references, shown, end - start),
            *(placed[host], noise & 63, noise, caller, name[:6], big, middle, process),
        )
        written += [span, span] if row in marks.copied else [span]
    text_of_trace = encode.document(name, written, processes, plan.texts)
    return text_of_trace.encode(), len(written)


def _references(name: str, spans: Spans, marks: Marks, row: int) -> str:
    """The field ``references`` of a root, a detached span or one with odd parents."""
    above = spans.parent[row]
    parents = marks.parents.get(row, (above,) if above >= 0 else ())
    if not parents:
        absent = row in marks.sparse
        return ("", '"references":null,')[marks.sparse[row] % 2] if absent else '"references":[],'
    follows = row in spans.detached and spans.node[row].site % 2 == 0
    kind = "FOLLOWS_FROM" if follows or _is_task(spans, row) else "CHILD_OF"
    listed = (encode.reference(kind, name, marks.span_id[parent]) for parent in parents)
    return f'"references":[{",".join(listed)}],'


def _is_task(spans: Spans, row: int) -> bool:
    """Whether the span is a task its parent left running, rather than a consumed message."""
    above = spans.parent[row]
    return row in spans.detached and above >= 0 and not spans.node[above].queued
