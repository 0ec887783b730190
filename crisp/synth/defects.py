"""What makes production traces less than strict trees, at the published rates.

Each function draws from the trace's own generator and marks rows; the true times of spans
change only where spans overlap. Rates of traces come from `shapes`; how many spans of such a
trace are hit is ours wherever the text does not name a source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, log, log1p
from random import Random

from crisp.synth import shapes
from crisp.synth.execute import Spans, execute
from crisp.synth.options import DefectRates
from crisp.synth.programs import Node, World

SPARSE_KINDS = 4
_OVERLAP_US = 999
_OVERLAP_RATIO = 0.1
_LOST_CONTEXT = 0.3
_LOST_ROOT = 0.05
_SHARED_ID = 0.5
_PROPAGATES = 0.4


@dataclass(slots=True)
class Marks:
    """What is wrong with the spans of one trace, by row.

    ``parents`` lists the rows a span refers to where that is not just its parent; ``copied``
    spans are written twice, ``dropped`` ones not at all; ``sparse`` gives the kind of missing
    fields; ``big`` the value of a tag that no double can hold.
    """

    span_id: list[str]
    parents: dict[int, tuple[int, ...]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)
    sparse: dict[int, int] = field(default_factory=dict)
    big: dict[int, int] = field(default_factory=dict)


def add_defects(
    world: World, spans: Spans, background: Node, rates: DefectRates, draw: Random
) -> Marks:
    """Change ``spans`` of one clean run in place, and say what is wrong with them.

    Extra roots run the program ``background`` under the same trace id.
    """
    own = len(spans.node)
    _overlap(spans, rates.overlap, draw)
    extra = _extra_roots(own, draw) if draw.random() < rates.multi_root else 0
    lost_context = extra > 0 and own > 1 and draw.random() < _LOST_CONTEXT
    for _ in range(extra - lost_context):
        begin = spans.start[0] + int(draw.random() * (spans.end[0] - spans.start[0]))
        execute(world, background, begin, draw, asynchronous=0.0, into=spans)
    count = len(spans.node)
    marks = Marks([f"{draw.getrandbits(64):016x}" for _ in range(count)])
    for row in _picks(count, rates.error, draw):
        _fail(spans, row, draw)
    if own > 1:
        _tangle(spans, marks, own, rates, draw)
    if lost_context:
        marks.parents[draw.randrange(1, own)] = ()
    for row in _picks(count, rates.null_fields, draw):
        marks.sparse[row] = draw.randrange(SPARSE_KINDS)
    for row in _picks(count, rates.big_number, draw):
        marks.big[row] = 2**53 + 1 + draw.getrandbits(62)
    return marks


def _tangle(spans: Spans, marks: Marks, own: int, rates: DefectRates, draw: Random) -> None:
    """Make the tree of the first ``own`` spans less than strict; later marks win."""
    for rate, tangle in (
        (rates.repeated_parent, _repeat_parents),
        (rates.second_parent, _second_parent),
        (rates.duplicate_id, _duplicate_id),
        (rates.orphan, _orphan),
    ):
        if draw.random() < rate:
            tangle(spans, marks, own, draw)


def _picks(count: int, rate: float, draw: Random) -> Iterator[int]:
    """Rows below ``count``, each with probability ``rate``, ascending; steps from hit to hit."""
    if rate <= 0:
        return
    miss = log1p(-min(rate, 1 - 1e-12))
    row = int(log(1 - draw.random()) / miss)
    while row < count:
        yield row
        row += 1 + int(log(1 - draw.random()) / miss)


def _extra_roots(own: int, draw: Random) -> int:
    """Roots beyond the first: log-normal through Uber's median and 99 % quantile.

    Uber's traces are several times as large as ours, so one root per eight spans is the most.
    """
    median, high = shapes.UBER_ROOTS
    sigma = log(high / median) / 2.326
    return min(max(1, round(median * exp(draw.gauss(0, sigma))) - 1), 1 + own // 8)


def _overlap(spans: Spans, rate: float, draw: Random) -> None:
    """Some spans end a little after the next call of the same parent has begun.

    The overlap stays under 1 ms and under a tenth of the shorter of the two.
    """
    start, end, parent = spans.start, spans.end, spans.parent
    count = len(start)
    for row in _picks(count, rate, draw):
        share = draw.random()
        after = row + 1
        while after < count and parent[after] > row:
            after += 1
        serial = after < count and parent[after] == parent[row] and start[after] >= end[row]
        if not serial or row in spans.detached or after in spans.detached:
            continue
        shorter = min(end[row] - start[row], end[after] - start[after])
        most = min(_OVERLAP_US, int(_OVERLAP_RATIO * shorter))
        if most >= 1 and start[after] - end[row] <= _OVERLAP_US:
            end[row] = start[after] + 1 + int(share * (most - 1))


def _fail(spans: Spans, row: int, draw: Random) -> None:
    """Mark an error and the callers it reaches: a client always, others at times."""
    spans.failed.add(row)
    above = spans.parent[row]
    while above >= 0:
        remote = spans.node[above].remote is spans.node[row]
        if row in spans.detached or not (remote or draw.random() < _PROPAGATES):
            break
        spans.failed.add(above)
        row, above = above, spans.parent[above]


def _repeat_parents(spans: Spans, marks: Marks, own: int, draw: Random) -> None:
    """Some spans list their parent twice or three times.

    Their number has the mean that makes repeated to second parents as 0.9656 to 0.034.
    """
    repeated, second, _ = shapes.UBER_MULTI_PARENT_SPANS
    mean = repeated / second * shapes.UBER_SECOND_PARENT / shapes.UBER_REPEATED_PARENT
    count = 1 + int(draw.expovariate(1 / (mean - 0.5)))
    for _ in range(min(count, own - 1)):
        row = draw.randrange(1, own)
        marks.parents[row] = (spans.parent[row],) * (2 if draw.random() < 0.9 else 3)


def _second_parent(spans: Spans, marks: Marks, own: int, draw: Random) -> None:
    """One span also refers to an ancestor beyond its parent, rarely to a span beside it."""
    row = draw.randrange(1, own)
    while row < own and spans.parent[spans.parent[row]] < 0:
        row += 1
    if row >= own:
        return
    parent = spans.parent[row]
    other = spans.parent[parent]
    while spans.parent[other] >= 0 and draw.random() < 0.3:
        other = spans.parent[other]
    _, ancestors, fan_in = shapes.UBER_MULTI_PARENT_SPANS
    if draw.random() < fan_in / (ancestors + fan_in):
        beside = draw.randrange(1, row)
        other = beside if beside != parent else other
    marks.parents[row] = (parent, other)


def _duplicate_id(spans: Spans, marks: Marks, own: int, draw: Random) -> None:
    """A span is stored twice, or a server has the id of its client, as Zipkin's clients do."""
    row = draw.randrange(1, own)
    if draw.random() >= _SHARED_ID:
        marks.copied.add(row)
        return
    while row < own and spans.node[spans.parent[row]].remote is not spans.node[row]:
        row += 1
    if row == own or row in spans.detached:
        marks.copied.add(own - 1)
        return
    client = spans.parent[row]
    above = spans.parent[client]
    marks.span_id[row] = marks.span_id[client]
    marks.parents[row] = (above,) if above >= 0 else ()


def _orphan(spans: Spans, marks: Marks, own: int, draw: Random) -> None:
    """A span that has children was never stored; at times it is the root."""
    if draw.random() < _LOST_ROOT:
        marks.dropped.add(0)
        return
    row = draw.randrange(1, own)
    while row < own - 1 and spans.parent[row] == 0:
        row += 1
    marks.dropped.add(spans.parent[row])
