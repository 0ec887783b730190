"""Days of tables on disk, replaced whole or not at all.

A day is ``ROOT/date=YYYY-MM-DD/VERSION/TABLE/*.parquet``, with the record of the run beside the
tables, and a small file ``CURRENT`` naming the version that counts. A run writes its version
aside, moves it in, and then replaces that one file, which every file system does atomically:
whoever reads sees the old day or the new one, and a run killed at any moment leaves the old.
Versions are named by the content of their tables, so writing the same day again changes nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from crisp import schema
from crisp.errors import LakeError

_CURRENT, _RUN = "CURRENT", "run.json"
_STAGING = ".staging-"
_BLOCK = 1 << 20
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """A new folder under ``root`` to write a version into; it is gone afterwards.

    What earlier runs that were killed left behind is removed first. A living run holds a lock
    on its folder: process ids would not tell, containers share folders but count anew.
    """
    root.mkdir(parents=True, exist_ok=True)
    with _locked(root):
        for left in root.glob(f"{_STAGING}*"):
            if handle := _claimed(left):
                shutil.rmtree(left, ignore_errors=True)
                os.close(handle)
        folder = Path(tempfile.mkdtemp(prefix=_STAGING, dir=root))
        handle = _claimed(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle:
            os.close(handle)


def _claimed(folder: Path) -> int | None:
    """A handle that locks ``folder`` until it is closed; None when another process has it, or
    has just removed it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def commit(root: Path, day: str, staged: Path, record: Mapping[str, Any]) -> None:
    """Make ``staged`` (folders of tables) the content of ``day``, and ``record`` its run record."""
    place = root / f"date={day}"
    place.mkdir(exist_ok=True)
    version = f"v-{_digest(staged)}"
    run = json.dumps(record, sort_keys=True)
    with _locked(root):
        if (place / version).exists():
            _replace(place / version / _RUN, run)
        else:
            _replace(staged / _RUN, run)
            _sync(staged)
            staged.rename(place / version)
        pointer = {"version": version, "schema": schema.VERSION}
        _replace(place / _CURRENT, json.dumps(pointer, sort_keys=True))
        for other in place.iterdir():
            if other.is_dir() and other.name != version:
                shutil.rmtree(other)


def _digest(folder: Path) -> str:
    """Hash of all files below ``folder`` with their names."""
    digest = blake2b(digest_size=8)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    """Force the files to the disk before anything points at them."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace(path: Path, text: str) -> None:
    """Write a file in one step; there is one writer at a time."""
    aside = path.with_name(f".{path.name}.new")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """One writer at a time."""
    with (root / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def days(root: Path) -> list[str]:
    """Days that have been committed, in order."""
    found = root.glob(f"date=*/{_CURRENT}") if root.is_dir() else ()
    names = (path.parent.name.removeprefix("date=") for path in found)
    return sorted(name for name in names if _DAY.fullmatch(name))


def files(root: Path, day: str, table: str) -> list[str]:
    """Parquet files of a table on a day.

    Raises:
        LakeError: there is no such day, or it was written by another version of the tables.
    """
    return sorted(map(str, (_version(root, day) / table).glob("*.parquet")))


def run_record(root: Path, day: str) -> dict[str, Any]:
    """What the run that wrote the day said of itself.

    Raises:
        LakeError: as `files`.
    """
    record: dict[str, Any] = json.loads((_version(root, day) / _RUN).read_text(encoding="utf-8"))
    return record


def _version(root: Path, day: str) -> Path:
    """The folder that counts."""
    place = root / f"date={day}"
    try:
        pointer = json.loads((place / _CURRENT).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise LakeError(f"{root}: no day {day}") from error
    if pointer.get("schema") != schema.VERSION:
        raise LakeError(
            f"{place}: written with tables of version {pointer.get('schema')}, this crisp reads"
            f" version {schema.VERSION}; run crisp analyse for that day again"
        )
    return place / str(pointer["version"])


def swap_folder(new: Path, place: Path) -> None:
    """Put folder ``new`` at ``place``; what was there is removed afterwards.

    On Linux the two are exchanged in one step; elsewhere there is a moment between two renames.
    """
    if place.exists():
        if not _exchange(new, place):
            aside = place.with_name(f".{place.name}.old.{os.getpid()}")
            place.rename(aside)
            new.rename(place)
            new = aside
        shutil.rmtree(new)
    else:
        new.rename(place)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders atomically; False where the system cannot."""
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    at_cwd, exchange = -100, 2
    result: int = renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange)
    return result == 0
