"""From the spans of a batch to its analysis trees (DESIGN rules 5.4 and 5.5).

Ancestors are found for all spans at once by pointer jumping: after k steps each span knows
the one 2^k above it, so a chain of 100,000 spans takes 17 steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crisp.errors import Reject
from crisp.forest import Flags, Forest, Ints
from crisp.ingest.columns import ORPHAN, ROOT, Batch
from crisp.ingest.grow import Kept, grow
from crisp.ingest.jaeger import Bad
from crisp.ingest.names import Names
from crisp.options import IngestOptions


@dataclass(frozen=True, slots=True)
class Planted:
    """The forest of a batch, and what became of each trace of it."""

    forest: Forest
    trace: Ints
    """place in the batch of the trace each tree belongs to, shape (t,)"""
    rejected: list[tuple[int, Bad]]
    """traces without an analysis root, by their place in the batch"""
    filtered: int
    """traces whose roots the selection leaves out"""
    analysed: int
    """traces with at least one tree"""


@dataclass(frozen=True, slots=True)
class _Ancestry:
    depth: Ints
    top: Ints
    reached: Flags
    """the row hangs below a root or an orphan"""


def plant(batch: Batch, names: Names, options: IngestOptions) -> Planted:
    """Choose the analysis roots of every trace and order their trees parents first."""
    reference = np.array(batch.parent, np.int64)
    start = np.array(batch.start_us, np.int64)
    endpoint = np.array(batch.endpoint, np.int64)
    traces = len(batch.trace_id)
    edges = np.array([*batch.first, len(reference)], np.int64)
    sizes = edges[1:] - edges[:-1]
    trace = np.repeat(np.arange(traces, dtype=np.int64), sizes)
    parent = np.maximum(reference, -1)
    ancestry = _ancestry(parent)
    orphan = reference == ORPHAN
    candidates, parent, ancestry = _candidates(parent, orphan, ancestry, endpoint, names, options)
    chosen = candidates & _selected(start, endpoint, names, options)
    selected = np.bincount(trace[chosen], minlength=traces) > 0
    possible = np.bincount(trace[candidates], minlength=traces) > 0
    has_top = np.bincount(trace[parent < 0], minlength=traces) > 0
    if options.roots == "endpoint":
        possible = has_top  # a trace without the endpoint is no fault of the trace
    rejected = [
        (int(t), _no_root(batch.trace_id[t], cyclic=not has_top[t]))
        for t in np.flatnonzero(~possible)
    ]
    _count_lost(batch, trace, orphan, ancestry.reached)
    keep = ancestry.reached & chosen[ancestry.top]
    kind = "endpoint" if options.roots == "endpoint" else "entry"
    forest = grow(
        batch,
        names,
        Kept(
            trace=trace,
            parent=parent,
            depth=ancestry.depth,
            top=ancestry.top,
            rows=keep,
            entry=reference == ROOT,
            orphan=orphan,
            root_kind=kind,
        ),
    )
    return Planted(
        forest=forest,
        trace=trace[forest.origin[: len(forest.trees.trace_id)]],
        rejected=rejected,
        filtered=int((possible & ~selected).sum()),
        analysed=int(selected.sum()),
    )


def _no_root(trace_id: str, *, cyclic: bool) -> Bad:
    if cyclic:
        return Bad(Reject.CYCLE, "no span is without a parent", trace_id)
    return Bad(Reject.NO_ROOT, "every top span has a parent that is missing", trace_id)


def _jumps(parent: Ints) -> Iterator[Ints]:
    """Ancestors 1, 2, 4, … above each row, until all are past the top or only cycles are left.

    Shape (n + 1,): place n stands for past the top, and leads to itself.
    """
    count = len(parent)
    jump = np.append(np.where(parent < 0, count, parent), count)
    yield jump
    for _ in range(count.bit_length() + 1):
        if not (jump < count).any():
            return
        jump = jump[jump]
        yield jump


def _ancestry(parent: Ints) -> _Ancestry:
    """Depth (0 at the top) and topmost ancestor of each row."""
    count = len(parent)
    depth = np.append((parent >= 0).astype(np.int64), 0)
    top = np.arange(count + 1)
    past = np.ones(count + 1, np.bool_)
    for jump in _jumps(parent):
        past = jump == count
        top = np.where(past, top, top[jump])
        depth = depth + depth[jump]
    return _Ancestry(depth[:-1], top[:-1], past[:-1])


def _candidates(
    parent: Ints,
    orphan: Flags,
    ancestry: _Ancestry,
    endpoint: Ints,
    names: Names,
    options: IngestOptions,
) -> tuple[Flags, Ints, _Ancestry]:
    """Which rows may be analysis roots; with ``roots=endpoint`` trees are cut there."""
    if options.roots == "orphans":
        return parent < 0, parent, ancestry
    if options.roots == "entry":
        return (parent < 0) & ~orphan, parent, ancestry
    wanted = _matching(names, options)[endpoint] & ancestry.reached
    first = wanted & ~_below(parent, wanted)
    cut = np.where(first, -1, parent)
    return first, cut, _ancestry(cut)


def _below(parent: Ints, marked: Flags) -> Flags:
    """Rows with a marked proper ancestor."""
    at_or_below = np.append(marked, False)
    below: Flags = np.zeros(len(at_or_below), np.bool_)
    for jump in _jumps(parent):
        below = below | at_or_below[jump]
        at_or_below = at_or_below | below
    return below[:-1]


def _matching(names: Names, options: IngestOptions) -> Flags:
    """Which endpoints the selection by name lets through."""
    service, operation = options.service, options.operation
    if service is None and operation is None:
        return np.ones(len(names.endpoints), np.bool_)
    return np.array(
        [(service in (None, s)) and (operation in (None, o)) for s, o in names.endpoints], np.bool_
    )


def _selected(start: Ints, endpoint: Ints, names: Names, options: IngestOptions) -> Flags:
    """Which rows the selection would accept as roots."""
    accepted = _matching(names, options)[endpoint]
    if options.start_us is not None:
        accepted &= start >= options.start_us
    if options.end_us is not None:
        accepted &= start < options.end_us
    return accepted


def _count_lost(batch: Batch, trace: Ints, orphan: Flags, reached: Flags) -> None:
    """Add orphans and unreachable spans to the ledgers of their traces."""
    for entry, lost in (("orphans", orphan), ("unreachable", ~reached)):
        for number, count in enumerate(np.bincount(trace[lost]).tolist()):
            if count:
                batch.ledger.setdefault(number, {})[entry] = count
