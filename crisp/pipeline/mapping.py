"""One shard of trace documents in, rows of the lake out: a pure function of its input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crisp import arrow, schema
from crisp.cpa.analysis import Analysis, analyse
from crisp.cpa.rows import lake_rows
from crisp.errors import Reject
from crisp.forest import Flags
from crisp.ingest.columns import Batch, add
from crisp.ingest.documents import Read, read
from crisp.ingest.jaeger import Bad
from crisp.ingest.names import Names
from crisp.ingest.sources import Shard
from crisp.ingest.trees import plant
from crisp.options import IngestOptions, PathOptions

_BATCH_SPANS = 10_000
"""Spans analysed together: enough to make array operations cheap, few enough to stay in cache."""

COUNTS = pa.schema(
    [(name, pa.int64()) for name in ("read", "rejected", "filtered", "analysed", "bytes")]
)
_DATE, _DOCUMENT = pa.field("date", pa.string()), pa.field("document", pa.int64())


def dated(table: pa.Schema) -> pa.Schema:
    """The columns of a table, and the day in front."""
    return pa.schema([_DATE, *table])


MAPPED = {
    **{name: dated(table) for name, table in schema.LAKE.items() if name != "rejects"},
    "traces": pa.schema([_DATE, _DOCUMENT, *schema.TRACES]),
    "rejects": schema.REJECTS,
    "counts": COUNTS,
}
"""What comes out: the lake's tables with their day, and what was counted. ``document`` numbers
the documents of a run, so that copies of a trace can be told apart."""


@dataclass(slots=True)
class _Shard:
    """What is known of the shard so far."""

    names: Names
    batch: Batch = field(default_factory=Batch)
    documents: list[int] = field(default_factory=list)
    """number of the document each trace of the batch was read from"""
    rejects: list[dict[str, object]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS.names, 0))
    endpoints: dict[str, set[int]] = field(default_factory=dict)
    """indices of the endpoints seen, by day"""
    hosts: dict[str, set[int]] = field(default_factory=dict)
    """indices of the hosts seen, by day"""


def map_shard(
    shard: Shard, ingest: IngestOptions, path: PathOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Analyse every trace of ``shard``; (table, rows) by `MAPPED`."""
    state = _Shard(Names(ingest))
    document = shard.number << 32
    for piece in shard.pieces:
        for found in read(piece):
            document += 1
            state.counts["bytes"] += found.size
            bad = _take(state, found, piece.path, ingest.max_spans)
            if bad is None:
                state.documents.append(document)
            else:
                _reject(state, bad, piece.path, found.position)
            if len(state.batch.span_id) >= _BATCH_SPANS:
                yield from _flush(state, ingest, path)
    yield from _flush(state, ingest, path)
    yield from _rest(state)


def _take(state: _Shard, found: Read, source: str, max_spans: int) -> Bad | None:
    """Add a document to the batch, or say why not."""
    trace = found.trace
    if isinstance(trace, Bad):
        return trace
    if trace.spans is not None and len(trace.spans) > max_spans:
        detail = f"{len(trace.spans)} spans, the limit is {max_spans}"
        return Bad(Reject.TOO_LARGE, detail, trace.traceID or "")
    return add(state.batch, state.names, trace, source, found.position)


def _reject(state: _Shard, bad: Bad, source: str, position: int) -> None:
    state.counts["rejected"] += 1
    state.rejects.append(
        {
            "source": source,
            "position": position,
            "trace_id": bad.trace_id,
            "reason": bad.reason.value,
            "detail": bad.detail,
        }
    )


def _flush(
    state: _Shard, ingest: IngestOptions, path: PathOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Analyse what has been collected, and begin anew."""
    batch, documents = state.batch, state.documents
    state.batch, state.documents = Batch(), []
    if not documents:
        return
    planted = plant(batch, state.names, ingest)
    for number, bad in planted.rejected:
        _reject(state, bad, batch.source[number], batch.position[number])
    state.counts["filtered"] += planted.filtered
    state.counts["analysed"] += planted.analysed
    analysis = analyse(planted.forest, path)
    numbers = np.array(documents, np.int64)[planted.trace]
    for table, day, mask, rows in lake_rows(analysis, all_paths=path.all_paths):
        if table == "traces":
            state.endpoints.setdefault(day, set()).update(_endpoints(analysis, mask))
            state.hosts.setdefault(day, set()).update(_hosts(analysis, mask))
            numbered = rows.add_column(0, _DOCUMENT, arrow.ints(numbers[mask]))
            yield table, _with_day(numbered, day)
        else:
            yield table, _with_day(rows, day)


def _endpoints(analysis: Analysis, mask: Flags) -> list[int]:
    """Indices of the endpoints in the marked trees."""
    rows = analysis.endpoints
    found: list[int] = np.unique(rows.endpoint[mask[rows.tree]]).tolist()
    return found


def _hosts(analysis: Analysis, mask: Flags) -> list[int]:
    """Indices of the hosts in the marked trees."""
    forest = analysis.forest
    found: list[int] = np.unique(forest.host[mask[forest.tree]]).tolist()
    return found


def _with_day(rows: pa.RecordBatch, day: str) -> pa.RecordBatch:
    return rows.add_column(0, _DATE, arrow.constant(day, rows.num_rows))


def _rest(state: _Shard) -> Iterator[tuple[str, pa.RecordBatch]]:
    """What is only known when the whole shard is read."""
    names = state.names
    for day, used in sorted(state.endpoints.items()):
        rows = [
            {"endpoint_id": names.endpoint_ids[i], "service": service, "operation": operation}
            for i in sorted(used)
            for service, operation in [names.endpoints[i]]
        ]
        yield "endpoint_names", _with_day(arrow.rows(rows, schema.ENDPOINT_NAMES), day)
        hosts = [
            {"host": names.hosts[i], "service": service, "attribute": attribute, "value": value}
            for i in sorted(state.hosts[day])
            for service, attribute, value in sorted(names.attributes.get(i, ()))
        ]
        yield "hosts", _with_day(arrow.rows(hosts, schema.HOSTS), day)
    counts = state.counts
    counts["read"] = counts["analysed"] + counts["rejected"]
    yield "rejects", arrow.rows(state.rejects, schema.REJECTS)
    yield "counts", arrow.rows([dict(counts)], COUNTS)
