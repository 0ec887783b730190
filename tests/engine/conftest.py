"""Both engines, for tests of what any engine promises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crisp.engine import Engine
from crisp.engine.duckdb import DuckDB
from tests.engine.cluster import on_spark


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=on_spark)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An engine of each kind."""
    if request.param == "duckdb":
        with closing(DuckDB(tmp_path / "scratch", workers=1, memory_limit="200MB")) as made:
            yield made
        return
    from crisp.engine.spark import Spark

    request.getfixturevalue("driver")
    with closing(Spark(str(tmp_path / "scratch"))) as spark:
        yield spark
