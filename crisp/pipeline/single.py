"""The critical path of single traces, for the terminal and for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from crisp.cpa.analysis import Analysis, analyse
from crisp.errors import InputError
from crisp.forest import Ints
from crisp.ingest.columns import Batch, add
from crisp.ingest.documents import Piece, read
from crisp.ingest.jaeger import Bad
from crisp.ingest.names import Names
from crisp.ingest.trees import plant
from crisp.options import IngestOptions, PathOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A call path of one tree in the order in which it is printed."""

    depth: int
    name: str
    spans: int
    exclusive_us: int
    inclusive_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePath:
    """The critical path of one analysis root."""

    facts: dict[str, Any]
    """the trace, its segments in time order, and its ledger"""
    nodes: list[Node]
    """its call paths, parents first, children by falling inclusive time"""

    def record(self) -> dict[str, Any]:
        """What ``crisp path --json`` prints: the facts, and every call path from the root."""
        facts = dict(self.facts)
        ledger = facts.pop("ledger")
        return {**facts, "call_paths": _with_prefixes(self.nodes), "ledger": ledger}


def tree_paths(
    source: str, ingest: IngestOptions, path: PathOptions, trace_id: str | None
) -> Iterator[TreePath]:
    """Every analysed tree of every trace in ``source``, in order.

    Raises:
        InputError: the source is missing, or no trace in it could be analysed; says why.
    """
    problems: list[str] = []
    found = filtered = 0
    for document in read(Piece(source, 0)):
        trace = document.trace
        if not isinstance(trace, Bad) and trace_id not in (None, trace.traceID):
            continue
        names, batch = Names(ingest), Batch()
        bad = (
            trace if isinstance(trace, Bad) else add(batch, names, trace, source, document.position)
        )
        if bad is None:
            planted = plant(batch, names, ingest)
            filtered += planted.filtered
            problems += [_problem(why) for _, why in planted.rejected]
            analysis = analyse(planted.forest, path)
            label = ["::".join(name) for name in names.endpoints]
            for tree, rows in enumerate(_rows_by_tree(analysis)):
                found += 1
                yield _tree_path(analysis, names, label, tree, rows, path)
        else:
            problems.append(_problem(bad))
    if not found:
        if filtered:
            problems.append(f"{filtered} traces outside the selection by service and operation")
        wanted = f" with id {trace_id}" if trace_id else ""
        raise InputError(f"{source}: {'; '.join(problems[:3]) or f'no trace{wanted} in there'}")


def _problem(bad: Bad) -> str:
    where = f"trace {bad.trace_id}: " if bad.trace_id else ""
    return f"{where}{bad.reason.meaning} ({bad.detail})"


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where one tree stands in what is known of all of them."""

    segments: Ints
    """its segments, in time order"""
    path: Ints
    """its spans on the path, as places in `Walked.row`"""


def _rows_by_tree(analysis: Analysis) -> Iterator[_Rows]:
    forest, walked = analysis.forest, analysis.walked
    trees = np.arange(len(forest.trees.trace_id) + 1)
    tree_of = forest.tree[walked.segments.row]
    in_time = np.lexsort((walked.segments.start_us, tree_of))
    segment_edges = np.searchsorted(tree_of[in_time], trees).tolist()
    path_tree = forest.tree[walked.row]
    by_tree = np.argsort(path_tree, kind="stable")
    path_edges = np.searchsorted(path_tree[by_tree], trees).tolist()
    for (a, b), (c, d) in zip(pairwise(segment_edges), pairwise(path_edges), strict=True):
        yield _Rows(in_time[a:b], by_tree[c:d])


def _tree_path(
    analysis: Analysis,
    names: Names,
    label: list[str],
    tree: int,
    rows: _Rows,
    options: PathOptions,
) -> TreePath:
    forest = analysis.forest
    nodes = _call_paths(analysis, rows.path, label)
    segments, mine = analysis.walked.segments, rows.segments
    facts = {
        "trace_id": forest.trees.trace_id[tree],
        "root_span_id": forest.span_id(tree),
        "endpoint": label[forest.endpoint[tree]],
        "policy": options.policy,
        "latency_us": int(forest.end_us[tree] - forest.start_us[tree]),
        "segments": [
            {
                "span_id": forest.span_id(row),
                "service": names.endpoints[forest.endpoint[row]][0],
                "operation": names.endpoints[forest.endpoint[row]][1],
                "start_us": start,
                "end_us": end,
            }
            for row, start, end in zip(
                segments.row[mine].tolist(),
                segments.start_us[mine].tolist(),
                segments.end_us[mine].tolist(),
                strict=True,
            )
        ],
        "ledger": {
            entry: {"spans": int(spans[tree]), "amount_us": int(amount[tree])}
            for entry, (spans, amount) in sorted(analysis.ledger.items())
            if spans[tree]
        },
    }
    return TreePath(facts=facts, nodes=nodes)


def _call_paths(analysis: Analysis, mine: Ints, label: list[str]) -> list[Node]:
    """The call paths of one tree, merged over hosts, each behind the one it hangs from."""
    forest, walked = analysis.forest, analysis.walked
    sums: dict[int, list[int]] = {}
    above: dict[int, int] = {}
    names: dict[int, str] = {}
    for row, cut in zip(walked.row[mine].tolist(), walked.end_us[mine].tolist(), strict=True):
        path = int(analysis.path_id[row])
        parent = int(forest.parent[row])
        above[path] = int(analysis.path_id[parent]) if parent >= 0 else 0
        names[path] = label[forest.endpoint[row]]
        total = sums.setdefault(path, [0, 0, 0])
        total[0] += 1
        total[1] += int(analysis.exclusive_us[row])
        total[2] += cut - int(analysis.clipped.start_us[row])
    below: dict[int, list[int]] = {}
    for path, parent in above.items():
        below.setdefault(parent, []).append(path)
    nodes = []
    stack = [(path, 0) for path in below.get(0, [])]
    while stack:
        path, depth = stack.pop()
        spans, exclusive, inclusive = sums[path]
        nodes.append(
            Node(
                depth=depth,
                name=names[path],
                spans=spans,
                exclusive_us=exclusive,
                inclusive_us=inclusive,
            )
        )
        children = sorted(below.get(path, []), key=lambda child: (sums[child][2], names[child]))
        stack += [(child, depth + 1) for child in children]
    return nodes


def _with_prefixes(nodes: list[Node]) -> list[dict[str, Any]]:
    """Call paths written out from the root: quadratic in depth, so only where it is asked for."""
    chain: list[str] = []
    written = []
    for node in nodes:
        chain[node.depth :] = [node.name]
        written.append(
            {
                "path": list(chain),
                "spans": node.spans,
                "exclusive_us": node.exclusive_us,
                "inclusive_us": node.inclusive_us,
            }
        )
    return written
