"""Where work runs, behind one small protocol (DESIGN section 8).

The stages know functions on Arrow batches and SQL text; the engine knows processes, files
and memory. SQL keeps to what DuckDB and Spark read alike, so there is one text for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import pyarrow as pa

S_contra = TypeVar("S_contra", bound="Sized", contravariant=True)

MapFunction = Callable[[S_contra], Iterator[tuple[str, pa.RecordBatch]]]
"""One shard in; (table, rows) out, any number of batches for any of the promised tables."""


class Sized(Protocol):
    """A shard: the engine only needs to know how large it is."""

    @property
    def size(self) -> int:
        """Bytes of work, for balance and progress."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """A table that an engine holds; ``name`` means something to that engine alone."""

    name: str
    schema: pa.Schema


def is_bulky(schema: pa.Schema) -> bool:
    """A row holds a file's worth of bytes."""
    return any(pa.types.is_binary(field.type) for field in schema)


class Engine(Protocol):
    """What a stage may ask of the place it runs in."""

    def map(
        self,
        shards: Sequence[S_contra],
        function: MapFunction[S_contra],
        schemas: Mapping[str, pa.Schema],
    ) -> dict[str, Table]:
        """Apply ``function`` to every shard; its batches by table, in no order."""
        ...

    def read(self, files: Sequence[str], schema: pa.Schema) -> Table:
        """The rows of some Parquet files, paths or URLs; an empty table when there are none."""
        ...

    def table(self, rows: pa.Table) -> Table:
        """Some rows from memory."""
        ...

    def explode(self, table: Table, column: str, keep: Mapping[str, str]) -> Table:
        """One row per element of a nested column: its fields, and of the row the columns
        ``keep`` names (new name to old). Rows without elements vanish."""
        ...

    def sql(self, query: str, schema: pa.Schema, **tables: Table) -> Table:
        """The result of ``query`` over ``tables`` by their keywords, cast to ``schema``."""
        ...

    def keep(self, table: Table) -> Table:
        """The same rows, computed once however often they are read."""
        ...

    def collect(self, table: Table) -> pa.Table:
        """The rows in memory."""
        ...

    def close(self) -> None:
        """Let go of memory, files and processes."""
        ...

    def write(self, table: Table, target: str, order_by: Sequence[str]) -> None:
        """Write the rows as Parquet files into the new folder ``target``, a path or a URL, ordered.

        The same rows give the same bytes. Without ``order_by`` their order is the engine's.
        """
        ...
