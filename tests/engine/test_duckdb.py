"""What is DuckDB's alone: its limits of memory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from crisp.engine.duckdb import DuckDB
from crisp.errors import ConfigError, CrispError

ROWS = pa.schema([("id", pa.int64()), ("name", pa.string())])
LONG_ROWS = """
    SELECT range AS id, md5(CAST(range AS VARCHAR)) || repeat('x', 100) AS name
    FROM range(600000)
"""


def test_too_little_memory_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    engine = DuckDB(tmp_path, workers=1, memory_limit="2MB")
    query = "SELECT range AS id, repeat('x', 1000) || range AS name FROM range(1000000) ORDER BY 2"
    try:
        with pytest.raises(CrispError, match="--memory-limit"):
            engine.keep(engine.sql(query, ROWS))
    finally:
        engine.close()


def test_merging_more_than_memory_holds_uses_the_disk(tmp_path: Path) -> None:
    engine = DuckDB(tmp_path, workers=1, memory_limit="60MB")
    query = LONG_ROWS
    count = pa.schema([("n", pa.int64())])
    try:
        kept = engine.keep(engine.sql(query + " ORDER BY 2", ROWS))
        counted = engine.sql("SELECT count(DISTINCT name) AS n FROM kept", count, kept=kept)
        assert engine.collect(counted).to_pylist() == [{"n": 600000}]
    finally:
        engine.close()


@pytest.mark.parametrize(
    "limit", ["", "lots", "500", "-1GB", "1 G", "1PB", "1GB; DROP", "80%", f"{10**20}TB"]
)
def test_a_memory_limit_that_is_none_is_refused(tmp_path: Path, limit: str) -> None:
    with pytest.raises(ConfigError, match="memory limit"):
        DuckDB(tmp_path, memory_limit=limit)


@pytest.mark.parametrize("limit", ["500MB", "2GB", "1.5 GiB", "300000kB", "1TB"])
def test_usual_memory_limits_are_taken(tmp_path: Path, limit: str) -> None:
    DuckDB(tmp_path, memory_limit=limit).close()


@pytest.mark.parametrize("workers", [0, -1])
def test_fewer_than_one_worker_is_refused(tmp_path: Path, workers: int) -> None:
    with pytest.raises(ConfigError, match="workers"):
        DuckDB(tmp_path, workers=workers)
