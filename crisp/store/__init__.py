"""Days of tables on disk or in an object store, replaced whole or not at all.

A day is ``ROOT/date=YYYY-MM-DD/VERSION/TABLE/*.parquet``, with the record of the run beside the
tables, and a small file ``CURRENT`` naming the version that counts. A run writes its version
aside, moves it in, and then replaces that one file, which file systems and object stores do
atomically: whoever reads sees the old day or the new one, and a run killed at any moment leaves
the old. The version before is removed when nobody reads it any more; an object store, which can't
know, keeps it until the next one.
Versions are named by the content of their tables, so writing the same day again changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from crisp import schema
from crisp.errors import LakeError
from crisp.locations import Location, is_url, join, plain
from crisp.store import local
from crisp.store.files import Files
from crisp.store.objects import Objects

CURRENT, RUN = "CURRENT", "run.json"
_DAY = re.compile(r"date=(\d{4}-\d\d-\d\d)")


def _files(root: Location) -> Files:
    return Objects(root) if is_url(root) else local.Folders(root)


@contextmanager
def staging(root: Location) -> Iterator[str]:
    """A new folder under ``root`` to write a version into; it is gone afterwards.

    What earlier runs that were killed left behind is removed first.
    """
    with _files(root).staging() as folder:
        yield folder


def commit(root: Location, day: str, staged: str, record: Mapping[str, Any]) -> None:
    """Make ``staged`` (folders of tables) the content of ``day``, and ``record`` its run record."""
    files = _files(root)
    place = join(root, f"date={day}")
    version = f"v-{files.digest(staged)}"
    run = json.dumps(record, sort_keys=True)
    with files.locked():
        if _read(files, join(place, version, RUN)) is not None:
            files.replace(join(place, version, RUN), run)
        else:
            files.move(staged, join(place, version), {RUN: run})
        before = None
        with suppress(LakeError):  # a damaged pointer is replaced like any other
            before = (_pointer(files, place) or {}).get("version")
        pointer = {"version": version, "schema": schema.VERSION}
        files.replace(join(place, CURRENT), json.dumps(pointer, sort_keys=True))
        files.clean(place, {version, CURRENT}, None if before == version else before)


@contextmanager
def reading(root: Location, wanted: Iterable[str]) -> Iterator[dict[str, str]]:
    """The version of each day that counts now; its files stay while they are being read.

    Raises:
        LakeError: as `files`.
    """
    stores = _files(root)
    with ExitStack() as stack:
        yield {day: stack.enter_context(_held(stores, root, day)) for day in wanted}


@contextmanager
def _held(stores: Files, root: Location, day: str) -> Iterator[str]:
    place, before = join(root, f"date={day}"), ""
    while True:
        found = version(root, day)
        with stores.held(join(place, found)) as there:
            if there:
                yield found
                break
        if found == before:
            raise LakeError(f"{place}: its files {found} are missing; make the day again")
        before = found  # replaced and removed since the pointer was read, or else damaged
    if version(root, day) != found:
        with stores.locked():  # nobody replaces it now
            stores.clean(place, {version(root, day), CURRENT}, found)


def days(root: Location) -> list[str]:
    """Days that have been committed, in order."""
    files = _files(root)
    pointers = {
        join(root, name, CURRENT): match[1]
        for name in files.names()
        if (match := _DAY.fullmatch(name))
    }
    return sorted(pointers[found] for found in files.texts(list(pointers)))


def files(root: Location, day: str, table: str, of: str | None = None) -> list[str]:
    """Parquet files of a table on a day, paths or URLs; ``of`` names a version that was asked
    for before, so that all tables come from the same.

    Raises:
        LakeError: there is no such day, or it was written by another version of the tables.
    """
    folder = join(root, f"date={day}", of or version(root, day), table)
    return [name for name in _files(root).below(folder) if name.endswith(".parquet")]


def written(folder: Location) -> list[str]:
    """Parquet files directly in a folder that is not part of a day yet."""
    return [name for name in _files(folder).below(plain(folder)) if name.endswith(".parquet")]


def newest_before(root: Location, day: str) -> str | None:
    """The newest day before ``day`` that can be read; None where there is none."""
    earlier = [found for found in days(root) if found < day and is_readable(root, found)]
    return earlier[-1] if earlier else None


def run_record(root: Location, day: str, of: str | None = None) -> dict[str, Any]:
    """What the run that wrote the day, or the version ``of`` it, said of itself.

    Raises:
        LakeError: as `files`.
    """
    text = _read(_files(root), join(root, f"date={day}", of or version(root, day), RUN))
    record: dict[str, Any] = json.loads(text or "{}")
    return record


def version(root: Location, day: str) -> str:
    """The version that counts, named by its content.

    Raises:
        LakeError: as `files`.
    """
    place = join(root, f"date={day}")
    pointer = _pointer(_files(root), place)
    if pointer is None:
        raise LakeError(f"{root}: no day {day}")
    if pointer.get("schema") != schema.VERSION:
        raise LakeError(
            f"{place}: written with tables of version {pointer.get('schema')}, this crisp reads"
            f" version {schema.VERSION}; run crisp analyse and crisp aggregate for that day again"
        )
    return str(pointer["version"])


def is_readable(root: Location, day: str) -> bool:
    """The day is there, undamaged as far as its pointer tells, in this version of the tables."""
    with suppress(LakeError):
        pointer = _pointer(_files(root), join(root, f"date={day}"))
        return pointer is not None and pointer.get("schema") == schema.VERSION
    return False


def _pointer(files: Files, place: str) -> dict[str, Any] | None:
    file = join(place, CURRENT)
    text = _read(files, file)
    if text is None:
        return None
    try:
        found = json.loads(text)
        return {"version": str(found["version"]), "schema": found["schema"]}
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(f"{file}: damaged; make the day again") from error


def _read(files: Files, file: str) -> str | None:
    return files.texts([file]).get(file)
