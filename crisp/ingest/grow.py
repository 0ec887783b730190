"""Order the spans of the chosen trees parents first, as the columns of one forest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from crisp.forest import Flags, Forest, Ints, Trees
from crisp.ingest.columns import Batch
from crisp.ingest.names import Names
from crisp.ingest.tags import failed, weight


@dataclass(frozen=True, slots=True)
class Kept:
    """Which rows of a batch are analysed, and how they hang together; shape (n,) each."""

    trace: Ints
    parent: Ints
    """row of the parent; -1 for tops"""
    depth: Ints
    """calls below the top of the tree, 0 for tops"""
    top: Ints
    """row of the topmost ancestor"""
    rows: Flags
    """belongs to an analysed tree"""
    entry: Flags
    """refers to no span of the trace: one of its true roots"""
    orphan: Flags
    """refers to spans of the trace that are missing"""
    root_kind: str
    """what a root is called that was chosen by name, or else is no orphan"""


def grow(batch: Batch, names: Names, kept: Kept) -> Forest:
    """The forest of the kept rows; trees in the order of their roots in the batch."""
    rows = np.flatnonzero(kept.rows)
    order = rows[np.argsort(kept.depth[rows], kind="stable")]
    row_of = np.full(len(kept.rows) + 1, -1, np.int64)
    row_of[order] = np.arange(len(order))
    sizes = np.bincount(kept.depth[order]) if len(order) else np.zeros(0, np.int64)
    edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    tree = row_of[kept.top[order]]
    start = np.array(batch.start_us, np.int64)
    process = np.array(batch.process, np.int64)[order]
    return Forest(
        trees=_trees(batch, kept, order[: edges[min(1, len(edges) - 1)]], tree),
        tree=tree,
        parent=row_of[kept.parent[order]],
        levels=[slice(a, b) for a, b in pairwise(edges)],
        start_us=start[order],
        end_us=(start + np.array(batch.duration_us, np.int64))[order],
        endpoint=np.array(batch.endpoint, np.int64)[order],
        host=np.array(names.hosts_of, np.int64)[process],
        clock=np.array(names.clocks_of, np.int64)[process],
        kind=np.array(batch.kind, np.int64)[order],
        failed=lambda rows: np.array(
            failed([batch.tags[place] for place in order[rows].tolist()]), np.bool_
        ),
        follows=_marked(batch.follows, len(kept.rows))[order],
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


def _trees(batch: Batch, kept: Kept, roots: Ints, tree: Ints) -> Trees:
    """What is known of each tree."""
    owners = kept.trace[roots].tolist()
    kinds = [kept.root_kind] * len(owners)
    if kept.root_kind == "entry":
        kinds = ["orphan" if flag else "entry" for flag in kept.orphan[roots].tolist()]
    return Trees(
        trace_id=[batch.trace_id[owner] for owner in owners],
        source=[batch.source[owner] for owner in owners],
        position=[batch.position[owner] for owner in owners],
        root_kind=kinds,
        weight=_weights(batch, kept, owners, roots),
        ledger=_ledgers(batch, owners, roots, np.bincount(tree, minlength=len(roots))),
    )


def _weights(batch: Batch, kept: Kept, owners: list[int], roots: Ints) -> list[float]:
    """Requests each tree stands for: what its root says, or else the trace's own roots.

    The sampling decision stands with the span that began the trace.
    """
    said = [weight(batch.tags[root]) for root in roots.tolist()]
    if kept.root_kind == "entry" and not kept.orphan[roots].any() and len(set(owners)) == len(said):
        return said
    of_trace: dict[int, float] = {}
    for root in np.flatnonzero(kept.entry & np.isin(kept.trace, owners)).tolist():
        owner = int(kept.trace[root])
        of_trace[owner] = max(of_trace.get(owner, 1.0), weight(batch.tags[root]))
    return [max(own, of_trace.get(owner, 1.0)) for own, owner in zip(said, owners, strict=True)]


def _ledgers(batch: Batch, owners: list[int], roots: Ints, sizes: Ints) -> list[dict[str, int]]:
    """What ingest counted, with the largest tree of each trace (ties: smallest root id)."""
    ledgers: list[dict[str, int]] = [{} for _ in owners]
    best: dict[int, tuple[int, str, int]] = {}
    for number, owner in enumerate(owners):
        if owner in batch.ledger:
            claim = (-int(sizes[number]), batch.span_id[roots[number]], number)
            best[owner] = min(claim, best.get(owner, claim))
    for owner, (_, _, number) in best.items():
        ledgers[number] = batch.ledger[owner]
    return ledgers
