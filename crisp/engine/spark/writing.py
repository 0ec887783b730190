"""Tables into files whose bytes depend on the rows alone, not on how Spark had dealt them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, functions
from pyspark.sql.column import Column
from pyspark.sql.pandas.types import from_arrow_schema

from crisp.engine import is_bulky
from crisp.engine.files import LASTING, SCRATCH, ParquetFile
from crisp.locations import join

_NESTED_ROWS = 65_536
"""Rows of a file when they are nested, hence large; a table of plain rows is one file."""
_BULKY_ROWS = 512
"""… and when each holds a model."""
_WRITTEN = pa.schema([("file", pa.string())])


def column(name: str) -> Column:
    """A column by its name, whatever that is."""
    return functions.col("`" + name.replace("`", "``") + "`")


def write(frame: DataFrame, schema: pa.Schema, target: str, order_by: Sequence[str]) -> None:
    """Write the rows into ``target``, which exists. A task writes a file.

    The rows are dealt out to files by their hash and ordered in each: by ``order_by``, and then
    by every other plain column, so that only equal rows have equal places.
    """
    plain = [field.name for field in schema if not _is_large(field.type)]
    keys = [column(name) for name in (*order_by, *(n for n in plain if n not in order_by))]
    rows = _BULKY_ROWS if is_bulky(schema) else _NESTED_ROWS
    parts = 1 if len(plain) == len(schema) else -(-frame.count() // rows)
    dealt = frame.repartition(parts, *keys) if parts > 1 else frame.repartition(1)
    if not _write(dealt.sortWithinPartitions(*keys), schema, target, LASTING):
        with ParquetFile(_part(target, 0), schema, LASTING) as file:
            file.add(pa.RecordBatch.from_pylist([], schema=schema))


def _is_large(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind))


def spill(frame: DataFrame, schema: pa.Schema, target: str) -> list[str]:
    """Write the rows as they lie into ``target``, which exists; the files."""
    return _write(frame, schema, target, SCRATCH)


def _write(
    frame: DataFrame, schema: pa.Schema, target: str, options: Mapping[str, object]
) -> list[str]:
    step = partial(_write_part, schema=schema, target=target, options=dict(options))
    return sorted(
        row["file"] for row in frame.mapInArrow(step, from_arrow_schema(_WRITTEN)).collect()
    )


def _write_part(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, target: str, options: dict[str, object]
) -> Iterator[pa.RecordBatch]:
    first = next(batches, None)
    if first is None:
        return
    place = _part(target, TaskContext.get().partitionId())  # type: ignore[union-attr]  # in a task
    with ParquetFile(place, schema, options) as file:
        file.add(first.cast(schema))
        for batch in batches:
            file.add(batch.cast(schema))
    yield pa.RecordBatch.from_pydict({"file": [place]}, schema=_WRITTEN)


def _part(target: str, number: int) -> str:
    return join(target, f"part-{number}.parquet")
