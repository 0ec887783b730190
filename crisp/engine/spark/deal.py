"""Shards dealt out to Spark's tasks, and what a task does with them."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from crisp import __version__
from crisp.engine import MapFunction
from crisp.engine.pool import run_shard
from crisp.errors import ConfigError, CrispError
from crisp.locations import exists, join, touch

_FAILED = "_failed"
"""A file beside those of the map step that tells its tasks to end."""
_TASKS_PER_CORE = 3
_TASK_BYTES = 128 << 20
"""Beyond this a task has long made up for the 65 ms it costs to begin it."""
DEALT = pa.schema(
    [("task", pa.int32()), ("number", pa.int64()), ("size", pa.int64()), ("shard", pa.binary())]
)
"""Shards as tasks take them: pickled descriptions. Their bytes never pass through Java."""
WRITTEN = pa.schema([("table", pa.string()), ("file", pa.string()), ("error", pa.binary())])
"""What a task says: a file of a table, or else an error that a person can put right."""


class EndedError(CrispError):
    """A task that ended because of another. That one tells why, if its executor lives."""


def deal(shards: Sequence[Any], cores: int) -> pa.Table:
    """Rows of `DEALT`: a few tasks for each core, of about equal bytes, the largest first.

    A shard larger than the others' share is a task of its own, and begins at once.
    """
    total = sum(shard.size for shard in shards)
    count = min(len(shards), max(_TASKS_PER_CORE * cores, -(-total // _TASK_BYTES)))
    loads = [(0, task) for task in range(count)]
    rows: list[tuple[int, int, int, bytes]] = []
    for number in sorted(range(len(shards)), key=lambda number: (-shards[number].size, number)):
        load, task = heapq.heappop(loads)
        heapq.heappush(loads, (load + shards[number].size, task))
        rows.append((task, number, shards[number].size, pickle.dumps(shards[number])))
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    return pa.table(dict(zip(DEALT.names, map(list, columns), strict=True)), schema=DEALT)


def run_task(
    batches: Iterator[pa.RecordBatch],
    function: MapFunction[Any],
    schemas: Mapping[str, pa.Schema],
    folder: str,
    version: str,
    advance: Callable[[int], None],
) -> Iterator[pa.RecordBatch]:
    """Map the shards of one task; batches of `WRITTEN`.

    An error that a person can put right is a row and no failed task, which Spark would try again;
    the other tasks see that it happened, and end.
    """
    failed = join(folder, _FAILED)
    for batch in batches:
        for row in batch.to_pylist():
            if exists(failed):
                yield _error(
                    EndedError("one of Spark's tasks failed, and its executor died; run it again")
                )
                return
            try:
                _check_version(version)
                shard = pickle.loads(row["shard"])  # noqa: S301  # pickled by this run's driver
                files = run_shard(row["number"], shard, function, schemas, folder)
            except CrispError as error:
                touch(failed)
                yield _error(error)
                return
            yield _rows([{"table": table, "file": file, "error": None} for table, file in files])
            advance(row["size"])


def _check_version(version: str) -> None:
    if version != __version__:
        raise ConfigError(
            f"crisp {__version__} on one of Spark's executors, {version} on the driver: install the"
            " same crisp there (docs/spark.md)"
        )


def _error(error: CrispError) -> pa.RecordBatch:
    return _rows([{"table": None, "file": None, "error": pickle.dumps(error)}])


def _rows(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=WRITTEN)
