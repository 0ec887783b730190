"""Bands of an endpoint with many trees."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from crisp.aggregate import band_edges, sql
from crisp.engine.duckdb import DuckDB
from crisp.pipeline.marts import SLIM, TREES

_DRAWN = """
SELECT
    range AS tree_id, 1 AS endpoint_id, md5(CAST(range AS VARCHAR)) AS trace_id,
    'r' AS root_span_id, range AS start_us,
    CAST(exp(5.9 + 4.2 * (hash(range) % 1000003) / 1000003.0) AS BIGINT) AS latency_us,
    1.0 AS weight, false AS error, 1 AS spans, 1 AS unique_endpoints, 1 AS depth,
    1 AS concurrency, 1 AS cp_spans, 1 AS cp_endpoints
FROM range(350000)
"""
"""So many of one endpoint that DuckDB 2.0.0 broke off with an internal error."""
_COUNTED = """
SELECT band, count(*) AS trees, min(latency_us) AS least, max(latency_us) AS most
FROM trees GROUP BY band ORDER BY band
"""
_COUNTS = pa.schema([(name, pa.int64()) for name in ("band", "trees", "least", "most")])


def test_each_of_many_trees_is_in_the_band_of_its_rank(tmp_path: Path) -> None:
    engine = DuckDB(tmp_path, workers=1)
    try:
        drawn = engine.keep(engine.sql(_DRAWN, SLIM))
        edges = engine.table(band_edges((0, 50, 90, 95, 99, 100)))
        trees = engine.keep(engine.sql(sql("trees"), TREES, traces=drawn, edges=edges))
        bands = engine.collect(engine.sql(_COUNTED, _COUNTS, trees=trees)).to_pylist()
    finally:
        engine.close()
    assert [row["trees"] for row in bands] == [175_000, 140_000, 17_500, 14_000, 3_500]
    for slower, faster in zip(bands[1:], bands, strict=False):
        assert slower["least"] >= faster["most"]
