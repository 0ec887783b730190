"""P3: Online Boutique with injected faults (Nezha, FSE 2023), through crisp's own pipeline.

The data have one entry endpoint. A label says which fault was injected at most 180 s before,
which is the reading of those who prepared the data. Everything is ordered in time: nothing is
judged by traces that came later.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.anomaly.services import Ints
from crisp import store
from crisp.anomaly.vectors import Vectors
from crisp.options import EngineOptions, Features
from crisp.pipeline.cells import endpoint_shards, read_parents, read_vectors
from crisp.pipeline.engines import engine

NORMAL = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is known of one trace."""

    fault: str
    """kind of the fault, or `NORMAL`"""
    pod: str
    injected: str
    """when; '' for normal traces"""
    family: str
    """of the request, by the first calls of the root"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boutique:
    """All traces as vectors, ordered by time, with labels."""

    vectors: Vectors
    labels: tuple[Label, ...]
    """(n,)"""
    parents: tuple[Ints, Ints]
    services: Mapping[int, str]
    """service at the end of each call path"""
    operations: Mapping[int, str]
    """… and its operation"""


def make_lake(data: Path, work: Path) -> Path:
    """Run `crisp run` over all traces of ``data``; the lake."""
    out = work / "out"
    if not (out / "lake").exists():
        work.mkdir(parents=True, exist_ok=True)
        traces = work / "traces.json"
        expand = data.parent.parent / "tools" / "expand.py"
        compact = str(data / "spans_compact.tsv.gz")
        subprocess.run([sys.executable, str(expand), compact, str(traces), "--batch"], check=True)
        crisp = [sys.executable, "-m", "crisp", "run", str(traces), "-o", str(out), "-q"]
        command = [*crisp, "--all-paths", "--engine", "duckdb"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        traces.unlink()
    return out / "lake"


def read_boutique(
    data: Path, lake: Path, features: Features, *, charge_callee: bool = False
) -> Boutique:
    """The vectors of the one endpoint of ``lake`` with the labels of ``data``."""
    root = str(lake)
    with (
        engine(str(lake.parent), EngineOptions(workers=1)) as duckdb,
        store.reading(root, store.days(root)) as versions,
        store.staging(root) as folder,
    ):
        shards = endpoint_shards(
            duckdb,
            root,
            versions,
            folder,
            features=features,
            charge_callee=charge_callee,
            most=1_000_000,
        )
        (found,) = [each for shard in shards for each in read_vectors(shard)]
        parents = read_parents(shards[0])
        ends = _ends(root, versions)
    labels = read_labels(data)
    return Boutique(
        vectors=found,
        labels=tuple(labels[name] for name in found.trace_id),
        parents=parents,
        services={path: end[0] for path, end in ends.items()},
        operations={path: end[1] for path, end in ends.items()},
    )


def read_labels(data: Path) -> dict[str, Label]:
    """The label of each trace by its id."""
    with gzip.open(data / "labels.csv.gz", "rt", encoding="utf-8") as file:
        return {
            row["traceID"]: Label(
                fault=row["label"],
                pod=row["inject_pod"],
                injected=row["inject_time"],
                family=row["family"],
            )
            for row in csv.DictReader(file)
        }


def _ends(lake: str, versions: Mapping[str, str]) -> dict[int, tuple[str, str]]:
    """Service and operation at the end of each call path."""

    def rows(name: str) -> list[dict[str, object]]:
        files = [file for day, of in versions.items() for file in store.files(lake, day, name, of)]
        found: list[dict[str, object]] = pa.concat_tables(map(pq.read_table, files)).to_pylist()
        return found

    names = {
        row["endpoint_id"]: (str(row["service"]), str(row["operation"]))
        for row in rows("endpoint_names")
    }
    return {int(str(row["path_id"])): names[row["endpoint_id"]] for row in rows("call_paths")}
