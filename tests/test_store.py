"""The store: a day is the old one or the new one, whatever happens to who writes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from crisp import schema, store
from crisp.errors import LakeError
from crisp.locations import Location
from crisp.store import publishing

DAY, OTHER = "2026-11-20", "2026-11-21"


def write(folder: str, day: str, text: str) -> str:
    for table in ("traces", "rejects"):
        place = Path(folder) / day / table / "part-0.parquet"
        place.parent.mkdir(parents=True)
        place.write_text(f"{table} {text}", encoding="utf-8")
    return str(Path(folder) / day)


def commit(root: Path, text: str, day: str = DAY) -> None:
    with store.staging(root) as staged:
        store.commit(root, day, write(staged, day, text), {"text": text})


def seen(root: Path, day: str = DAY) -> tuple[str, ...]:
    """What a reader gets of each table."""
    return tuple(
        Path(file).read_text(encoding="utf-8")
        for table in ("traces", "rejects")
        for file in store.files(root, day, table)
    )


def content(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


OLD, NEW = ("traces old", "rejects old"), ("traces new", "rejects new")


def test_a_day_is_read_as_it_was_committed(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    commit(tmp_path, "other", OTHER)
    assert store.days(tmp_path) == [DAY, OTHER]
    assert seen(tmp_path) == OLD
    assert store.run_record(tmp_path, DAY) == {"text": "old"}


def test_a_new_version_replaces_the_day_and_no_other(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    commit(tmp_path, "other", OTHER)
    before = content(tmp_path / f"date={OTHER}")
    commit(tmp_path, "new")
    assert seen(tmp_path) == NEW
    assert content(tmp_path / f"date={OTHER}") == before


def versions(root: Path) -> set[str]:
    return {path.name for path in (root / f"date={DAY}").iterdir() if path.is_dir()}


def test_only_the_version_that_counts_is_kept(tmp_path: Path) -> None:
    for text in ("old", "new", "new"):
        commit(tmp_path, text)
    assert versions(tmp_path) == {store.version(tmp_path, DAY)}


def test_a_version_stays_while_it_is_read(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    with store.reading(tmp_path, [DAY]) as held:
        for text in ("new", "third"):
            commit(tmp_path, text)
            assert versions(tmp_path) == {held[DAY], store.version(tmp_path, DAY)}
        (file,) = store.files(tmp_path, DAY, "traces", held[DAY])
        assert Path(file).read_text(encoding="utf-8") == "traces old"
        assert store.run_record(tmp_path, DAY, held[DAY]) == {"text": "old"}
        assert store.run_record(tmp_path, DAY) == {"text": "third"}
        with store.reading(tmp_path, [DAY]) as later:
            assert later[DAY] != held[DAY]
        assert len(versions(tmp_path)) == 2
    assert versions(tmp_path) == {store.version(tmp_path, DAY)}


def test_a_version_that_vanishes_before_it_is_held_is_looked_up_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, "old")
    asked: list[str] = []
    real = store.version

    def slow(root: Location, day: str) -> str:
        found = real(root, day)
        if not asked:
            asked.append(day)
            commit(tmp_path, "new")
        return found

    monkeypatch.setattr(store, "version", slow)
    with store.reading(tmp_path, [DAY]) as held:
        assert store.run_record(tmp_path, DAY, held[DAY]) == {"text": "new"}


def test_the_same_content_again_changes_no_byte_but_the_run_record(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    before = content(tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    with store.staging(tmp_path) as staged:
        store.commit(tmp_path, DAY, write(staged, DAY, "old"), {"text": "later"})
    after = content(tmp_path)
    (record,) = (name for name in after if name.endswith("run.json"))
    assert json.loads(after.pop(record)) == {"text": "later"}
    before.pop(record)
    assert after == before
    assert times == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}


def test_nothing_is_left_aside_after_a_commit(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    commit(tmp_path, "new")
    assert {path.name for path in tmp_path.iterdir()} == {f"date={DAY}", ".lock"}
    inside = {path.name for path in (tmp_path / f"date={DAY}").iterdir() if path.is_file()}
    assert inside == {"CURRENT"}


def test_a_day_that_is_not_there_is_named(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    with pytest.raises(LakeError, match=f"no day {OTHER}"):
        store.files(tmp_path, OTHER, "traces")
    assert store.days(tmp_path / "nowhere") == []


def test_tables_of_another_version_are_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, "old")
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(LakeError) as caught:
        store.files(tmp_path, DAY, "traces")
    assert f"date={DAY}" in str(caught.value)
    assert "version" in str(caught.value)
    commit(tmp_path, "new")
    assert seen(tmp_path) == NEW


def test_a_reader_that_leaves_while_a_version_is_committed_removes_only_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tmp_path, "old")
    leave, left, real = threading.Event(), threading.Event(), store.version

    def read() -> None:
        with store.reading(tmp_path, [DAY]):
            leave.wait(10)
        left.set()

    def asked_for(root: Location, day: str) -> str:
        found = real(root, day)
        if leave.is_set() and threading.current_thread() is reader:
            with suppress(threading.BrokenBarrierError):
                replaced.wait(2)  # the version that was just read is replaced before it is used
        return found

    replaced = threading.Barrier(2)
    reader = threading.Thread(target=read)
    reader.start()
    commit(tmp_path, "new")
    monkeypatch.setattr(store, "version", asked_for)
    leave.set()
    commit(tmp_path, "third")
    with suppress(threading.BrokenBarrierError):
        replaced.wait(2)
    assert left.wait(20)
    reader.join()
    assert seen(tmp_path) == ("traces third", "rejects third")
    assert versions(tmp_path) == {real(tmp_path, DAY)}


def test_a_day_whose_files_are_gone_is_named(tmp_path: Path) -> None:
    commit(tmp_path, "old")
    shutil.rmtree(tmp_path / f"date={DAY}" / store.version(tmp_path, DAY))
    with pytest.raises(LakeError, match=f"date={DAY}"), store.reading(tmp_path, [DAY]):
        pass


def test_content_whose_removal_was_killed_can_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 60):
        root = tmp_path / str(number)
        root.mkdir()
        commit(root, "old")
        with killed_at(number, monkeypatch):
            commit(root, "new")
        commit(root, "old")
        assert seen(root) == OLD
        assert versions(root) == {store.version(root, DAY)}


class KilledError(BaseException):
    """Stands for a kill: nothing that handles errors may catch it."""


STEPS = [
    (os, "fsync"),
    (os, "open"),
    (os, "rename"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "rmdir"),
    (os, "unlink"),
    (shutil, "rmtree"),
]


@contextmanager
def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Kill the writer before its ``number``-th change of the disk: nothing happens after it."""
    count = [0]

    def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **named: Any) -> Any:
            count[0] += 1
            if count[0] >= number:
                raise KilledError
            return real(*args, **named)

        return step

    with monkeypatch.context() as patch:
        for module, name in STEPS:
            patch.setattr(module, name, stepping(getattr(module, name)))
        with suppress(KilledError):
            yield count
    for handle in list(Path("/proc/self/fd").iterdir()):  # the files of a killed process close
        with suppress(OSError):
            if re.search(r"/\.staging-|/v-\w+", str(handle.readlink())):
                os.close(int(handle.name))


def in_order(states: list[tuple[str, ...]], first: tuple[str, ...]) -> bool:
    return states == sorted(states, key=lambda state: state != first)


def states_after_a_kill_at_every_step(
    root: Path, monkeypatch: pytest.MonkeyPatch, before: Callable[[], None]
) -> list[tuple[str, ...]]:
    states = []
    for number in range(1, 1000):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        before()
        with killed_at(number, monkeypatch) as count:
            commit(root, "new")
        states.append(seen(root) if DAY in store.days(root) else ())
        commit(root, "third")
        assert seen(root) == ("traces third", "rejects third")
        assert not list(root.glob(".staging-*"))
        assert len([p for p in (root / f"date={DAY}").iterdir() if p.is_dir()]) == 1
        assert [p.name for p in (root / f"date={DAY}").iterdir() if p.is_file()] == ["CURRENT"]
        if count[0] < number:
            return states
    raise AssertionError("the commit never ends")


def test_a_writer_killed_at_any_step_leaves_the_old_day_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lake"
    states = states_after_a_kill_at_every_step(root, monkeypatch, lambda: commit(root, "old"))
    assert len(states) > 8
    assert set(states) == {OLD, NEW}
    assert in_order(states, OLD)


def test_a_writer_killed_at_any_step_of_the_first_commit_leaves_nothing_or_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lake"
    states = states_after_a_kill_at_every_step(root, monkeypatch, lambda: None)
    assert set(states) == {(), NEW}
    assert in_order(states, ())


def test_a_day_that_can_be_read_has_its_run_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lake"
    for number in range(1, 60):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        with killed_at(number, monkeypatch):
            commit(root, "new")
        for day in store.days(root):
            assert store.run_record(root, day) == {"text": "new"}


def test_tables_and_run_record_change_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "lake"
    for number in range(1, 60):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        commit(root, "old")
        with killed_at(number, monkeypatch):
            commit(root, "new")
        text = store.run_record(root, DAY)["text"]
        assert seen(root) == (f"traces {text}", f"rejects {text}")


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_holds_is_not(
    tmp_path: Path,
) -> None:
    dead = tmp_path / ".staging-dead"
    (dead / "deep").mkdir(parents=True)
    with store.staging(tmp_path) as alive:
        (Path(alive) / "in use").touch()
        with store.staging(tmp_path) as folder:
            assert folder != alive
            assert not list(Path(folder).iterdir())
            assert not dead.exists()
        assert not Path(folder).exists()
        assert (Path(alive) / "in use").exists()
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_folder_of_a_process_that_was_killed_is_removed(tmp_path: Path) -> None:
    holds = "import sys, time; from pathlib import Path; from crisp import store\n"
    holds += "with store.staging(Path(sys.argv[1])) as f: print(f, flush=True); time.sleep(60)"
    command = [sys.executable, "-c", holds, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with store.staging(tmp_path):
            assert left.exists()
        process.kill()
        process.wait()
    assert left.exists()
    with store.staging(tmp_path):
        assert not left.exists()


def test_a_staging_folder_is_gone_after_an_error(tmp_path: Path) -> None:
    def fail() -> None:
        with store.staging(tmp_path / "new" / "root") as folder:
            (Path(folder) / "half").mkdir()
            raise KilledError

    with pytest.raises(KilledError):
        fail()
    assert [path.name for path in (tmp_path / "new" / "root").iterdir()] == [".lock"]


def site(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "index.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("atomic", [True, False])
def test_a_folder_is_put_in_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    if not atomic:
        monkeypatch.setattr(publishing, "exchange", lambda one, other: False)
    place = tmp_path / "site"
    for text in ("old", "new"):
        publishing.swap_folder(site(tmp_path / "made", text), place)
        assert (place / "index.html").read_text() == text
        assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_swap_killed_at_any_step_leaves_the_old_folder_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number in range(1, 10):
        root = tmp_path / str(number)
        root.mkdir()
        place = site(root / "site", "old")
        made = site(root / "made", "new")
        with killed_at(number, monkeypatch):
            publishing.swap_folder(made, place)
        found.append((place / "index.html").read_text())
    assert set(found) <= {"old", "new"}
    assert found[-1] == "new"
