"""Shards that an engine runs at the same time, none knowing of the others."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from crisp.engine.duckdb import DuckDB
from crisp.ingest.fetch import books
from crisp.ingest.fetch.copies import drop_copies
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.places import place
from crisp.ingest.fetch.repair import stray
from crisp.ingest.fetch.scope import Scope
from crisp.pipeline.fetch import fetch
from tests.documents import traces
from tests.ingest.fetch.pulling import DAY, ids, pulled
from tests.ingest.fetch.serving import serving, store

HUNDRED = traces(100)
FOLDER = "date=2023-11-15"


def test_shards_of_an_engine_leave_each_trace_once(tmp_path: Path) -> None:

    engine = DuckDB(tmp_path, workers=2, memory_limit="500MB")
    try:
        with serving(store(HUNDRED)) as server:
            result = fetch(
                str(tmp_path / "landing"),
                DAY,
                FetchOptions(jaeger=server.url, api="v1", limit=30),
                Scope(),
                now=datetime(2026, 1, 1, tzinfo=UTC),
                engine=engine,
            )
    finally:
        engine.close()
    assert ids(tmp_path / "landing") == list(range(100))
    assert (result.traces, result.traces_on_disk) == (100, 100)
    assert result.duplicates >= 100, "each is in both services"


def test_copies_are_dropped_from_the_later_part(tmp_path: Path) -> None:
    """As two shards leave them that ran at the same time."""
    for name, service in (("one", "shop"), ("two", "store")):
        with serving(store(HUNDRED if name == "one" else traces(60, first=50))) as server:
            pulled(server.url, tmp_path / name, service)
    for file in (tmp_path / "two" / FOLDER).rglob("*"):
        target = tmp_path / "one" / file.relative_to(tmp_path / "two")
        if file.is_file() and not target.exists():
            target.parent.mkdir(exist_ok=True)
            os.link(file, target)
    where = place(tmp_path / "one" / FOLDER)
    assert len(ids(tmp_path / "one")) == 160
    assert drop_copies(where) == 50
    assert ids(tmp_path / "one") == list(range(110))
    records = books.read_records(where, where.names())
    assert stray(where.names(), records) == []
    assert {asked.service for r in records.values() for asked in r.windows} == {"shop", "store"}
    assert sum(record.traces for record in records.values()) == 110
    assert drop_copies(where) == 0


def test_a_part_of_copies_alone_goes(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "shop")
    where = place(tmp_path / FOLDER)
    record = next(iter(books.read_records(where, where.names()).values()))
    copy = "service=store/part-0123456789abcdef.jsonl.zst"
    assert record.part is not None
    content = where.read(record.part)
    assert content is not None
    where.write(copy, content)
    books.write_record(where, msgspec.structs.replace(record, part=copy, service="store"))
    assert drop_copies(where) == 100
    assert ids(tmp_path) == list(range(100))
