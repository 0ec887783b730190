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
        ledger=_ledger(forest, moved, lone, tops, pruned, clipped, walked),
    )


def _ledger(
    forest: Forest,
    moved: Moved,
    lone: Flags,
    tops: Flags,
    pruned: Flags,
    clipped: Clipped,
    walked: Walked,
) -> dict[str, tuple[Ints, Ints]]:
    own_move = moved.delta_us != 0
    length = moved.end_us - moved.start_us
    entries = {
        "moved": _sums(forest, own_move & ~lone, np.abs(moved.delta_us)),
        "move_refused": _sums(forest, moved.refused_us != 0, np.abs(moved.refused_us)),
        "lone_server_moved": _sums(forest, lone, np.abs(moved.delta_us)),
        "pruned": _sums(forest, tops, length),
        "async_tail": _async_tail(forest, moved, pruned),
        "dropped": _sums(forest, clipped.dropped, length),
        "clipped_start": _sums(forest, clipped.cut_start_us > 0, clipped.cut_start_us),
        "clipped_end": _sums(forest, clipped.cut_end_us > 0, clipped.cut_end_us),
        "tolerated_overlap": _tolerated(forest, walked),
        **_counted_by_ingest(forest),
    }
    return {entry: sums for entry, sums in entries.items() if sums is not None}


def _sums(forest: Forest, rows: Flags, amount: Ints) -> tuple[Ints, Ints] | None:
    """Spans and microseconds by tree; None when there are none."""
    found = np.flatnonzero(rows)
    if not len(found):
        return None
    trees = len(forest.trees.trace_id)
    total = np.zeros(trees, np.int64)
    np.add.at(total, forest.tree[found], amount[found])
    return np.bincount(forest.tree[found], minlength=trees), total


def _async_tail(forest: Forest, moved: Moved, pruned: Flags) -> tuple[Ints, Ints] | None:
    """Pruned spans that end after their root, and how long after it the last one ends."""
    late = np.flatnonzero(pruned & (moved.end_us > moved.end_us[forest.tree]))
    if not len(late):
        return None
    trees = len(forest.trees.trace_id)
    tail = np.zeros(trees, np.int64)
    np.maximum.at(tail, forest.tree[late], moved.end_us[late] - moved.end_us[forest.tree[late]])
    return np.bincount(forest.tree[late], minlength=trees), tail


def _tolerated(forest: Forest, walked: Walked) -> tuple[Ints, Ints] | None:
    rows = np.zeros(len(forest), np.bool_)
    amount = np.zeros(len(forest), np.int64)
    for row, overlap in walked.tolerated_us.items():
        rows[row], amount[row] = overlap > 0, overlap
    return _sums(forest, rows, amount)


def _counted_by_ingest(forest: Forest) -> dict[str, tuple[Ints, Ints]]:
    entries: dict[str, tuple[Ints, Ints]] = {}
    trees = len(forest.trees.trace_id)
    for tree, counts in enumerate(forest.trees.ledger):
        for entry, count in counts.items():
            if entry not in entries:
                entries[entry] = np.zeros(trees, np.int64), np.zeros(trees, np.int64)
            entries[entry][0][tree] = count
    return entries
