"""Fetch one shard: a pure step in the eyes of an engine, that leaves parts and records behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from crisp.ingest.fetch import books
from crisp.ingest.fetch.choose import choose
from crisp.ingest.fetch.client import Client
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.parts import Writer
from crisp.ingest.fetch.places import place
from crisp.ingest.fetch.pull import Pull
from crisp.ingest.fetch.scope import Task
from crisp.ingest.fetch.windows import Window, remaining

FETCHED = pa.schema(
    [
        (name, pa.int64())
        for name in (
            "requests",
            "retries",
            "splits",
            "duplicates",
            "traces",
            "received_bytes",
            "written_bytes",
            "raw_bytes",
        )
    ]
)
"""What a shard did: one row."""


@dataclass(frozen=True, slots=True)
class FetchShard:
    """Endpoints to fetch in one go; those of a service are best in one shard."""

    number: int
    landing: str
    """folder of the landing day, path or URL"""
    day: Window
    asked: Window
    """the day as far as it is over"""
    tasks: tuple[Task, ...]

    @property
    def size(self) -> int:
        """Endpoints, as a guess of the work."""
        return sum(len(task.operations) or 1 for task in self.tasks)


def fetch_shard(
    shard: FetchShard,
    options: FetchOptions,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    on_trouble: Callable[[str], None] = lambda _text: None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Pull the traces of a shard into the landing day; yields one row of table ``fetched``.

    What is on disk when it begins is neither asked for nor written again, so that it may be
    repeated; what other shards write at the same time is not known here.

    Raises:
        FetchError: the server refuses, or is away for too long; what came before is saved.
        ConfigError: a token or certificate cannot be read.
    """
    row = asyncio.run(_fetch(shard, options, on_progress, on_trouble))
    columns = [pa.array([row[name]], pa.int64()) for name in FETCHED.names]
    yield "fetched", pa.RecordBatch.from_arrays(columns, schema=FETCHED)


async def _fetch(
    shard: FetchShard,
    options: FetchOptions,
    on_progress: Callable[[int, int], None],
    on_trouble: Callable[[str], None],
) -> dict[str, int]:
    where = place(shard.landing)
    records = books.read_records(where, where.names())
    seen = {key for record in records.values() for key in record.each_key()}
    done = books.done(records.values())
    tasks = [(task, remaining(shard.asked, done.get(task.endpoint, ()))) for task in shard.tasks]
    writer = Writer(where, time.monotonic)
    async with Client(options, on_trouble) as client:
        api = await choose(client)
        pull = Pull(
            api,
            client,
            writer,
            tasks,
            day=shard.day,
            seen=seen,
            on_progress=on_progress,
        )
        await pull.run()
    return {
        "requests": client.traffic.requests,
        "retries": client.traffic.retries,
        "splits": pull.counts.splits,
        "duplicates": pull.counts.duplicates,
        "traces": writer.traces,
        "received_bytes": client.traffic.received,
        "written_bytes": writer.size,
        "raw_bytes": writer.raw_size,
    }
