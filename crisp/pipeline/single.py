"""The critical path of single traces, for the terminal and for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp.cpa.analysis import Analysis, analyse
from crisp.errors import InputError
from crisp.ingest.columns import Batch, Names, add
from crisp.ingest.documents import Piece, read
from crisp.ingest.jaeger import Bad
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

    record: dict[str, Any]
    """what ``crisp path --json`` prints"""
    nodes: list[Node]
    """its call paths, parents first, children by falling inclusive time"""


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
            for tree in range(len(planted.forest.trees.trace_id)):
                found += 1
                yield _tree_path(analysis, names, tree, path)
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


def _tree_path(analysis: Analysis, names: Names, tree: int, options: PathOptions) -> TreePath:
    forest = analysis.forest
    label = ["::".join(name) for name in names.endpoints]
    nodes, paths = _call_paths(analysis, tree, label)
    segments = analysis.walked.segments
    mine = np.flatnonzero(forest.tree[segments.row] == tree)
    mine = mine[np.argsort(segments.start_us[mine])]
    record = {
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
        "call_paths": paths,
        "ledger": {
            entry: {"spans": int(spans[tree]), "amount_us": int(amount[tree])}
            for entry, (spans, amount) in sorted(analysis.ledger.items())
            if spans[tree]
        },
    }
    return TreePath(record=record, nodes=nodes)


def _call_paths(
    analysis: Analysis, tree: int, label: list[str]
) -> tuple[list[Node], list[dict[str, Any]]]:
    """The call paths of one tree, merged over hosts, each behind the one it hangs from."""
    forest, walked = analysis.forest, analysis.walked
    rows = [row for row in walked.row.tolist() if forest.tree[row] == tree]
    cut = dict(zip(walked.row.tolist(), walked.end_us.tolist(), strict=True))
    sums: dict[int, list[int]] = {}
    above: dict[int, int] = {}
    names: dict[int, str] = {}
    for row in rows:
        path = int(analysis.path_id[row])
        parent = int(forest.parent[row])
        above[path] = int(analysis.path_id[parent]) if parent >= 0 else 0
        names[path] = label[forest.endpoint[row]]
        total = sums.setdefault(path, [0, 0, 0])
        total[0] += 1
        total[1] += int(analysis.exclusive_us[row])
        total[2] += cut[row] - int(analysis.clipped.start_us[row])
    below: dict[int, list[int]] = {}
    for path, parent in above.items():
        below.setdefault(parent, []).append(path)
    nodes, records = [], []
    stack: list[tuple[int, tuple[str, ...]]] = [(path, ()) for path in below.get(0, [])]
    while stack:
        path, prefix = stack.pop()
        spans, exclusive, inclusive = sums[path]
        chain = (*prefix, names[path])
        nodes.append(
            Node(
                depth=len(prefix),
                name=names[path],
                spans=spans,
                exclusive_us=exclusive,
                inclusive_us=inclusive,
            )
        )
        records.append(
            {
                "path": list(chain),
                "spans": spans,
                "exclusive_us": exclusive,
                "inclusive_us": inclusive,
            }
        )
        children = sorted(below.get(path, []), key=lambda child: (sums[child][2], names[child]))
        stack += [(child, chain) for child in children]
    return nodes, records
