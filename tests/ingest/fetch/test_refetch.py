"""A day fetched afresh replaces the old one whole, wherever it is killed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from crisp.errors import ConfigError, FetchError
from crisp.ingest.fetch import books, refetch
from crisp.ingest.fetch.books import unfinished
from crisp.ingest.fetch.places import Place, place
from tests.documents import traces
from tests.ingest.fetch.pulling import ids, pulled
from tests.ingest.fetch.serving import serving, store

FOLDER = "date=2023-11-15"
OLD = traces(20)


def _count(landing: str) -> int:
    where = place(f"{landing}/{FOLDER}")
    keys = [key for r in books.read_records(where, where.names()).values() for key in r.each_key()]
    assert len(keys) == len(set(keys))
    return len(keys)


def test_killed_while_the_old_day_goes_it_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(folder: Path, **_: object) -> None:
        for file in Path(folder).glob("service=*/*"):
            file.unlink()
        raise KeyboardInterrupt

    documents = traces(20)
    with serving(store(documents)) as server:
        pulled(server.url, tmp_path)
        documents += traces(5, first=20)
        with monkeypatch.context() as patch:
            patch.setattr(shutil, "rmtree", dies)
            with pytest.raises(KeyboardInterrupt):
                pulled(server.url, tmp_path, refetch=True)
        assert ids(tmp_path) == list(range(25))
        documents += traces(5, first=25)
        pulled(server.url, tmp_path, refetch=True)
    assert ids(tmp_path) == list(range(30))
    assert [p.name for p in tmp_path.iterdir()] == [FOLDER]


def test_killed_between_two_names_of_the_old_day_it_never_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> Path:
        raise KeyboardInterrupt

    documents = traces(20)
    with serving(store(documents)) as server:
        pulled(server.url, tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr("crisp.ingest.fetch.places._Folder._move_off", dies)
            with pytest.raises(KeyboardInterrupt):
                pulled(server.url, tmp_path, refetch=True)
        assert (tmp_path / f".refetch-{FOLDER}" / ".fetch" / "day.json").exists(), "the old day"
        documents += traces(10, first=20)
        pulled(server.url, tmp_path, refetch=True)
    assert ids(tmp_path) == list(range(30))
    assert [p.name for p in tmp_path.iterdir()] == [FOLDER]


def test_killed_while_it_asks_it_goes_on(tmp_path: Path) -> None:
    def dies(done: int, total: int) -> None:
        if done == total / 2:
            raise KeyboardInterrupt

    with serving(store(OLD)) as server:
        pulled(server.url, tmp_path)
        with pytest.raises(KeyboardInterrupt):
            pulled(server.url, tmp_path, refetch=True, concurrency=1, on_progress=dies)
        asked = len(server.searches())
        pulled(server.url, tmp_path, refetch=True, concurrency=1)
        assert [service for service, _, _ in server.searches()[asked:]] == ["store"]
        asked = len(server.searches())
        pulled(server.url, tmp_path, refetch=True, concurrency=1)
        assert len(server.searches()) == asked + 2, "one that has ended does not"


def test_a_rest_of_something_else_is_no_refetch(tmp_path: Path) -> None:
    with serving(store(OLD)) as server:
        pulled(server.url, tmp_path)
        rest = tmp_path / f".refetch-{FOLDER}" / ".fetch" / "record-00.json"
        rest.parent.mkdir(parents=True)
        rest.write_text("{}")
        assert pulled(server.url, tmp_path, refetch=True).traces_on_disk == 20


class _Dying:
    """Lets a file system make ``left`` changes, and is then killed."""

    def __init__(self, left: int, patch: pytest.MonkeyPatch) -> None:
        self._left = left
        for name in ("cp_file", "pipe_file", "rm_file"):
            patch.setattr(MemoryFileSystem, name, self._counting(getattr(MemoryFileSystem, name)))

    def _counting(self, real: Callable[..., object]) -> Callable[..., object]:
        def change(*words: object, **named: object) -> object:
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            return real(*words, **named)

        return change


@pytest.mark.parametrize("left", range(14))
def test_killed_anywhere_in_an_object_store_nothing_is_lost_or_mixed(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 changes put the new day in its place and clear what lay aside."""

    def end(final: Place, aside: Place) -> None:
        with monkeypatch.context() as patch:
            _Dying(left, patch)
            real(final, aside)

    real = refetch.end
    documents = traces(20)
    landing = f"memory://{tmp_path.name}"
    with serving(store(documents)) as server:
        pulled(server.url, landing)
        documents += traces(10, first=20)
        with monkeypatch.context() as patch:
            patch.setattr("crisp.pipeline.fetch.afresh.end", end)
            with pytest.raises(KeyboardInterrupt):
                pulled(server.url, landing, refetch=True)
        assert unfinished(f"{landing}/{FOLDER}") or _count(landing) in (20, 30)
        pulled(server.url, landing)
        assert _count(landing) in (20, 30), "the old day, or the new one"
        assert not unfinished(f"{landing}/{FOLDER}")
        pulled(server.url, landing, refetch=True)
        assert _count(landing) == 30
    names = fsspec.filesystem("memory").find(f"/{tmp_path.name}")
    assert {name.split("/")[2] for name in names} == {FOLDER}


def test_what_is_not_asked_for_again_is_not_thrown_away(tmp_path: Path) -> None:
    with serving(store(OLD)) as server:
        pulled(server.url, tmp_path)
        with pytest.raises(ConfigError, match="holds all services, which --refetch would drop"):
            pulled(server.url, tmp_path, "store", refetch=True)
        assert ids(tmp_path) == list(range(20))
        pulled(server.url, tmp_path / "two", "shop::GET /", "shop::pay", "store")
        with pytest.raises(ConfigError, match=r"holds shop::GET /, store, which --refetch"):
            pulled(server.url, tmp_path / "two", "shop::pay", refetch=True)
        result = pulled(server.url, tmp_path / "two", "shop", "store", refetch=True)
    assert result.complete


@pytest.mark.parametrize("text", ["{", '{"date":"2023-11-15","jaeger":"","sample":0,"version":0}'])
def test_a_day_that_cannot_be_read_can_be_fetched_afresh(text: str, tmp_path: Path) -> None:
    with serving(store(OLD)) as server:
        pulled(server.url, tmp_path)
        day = tmp_path / FOLDER / ".fetch" / "day.json"
        day.write_text(text)
        with pytest.raises(FetchError, match=f"{day}: .*; --refetch begins anew"):
            pulled(server.url, tmp_path)
        assert unfinished(tmp_path / FOLDER)
        assert pulled(server.url, tmp_path, refetch=True).traces_on_disk == 20
    assert json.loads(day.read_text())["version"] == books.VERSION
