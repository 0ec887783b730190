"""All of section 6 on one forest, in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crisp.cpa.clip import Clipped, clip_to_parent
from crisp.cpa.paths import PathRows, by_path, exclusive_time, path_ids
from crisp.cpa.prune import asynchronous
from crisp.cpa.skew import Moved, by_edge, lone_servers, unmoved
from crisp.cpa.stats import (
    CallRows,
    EndpointRows,
    TreeStats,
    call_rows,
    endpoint_rows,
    tree_stats,
)
from crisp.cpa.walk import Walked, critical_path
from crisp.forest import Flags, Forest, Ints
from crisp.options import PathOptions


@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a forest after its critical paths are found."""

    forest: Forest
    clipped: Clipped
    walked: Walked
    path_id: Ints
    """call path of every span, shape (n,)"""
    exclusive_us: Ints
    """time every span itself holds the path, shape (n,)"""
    paths: PathRows
    endpoints: EndpointRows
    calls: CallRows
    stats: TreeStats
    ledger: dict[str, tuple[Ints, Ints]]
    """spans and microseconds by tree, for every entry that occurs; see schema.LEDGER"""


def analyse(forest: Forest, options: PathOptions) -> Analysis:
    """Critical path, call paths, statistics and ledger of every tree of ``forest``."""
    tops, pruned = asynchronous(forest, options.async_rule)
    moved = by_edge(forest, options.skew_limit_us) if options.skew == "edge" else unmoved(forest)
    lone = np.zeros(len(forest), np.bool_)
    if options.keep_lone_server:
        moved, lone = lone_servers(forest, moved)
    clipped = clip_to_parent(
        forest,
        moved.start_us,
        moved.end_us,
        pruned,
        drop_overhanging=options.drop_overhanging,
    )
    walked = critical_path(forest, clipped, options)
    paths = path_ids(forest)
    exclusive = exclusive_time(forest, walked)
    calls = call_rows(forest)
    endpoints = endpoint_rows(forest, clipped, walked, exclusive, calls)
    return Analysis(
        forest=forest,
        clipped=clipped,
        walked=walked,
        path_id=paths,
        exclusive_us=exclusive,
        paths=by_path(forest, clipped, walked, paths, exclusive),
        endpoints=endpoints,
        calls=calls,
        stats=tree_stats(forest, walked, endpoints),
        ledger={
            **_moves(forest, moved, lone),
            **_asynchronous(forest, moved, tops, pruned),
            **_clips(forest, moved, clipped),
            **_tolerated(forest, walked),
            **_counted_by_ingest(forest),
        },
    )


_Ledger = dict[str, tuple[Ints, Ints]]


def _moves(forest: Forest, moved: Moved, lone: Flags) -> _Ledger:
    return {
        **_sums(forest, "moved", (moved.delta_us != 0) & ~lone, np.abs(moved.delta_us)),
        **_sums(forest, "move_refused", moved.refused_us != 0, np.abs(moved.refused_us)),
        **_sums(forest, "lone_server_moved", lone, np.abs(moved.delta_us)),
    }


def _clips(forest: Forest, moved: Moved, clipped: Clipped) -> _Ledger:
    length = moved.end_us - moved.start_us
    return {
        **_sums(forest, "dropped", clipped.dropped, length),
        **_sums(forest, "clipped_start", clipped.cut_start_us > 0, clipped.cut_start_us),
        **_sums(forest, "clipped_end", clipped.cut_end_us > 0, clipped.cut_end_us),
    }


def _asynchronous(forest: Forest, moved: Moved, tops: Flags, pruned: Flags) -> _Ledger:
    """Pruned spans; and those that end after their root, with how long the last one does."""
    entries = _sums(forest, "pruned", tops, moved.end_us - moved.start_us)
    late = np.flatnonzero(pruned & (moved.end_us > moved.end_us[forest.tree]))
    if len(late):
        trees = len(forest.trees.trace_id)
        tail = np.zeros(trees, np.int64)
        beyond = moved.end_us[late] - moved.end_us[forest.tree[late]]
        np.maximum.at(tail, forest.tree[late], beyond)
        entries["async_tail"] = np.bincount(forest.tree[late], minlength=trees), tail
    return entries


def _tolerated(forest: Forest, walked: Walked) -> _Ledger:
    rows = np.zeros(len(forest), np.bool_)
    amount = np.zeros(len(forest), np.int64)
    for row, overlap in walked.tolerated_us.items():
        rows[row], amount[row] = overlap > 0, overlap
    return _sums(forest, "tolerated_overlap", rows, amount)


def _sums(forest: Forest, entry: str, rows: Flags, amount: Ints) -> _Ledger:
    """Spans and microseconds by tree under the name of the entry; nothing when there are none."""
    found = np.flatnonzero(rows)
    if not len(found):
        return {}
    trees = len(forest.trees.trace_id)
    total = np.zeros(trees, np.int64)
    np.add.at(total, forest.tree[found], amount[found])
    return {entry: (np.bincount(forest.tree[found], minlength=trees), total)}


def _counted_by_ingest(forest: Forest) -> _Ledger:
    entries: _Ledger = {}
    trees = len(forest.trees.trace_id)
    for tree, counts in enumerate(forest.trees.ledger):
        for entry, count in counts.items():
            if entry not in entries:
                entries[entry] = np.zeros(trees, np.int64), np.zeros(trees, np.int64)
            entries[entry][0][tree] = count
    return entries
