"""DuckDB and a Spark cluster of two workers make the same lake and the same marts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from crisp import schema, store
from crisp.locations import Location
from crisp.options import AggregateOptions, EngineOptions, IngestOptions, PathOptions
from crisp.pipeline.analyse import Analysed, analyse
from crisp.pipeline.engines import engine
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.windows import window
from crisp.synth import SynthOptions, write
from tests.aggregate.comparing import check_marts
from tests.conftest import ROOT
from tests.documents import DAY, SECOND_DAY, lines, span, trace
from tests.engine.cluster import Cluster, on_spark
from tests.running import check_lake, digests, table

pytestmark = on_spark
DUCKDB = EngineOptions(workers=2, memory_limit="500MB")
SPARK = EngineOptions(name="spark")
YEAR_2022_US = 1_640_995_200_000_000


def run(
    sources: Sequence[Path], out: Path, options: EngineOptions, ingest: IngestOptions | None = None
) -> Analysed:
    """Write lake and marts of all days under ``out``."""
    where = places(out)
    path = PathOptions(all_paths=True)
    with engine(out, options) as made:
        result = analyse(
            list(map(str, sources)), where.lake, made, ingest or IngestOptions(), path, clock=_zero
        )
    with engine(out, options) as made:
        shown = window(where.lake, None, None)
        aggregate(where.lake, where.marts, shown, made, AggregateOptions())
    check_lake(out, result)
    return result


def _zero() -> float:
    return 0.0


def check_same(sources: Sequence[Path], folder: Path, ingest: IngestOptions | None = None) -> None:
    """Both engines make the same of ``sources``, and what the books of the run say is the same."""
    one = run(sources, folder / "duckdb", DUCKDB, ingest)
    other = run(sources, folder / "spark", SPARK, ingest)
    assert one == other
    for part, names in (("lake", schema.LAKE), ("marts", schema.MARTS)):
        roots = [getattr(places(folder / name), part) for name in ("duckdb", "spark")]
        assert store.days(roots[0]) == store.days(roots[1])
        for day in store.days(roots[0]):
            for name in names:
                if name != "runs":
                    compare(name, *(ordered(root, name, day) for root in roots))


def ordered(root: Location, name: str, day: str) -> list[dict[str, Any]]:
    """Rows by their exact columns."""
    found = table(root, name, day)
    exact = [f.name for f in found.schema if str(f.type) in {"int64", "string", "bool"}]
    rows: list[dict[str, Any]] = found.sort_by([(c, "ascending") for c in exact]).to_pylist()
    return rows


def compare(name: str, one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    """Cell by cell: the same, but for the last bits of weighted sums, which scale by engine."""
    assert len(one) == len(other), name
    for row, twin in zip(one, other, strict=True):
        for column, value in row.items():
            same = value == twin[column] or (
                isinstance(value, float) and math.isclose(value, twin[column], rel_tol=1e-14)
            )
            assert same, (name, column, value, twin[column])


def test_on_traces_of_the_hotel(driver: Cluster, shared_data: Path, tmp_path: Path) -> None:
    """And Spark's marts are what their slow definitions say."""
    check_same([shared_data / "traceweaver_hotel" / "load100.json.gz"], tmp_path)
    check_marts(tmp_path / "spark", store.days(places(tmp_path / "spark").lake))


def test_on_oddities(driver: Cluster, shared_data: Path, tmp_path: Path) -> None:
    """All documents are read; those since 2022 are analysed: a day costs Spark a second."""
    check_same([shared_data / "oddities"], tmp_path, IngestOptions(start_us=YEAR_2022_US))


def test_on_the_recording_of_the_shop(driver: Cluster, tmp_path: Path) -> None:
    recorded = sorted((ROOT / "examples" / "traces").iterdir())
    assert recorded
    check_same(recorded, tmp_path)


def test_on_ten_thousand_synthetic_traces(driver: Cluster, tmp_path: Path) -> None:
    made = SynthOptions(day=date(2026, 11, 20), traces=10_000, spans=12.0, files=5)
    write(made, tmp_path / "traces", workers=2)
    check_same([tmp_path / "traces"], tmp_path)


def test_on_the_same_traces_from_two_files(driver: Cluster, tmp_path: Path) -> None:
    """Copies of a trace, ties between them, sampled traces and two days; and once more on Spark,
    which changes no byte."""
    made = [trace(f"t{n}", latency=100 + n % 7, day=(DAY, SECOND_DAY)[n % 2]) for n in range(60)]
    for number, one in enumerate(made):
        chance = {"key": "sampler.param", "value": (0.3, 0.001, 1, 0.7)[number % 4]}
        one["spans"][0]["tags"] = [{"key": "sampler.type", "value": "probabilistic"}, chance]
    longer = [
        {**one, "spans": [*one["spans"], span("d", 5, 9, parent="a", trace_id=one["traceID"])]}
        for one in made[::5]
    ]
    (tmp_path / "one.jsonl").write_bytes(lines(made))
    (tmp_path / "two.jsonl").write_bytes(lines([*longer, *made[::3]]))
    check_same([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tmp_path)
    run([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tmp_path / "again", SPARK)
    for part in ("lake", "marts"):
        first, again = (getattr(places(tmp_path / name), part) for name in ("spark", "again"))
        assert digests(first) == digests(again)
