"""Which engine a stage runs on, and where that may put what it needs for a moment."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crisp import store
from crisp.engine import Engine
from crisp.errors import ConfigError
from crisp.locations import Location, is_url, plain
from crisp.options import MEMORY_LIMIT, EngineOptions


@contextmanager
def engine(
    out: Location,
    options: EngineOptions,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Engine]:
    """An engine whose scratch files vanish afterwards.

    Those of Spark lie under ``out``, which all its machines reach; those of DuckDB on this
    machine, under ``out`` when that is here.
    """
    with store.staging(out if options.name == "spark" else scratch(out)) as folder:
        made = _made(folder, options, on_progress)
        try:
            yield made
        finally:
            made.close()


def _made(
    folder: str, options: EngineOptions, on_progress: Callable[[int, int], None] | None
) -> Engine:
    if options.name == "spark":
        from crisp.engine.spark import Spark

        return Spark(folder, master=options.master, conf=options.conf, on_progress=on_progress)
    from crisp.engine.duckdb import DuckDB

    return DuckDB(
        Path(folder),
        workers=options.workers,
        memory_limit=options.memory_limit or MEMORY_LIMIT,
        on_progress=on_progress,
    )


def scratch(out: Location) -> Path:
    """A folder of this machine for files of a run: ``out``, or one for all runs into URLs."""
    if not is_url(out):
        return Path(plain(out))
    folder = Path(tempfile.gettempdir()) / f"crisp-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise ConfigError(f"{folder}: belongs to somebody else; name another folder in TMPDIR")
    return folder


def reachable(location: str, options: EngineOptions) -> str:
    """A path as all machines of the engine name it: Spark's work in folders of their own."""
    if options.name == "duckdb" or is_url(location):
        return location
    return str(Path(plain(location)).absolute())
