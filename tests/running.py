"""Whole stages in this process, and what they wrote as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crisp import schema, store
from crisp.ingest.sources import shards
from crisp.locations import Location
from crisp.options import AggregateOptions, EngineOptions, IngestOptions, PathOptions
from crisp.pipeline import analyse as analyse_stage
from crisp.pipeline.analyse import Analysed, analyse
from crisp.pipeline.engines import engine
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.windows import Window
from tests.mapped import check_tree

Row = dict[str, Any]


def analysed(
    sources: Sequence[Path | str],
    out: Path,
    *,
    workers: int = 1,
    ingest: IngestOptions | None = None,
    path: PathOptions | None = None,
) -> Analysed:
    """Write the lake under ``out``; its books balance and its trees hold together."""
    with _engine(out, workers) as made:
        result = analyse(
            [str(source) for source in sources],
            places(out).lake,
            made,
            ingest or IngestOptions(),
            path or PathOptions(),
            clock=lambda: 0.0,
        )
    assert result.read == result.analysed + result.rejected
    assert sum(result.reasons.values()) == result.rejected
    return result


def aggregated(
    out: Path, days: Sequence[str] | None = None, options: AggregateOptions | None = None
) -> Path:
    """Write the marts under ``out``; their folder."""
    where = places(out)
    shown = Window(first=None, days=list(days or store.days(where.lake)))
    with _engine(out, 1) as made:
        aggregate(where.lake, where.marts, shown, made, options or AggregateOptions())
    return Path(where.marts)


def _engine(out: Path, workers: int) -> Any:
    options = EngineOptions(workers=workers, memory_limit="500MB")
    return engine(out, options, lambda done, total: None)


def table(root: Location, name: str, day: str | None = None) -> pa.Table:
    """A table of the lake or the marts, of one day or all, as it lies on disk."""
    kind = {**schema.LAKE, **schema.MARTS, **schema.ANOMALIES}[name]
    files = [
        f for one in store.days(root) if day in (None, one) for f in store.files(root, one, name)
    ]
    parts = [pq.read_table(file) for file in files]
    for part in parts:
        schema.check(name, part.schema, kind)
    return pa.concat_tables([part.cast(kind) for part in parts]) if parts else kind.empty_table()


def rows(root: Location, name: str, day: str | None = None) -> list[Row]:
    """The same as dictionaries."""
    found: list[Row] = table(root, name, day).to_pylist()
    return found


def check_lake(out: Path, result: Analysed) -> None:
    """What holds for every lake of one run."""
    lake = places(out).lake
    trees = rows(lake, "traces")
    for tree in trees:
        check_tree(tree)
    assert len(trees) == result.trees == len({tree["tree_id"] for tree in trees})
    assert sum(tree["spans"] for tree in trees) == result.spans
    assert len({tree["endpoint_id"] for tree in trees}) == result.endpoints
    assert len(rows(lake, "rejects")) == result.rejected
    assert store.days(lake) == result.days
    records = [store.run_record(lake, day) for day in result.days]
    for name in ("read", "analysed", "rejected", "trees", "spans"):
        assert sum(record[name] for record in records) == getattr(result, name), name
    paths = {row["path_id"]: row for row in rows(lake, "call_paths")}
    names = {row["endpoint_id"] for row in rows(lake, "endpoint_names")}
    for tree in trees:
        for use in tree["paths"]:
            row = paths[use["path_id"]]
            assert row["endpoint_id"] in names
            assert (row["parent_id"] == 0) == (row["depth"] == 1)
            if row["parent_id"]:
                assert paths[row["parent_id"]]["depth"] == row["depth"] - 1


def digests(root: Location) -> dict[str, str]:
    """Version of every day: a hash of all bytes of its tables."""
    return {day: store.version(root, day) for day in store.days(root)}


def shard_size(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Deal the work of the next runs out in shards of about ``size`` bytes."""
    smaller: Callable[..., Any] = partial(shards, target=size)
    monkeypatch.setattr(analyse_stage, "shards", smaller)
