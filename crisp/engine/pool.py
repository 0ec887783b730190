"""Spread shards over processes, each writing what it makes to Parquet files of its own.

Bytes stay in the worker that read them: only file names come back.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crisp.engine import MapFunction, Sized
from crisp.errors import CrispError
from crisp.processes import end_with_parent

_FLUSH = 64 << 20
"""Bytes of Arrow rows a worker holds before it writes them."""


def map_shards(
    shards: Sequence[Sized],
    function: MapFunction[Any],
    schemas: Mapping[str, pa.Schema],
    folder: Path,
    workers: int,
    on_done: Callable[[int], None],
) -> dict[str, list[str]]:
    """Files by table. ``on_done`` is told the size of each shard when it is finished.

    Raises:
        CrispError: a worker was killed, most often for want of memory.
    """
    largest_first = sorted(enumerate(shards), key=lambda item: (-item[1].size, item[0]))
    tasks = [
        (number, shard, function, dict(schemas), str(folder)) for number, shard in largest_first
    ]
    files: dict[str, list[str]] = {table: [] for table in schemas}
    for task, written in _results(tasks, min(workers, len(tasks))):
        for table, path in written:
            files[table].append(path)
        on_done(task[1].size)
    return {table: sorted(paths) for table, paths in files.items()}


_Task = tuple[int, Any, MapFunction[Any], dict[str, pa.Schema], str]
_Written = list[tuple[str, str]]


def _results(tasks: Sequence[_Task], workers: int) -> Iterator[tuple[_Task, _Written]]:
    if workers <= 1:
        yield from ((task, _run(task)) for task in tasks)
        return
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([type(tasks[0][1]).__module__, tasks[0][2].__module__])
    stopped, stop = context.Pipe(duplex=False)
    with (
        stopped,
        stop,
        ProcessPoolExecutor(
            workers, mp_context=context, initializer=_initialise, initargs=(stopped,)
        ) as pool,
    ):
        waiting = iter(tasks)
        running = {}
        try:
            while True:
                for task in waiting:
                    running[pool.submit(_run, task)] = task
                    if len(running) >= 2 * workers:
                        break
                if not running:
                    return
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except BrokenProcessPool as error:
            raise CrispError(
                "a worker process died, perhaps for want of memory; try fewer --workers"
            ) from error
        finally:
            if running:  # it failed or was interrupted: what still runs is for nothing
                stop.close()


def _initialise(stopped: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and closes the pipe
    end_with_parent(stopped)
    gc.collect()
    gc.freeze()


def _run(task: _Task) -> _Written:
    """Apply the function to one shard and write its rows; (table, file) of what was written."""
    number, shard, function, schemas, folder = task
    writers: dict[str, _Writer] = {}
    collecting = gc.isenabled()
    gc.disable()  # spans hold no cycles, and looking for some costs a fifth of the time
    try:
        for table, batch in function(shard):
            if table not in writers:
                path = f"{folder}/{table}-{number:06d}.parquet"
                writers[table] = _Writer(path, schemas[table])
            writers[table].add(batch)
        for writer in writers.values():
            writer.close()
    finally:
        if collecting:
            gc.enable()
    return [(table, writer.path) for table, writer in writers.items()]


class _Writer:
    """Collects batches and writes them in large row groups."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.path = path
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._writer: pq.ParquetWriter | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch; write when there are enough of them."""
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _FLUSH:
            self._flush()

    def close(self) -> None:
        """Write what is left and finish the file."""
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self.path,
                self._schema,
                compression="lz4",
                use_dictionary=False,
                write_statistics=False,
            )
        self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches, self._bytes = [], 0
