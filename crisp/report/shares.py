"""Pages of many endpoints, written by several processes.

Each gets the rows of its endpoints as files that it maps into memory, and groups them itself.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from crisp import arrow
from crisp.errors import CrispError
from crisp.processes import end_with_parent
from crisp.report.endpoint_pages import TABLES, endpoint_tables
from crisp.report.model_fleet import Endpoint
from crisp.report.model_marks import EndpointAnomalies
from crisp.report.page_files import write_page
from crisp.report.pages import Pages

_ENOUGH = 500_000
"""Cells of kept traces for which a process is worth its second and its 100 MB."""
_BLAS = "OPENBLAS_NUM_THREADS"


def write_endpoints(
    pages: Pages,
    marts: Mapping[str, pa.Table],
    endpoints: Sequence[Endpoint],
    target: Path,
    anomalies: EndpointAnomalies | None = None,
) -> int:
    """Write the page of every endpoint into the folder ``target``; bytes written.

    Raises:
        CrispError: a process was killed, most often for want of memory.
    """
    enough = marts["kept_paths"].num_rows // _ENOUGH
    processes = min(len(os.sched_getaffinity(0)), len(endpoints), enough)
    if processes < 2:
        return _write(pages, marts, endpoints, target, anomalies)
    with TemporaryDirectory(dir=target.parent.parent, prefix="shares-") as folder:
        shares = [endpoints[number::processes] for number in range(processes)]
        tasks = [
            (pages, _stored(marts, share, Path(folder) / str(number)), share, target, anomalies)
            for number, share in enumerate(shares)
        ]
        return sum(_spread(tasks))


_Task = tuple[Pages, Path, Sequence[Endpoint], Path, EndpointAnomalies | None]


def _spread(tasks: Sequence[_Task]) -> list[int]:
    # A forkserver may run already with other settings, and forks of a process with threads hang.
    context = multiprocessing.get_context("spawn")
    before = os.environ.get(_BLAS)
    os.environ[_BLAS] = before or "1"  # matrices are small: threads only wait for one another
    stopped, stop = context.Pipe(duplex=False)
    try:
        with (
            stopped,
            stop,
            ProcessPoolExecutor(
                len(tasks), mp_context=context, initializer=_initialise, initargs=(stopped,)
            ) as pool,
        ):
            running: list[Future[int]] = []
            try:
                running += [pool.submit(_run, task) for task in tasks]
                return [each.result() for each in running]
            except BrokenProcessPool as error:
                raise CrispError(
                    "a process that writes pages died, perhaps for want of memory"
                ) from error
            finally:
                if len(running) < len(tasks) or not all(each.done() for each in running):
                    stop.close()  # it failed or was interrupted: what still runs is for nothing
    finally:
        if before is None:
            del os.environ[_BLAS]


def _initialise(stopped: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and closes the pipe
    end_with_parent(stopped)


def _run(task: _Task) -> int:
    pages, folder, endpoints, target, anomalies = task
    marts = {
        name: pa.ipc.open_file(pa.memory_map(str(folder / name))).read_all() for name in TABLES
    }
    return _write(pages, marts, endpoints, target, anomalies)


def _write(
    pages: Pages,
    marts: Mapping[str, pa.Table],
    endpoints: Sequence[Endpoint],
    target: Path,
    anomalies: EndpointAnomalies | None,
) -> int:
    tables = endpoint_tables(marts, anomalies)
    written = 0
    for endpoint in endpoints:
        page = tables.page(endpoint)
        stem = target / endpoint.page
        written += write_page(
            pages, stem, page.data, template="endpoint", parts=page.parts, **page.shown
        )
    return written


def _stored(marts: Mapping[str, pa.Table], share: Sequence[Endpoint], folder: Path) -> Path:
    """The rows of some endpoints, and tables without endpoints whole, in a new folder."""
    folder.mkdir()
    ids = arrow.ints([endpoint.endpoint_id for endpoint in share])
    for name in TABLES:
        table = marts[name]
        if name not in {"call_paths", "endpoint_names"} and "endpoint_id" in table.column_names:
            table = table.filter(pc.is_in(table["endpoint_id"], value_set=ids))
        with (
            pa.OSFile(str(folder / name), "wb") as file,
            pa.ipc.new_file(file, table.schema) as out,
        ):
            out.write_table(table)
    return folder
