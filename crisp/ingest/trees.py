"""From the spans of a batch to its analysis trees (DESIGN rules 5.4 and 5.5).

Ancestors are found for all spans at once by pointer jumping: after k steps each span knows
the one 2^k above it, so a chain of 100,000 spans takes 17 steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.errors import Reject
from crisp.forest import Flags, Forest, Ints, Trees
from crisp.ingest.columns import ORPHAN, Batch, Names
from crisp.ingest.jaeger import Bad
from crisp.ingest.tags import failed, weight
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
    forest = _forest(batch, names, trace, parent, ancestry, keep, orphan, options)
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


def _ancestry(parent: Ints) -> _Ancestry:
    """Depth (0 at the top) and topmost ancestor of each row."""
    count = len(parent)
    jump = np.append(np.where(parent < 0, count, parent), count)
    depth = np.append((parent >= 0).astype(np.int64), 0)
    top = np.arange(count + 1)
    for _ in range(max(count, 1).bit_length() + 1):
        above = jump < count
        if not above.any():
            break
        top = np.where(above, top[jump], top)
        depth = depth + depth[jump]
        jump = jump[jump]
    return _Ancestry(depth[:-1], top[:-1], jump[:-1] == count)


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
    count = len(parent)
    jump = np.append(np.where(parent < 0, count, parent), count)
    found = np.append(marked, False)
    below = found[jump]
    for _ in range(max(count, 1).bit_length() + 1):
        if not (jump < count).any():
            break
        below = below | below[jump]
        jump = jump[jump]
    return below[:-1]


def _matching(names: Names, options: IngestOptions) -> Flags:
    """Which endpoints the selection by name lets through."""
    service, operation = options.service, options.operation
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


def _forest(
    batch: Batch,
    names: Names,
    trace: Ints,
    parent: Ints,
    ancestry: _Ancestry,
    keep: Flags,
    orphan: Flags,
    options: IngestOptions,
) -> Forest:
    kept = np.flatnonzero(keep)
    order = kept[np.argsort(ancestry.depth[kept], kind="stable")]
    count = len(order)
    row_of = np.full(len(keep) + 1, -1, np.int64)
    row_of[order] = np.arange(count)
    depths = np.bincount(ancestry.depth[order]) if count else np.zeros(0, np.int64)
    edges = np.concatenate([[0], np.cumsum(depths)]).tolist()
    start = np.array(batch.start_us, np.int64)
    roots = order[: edges[1]] if count else order
    process = np.array(batch.process, np.int64)[order]
    return Forest(
        trees=_trees(batch, trace, roots, orphan, row_of[ancestry.top[order]], options),
        tree=row_of[ancestry.top[order]],
        parent=row_of[parent[order]],
        levels=[slice(a, b) for a, b in zip(edges, edges[1:], strict=False)],
        start_us=start[order],
        end_us=(start + np.array(batch.duration_us, np.int64))[order],
        endpoint=np.array(batch.endpoint, np.int64)[order],
        host=np.array(names.hosts_of, np.int64)[process],
        clock=np.array(names.clocks_of, np.int64)[process],
        kind=np.array(batch.kind, np.int64)[order],
        failed=lambda rows: np.array(
            failed([batch.tags[place] for place in order[rows].tolist()]), np.bool_
        ),
        follows=_marked(batch.follows, len(keep))[order],
        span_ids=batch.span_id,
        origin=order,
        endpoint_ids=np.array(names.endpoint_ids, np.int64),
        endpoint_services=np.array(names.endpoint_services, np.int64),
        hosts=names.hosts,
    )


def _marked(rows: list[int], count: int) -> Flags:
    flags = np.zeros(count, np.bool_)
    flags[rows] = True
    return flags


def _trees(
    batch: Batch, trace: Ints, roots: Ints, orphan: Flags, tree: Ints, options: IngestOptions
) -> Trees:
    """What is known of each tree; a trace's ledger stands with its largest tree."""
    owners = trace[roots].tolist()
    sizes = np.bincount(tree, minlength=len(roots)).tolist()
    largest: dict[int, int] = {}
    for number, (owner, root) in enumerate(zip(owners, roots.tolist(), strict=True)):
        best = largest.get(owner)
        if owner in batch.ledger and (
            best is None
            or (-sizes[number], batch.span_id[root]) < (-sizes[best], batch.span_id[roots[best]])
        ):
            largest[owner] = number
    ledgers: list[dict[str, int]] = [{} for _ in owners]
    for owner, number in largest.items():
        ledgers[number] = batch.ledger[owner]
    kinds = ["endpoint" if options.roots == "endpoint" else "entry"] * len(owners)
    if options.roots == "orphans":
        kinds = ["orphan" if flag else "entry" for flag in orphan[roots].tolist()]
    return Trees(
        trace_id=[batch.trace_id[owner] for owner in owners],
        source=[batch.source[owner] for owner in owners],
        position=[batch.position[owner] for owner in owners],
        root_kind=kinds,
        weight=[weight(batch.tags[root]) for root in roots.tolist()],
        ledger=ledgers,
    )
