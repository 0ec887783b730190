"""What the analysis says of landing days that `crisp fetch` left unfinished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crisp.errors import InputError
from crisp.ingest.fetch import books
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.places import place
from tests.documents import lines, traces
from tests.running import analysed


def landed(folder: Path, *complete: list[str]) -> Path:
    """Ten traces and the bookkeeping of their fetch, of which these scopes are complete."""
    day = folder / "date=2023-11-15"
    (day / "service=shop").mkdir(parents=True)
    (day / "service=shop" / "part-0000000000000000.jsonl").write_bytes(lines(traces(10)))
    made = books.Day.of("2023-11-15", FetchOptions(jaeger="http://jaeger:16686"))
    books.write_day(place(day), made)
    book = day / ".fetch" / "day.json"
    said = json.loads(book.read_text(encoding="utf-8"))
    book.write_text(json.dumps(said | {"complete": list(complete)}), encoding="utf-8")
    return day


@pytest.mark.parametrize(
    ("complete", "warned"), [([], True), ([["shop"]], False)], ids=["killed", "complete"]
)
def test_a_landing_day_that_lacks_traces_is_named(
    complete: list[list[str]], warned: bool, tmp_path: Path
) -> None:
    day = landed(tmp_path, *complete)
    result = analysed([day], tmp_path / "out")
    assert result.analysed == 10
    assert [warning.partition(":")[0] for warning in result.warnings] == [str(day)] * warned


def test_a_folder_that_no_fetch_wrote_is_no_landing_day(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.jsonl").write_bytes(lines(traces(3)))
    assert analysed([tmp_path / "traces"], tmp_path / "out").warnings == []


@pytest.mark.parametrize(
    ("complete", "said"),
    [([], "no such file"), ([["shop"]], "fetched completely, and there was no trace that day")],
    ids=["killed", "complete"],
)
def test_a_landing_day_without_traces_is_told_from_a_wrong_name(
    complete: list[list[str]], said: str, tmp_path: Path
) -> None:
    day = landed(tmp_path, *complete)
    (day / "service=shop" / "part-0000000000000000.jsonl").unlink()
    with pytest.raises(InputError, match=f"{day}: {said}"):
        analysed([day], tmp_path / "out")
