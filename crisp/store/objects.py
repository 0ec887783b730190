"""The store in an object store, through fsspec: no folders, no locks, no renaming.

Writing one object is atomic there, and that is all the store needs. What a killed run left
behind is known by its age, told by the clock of the object store itself.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from crisp.errors import ConfigError
from crisp.locations import Location, filesystem, join

STAGING = ".staging-"
_BEFORE = "BEFORE"
"""Names what was current until the last replacement."""
_LEFT = timedelta(days=1)
"""Nothing that a living run is writing is untouched for so long."""
_TAGS = ("ETag", "etag", "md5Hash", "content_md5")
"""Where object stores tell a hash of the content."""
_TIMES = ("LastModified", "last_modified", "updated", "created", "mtime")


class Objects:
    """See `crisp.store.files.Files`."""

    def __init__(self, root: Location) -> None:
        self._system, self._path = filesystem(root)
        self._root = str(root)
        if glob.has_magic(self._path):
            raise ConfigError(f"{root}: no *, ? or [ in the URL of a place to write to")

    @contextmanager
    def staging(self) -> Iterator[str]:
        """See `crisp.store.files.Files.staging`."""
        name = f"{STAGING}{uuid4().hex}"
        folder = join(self._root, name)
        self.replace(join(folder, ".alive"), "")
        left = [other for other in self.names() if other.startswith(STAGING) and other != name]
        self._remove_old(self._path, left, self._written(join(folder, ".alive")))
        self._system.rm(self._inner(join(folder, ".alive")))
        try:
            yield folder
        finally:
            self._remove(self._inner(folder))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """See `crisp.store.files.Files.locked`: here the last one to finish counts."""
        yield

    def names(self) -> list[str]:
        """See `crisp.store.files.Files.names`."""
        return self._names(self._path)

    def below(self, folder: str) -> list[str]:
        """See `crisp.store.files.Files.below`."""
        inner = self._inner(folder)
        found = self._listed(inner)
        return sorted(join(folder, _name(f)) for f in found if f["type"] == "file")

    def texts(self, files: Sequence[str]) -> dict[str, str]:
        """See `crisp.store.files.Files.texts`: all asked for at once."""
        found = self._system.cat(list(map(self._inner, files)), on_error="return") if files else {}
        contents = {file: found[self._inner(file)] for file in files}
        for content in contents.values():
            if isinstance(content, Exception) and not isinstance(content, FileNotFoundError):
                raise content
        return {file: text.decode() for file, text in contents.items() if isinstance(text, bytes)}

    def replace(self, file: str, text: str) -> None:
        """See `crisp.store.files.Files.replace`."""
        self._system.pipe_file(self._inner(file), text.encode())

    def digest(self, folder: str) -> str:
        """See `crisp.store.files.Files.digest`: of the hashes that the object store keeps."""
        inner = self._inner(folder)
        digest = blake2b(digest_size=8)
        for path, facts in sorted(self._system.find(inner, detail=True).items()):
            tag = next((facts[tag] for tag in _TAGS if facts.get(tag)), None)
            content = str(tag) if tag else blake2b(self._system.cat_file(path)).hexdigest()
            name = path.removeprefix(inner)
            digest.update(f"{name}\0{facts['size']}\0{content}\0".encode())
        return digest.hexdigest()

    def move(self, folder: str, target: str, last: Mapping[str, str]) -> None:
        """See `crisp.store.files.Files.move`: copies, the texts after all others."""
        source, place = self._inner(folder), self._inner(target)
        found = self._system.find(source)
        self._system.copy(found, [place + path.removeprefix(source) for path in found])
        for name, text in last.items():
            self.replace(join(target, name), text)
        self._remove(source)

    def clean(self, folder: str, keep: Set[str], before: str | None) -> None:
        """See `crisp.store.files.Files.clean`: what is young may be another run's."""
        inner, note = self._inner(folder), join(folder, _BEFORE)
        if before is not None:
            self.replace(note, before)
        used = keep | {_BEFORE, self.texts([note]).get(note)}
        others = [name for name in self._names(inner) if name not in used]
        newest = max(map(_modified, self._system.find(inner, detail=True).values()))
        self._remove_old(inner, others, newest)

    @contextmanager
    def held(self, folder: str) -> Iterator[bool]:
        """See `crisp.store.files.Files.held`: `clean` leaves here what was current last."""
        yield True

    def _inner(self, location: str) -> str:
        return self._path + location.removeprefix(self._root.rstrip("/"))

    def _names(self, inner: str) -> list[str]:
        return [_name(facts) for facts in self._listed(inner)]

    def _listed(self, inner: str) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = self._system.ls(inner, detail=True)
        except FileNotFoundError:
            return []
        return [facts for facts in found if facts["name"].rstrip("/") != inner]

    def _written(self, file: str) -> datetime:
        return _modified(self._system.info(self._inner(file)))

    def _remove_old(self, inner: str, names: list[str], now: datetime) -> None:
        for name in names:
            found = self._system.find(f"{inner}/{name}", detail=True)
            if found and now - max(map(_modified, found.values())) > _LEFT:
                self._remove(f"{inner}/{name}")

    def _remove(self, inner: str) -> None:
        found = self._system.find(inner)
        last = [name for name in found if _is_last(name)]  # without it a version is none
        for some in (last, [name for name in found if name not in last]):
            if some:
                self._system.rm(some)


def _is_last(name: str) -> bool:
    """It is one of the texts that are written last, and stand beside the tables."""
    return not name.endswith(".parquet")


def _name(facts: Mapping[str, Any]) -> str:
    return str(facts["name"]).rstrip("/").rpartition("/")[2]


def _modified(facts: Mapping[str, Any]) -> datetime:
    """When an object was written.

    Raises:
        LookupError: the file system does not tell.
    """
    found = next((facts[name] for name in _TIMES if facts.get(name)), None)
    if isinstance(found, datetime):
        return found
    raise LookupError(f"{facts.get('name')}: no time of writing")
