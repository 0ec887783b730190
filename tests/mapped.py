"""The map step on files, with what must hold whatever they contain."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from crisp.errors import Reject
from crisp.ingest.sources import find, shards
from crisp.options import IngestOptions, PathOptions
from crisp.pipeline.mapping import MAPPED, map_shard

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Rows by table, and the sum of the counts."""

    tables: dict[str, list[Row]]
    counts: dict[str, int]

    @property
    def traces(self) -> list[str]:
        """Ids of the analysed traces, one for each tree."""
        return [row["trace_id"] for row in self.tables["traces"]]

    @property
    def reasons(self) -> list[str]:
        """Why documents were left out."""
        return [row["reason"] for row in self.tables["rejects"]]


def map_files(
    path: Path, ingest: IngestOptions | None = None, options: PathOptions | None = None
) -> Mapped:
    """What the map step makes of ``path``, after checking that its books balance."""
    batches: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    for shard in shards(find([str(path)])):
        for table, batch in map_shard(shard, ingest or IngestOptions(), options or PathOptions()):
            batches[table].append(batch)
    tables = {
        name: pa.Table.from_batches(batches[name], schema).to_pylist()
        for name, schema in MAPPED.items()
    }
    counts = {name: sum(row[name] for row in tables["counts"]) for name in MAPPED["counts"].names}
    assert counts["read"] == counts["analysed"] + counts["rejected"]
    assert counts["rejected"] == len(tables["rejects"])
    for row in tables["rejects"]:
        assert Reject(row["reason"]).meaning
        assert row["detail"]
    for tree in tables["traces"]:
        check_tree(tree)
    return Mapped(tables, counts)


def check_tree(tree: Row) -> None:
    """What holds for every analysed tree (DESIGN rule 6.6)."""
    paths = tree["paths"]
    assert sum(path["exclusive_us"] for path in paths) == tree["latency_us"]
    assert max(path["inclusive_us"] for path in paths) == tree["latency_us"]
    assert all(0 <= path["exclusive_us"] <= path["inclusive_us"] for path in paths)
    assert sum(path["spans"] for path in paths) == tree["cp_spans"] <= tree["spans"]
    assert len({path["path_id"] for path in paths}) == tree["cp_paths"]
    uses = tree["endpoints"]
    assert sum(use["spans"] for use in uses) == tree["spans"]
    assert sum(use["cp_spans"] for use in uses) == tree["cp_spans"]
    assert sum(use["exclusive_us"] for use in uses) == tree["latency_us"]
    assert len(uses) == tree["unique_endpoints"]
