"""A window counts only when the traces that it found are safe."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import pytest

from crisp.ingest.fetch import books, parts
from crisp.ingest.fetch.books import Asked
from crisp.ingest.fetch.copies import drop_copies
from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.found import Found, read_found
from crisp.ingest.fetch.parts import Writer
from crisp.ingest.fetch.places import Place, _Folder, place
from crisp.ingest.fetch.repair import forget, stray


def _found(number: int) -> Found:
    return read_found(b'{"traceID":"%x","spans":[]}' % number, Endpoint("a"))


ONE, TWO = _found(1), _found(2)


def _window(service: str, start: int = 0) -> list[Asked]:
    return [Asked(service, "", start, start + 1000, 1)]


def _records(where: Place) -> list[books.Record]:
    return list(books.read_records(where, where.names()).values())


def _written(where: Place, steps: Callable[[Writer], Iterable[object]]) -> None:
    async def run() -> None:
        writer = Writer(where, lambda: 0.0)
        for step in steps(writer):
            await step  # type: ignore[misc]  # a coroutine each

    asyncio.run(run())


def test_parts_of_the_same_traces_have_names_of_their_own(tmp_path: Path) -> None:
    """As two slices of a day leave them, and two fetches one after the other."""
    where = place(tmp_path)
    _written(where, lambda w: [w.add("a", [ONE], _window("a")), w.close_all()])
    _written(where, lambda w: [w.add("a", [ONE], _window("a", 1000)), w.close_all()])
    assert len([name for name in where.names() if "part-" in name]) == 2
    assert drop_copies(where) == 1
    assert sum(record.traces for record in _records(where)) == 1
    assert sum(len(record.windows) for record in _records(where)) == 2


def test_a_part_that_two_records_name_stays_with_the_one_that_is_left(tmp_path: Path) -> None:
    where = place(tmp_path)
    _written(where, lambda w: [w.add("a", [ONE], _window("a")), w.close_all()])
    (record,) = _records(where)
    books.write_record(where, forget(record))  # a kill between two records of one part
    assert drop_copies(where) == 1
    assert [record.traces for record in _records(where) if record.part] == [1]
    assert sum(len(record.windows) for record in _records(where)) == 1


def test_a_part_that_nobody_counted_goes(tmp_path: Path) -> None:
    where = place(tmp_path)
    where.write("service=a/part-0123456789abcdef.jsonl.zst", b"of a shard that died")
    assert drop_copies(where) == 0
    assert where.names() == []


class _DyingError(Exception):
    pass


class _Dying(_Folder):
    """A folder of a process that is killed before its ``left``-th change."""

    def __init__(self, root: Path, left: int) -> None:
        super().__init__(root)
        self._left = left

    def move_in(self, file: IO[bytes], name: str) -> None:
        self._step()
        super().move_in(file, name)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            self._step()
            super().remove([name])

    def _step(self) -> None:
        if not self._left:
            raise _DyingError
        self._left -= 1


@pytest.mark.parametrize("first", ["a", "b"])
@pytest.mark.parametrize("left", range(9))
def test_a_window_is_not_counted_before_the_traces_it_leans_on(
    left: int, first: str, tmp_path: Path
) -> None:
    """``a`` holds a trace that ``b`` found too, and the other way round: 8 changes in all."""

    async def run() -> None:
        writer = Writer(_Dying(tmp_path, left), lambda: 0.0)
        try:
            await writer.add("a", [ONE], _window("a"))
            await writer.add("b", [TWO], _window("b"), known=[ONE])
            await writer.add("a", [], _window("a", 1000), known=[TWO])
            await writer.close(first)
        finally:
            await writer.close_all()

    if left < 8:
        with pytest.raises(_DyingError):
            asyncio.run(run())
    else:
        asyncio.run(run())
    where = place(tmp_path)
    records = _records(where)
    keys = {key for record in records for key in record.each_key()}
    windows = [window for record in records for window in record.windows]
    assert not windows or keys == {ONE.key, TWO.key}
    if left == 8:
        assert len(windows) == 3
        assert len(records) == 2
        assert stray(where.names(), books.read_records(where, where.names())) == []


def test_after_an_error_nothing_that_was_open_is_counted(tmp_path: Path) -> None:
    """Neither what others add meanwhile, as it may lean on what is lost."""

    async def run() -> None:
        writer = Writer(_Dying(tmp_path, 0), lambda: 0.0)
        await writer.add("a", [ONE], _window("a"))
        with pytest.raises(_DyingError):
            await writer.close("a")
        await writer.add("b", [], _window("b"), known=[ONE])
        await writer.close_all()

    asyncio.run(run())
    assert place(tmp_path).names() == []


def test_traces_are_packed_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[threading.Thread] = []

    def flush(part: parts._Part) -> None:
        seen.append(threading.current_thread())
        real(part)

    real = parts._Part.flush
    monkeypatch.setattr(parts, "FRAME", 1)
    monkeypatch.setattr(parts._Part, "flush", flush)
    _written(place(tmp_path), lambda w: [w.add("a", [ONE], _window("a")), w.close_all()])
    assert len(seen) == 2
    assert threading.main_thread() not in seen
