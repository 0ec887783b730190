"""The default engine: a process pool for functions, DuckDB for SQL, one machine, no server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from crisp.engine import MapFunction, Table, is_bulky
from crisp.engine.pool import map_shards
from crisp.errors import ConfigError, CrispError
from crisp.locations import filesystem, is_url
from crisp.options import MEMORY_LIMIT

_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.bool_(): "BOOLEAN",
}
_PART = "part-0.parquet"
_HEADER = re.compile(r"^(?:\s*--[^\n]*\n)*\s*")
_SIZE = re.compile(r"\d+(\.\d+)?\s*[kKMGT]i?B")


class DuckDB:
    """DuckDB in this process, workers beside it, everything large on disk under ``scratch``."""

    def __init__(
        self,
        scratch: Path,
        *,
        workers: int | None = None,
        memory_limit: str = MEMORY_LIMIT,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        if not _SIZE.fullmatch(memory_limit):
            raise ConfigError(f"memory limit must look like 500MB or 2GB, not {memory_limit!r}")
        if workers is not None and workers < 1:
            raise ConfigError(f"workers must be at least 1, not {workers}")
        self._workers = workers or len(os.sched_getaffinity(0))
        self._scratch = scratch
        self._on_progress = on_progress
        self._count = 0
        try:
            self._connection = duckdb.connect(
                config={
                    "memory_limit": memory_limit,
                    "threads": self._workers,
                    "temp_directory": str(scratch / "spill"),
                    "autoinstall_known_extensions": False,
                    "autoload_known_extensions": False,
                }
            )
        except duckdb.Error as error:
            raise ConfigError(f"memory limit {memory_limit!r}: {_first_line(error)}") from error

    def close(self) -> None:
        """See `crisp.engine.Engine.close`."""
        self._connection.close()

    def map(
        self, shards: Sequence[Any], function: MapFunction[Any], schemas: Mapping[str, pa.Schema]
    ) -> dict[str, Table]:
        """See `crisp.engine.Engine.map`."""
        folder = self._scratch / self._new_name()
        folder.mkdir(parents=True)
        total = sum(shard.size for shard in shards)
        done = 0

        def advance(size: int) -> None:
            nonlocal done
            done += size
            if self._on_progress is not None:
                self._on_progress(done, total)

        advance(0)
        files = map_shards(shards, function, schemas, folder, self._workers, advance)
        return {table: self.read(files[table], schemas[table]) for table in schemas}

    def read(self, files: Sequence[str], schema: pa.Schema) -> Table:
        """See `crisp.engine.Engine.read`."""
        if not files:
            return self.table(schema.empty_table())
        self._reach(files)
        names = ", ".join(_text(file) for file in files)
        columns = ", ".join(_name(field.name) for field in schema)
        return self._view(f"SELECT {columns} FROM read_parquet([{names}])", schema)

    def table(self, rows: pa.Table) -> Table:
        """See `crisp.engine.Engine.table`."""
        name = self._new_name()
        self._connection.register("rows_to_copy", rows)
        self._run(f"CREATE TEMP TABLE {name} AS SELECT * FROM rows_to_copy")
        self._connection.unregister("rows_to_copy")
        return Table(name, rows.schema)

    def explode(self, table: Table, column: str, keep: Mapping[str, str]) -> Table:
        """See `crisp.engine.Engine.explode`."""
        element = table.schema.field(column).type.value_type
        fields = [element.field(place) for place in range(element.num_fields)]
        kept = ", ".join(f"{_name(old)} AS {_name(new)}" for new, old in keep.items())
        schema = pa.schema(
            [*(table.schema.field(old).with_name(new) for new, old in keep.items()), *fields]
        )
        return self._view(
            f"SELECT {kept}, unnest({_name(column)}, max_depth := 2) FROM {table.name}", schema
        )

    def sql(self, query: str, schema: pa.Schema, **tables: Table) -> Table:
        """See `crisp.engine.Engine.sql`."""
        bound = [f"{_name(name)} AS (SELECT * FROM {table.name})" for name, table in tables.items()]
        body = query[_HEADER.match(query).end() :].rstrip().rstrip(";")  # type: ignore[union-attr]  # matches always
        if body[:4].upper() == "WITH":
            bound.append(body[4:].lstrip())
            body = ""
        columns = ", ".join(_cast(field) for field in schema)
        with_clause = f"WITH {', '.join(bound)} " if bound else ""
        return self._view(f"SELECT {columns} FROM ({with_clause}{body}\n) AS result", schema)

    def keep(self, table: Table) -> Table:
        """See `crisp.engine.Engine.keep`."""
        name = self._new_name()
        self._run(f"CREATE TEMP TABLE {name} AS SELECT * FROM {table.name}")
        return Table(name, table.schema)

    def collect(self, table: Table) -> pa.Table:
        """See `crisp.engine.Engine.collect`."""
        with _explained():
            rows = self._connection.sql(f"SELECT * FROM {table.name}").to_arrow_table()
        return rows.cast(table.schema)

    def write(self, table: Table, target: str, order_by: Sequence[str]) -> None:
        """See `crisp.engine.Engine.write`; without an order, that of the shards and files."""
        if not is_url(target):
            Path(target).mkdir(parents=True)
            self._copy(table, Path(target) / _PART, order_by)
            return
        file = self._scratch / f"{self._new_name()}.parquet"
        self._copy(table, file, order_by)
        system, path = filesystem(target)
        system.put_file(str(file), f"{path}/{_PART}")
        file.unlink()

    def _copy(self, table: Table, file: Path, order_by: Sequence[str]) -> None:
        order = f" ORDER BY {', '.join(map(_name, order_by))}" if order_by else ""
        self._run(
            f"COPY (SELECT * FROM {table.name}{order}) TO {_text(str(file))}"
            f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_row_group(table.schema)})"
        )

    def _reach(self, files: Sequence[str]) -> None:
        """Let DuckDB read URLs through fsspec: its own extension would have to be fetched."""
        for scheme in {file.partition("://")[0] for file in files if is_url(file)}:
            if not self._connection.filesystem_is_registered(scheme):
                system, _ = filesystem(f"{scheme}://")
                self._connection.register_filesystem(system)

    def _view(self, query: str, schema: pa.Schema) -> Table:
        name = self._new_name()
        self._run(f"CREATE TEMP VIEW {name} AS {query}")
        return Table(name, schema)

    def _new_name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _run(self, statement: str) -> None:
        with _explained():
            self._connection.execute(statement)


@contextmanager
def _explained() -> Iterator[None]:
    """What a person can put right: too little memory or disk, files that cannot be read."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise CrispError(f"out of memory; raise --memory-limit: {_first_line(error)}") from error
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        raise CrispError(_first_line(error)) from error


def _row_group(schema: pa.Schema) -> int:
    """Rows of a row group: it is held in memory whole, and nested rows are large."""
    if is_bulky(schema):
        return 64
    return 8_192 if any(pa.types.is_nested(field.type) for field in schema) else 122_880


def _cast(field: pa.Field) -> str:
    name = _name(field.name)
    kind = _TYPES.get(field.type)
    return f"CAST({name} AS {kind}) AS {name}" if kind else name


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
