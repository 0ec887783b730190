"""The paper's abnormal traces (4.7.3): a fifth of the nodes dropped, durations shuffled.

"Drop 20 % of the nodes in the graph and randomly shuffle the duration of the nodes" leaves two
things open, so there are four readings: what happens to the calls below a dropped node, and
whether it is done to the spans, before the critical path is found, or to vectors afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmarks.anomaly.paths import forest_of, path_of_site, vectors_of, views_of
from benchmarks.anomaly.requests import Spans
from benchmarks.anomaly.services import Flags, Ints, Service
from crisp.anomaly.vectors import Vectors
from crisp.cpa.paths import path_ids

SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Variant:
    """One reading of the protocol."""

    reparent: bool
    """Calls below a dropped node hang on the one above it; else they are dropped with it."""
    spans: bool
    """Done to spans, from which vectors are made; else done to the cells of vectors."""

    @property
    def name(self) -> str:
        """As in the tables."""
        below = "re-parent" if self.reparent else "subtree"
        return f"{below}, {'spans' if self.spans else 'vectors'}"


VARIANTS = tuple(Variant(reparent, spans) for spans in (True, False) for reparent in (False, True))


def corrupted(spans: Spans, variant: Variant, features: str, rng: np.random.Generator) -> Vectors:
    """Vectors of these requests, spoiled."""
    if variant.spans:
        views = views_of(spoiled(spans, variant, rng))
        return views.scpv if features == "scpv" else views.stv
    views = views_of(spans)
    given = views.scpv if features == "scpv" else views.stv
    changed = spoiled(cells_as_spans(given, spans.service), variant, rng)
    path = path_ids(forest_of(changed))
    found = vectors_of(changed, 0, changed.trace, path, changed.end_us - changed.start_us)
    if features == "stv":
        return found
    return replace(found, latency_us=np.add.reduceat(found.time_us, found.edges[:-1]))


def spoiled(spans: Spans, variant: Variant, rng: np.random.Generator) -> Spans:
    """A fifth of the nodes of each request gone, never the root; durations of the others
    shuffled within the request, starts left as they were."""
    gone = _some(spans, rng) if variant.reparent else _subtrees(spans, rng)
    return _shuffled(_without(spans, gone), rng)


def _some(spans: Spans, rng: np.random.Generator) -> Flags:
    """A fifth of the nodes of each request, rounded up."""
    order, rank, size = _random_order(spans, rng)
    gone = np.zeros(len(spans), np.bool_)
    gone[order] = rank < np.ceil(SHARE * size[spans.trace[order]])
    return gone


def _subtrees(spans: Spans, rng: np.random.Generator) -> Flags:
    """Random subtrees, as many as fit into a fifth of the nodes of each request, rounded up."""
    below = np.ones(len(spans), np.int64)
    for rows in reversed(spans.levels[1:]):
        np.add.at(below, spans.parent[rows], below[rows])
    order, _, size = _random_order(spans, rng)
    budget = np.ceil(SHARE * size).astype(np.int64).tolist()
    tops = np.zeros(len(spans), np.bool_)
    touched: set[int] = set()
    trace, parent = spans.trace.tolist(), spans.parent.tolist()
    for row in order.tolist():
        if below[row] <= budget[trace[row]] and row not in touched:
            above, chain = parent[row], []
            while above >= 0 and not tops[above]:
                chain.append(above)
                above = parent[above]
            if above < 0:  # a node above a dropped one stays: its subtree no longer fits whole
                touched.update(chain)
                tops[row] = True
                budget[trace[row]] -= below[row]
    gone = tops
    for rows in spans.levels[1:]:
        gone[rows] |= gone[spans.parent[rows]]
    return gone


def _random_order(spans: Spans, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Rows but the roots, by request, at random; the rank of each; nodes by request."""
    rows = np.arange(spans.traces, len(spans))
    order = rows[np.lexsort((rng.random(len(rows)), spans.trace[rows]))]
    size = np.bincount(spans.trace[rows], minlength=spans.traces)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    return order, rank, size


def _without(spans: Spans, gone: Flags) -> Spans:
    """The other spans, each below the nearest that stayed."""
    above = spans.parent.copy()
    for rows in spans.levels[1:]:
        dropped = gone[above[rows]]
        above[rows] = np.where(dropped, above[above[rows]], above[rows])
    kept = np.flatnonzero(~gone)
    place = np.full(len(spans) + 1, -1)
    place[kept] = np.arange(len(kept))
    return _by_depth(
        spans.service,
        spans.trace[kept],
        place[above[kept]],
        spans.site[kept],
        spans.start_us[kept],
        spans.end_us[kept],
    )


def _by_depth(
    service: Service, trace: Ints, parent: Ints, site: Ints, start: Ints, end: Ints
) -> Spans:
    """Spans, parents before children, as columns by depth."""
    depth = np.zeros(len(trace), np.int64)
    for row, above in enumerate(parent.tolist()):
        if above >= 0:
            depth[row] = depth[above] + 1
    order = np.lexsort((parent, depth))
    place = np.full(len(order) + 1, -1)
    place[order] = np.arange(len(order))
    edges = np.searchsorted(depth[order], np.arange(depth.max() + 2)).tolist()
    return Spans(
        service=service,
        levels=[slice(a, b) for a, b in pairwise(edges)],
        trace=trace[order],
        parent=place[parent[order]],
        site=site[order],
        start_us=start[order],
        end_us=end[order],
    )


def _shuffled(spans: Spans, rng: np.random.Generator) -> Spans:
    """Durations dealt out anew among the nodes of each request."""
    by_trace = np.argsort(spans.trace, kind="stable")
    dealt = np.lexsort((rng.random(len(spans)), spans.trace))
    duration = np.empty(len(spans), np.int64)
    duration[by_trace] = (spans.end_us - spans.start_us)[dealt]
    return replace(spans, end_us=spans.start_us + duration)


def cells_as_spans(vectors: Vectors, service: Service) -> Spans:
    """A span for each cell, as long as its time, below that of the path one call shorter."""
    paths = path_of_site(service)
    known, first = np.unique(paths, return_index=True)  # two sites may have one path
    site = first[np.searchsorted(known, vectors.path_id)]
    row, start = vectors.row, vectors.start_us[vectors.row]
    by_site = np.lexsort((site, row))  # sites stand parents first
    row, site, start = row[by_site], site[by_site], start[by_site]
    above_path = np.where(service.parent[site] < 0, known[0], paths[service.parent[site]])
    above_site = first[np.searchsorted(known, above_path)]
    above = np.searchsorted(row * len(paths) + site, row * len(paths) + above_site)
    parent = np.where(service.parent[site] < 0, -1, above)
    return _by_depth(service, row, parent, site, start, start + vectors.time_us[by_site])
