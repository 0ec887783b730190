"""What comes out depends on the traces alone: not on order, files, shards or workers."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crisp import schema
from crisp.pipeline.places import places
from tests.documents import Json, envelope, lines, traces
from tests.running import aggregated, analysed, digests, rows, shard_size

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("recorded")]
PLACES = ("source", "position")


@pytest.fixture(scope="module")
def hotel(shared_data: Path) -> list[Json]:
    """Some traces of every run of the hotel, and odd ones."""
    made: list[Json] = []
    for path in sorted((shared_data / "traceweaver_hotel").glob("load*.json.gz")):
        made += json.loads(gzip.decompress(path.read_bytes()))["data"][:60]
    for name in ("zipkin", "opensearch_apm", "testbed_selected", "hotrod", "otlp_pairs_jaeger_ui"):
        for path in sorted((shared_data / "oddities" / name).glob("*.json*")):
            text = path.read_bytes()
            document = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
            made += document.get("data", [document])
    return list({trace["traceID"]: trace for trace in made}.values())


@pytest.fixture(scope="module")
def expected(hotel: list[Json], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("expected")
    return tables(folder, lambda source: (source / "all.json").write_bytes(lines(hotel)))


def tables(
    folder: Path, write: Callable[[Path], object], *, workers: int = 1, reverse: bool = False
) -> dict[str, Any]:
    """Every table without the places traces were read from."""
    source = folder / "in"
    source.mkdir()
    write(source)
    sources = sorted(source.iterdir(), reverse=reverse)
    result = analysed(sources, folder / "out", workers=workers)
    aggregated(folder / "out", result.days)
    where = places(folder / "out")
    found: dict[str, Any] = {"digests": (digests(where.lake), digests(where.marts))}
    for root, names in ((where.lake, schema.LAKE), (where.marts, schema.MARTS)):
        for name in names:
            if name != "runs":
                cleaned = [_without_places(row) for row in rows(root, name)]
                found[f"{Path(root).name}/{name}"] = sorted(cleaned, key=repr)
    return found


def _without_places(row: dict[str, Any]) -> dict[str, Any]:
    """An example of rejects is that with the smallest place."""
    places = (*PLACES, "trace_id", "detail") if "documents" in row else PLACES
    return {name: value for name, value in row.items() if name not in places}


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """The same rows in every table."""
    for name, wanted in expected.items():
        if name != "digests":
            assert found[name] == wanted, name


def shuffled(made: list[Json], seed: int) -> list[Json]:
    """The same traces, each with its spans, references, tags and processes in another order."""
    order = random.Random(seed)
    traces = json.loads(json.dumps(made))
    for trace in traces:
        order.shuffle(trace["spans"])
        processes = list((trace.get("processes") or {}).items())
        order.shuffle(processes)
        trace["processes"] = dict(processes)
    order.shuffle(traces)
    return list(traces)


@pytest.mark.parametrize("seed", [1, 2])
def test_order_of_spans_and_of_traces_does_not_matter(
    tmp_path: Path, hotel: list[Json], expected: dict[str, Any], seed: int
) -> None:
    mixed = shuffled(hotel, seed)
    check(tables(tmp_path, lambda s: (s / "all.json").write_bytes(lines(mixed))), expected)


def test_order_of_files_does_not_matter(
    tmp_path: Path, hotel: list[Json], expected: dict[str, Any]
) -> None:
    def write(source: Path) -> None:
        for number in range(0, len(hotel), 50):
            part = hotel[number : number + 50]
            (source / f"{number:04d}.json").write_bytes(envelope(part))

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    check(tables(tmp_path / "a", write), expected)
    check(tables(tmp_path / "b", write, reverse=True), expected)


def test_a_file_for_each_trace_gives_the_same_as_one_file(
    tmp_path: Path, hotel: list[Json], expected: dict[str, Any]
) -> None:
    def write(source: Path) -> None:
        for number, trace in enumerate(hotel):
            text = envelope([trace], indent=2 if number % 2 else None)
            (source / f"{number}.json").write_bytes(gzip.compress(text) if number % 3 else text)

    check(tables(tmp_path, write, workers=2), expected)


@pytest.mark.parametrize(("size", "workers"), [(200_000, 1), (50_000, 2)])
def test_shards_and_workers_change_no_byte(
    tmp_path: Path,
    hotel: list[Json],
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    workers: int,
) -> None:
    def write(source: Path) -> None:
        (source / "one.json").write_bytes(lines(hotel[: len(hotel) // 2]))
        (source / "two.json").write_bytes(envelope(hotel[len(hotel) // 2 :]))

    monkeypatch.chdir(tmp_path)
    first, second = Path("first"), Path("second")
    first.mkdir()
    expected = tables(first, write)
    second.mkdir()
    (second / "in").symlink_to(tmp_path / "first" / "in")
    shard_size(monkeypatch, size)
    source = [first / "in" / "one.json", first / "in" / "two.json"]
    result = analysed(source, second / "out", workers=workers)
    aggregated(second / "out", result.days)
    where = places(second / "out")
    assert (digests(where.lake), digests(where.marts)) == expected["digests"]


def test_the_same_run_again_changes_no_byte_but_the_run_record(
    tmp_path: Path, hotel: list[Json]
) -> None:
    source = tmp_path / "all.json"
    source.write_bytes(lines(hotel))

    def content() -> dict[str, bytes]:
        files = (path for path in (tmp_path / "out").rglob("*") if path.is_file())
        return {
            str(path): path.read_bytes() for path in files if path.name not in ("run.json", ".lock")
        }

    analysed([source], tmp_path / "out")
    aggregated(tmp_path / "out")
    before = content()
    analysed([source], tmp_path / "out", workers=2)
    aggregated(tmp_path / "out")
    assert content() == before


def test_workers_change_no_byte_when_traces_stand_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which copy counts is found by a join, and that keeps no order."""
    shard_size(monkeypatch, 1 << 19)
    made = traces(20_000)
    source = tmp_path / "in"
    source.mkdir()
    for part in range(8):
        (source / f"{part}.jsonl").write_bytes(lines(made[part % 4 :: 4]))
    found = []
    for number, workers in enumerate((1, 2, 2)):
        out = tmp_path / f"out-{number}"
        analysed([source], out, workers=workers)
        found.append(digests(places(out).lake))
    assert found[0] == found[1] == found[2]
