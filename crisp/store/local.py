"""The store in folders of this machine, or of a network that all its machines share."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from crisp.locations import Location, plain

STAGING = ".staging-"
_BLOCK = 1 << 20


class Folders:
    """See `crisp.store.files.Files`."""

    def __init__(self, root: Location) -> None:
        self._root = Path(plain(root))

    @contextmanager
    def staging(self) -> Iterator[str]:
        """See `crisp.store.files.Files.staging`.

        A living run holds a lock on its folder, so that the next one can tell what was left by
        a dead one: process ids would not, containers share folders but count anew.
        """
        self._root.mkdir(parents=True, exist_ok=True)
        with self.locked():
            for left in self._root.glob(f"{STAGING}*"):
                if handle := _claimed(left):
                    shutil.rmtree(left, ignore_errors=True)
                    os.close(handle)
            folder = Path(tempfile.mkdtemp(prefix=STAGING, dir=self._root))
            handle = _claimed(folder)
        try:
            yield str(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            if handle:
                os.close(handle)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """See `crisp.store.files.Files.locked`."""
        with (self._root / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def names(self) -> list[str]:
        """See `crisp.store.files.Files.names`."""
        return [path.name for path in self._root.iterdir()] if self._root.is_dir() else []

    def below(self, folder: str) -> list[str]:
        """See `crisp.store.files.Files.below`."""
        place = Path(folder)
        return sorted(str(p) for p in place.iterdir() if p.is_file()) if place.is_dir() else []

    def texts(self, files: Sequence[str]) -> dict[str, str]:
        """See `crisp.store.files.Files.texts`."""
        found = {}
        for file in files:
            with suppress(FileNotFoundError, NotADirectoryError):
                found[file] = Path(file).read_text(encoding="utf-8")
        return found

    def replace(self, file: str, text: str) -> None:
        """See `crisp.store.files.Files.replace`."""
        path = Path(file)
        path.parent.mkdir(exist_ok=True)
        aside = path.with_name(f".{path.name}.new")
        with aside.open("w", encoding="utf-8") as new:
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        aside.replace(path)

    def digest(self, folder: str) -> str:
        """See `crisp.store.files.Files.digest`."""
        digest = blake2b(digest_size=8)
        for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode())
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    digest.update(block)
        return digest.hexdigest()

    def move(self, folder: str, target: str, last: Mapping[str, str]) -> None:
        """See `crisp.store.files.Files.move`."""
        for name, text in last.items():
            self.replace(str(Path(folder) / name), text)
        _sync(Path(folder))
        Path(target).parent.mkdir(exist_ok=True)
        if Path(target).exists():  # part of one, from a run that was killed while it cleaned up
            self._discard(Path(target))
        Path(folder).rename(target)

    def clean(self, folder: str, keep: Set[str], before: str | None) -> None:
        """See `crisp.store.files.Files.clean`: whoever reads holds a lock."""
        for other in Path(folder).iterdir():
            if other.is_dir() and other.name not in keep and (handle := _claimed(other)):
                self._discard(other)
                os.close(handle)

    def _discard(self, folder: Path) -> None:
        """Remove a folder that never is there in part."""
        aside = self._root / f"{STAGING}{uuid4().hex}"
        folder.rename(aside)
        shutil.rmtree(aside)

    @contextmanager
    def held(self, folder: str) -> Iterator[bool]:
        """See `crisp.store.files.Files.held`."""
        handle = _claimed(Path(folder), fcntl.LOCK_SH)
        try:
            yield handle is not None and Path(folder).exists()
        finally:
            if handle is not None:
                os.close(handle)


def _claimed(folder: Path, kind: int = fcntl.LOCK_EX) -> int | None:
    """A handle that locks ``folder`` until it is closed; None when another process has it, or
    has just removed it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _sync(folder: Path) -> None:
    """Force the files to the disk before anything points at them."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
