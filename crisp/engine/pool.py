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
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from crisp.engine import MapFunction, Sized
from crisp.engine.files import SCRATCH, ParquetFile
from crisp.errors import CrispError
from crisp.processes import end_with_parent


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
    return run_shard(*task)


def run_shard(
    number: int,
    shard: Any,
    function: MapFunction[Any],
    schemas: Mapping[str, pa.Schema],
    folder: str,
) -> list[tuple[str, str]]:
    """Apply the function to one shard and write its rows into ``folder``, a path or a URL.

    Returns (table, file) of what was written, in files named by table and ``number``. Doing it
    again, even at the same time, does no harm.
    """
    collecting = gc.isenabled()
    gc.disable()  # spans hold no cycles, and looking for some costs a fifth of the time
    files: dict[str, ParquetFile] = {}
    try:
        with ExitStack() as stack:
            for table, batch in function(shard):
                if table not in files:
                    place = f"{folder}/{table}-{number:06d}.parquet"
                    files[table] = stack.enter_context(ParquetFile(place, schemas[table], SCRATCH))
                files[table].add(batch)
    finally:
        if collecting:
            gc.enable()
    return [(table, file.place) for table, file in files.items()]
