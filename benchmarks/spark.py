"""Spark beside DuckDB on the same traces: how long it takes to begin, and then how fast it is.

The cluster is a master and two workers of one core and 1 GB on this machine, so what is measured
is what Spark costs, not what a second machine gains.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.engine.cluster import WORKERS, Cluster

_STEPS = """
import json, sys, time
from functools import partial
from crisp.ingest.sources import find, shards
from crisp.options import AggregateOptions, EngineOptions, IngestOptions, PathOptions
from crisp.pipeline.analyse import analyse
from crisp.pipeline.engines import engine
from crisp.pipeline.mapping import MAPPED, map_shard
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.windows import window
from tests.engine.shards import SCHEMAS, Numbers, numbers

source, out, options = sys.argv[1], sys.argv[2], EngineOptions(**json.loads(sys.argv[3]))
where, moments = places(out), [time.perf_counter()]
tick = lambda: moments.append(time.perf_counter())
if __name__ == "__main__":
    with engine(out, options) as made:
        tick()
        made.map([Numbers(k, 9) for k in range(4)], numbers, SCHEMAS)
        tick()
        step = partial(map_shard, ingest=IngestOptions(), path=PathOptions())
        made.map(shards(find([source])), step, MAPPED)
        tick()
        analyse([source], where.lake, made, IngestOptions(), PathOptions(), clock=time.time)
        tick()
        shown = window(where.lake, None, None)
        aggregate(where.lake, where.marts, shown, made, AggregateOptions())
        tick()
    print(json.dumps([after - before for before, after in zip(moments, moments[1:])]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; seconds of wall time."""

    case: str
    mb: float
    begin_s: float
    first_map_s: float
    """of four shards with next to nothing in them"""
    map_s: float
    """the map step alone: reading, critical paths, rows"""
    analyse_s: float
    aggregate_s: float

    @property
    def speed(self) -> float:
        """MB per second of the map step."""
        return self.mb / self.map_s


def measure(source: Path, mb: float) -> list[Row]:
    """Both engines, with one worker and with two, on the traces in ``source``."""
    rows = []
    for workers in range(1, WORKERS + 1):
        options: dict[str, object] = {"workers": workers}
        rows.append(_row(f"duckdb, workers: {workers}", source, mb, options))
    with _cluster() as cluster:
        for workers in range(1, WORKERS + 1):
            conf = cluster.conf | {"spark.cores.max": str(workers)}
            quick = [key for key in conf if key.endswith("extraJavaOptions")]
            conf = {key: value for key, value in conf.items() if key not in quick}
            options = {"name": "spark", "master": cluster.url, "conf": conf}
            rows.append(_row(f"spark, workers: {workers}", source, mb, options))
    return rows


@contextmanager
def _cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder))
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def _row(case: str, source: Path, mb: float, options: dict[str, object]) -> Row:
    source = source.absolute()  # executors work elsewhere
    out = source.with_name("out-engines")
    command = [sys.executable, "-c", _STEPS, str(source), str(out), json.dumps(options)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    begin, first_map, mapped, analyse, aggregate = json.loads(done.stdout)
    return Row(
        case=case,
        mb=mb,
        begin_s=begin,
        first_map_s=first_map,
        map_s=mapped,
        analyse_s=analyse,
        aggregate_s=aggregate,
    )


def show(rows: list[Row]) -> None:
    """Print the table."""
    table = Table(title="engines, seconds of wall time", title_justify="left")
    table.add_column("case")
    for heading in ("MB", "begin", "first map", "map", "MB/s", "analyse", "aggregate"):
        table.add_column(heading, justify="right")
    for row in rows:
        seconds = (row.begin_s, row.first_map_s, row.map_s)
        table.add_row(
            row.case,
            f"{row.mb:,.0f}",
            *(f"{value:.1f}" for value in seconds),
            f"{row.speed:.0f}",
            f"{row.analyse_s:.1f}",
            f"{row.aggregate_s:.1f}",
        )
    Console(width=max(Console().width, 100)).print(table)
