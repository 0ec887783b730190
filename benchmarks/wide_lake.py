"""A day of a lake with as many endpoints, call paths and traces as asked for, made up.

Critical paths add up: the exclusive times of a trace are its latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from crisp import schema, store

DAY = "2022-01-01"
_DAY_US = 1_640_995_200_000_000
_CHILDREN = 4
_LEAVES = 8
"""Calls at the end of the chains of a trace; with those above them some 25 are on its path."""

Ints = npt.NDArray[np.int64]


def write_lake(lake: Path, *, endpoints: int, paths: int, traces: int, seed: int = 0) -> None:
    """Write ``traces`` traces of ``paths`` call paths for each of ``endpoints`` entries."""
    rng = np.random.default_rng(seed)
    with store.staging(str(lake)) as folder:
        place = Path(folder) / DAY
        _table(place, "call_paths", [_call_paths(endpoints, paths)])
        _table(place, "endpoint_names", [_names(endpoints, paths)])
        _table(place, "hosts", [_hosts()])
        _table(place, "calls", [])
        _table(place, "rejects", [])
        _table(place, "traces", _all_traces(endpoints, paths, traces, rng))
        count = endpoints * traces
        store.commit(str(lake), DAY, str(place), _record(count))


def _table(place: Path, name: str, parts: Iterator[pa.Table] | list[pa.Table]) -> None:
    (place / name).mkdir(parents=True)
    with pq.ParquetWriter(place / name / "0.parquet", schema.LAKE[name]) as file:
        for part in parts:
            file.write_table(part.cast(schema.LAKE[name]))


def _record(traces: int) -> dict[str, object]:
    numbers = {"read": traces, "analysed": traces, "rejected": 0, "filtered": 0, "trees": traces}
    texts = {"date": DAY, "crisp_version": "", "policy": "crisp", "options": "{}"}
    rest = {"schema_version": schema.VERSION, "spans": 0, "bytes": 0, "started_us": 0}
    return {**numbers, **texts, **rest, "seconds": 0.0}


def _parents(paths: int) -> Ints:
    """Parent of each row: every call makes up to four."""
    return (np.arange(paths) - 1) // _CHILDREN


def _call_paths(endpoints: int, paths: int) -> pa.Table:
    parent, depth = _parents(paths), np.ones(paths, dtype=np.int64)
    for row in range(1, paths):
        depth[row] = depth[parent[row]] + 1
    base = np.arange(endpoints)[:, None] * paths + 1
    above = np.where(np.arange(paths) > 0, base + parent, 0)
    named = np.tile(np.arange(paths) + endpoints, (endpoints, 1))
    named[:, 0] = np.arange(endpoints)
    return pa.table(
        {
            "path_id": (base + np.arange(paths)).ravel(),
            "parent_id": above.ravel(),
            "depth": np.tile(depth, endpoints),
            "endpoint_id": named.ravel() + 1,
        }
    )


def _names(endpoints: int, paths: int) -> pa.Table:
    """Entries have names of their own; the calls below them are the same for all."""
    entries = [(f"gateway-{n % 97}", f"GET /v1/resource-{n}") for n in range(endpoints)]
    calls = [(f"service-{n % 61}", f"svc.Part{n % 7}/Method{n}") for n in range(paths)]
    services, operations = zip(*entries, *calls, strict=True)
    ids = np.arange(1, len(services) + 1)
    return pa.table({"endpoint_id": ids, "service": services, "operation": operations})


def _hosts() -> pa.Table:
    pairs = [(f"host-{n}", f"service-{s}") for n in range(12) for s in range(61)]
    hosts, services = zip(*pairs, strict=True)
    values = ["sku-a" if n % 2 else "sku-b" for n in range(12) for _ in range(61)]
    attribute = ["sku"] * len(pairs)
    return pa.table({"host": hosts, "service": services, "attribute": attribute, "value": values})


def _all_traces(
    entries: int, paths: int, traces: int, rng: np.random.Generator
) -> Iterator[pa.Table]:
    for entry in range(entries):
        yield _traces(entry, entries, paths, traces, rng)


def _traces(
    entry: int, entries: int, paths: int, traces: int, rng: np.random.Generator
) -> pa.Table:
    parent = _parents(paths)
    trace, row = _on_path(parent, paths, traces, rng)
    exclusive = rng.lognormal(7, 1, len(row)).astype(np.int64) + 1
    inclusive = _with_below(trace, row, exclusive, parent, paths, traces)
    latency = inclusive[row == 0]
    offsets = np.searchsorted(trace, np.arange(traces + 1))
    host = pa.array([f"host-{n}" for n in range(12)]).take(pa.array((trace + row) % 12))
    text = pa.array([f"{n:08x}" for n in range(paths)]).take(pa.array(row))
    path = {
        "path_id": row + entry * paths + 1,
        "host": host,
        "spans": np.ones(len(row), dtype=np.int64),
        "exclusive_us": exclusive,
        "inclusive_us": inclusive,
        "span_id": text,
        "error": rng.random(len(row)) < 0.001,
    }
    use = {
        "endpoint_id": np.where(row == 0, entry, row + entries) + 1,
        "spans": path["spans"],
        "cp_spans": path["spans"],
        "exclusive_us": exclusive,
        "inclusive_us": inclusive,
        "callers": path["spans"],
    }
    size = np.diff(offsets)
    numbers = entry * traces + np.arange(traces)
    return pa.table(
        {
            "tree_id": rng.integers(-(2**63), 2**63 - 1, traces),
            "endpoint_id": np.full(traces, entry + 1),
            "trace_id": [f"{n:032x}" for n in numbers],
            "root_span_id": [f"{n:016x}" for n in numbers],
            "root_kind": ["entry"] * traces,
            "start_us": _DAY_US + rng.integers(0, 86_400_000_000, traces),
            "latency_us": latency,
            "weight": np.ones(traces),
            "error": np.zeros(traces, dtype=bool),
            **dict.fromkeys(_SIZES, size),
            "source": [""] * traces,
            "position": numbers,
            "paths": _nested(path, offsets, "paths"),
            "endpoints": _nested(use, offsets, "endpoints"),
            "ledger": _nested({}, np.zeros(traces + 1, dtype=np.int64), "ledger"),
            "all_paths": pa.nulls(traces),
        }
    )


_SIZES = [
    "spans",
    "unique_endpoints",
    "services",
    "depth",
    "concurrency",
    "cp_spans",
    "cp_endpoints",
    "cp_paths",
]


def _on_path(parent: Ints, paths: int, traces: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Trace and row of each call on a critical path: some calls and all above them."""
    reached = rng.integers(0, paths, (traces, _LEAVES))
    found = [reached]
    while (reached > 0).any():
        reached = np.where(reached > 0, parent[reached], 0)
        found.append(reached)
    keys = np.arange(traces)[:, None] * paths + np.concatenate(found, axis=1)
    trace, row = np.divmod(np.unique(keys), paths)
    return trace, row


def _with_below(
    trace: Ints, row: Ints, exclusive: Ints, parent: Ints, paths: int, traces: int
) -> Ints:
    """Inclusive time: rows come after their parents, so sums go up from the last row."""
    total = np.zeros((traces, paths), dtype=np.int64)
    total[trace, row] = exclusive
    for below in range(paths - 1, 0, -1):
        total[:, parent[below]] += total[:, below]
    return total[trace, row]


def _nested(columns: dict[str, object], offsets: Ints, name: str) -> pa.Array:
    kind = schema.TRACES.field(name).type.value_type
    arrays = [
        pa.array(columns.get(field.name, []), type=field.type)
        for field in (kind.field(k) for k in range(kind.num_fields))
    ]
    values = pa.StructArray.from_arrays(arrays, fields=list(kind))
    return pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), values)
