"""The folder of a landing day, on this machine or in an object store.

A file appears whole or not at all: here it is written aside and renamed, there it is one object.
Names are relative to the folder, with slashes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Protocol
from uuid import uuid4

from crisp.errors import FetchError
from crisp.locations import Location, filesystem, is_url, join, plain
from crisp.store.publishing import exchange

BOOKS = ".fetch"
"""Folder of the bookkeeping; readers of traces pass over names with a dot."""
DAY = f"{BOOKS}/day.json"
_OPEN = ".open-"
_LOCK = ".lock"
_GONE = ".gone-"


def _umask() -> int:
    """What new files of this process may not allow; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


_MODE = 0o666 & ~_umask()
"""Worked out once: while one thread reads the mask, files of others would get a wrong one."""


class Place(Protocol):
    """What a fetch asks of the place it writes to."""

    location: str
    """path or URL"""

    def names(self) -> list[str]:
        """All finished files, sorted; none when the folder does not exist."""
        ...

    def read(self, name: str) -> bytes | None:
        """A file; None when it does not exist."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """A small file, in one step."""
        ...

    def aside(self) -> IO[bytes]:
        """A new file of this machine, for `move_in`."""
        ...

    def move_in(self, file: IO[bytes], name: str) -> None:
        """Make a file from `aside` the file ``name``, and close it."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove files, in this order; those that are gone already are no error."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """One fetch at a time, where the place can do that; leftovers of others go.

        Raises:
            FetchError: another fetch is at work there.
        """
        ...

    def discard(self) -> None:
        """Remove all there is; killed, it leaves nothing, or files without a ``day.json``."""
        ...

    def swap(self, other: str) -> bool:
        """Put the folder ``other`` here in one step and remove what was here before.

        False where the place cannot do that, and nothing has changed.
        """
        ...

    def copy(self, other: str, names: Iterable[str]) -> None:
        """Copy files of the folder ``other``, of the same place, here."""
        ...


def place(location: Location) -> Place:
    """The folder at a path or URL."""
    return _Objects(location) if is_url(location) else _Folder(Path(plain(location)))


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self.location = str(root)

    def names(self) -> list[str]:
        found = (p for p in self._root.rglob("*") if p.is_file())
        names = (p.relative_to(self._root).as_posix() for p in found)
        return sorted(
            n for n in names if not n.startswith((f"{BOOKS}/{_OPEN}", f"{BOOKS}/{_LOCK}"))
        )

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, content: bytes) -> None:
        with self.aside() as file:
            file.write(content)
            self.move_in(file, name)

    def aside(self) -> IO[bytes]:
        folder = self._root / BOOKS
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=_OPEN, dir=folder)
        os.close(handle)
        return Path(name).open("wb")

    def move_in(self, file: IO[bytes], name: str) -> None:
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with file:
            file.flush()
            os.fchmod(file.fileno(), _MODE)
            os.fsync(file.fileno())
        Path(file.name).replace(target)
        _sync(target.parent)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        folder = self._root / BOOKS
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise FetchError(f"{self._root}: another fetch is at work there") from error
            for left in folder.glob(f"{_OPEN}*"):
                left.unlink()
            for left in self._root.parent.glob(f"{_GONE}*{self._root.name}-*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def discard(self) -> None:
        if self._root.exists():
            shutil.rmtree(self._move_off(self._root), ignore_errors=True)

    def swap(self, other: str) -> bool:
        """Elsewhere than on Linux there is a moment between two renames.

        What is being removed has a name of its own: a rest of it is never taken for a day.
        """
        new = Path(other)
        if exchange(new, self._root):
            gone = self._move_off(new)
        else:
            gone = self._move_off(self._root)
            new.rename(self._root)
        shutil.rmtree(gone, ignore_errors=True)
        return True

    def _move_off(self, folder: Path) -> Path:
        return folder.rename(folder.with_name(f"{_GONE}{self._root.name}-{uuid4().hex}"))

    def copy(self, other: str, names: Iterable[str]) -> None:
        for name in names:
            self.write(name, (Path(other) / name).read_bytes())


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class _Objects:
    def __init__(self, root: Location) -> None:
        self._system, self._path = filesystem(root)
        self.location = plain(root)

    def names(self) -> list[str]:
        """Without the empty objects that consoles make to show folders."""
        start = f"{self._path}/"
        found = map(str, self._system.find(self._path))
        names = (name.removeprefix(start) for name in found if name.startswith(start))
        return sorted(name for name in names if name and not name.endswith("/"))

    def read(self, name: str) -> bytes | None:
        try:
            content: bytes = self._system.cat_file(self._inner(name))
        except FileNotFoundError:
            return None
        return content

    def write(self, name: str, content: bytes) -> None:
        self._system.pipe_file(self._inner(name), content)

    def aside(self) -> IO[bytes]:
        """Without a name, so that nothing stays of it when the process is killed."""
        return tempfile.TemporaryFile()

    def move_in(self, file: IO[bytes], name: str) -> None:
        with file:
            file.seek(0)
            self._system.pipe_file(self._inner(name), file.read())

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            if self._system.exists(self._inner(name)):
                self._system.rm_file(self._inner(name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Object stores have no locks: two fetches of a day at once are the caller's to avoid."""
        yield

    def discard(self) -> None:
        self.remove([DAY])
        self.remove(self.names())

    def swap(self, other: str) -> bool:
        """An object store cannot."""
        return False

    def copy(self, other: str, names: Iterable[str]) -> None:
        source = _Objects(other)
        for name in names:
            self._system.copy(source._inner(name), self._inner(name))

    def _inner(self, name: str) -> str:
        return join(self._path, name) if self._path else name
