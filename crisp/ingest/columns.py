"""Collect traces into the columns of one batch, span by span but no slower than it must be.

This is the hottest Python of the project: each line runs once per span. Names are interned,
so that everything after this works on small integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from crisp.errors import Reject
from crisp.forest import Kind
from crisp.ingest.duplicates import Separated, separate
from crisp.ingest.jaeger import USED_TAGS, Bad, Process, Span, Trace, tag_values
from crisp.ingest.templates import templater
from crisp.options import CLOCK_TAGS, HOST_TAGS, IngestOptions
from crisp.stable import text_id

ROOT, ORPHAN = -1, -2
"""In the parent column: no reference to this trace, or only to spans that are missing."""

_KINDS = {kind.name.lower(): int(kind) for kind in Kind}
_KINDS |= {f"span_kind_{name}": value for name, value in list(_KINDS.items())}
_NOWHERE = Process("(unknown)")


@dataclass(slots=True)
class Batch:
    """Columns of shape (n,) in document order, and one entry per trace."""

    trace_id: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    position: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """row of the first span of each trace"""
    ledger: dict[int, dict[str, int]] = field(default_factory=dict)
    """entries by trace, for the few traces that have any"""
    span_id: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    start_us: list[int] = field(default_factory=list)
    duration_us: list[int] = field(default_factory=list)
    endpoint: list[int] = field(default_factory=list)
    host: list[int] = field(default_factory=list)
    clock: list[int] = field(default_factory=list)
    kind: dict[int, int] = field(default_factory=dict)
    """kind by row, where it is not internal"""
    error: list[int] = field(default_factory=list)
    """rows of failed spans"""
    follows: list[int] = field(default_factory=list)
    """rows whose parent was found by FOLLOWS_FROM"""
    weight: dict[int, float] = field(default_factory=dict)
    """weight by row of the span that carries the sampling decision"""


class Names:
    """Interned services, endpoints, hosts and clocks; grows for the life of a shard."""

    def __init__(self, options: IngestOptions) -> None:
        self._template: Callable[[str], str] = templater(options.templates)
        self._attributes = options.attributes
        self.endpoints: list[tuple[str, str]] = []
        self.endpoint_ids: list[int] = []
        self.endpoint_services: list[int] = []
        self.hosts: list[str] = [""]
        self.attributes: set[tuple[str, str, str]] = set()
        self._services: dict[str, int] = {}
        self._operations: dict[str, dict[str, int]] = {}
        self._by_name: dict[tuple[str, str], int] = {}
        self._hosts: dict[str, int] = {"": 0}
        self._clocks: dict[str, int] = {"": 0}
        self._processes: dict[tuple[Any, ...], tuple[dict[str, int], int, int]] = {}

    def process(self, process: Process) -> tuple[dict[str, int], int, int]:
        """Operations known of the service, index of the host, index of the clock."""
        tags = process.tags or ()
        key = (process.serviceName, *[x for tag in tags for x in (tag.key, str(tag.value))])
        known = self._processes.get(key)
        if known is None:
            known = self._processes[key] = self._new_process(process)
        return known

    def _new_process(self, process: Process) -> tuple[dict[str, int], int, int]:
        tags = tag_values(process.tags)
        host = _first_text(tags, HOST_TAGS)
        clock = _first_text(tags, CLOCK_TAGS)
        if host not in self._hosts:
            self._hosts[host] = len(self.hosts)
            self.hosts.append(host)
        for attribute in self._attributes:
            if tags.get(attribute) not in (None, "") and host:
                self.attributes.add((host, attribute, str(tags[attribute])))
        operations = self._operations.setdefault(process.serviceName, {})
        return operations, self._hosts[host], self._clocks.setdefault(clock, len(self._clocks))

    def endpoint(self, service: str, operation: str) -> int:
        """Index of an endpoint, new or known; the operation is templated first."""
        name = (service, self._template(operation))
        index = self._by_name.get(name)
        if index is None:
            index = self._by_name[name] = len(self.endpoints)
            self.endpoints.append(name)
            self.endpoint_ids.append(text_id(*name))
            self.endpoint_services.append(self._services.setdefault(service, len(self._services)))
        self._operations[service][operation] = index
        return index


def _first_text(tags: dict[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = tags.get(key)
        if value not in (None, ""):
            return str(value[0] if isinstance(value, list) and value else value)
    return ""


def add(batch: Batch, names: Names, trace: Trace, source: str, position: int) -> Bad | None:
    """Append the spans of ``trace``; or say why the trace is no good, and append nothing."""
    spans = trace.spans
    if not spans:
        return Bad(Reject.NO_SPANS, "the list of spans is empty", trace.traceID or "")
    trace_id = trace.traceID or _id_in_references(spans)
    processes = trace.processes or {}
    known = {name: names.process(process or _NOWHERE) for name, process in processes.items()}
    number, base = len(batch.trace_id), len(batch.span_id)
    ids = [span.spanID for span in spans]
    target = dict(zip(ids, range(base, base + len(ids)), strict=True))
    counts: dict[str, int] = {}
    separated = None
    if len(target) != len(ids):
        separated = separate(spans)
        spans, ids = separated.spans, separated.ids
        target = {span_id: base + place for span_id, place in separated.target.items()}
        _count_duplicates(counts, separated)
    batch.parent += _parents(batch, counts, spans, target, trace_id, base)
    if separated is not None:
        for place, client in enumerate(separated.shared_client):
            if client >= 0:
                batch.parent[base + place] = base + client
    batch.trace_id.append(trace_id)
    batch.source.append(source)
    batch.position.append(position)
    batch.first.append(base)
    batch.span_id += ids
    batch.start_us += [span.startTime for span in spans]
    batch.duration_us += [span.duration for span in spans]
    _name(batch, names, spans, processes, known)
    _tags(batch, spans, base)
    if counts:
        batch.ledger[number] = counts
    return None


def _id_in_references(spans: Sequence[Span]) -> str:
    for span in spans:
        for reference in span.references or ():
            if reference.traceID:
                return reference.traceID
    return ""


def _count_duplicates(counts: dict[str, int], separated: Separated) -> None:
    found = {
        "duplicates_dropped": separated.dropped,
        "duplicates_split": separated.split,
        "duplicates_renamed": separated.renamed,
    }
    counts.update({entry: count for entry, count in found.items() if count})


def _parents(
    batch: Batch,
    counts: dict[str, int],
    spans: Sequence[Span],
    target: dict[str, int],
    trace_id: str,
    base: int,
) -> list[int]:
    """Row of each span's parent, `ROOT` or `ORPHAN` (DESIGN rule 5.2)."""
    parents = []
    for row, span in enumerate(spans, base):
        references = span.references
        if references and len(references) == 1:
            only = references[0]
            if only.traceID == trace_id and only.refType == "CHILD_OF":
                parent = target.get(only.spanID)  # type: ignore[arg-type]  # None is never a key
                if parent is not None:
                    parents.append(parent)
                    continue
        elif not references and span.parentSpanID is None:
            parents.append(ROOT)
            continue
        parents.append(_choose(batch, counts, span, target, trace_id, row))
    return parents


def _choose(
    batch: Batch,
    counts: dict[str, int],
    span: Span,
    target: dict[str, int],
    trace_id: str,
    row: int,
) -> int:
    """The parent among several references, or the reason why there is none."""
    links: dict[str, str] = {}
    for reference in span.references or ():
        if reference.spanID and reference.spanID.strip("0") and _same(reference.traceID, trace_id):
            if links.get(reference.spanID) != "CHILD_OF":
                links[reference.spanID] = reference.refType
    if not span.references and span.parentSpanID and span.parentSpanID.strip("0"):
        links[span.parentSpanID] = "CHILD_OF"
    if not links:
        return ROOT
    found = [(link, target[span_id]) for span_id, link in links.items() if span_id in target]
    if len(links) > 1:
        counts["other_references"] = counts.get("other_references", 0) + len(links) - 1
    for link, parent in found:
        if link == "CHILD_OF":
            return parent
    for link, parent in found:
        if link == "FOLLOWS_FROM":
            batch.follows.append(row)
            return parent
    return ORPHAN


def _same(trace_id: str | None, own: str) -> bool:
    """Ids of one trace, also when leading zeros or case differ."""
    if not trace_id or trace_id == own:
        return True
    return trace_id.lstrip("0").lower() == own.lstrip("0").lower()


def _name(
    batch: Batch,
    names: Names,
    spans: Sequence[Span],
    processes: dict[str, Process | None],
    known: dict[str, tuple[dict[str, int], int, int]],
) -> None:
    """Append endpoint, host and clock of each span."""
    rows = [known.get(span.processID) for span in spans]  # type: ignore[arg-type]  # None finds none
    if None in rows:
        nowhere = names.process(_NOWHERE)
        rows = [row or nowhere for row in rows]
    try:
        endpoints = [row[0][span.operationName] for row, span in zip(rows, spans, strict=True)]
    except KeyError:
        endpoints = []
        for row, span in zip(rows, spans, strict=True):
            index = row[0].get(span.operationName)
            if index is None:
                process = processes.get(span.processID or "") or _NOWHERE
                index = names.endpoint(process.serviceName, span.operationName)
            endpoints.append(index)
    batch.endpoint += endpoints
    batch.host += [row[1] for row in rows]
    batch.clock += [row[2] for row in rows]


def _tags(batch: Batch, spans: Sequence[Span], base: int) -> None:
    """Note kind, error and sampling of the spans that say so."""
    sampled: dict[int, dict[str, object]] = {}
    for row, key, value in [
        (row, tag.key, tag.value)
        for row, span in enumerate(spans, base)
        if span.tags
        for tag in span.tags
        if tag.key in USED_TAGS
    ]:
        if key == "span.kind":
            batch.kind[row] = _KINDS.get(str(value).lower(), 0)
        elif key == "error":
            if value is True or str(value).lower() in ("true", "1"):
                batch.error.append(row)
        elif key == "otel.status_code":
            if value == "ERROR" or str(value) in ("2", "STATUS_CODE_ERROR"):
                batch.error.append(row)
        else:
            sampled.setdefault(row, {})[key] = value
    for row, tags in sampled.items():
        if tags.get("sampler.type") == "probabilistic":
            weight = _inverse(tags.get("sampler.param"))
            if weight:
                batch.weight[row] = weight


def _inverse(probability: object) -> float:
    """1 / probability, 0 where it is none."""
    try:
        value = float(probability)  # type: ignore[arg-type]  # whatever it is, float decides
    except (TypeError, ValueError):
        return 0.0
    return 1.0 / value if 0 < value <= 1 else 0.0
