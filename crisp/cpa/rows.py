"""An analysis as rows of the lake's tables, one batch a table and UTC day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from crisp import arrow
from crisp.cpa.analysis import Analysis
from crisp.cpa.groups import changes
from crisp.forest import Flags, Forest, Ints
from crisp.options import MICROSECONDS_PER_DAY
from crisp.schema import ALL_PATH, CALL_PATHS, CALLS, ENDPOINT_USE, LEDGER_ENTRY, PATH, TRACES
from crisp.stable import text_id

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def day_of(time_us: int) -> str:
    """UTC day of a moment, as YYYY-MM-DD."""
    return (_EPOCH + timedelta(days=time_us // MICROSECONDS_PER_DAY)).strftime("%Y-%m-%d")


def lake_rows(
    analysis: Analysis, *, all_paths: bool
) -> Iterator[tuple[str, str, Flags, pa.RecordBatch]]:
    """(table, day, the day's trees, rows) of ``traces``, ``call_paths`` and ``calls``.

    A tree belongs to the day its root starts in. Ids in ``call_paths`` may repeat between
    batches, and calls are partial sums: the lake merges them.
    """
    forest = analysis.forest
    if not len(forest):
        return
    traces = _traces(analysis, all_paths=all_paths)
    days = forest.start_us[: traces.num_rows] // MICROSECONDS_PER_DAY
    for day in np.unique(days).tolist():
        name = day_of(day * MICROSECONDS_PER_DAY)
        mask = days == day
        yield "traces", name, mask, traces if mask.all() else traces.filter(arrow.flags(mask))
        yield "call_paths", name, mask, _call_paths(analysis, mask, all_paths=all_paths)
        yield "calls", name, mask, _calls(analysis, mask)


def _traces(analysis: Analysis, *, all_paths: bool) -> pa.RecordBatch:
    forest, stats = analysis.forest, analysis.stats
    trees = forest.trees
    count = len(trees.trace_id)
    roots = [forest.span_id(row) for row in range(count)]
    columns: dict[str, object] = {
        "tree_id": [text_id(t, r) for t, r in zip(trees.trace_id, roots, strict=True)],
        "endpoint_id": forest.endpoint_ids[forest.endpoint[:count]],
        "trace_id": trees.trace_id,
        "root_span_id": roots,
        "root_kind": trees.root_kind,
        "start_us": forest.start_us[:count],
        "latency_us": (forest.end_us - forest.start_us)[:count],
        "weight": trees.weight,
        "error": forest.failed(np.arange(count)),
        "spans": stats.spans,
        "unique_endpoints": stats.unique_endpoints,
        "services": stats.services,
        "depth": stats.depth,
        "concurrency": stats.concurrency,
        "cp_spans": stats.cp_spans,
        "cp_endpoints": stats.cp_endpoints,
        "cp_paths": _distinct_paths(analysis, count),
        "source": trees.source,
        "position": trees.position,
        "paths": _paths(analysis, count),
        "endpoints": _endpoints(analysis, count),
        "ledger": _ledger(analysis, count),
        "all_paths": _all_paths(analysis, count)
        if all_paths
        else pa.nulls(count, pa.list_(ALL_PATH)),
    }
    return arrow.batch(columns, TRACES)


def _nested(tree: Ints, count: int, kind: pa.StructType, columns: Sequence[object]) -> pa.Array:
    """A list of structs per tree from columns ordered by tree."""
    edges = np.searchsorted(tree, np.arange(count + 1))
    fields = [kind.field(place) for place in range(kind.num_fields)]
    arrays = [
        arrow.array(column, field.type) for column, field in zip(columns, fields, strict=True)
    ]
    return pa.ListArray.from_arrays(
        arrow.offsets(edges), pa.StructArray.from_arrays(arrays, fields=fields)
    )


def _distinct_paths(analysis: Analysis, count: int) -> Ints:
    paths = analysis.paths
    return np.bincount(paths.tree[changes(paths.tree, paths.path_id)], minlength=count)


def _paths(analysis: Analysis, count: int) -> pa.Array:
    """By path id, then host name; hosts are numbered as they were met, which says nothing."""
    forest, paths = analysis.forest, analysis.paths
    order = np.lexsort((_ranks(forest.hosts, paths.host), paths.path_id, paths.tree))
    columns = [
        paths.path_id[order],
        arrow.texts(forest.hosts).take(arrow.ints(paths.host[order])),
        paths.spans[order],
        paths.exclusive_us[order],
        paths.inclusive_us[order],
        [forest.span_id(row) for row in paths.longest[order].tolist()],
        paths.error[order],
    ]
    return _nested(paths.tree, count, PATH, columns)


def _ranks(names: Sequence[str], places: Ints) -> Ints:
    """Rank of ``names[place]`` among those in use, for each place."""
    used, inverse = np.unique(places, return_inverse=True)
    ranks = np.empty(len(used), np.int64)
    ranks[sorted(range(len(used)), key=[names[place] for place in used].__getitem__)] = np.arange(
        len(used)
    )
    return ranks[inverse]


def _endpoints(analysis: Analysis, count: int) -> pa.Array:
    """By endpoint id."""
    rows = analysis.endpoints
    ids = analysis.forest.endpoint_ids[rows.endpoint]
    order = np.lexsort((ids, rows.tree))
    columns = [
        ids[order],
        rows.spans[order],
        rows.cp_spans[order],
        rows.exclusive_us[order],
        rows.inclusive_us[order],
        rows.callers[order],
    ]
    return _nested(rows.tree, count, ENDPOINT_USE, columns)


def _ledger(analysis: Analysis, count: int) -> pa.Array:
    entries = sorted(analysis.ledger)
    names, spans, amounts, trees = [], [], [], []
    for entry in entries:
        number, amount = analysis.ledger[entry]
        found = np.flatnonzero(number)
        names += [entry] * len(found)
        spans.append(number[found])
        amounts.append(amount[found])
        trees.append(found)
    empty = np.zeros(0, np.int64)
    tree = np.concatenate([*trees, empty])
    order = np.argsort(tree, kind="stable")
    columns = [
        arrow.texts(names).take(arrow.ints(order)),
        np.concatenate([*spans, empty])[order],
        np.concatenate([*amounts, empty])[order],
    ]
    return _nested(tree[order], count, LEDGER_ENTRY, columns)


def _all_paths(analysis: Analysis, count: int) -> pa.Array:
    forest = analysis.forest
    order = np.lexsort((analysis.path_id, forest.tree))
    tree, path = forest.tree[order], analysis.path_id[order]
    duration = (forest.end_us - forest.start_us)[order]
    starts = np.flatnonzero(changes(tree, path))
    columns = [
        path[starts],
        np.diff(np.append(starts, len(order))),
        np.add.reduceat(duration, starts),
    ]
    return _nested(tree[starts], count, ALL_PATH, columns)


def _call_paths(analysis: Analysis, day_mask: Flags, *, all_paths: bool) -> pa.RecordBatch:
    """Every call path on the critical paths (or anywhere) of the marked trees, each once."""
    forest = analysis.forest
    rows = np.arange(len(forest)) if all_paths else analysis.walked.row
    rows = rows[day_mask[forest.tree[rows]]]
    ids, first = np.unique(analysis.path_id[rows], return_index=True)
    rows = rows[first]
    parent = forest.parent[rows]
    columns: dict[str, object] = {
        "path_id": ids,
        "parent_id": np.where(parent < 0, 0, analysis.path_id[parent]),
        "depth": _depth(forest)[rows],
        "endpoint_id": forest.endpoint_ids[forest.endpoint[rows]],
    }
    return arrow.batch(columns, CALL_PATHS)


def _depth(forest: Forest) -> Ints:
    sizes = [rows.stop - rows.start for rows in forest.levels]
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def _calls(analysis: Analysis, day_mask: Flags) -> pa.RecordBatch:
    calls, ids = analysis.calls, analysis.forest.endpoint_ids
    kept = day_mask[calls.tree]
    size = len(ids) or 1
    pair, place = np.unique(calls.caller[kept] * size + calls.endpoint[kept], return_inverse=True)
    spans = np.zeros(len(pair), np.int64)
    np.add.at(spans, place, calls.spans[kept])
    columns: dict[str, object] = {
        "caller_id": ids[pair // size],
        "endpoint_id": ids[pair % size],
        "spans": spans,
    }
    return arrow.batch(columns, CALLS)
