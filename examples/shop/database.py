"""A SQLite file with traced statements, as slow as a database server would be."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opentelemetry.trace import SpanKind, Tracer

from examples.shop.pace import Pace

Value = str | int | float


class Database:
    """The tables of one service."""

    def __init__(self, file: Path, tables: str, tracer: Tracer, pace: Pace) -> None:
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + tables)
        self._lock = threading.Lock()
        self._tracer, self._pace = tracer, pace

    async def run(
        self, name: str, statement: str, values: Sequence[Value] = (), *, ms: float
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement, after about ``ms`` milliseconds.

        SQLite answers in microseconds; the wait stands for network and disk. It is a real one,
        in a thread, so other requests go on. ``name`` is verb and table, as ``SELECT stock``.
        """
        attributes = {"db.system.name": "sqlite", "db.query.text": statement}
        with self._tracer.start_as_current_span(name, kind=SpanKind.CLIENT, attributes=attributes):
            return await asyncio.to_thread(self._run, statement, values, self._pace.seconds(ms))

    def fill(self, statement: str, rows: Sequence[Sequence[Value]]) -> None:
        """Insert rows, untraced and at once."""
        self._connection.executemany(statement, rows)

    def _run(
        self, statement: str, values: Sequence[Value], seconds: float
    ) -> list[tuple[Any, ...]]:
        time.sleep(seconds)
        with self._lock:
            return self._connection.execute(statement, values).fetchall()
