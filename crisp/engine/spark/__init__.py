"""The engine for a cluster: Spark spreads the functions and SQL that DuckDB runs on one machine.

It starts Spark at a master, or joins the one that ``spark-submit`` has started. Executors need
the same crisp installed, and must reach the sources and the scratch folder.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from crisp import __version__
from crisp.engine import MapFunction, Table
from crisp.errors import ConfigError
from crisp.locations import is_url, join

try:
    from pyspark.sql import DataFrame, functions
    from pyspark.sql.column import Column
    from pyspark.sql.pandas.types import from_arrow_schema
except ImportError as error:
    raise ConfigError("Spark is not installed: pip install 'crisp-cpa[spark]'") from error

from crisp.engine.spark import writing
from crisp.engine.spark.deal import WRITTEN, EndedError, deal, run_task
from crisp.engine.spark.explain import explained
from crisp.engine.spark.session import begin
from crisp.engine.spark.watch import watching

_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.bool_(): "BOOLEAN",
}
_GLOB = re.compile(r"([\\*?\[\]{}])")


class Spark:
    """Spark at ``master``; files of the map step lie in ``scratch``, a path or a URL that driver
    and executors reach."""

    def __init__(
        self,
        scratch: str,
        *,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._scratch = scratch
        self._on_progress = on_progress or (lambda _done, _total: None)
        self._frames: dict[str, DataFrame] = {}
        self._folders = 0
        self._session, self._begun_here = begin(master, {**_listing(scratch), **(conf or {})})

    def close(self) -> None:
        """See `crisp.engine.Engine.close`; a Spark that was there before goes on."""
        if self._begun_here:
            self._session.stop()

    def map(
        self, shards: Sequence[Any], function: MapFunction[Any], schemas: Mapping[str, pa.Schema]
    ) -> dict[str, Table]:
        """See `crisp.engine.Engine.map`: each task writes files, and only their names come back."""
        folder = self._new_folder()
        files: dict[str, list[str]] = {table: [] for table in schemas}
        if shards:
            rows = self._mapped(shards, function, schemas, folder)
            pickled = (row["error"] for row in rows if row["error"] is not None)
            errors = [pickle.loads(error) for error in pickled]  # noqa: S301  # by this run's tasks
            if errors:
                raise min(errors, key=lambda error: isinstance(error, EndedError))
            for row in rows:
                files[row["table"]].append(row["file"])
        return {table: self.read(sorted(files[table]), schemas[table]) for table in schemas}

    def _mapped(
        self,
        shards: Sequence[Any],
        function: MapFunction[Any],
        schemas: Mapping[str, pa.Schema],
        folder: str,
    ) -> list[dict[str, Any]]:
        context = self._session.sparkContext
        dealt = deal(shards, context.defaultParallelism)
        tasks = 1 + max(dealt["task"].to_pylist())
        done = context.accumulator(0)
        step = partial(
            run_task,
            function=function,
            schemas=dict(schemas),
            folder=folder,
            version=__version__,
            advance=done.add,
        )
        total = sum(shard.size for shard in shards)
        with explained(), watching(lambda: self._on_progress(min(done.value, total), total)):
            spread = self._session.createDataFrame(dealt).repartitionById(
                tasks, functions.col("task")
            )
            written = spread.mapInArrow(step, from_arrow_schema(WRITTEN)).toArrow()
        self._on_progress(total, total)
        rows: list[dict[str, Any]] = written.to_pylist()
        return rows

    def read(self, files: Sequence[str], schema: pa.Schema) -> Table:
        """See `crisp.engine.Engine.read`."""
        if not files:
            return self.table(schema.empty_table())
        with explained():
            reader = self._session.read.schema(from_arrow_schema(schema))
            return self._named(reader.parquet(*map(_place, files)), schema)

    def table(self, rows: pa.Table) -> Table:
        """See `crisp.engine.Engine.table`."""
        with explained():
            return self._named(self._session.createDataFrame(rows), rows.schema)

    def explode(self, table: Table, column: str, keep: Mapping[str, str]) -> Table:
        """See `crisp.engine.Engine.explode`."""
        element = table.schema.field(column).type.value_type
        fields = [element.field(place) for place in range(element.num_fields)]
        kept = [writing.column(old).alias(new) for new, old in keep.items()]
        schema = pa.schema(
            [*(table.schema.field(old).with_name(new) for new, old in keep.items()), *fields]
        )
        with explained():
            frame = self._frames[table.name].select(*kept, functions.inline(writing.column(column)))
            return self._named(frame, schema)

    def sql(self, query: str, schema: pa.Schema, **tables: Table) -> Table:
        """See `crisp.engine.Engine.sql`."""
        with explained():
            try:
                for name, table in tables.items():
                    self._frames[table.name].createOrReplaceTempView(name)
                found = self._session.sql(query)  # looked up now, so the names may go again
            finally:
                for name in tables:
                    self._session.catalog.dropTempView(name)
            return self._named(found.select(*map(_cast, schema)), schema)

    def keep(self, table: Table) -> Table:
        """See `crisp.engine.Engine.keep`: as files, which outlive executors and tell their size.

        A table kept in memory would still be planned with all that it was made of, every time.
        """
        folder = self._new_folder()
        with explained():
            return self.read(
                writing.spill(self._frames[table.name], table.schema, folder), table.schema
            )

    def collect(self, table: Table) -> pa.Table:
        """See `crisp.engine.Engine.collect`."""
        with explained():
            return self._frames[table.name].toArrow().cast(table.schema)

    def write(self, table: Table, target: str, order_by: Sequence[str]) -> None:
        """See `crisp.engine.Engine.write`; without an order, by the plain columns from the left.

        Many nested rows become several files, each in order.
        """
        if not is_url(target):
            Path(target).mkdir(parents=True)
        with explained():
            writing.write(self._frames[table.name], table.schema, target, order_by)
        if not is_url(target):
            for left in Path(target).glob(".*"):  # of tasks that died while they wrote
                left.unlink(missing_ok=True)

    def _new_folder(self) -> str:
        folder = join(self._scratch, f"tables-{self._folders}")
        self._folders += 1
        if not is_url(folder):
            Path(folder).mkdir(parents=True)
        return folder

    def _named(self, frame: DataFrame, schema: pa.Schema) -> Table:
        name = f"t{len(self._frames)}"
        self._frames[name] = frame
        return Table(name, schema)


def _listing(scratch: str) -> dict[str, str]:
    """Looking at hundreds of files takes a disk a moment, but a second as a job of its own."""
    if is_url(scratch):
        return {}
    return {"spark.sql.sources.parallelPartitionDiscovery.threshold": "10000"}


def _cast(field: pa.Field) -> Column:
    found = writing.column(field.name)
    kind = _TYPES.get(field.type)
    return found.cast(kind).alias(field.name) if kind else found


def _place(file: str) -> str:
    """A file as Spark names it: no pattern, and S3 by the name of Hadoop's client for it."""
    if not is_url(file):
        file = f"file:{Path(file).absolute()}"
    elif file.startswith("s3://"):
        file = f"s3a://{file.removeprefix('s3://')}"
    return _GLOB.sub(r"\\\1", file)
