"""Recorded traces from outside the repository: nothing is lost, and every sum is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from crisp.errors import InputError
from crisp.pipeline.analyse import Analysed
from crisp.pipeline.places import places
from tests.aggregate.comparing import check_marts
from tests.running import aggregated, analysed, check_lake, rows

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("recorded")]


def run(out: Path, sources: list[Path], workers: int = 1) -> Analysed:
    result = analysed(sources, out, workers=workers)
    check_lake(out, result)
    aggregated(out, result.days)
    check_marts(out, result.days)
    return result


def test_three_thousand_traces_of_the_hotel(shared_data: Path, tmp_path: Path) -> None:
    files = sorted((shared_data / "traceweaver_hotel").glob("load*.json.gz"))
    result = run(tmp_path, files)
    assert (result.read, result.analysed, result.rejected) == (3000, 3000, 0)


def test_thirteen_thousand_traces_of_the_boutique(shared_data: Path, tmp_path: Path) -> None:
    batch = tmp_path / "boutique.json"
    compact = shared_data / "nezha_online_boutique" / "spans_compact.tsv.gz"
    expand = shared_data.parent / "tools" / "expand.py"
    subprocess.run(
        [sys.executable, expand, compact, batch, "--batch"], check=True, capture_output=True
    )
    result = run(tmp_path / "out", [batch], workers=2)
    assert (result.read, result.analysed, result.rejected) == (12_875, 12_875, 0)
    batch.unlink()


def test_all_oddities_together(shared_data: Path, tmp_path: Path) -> None:
    result = run(tmp_path, [shared_data / "oddities"])
    assert result.analysed > 150
    assert len(result.days) > 10


def test_every_file_of_oddities_alone(shared_data: Path, tmp_path: Path) -> None:
    files = [path for path in sorted((shared_data / "oddities").rglob("*")) if path.is_file()]
    assert len(files) > 50
    trees = 0
    for number, path in enumerate(files):
        out = tmp_path / str(number)
        try:
            result = analysed([path], out)
        except InputError as error:
            assert str(path) in str(error)  # noqa: PT017 (either end is right for some file)
            continue
        check_lake(out, result)
        trees += result.trees
    together = analysed([shared_data / "oddities"], tmp_path / "all")
    assert trees >= together.trees
    found = {tree["tree_id"] for tree in rows(places(tmp_path / "all").lake, "traces")}
    assert len(found) == together.trees
