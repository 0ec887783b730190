"""Put a folder of pages where people look at it, in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from crisp.locations import Location, filesystem, is_url, join, plain
from crisp.store.local import Folders
from crisp.store.objects import Objects

_INDEX, _CURRENT = "index.html", "CURRENT"


def publish(new: Path, place: Location, forward: Callable[[str], str]) -> str:
    """Make folder ``new`` what people find at ``place``; the address of its first page.

    On this machine the folder takes the place of the one before. An object store cannot do
    that: there the pages go into a folder named by their content, and ``place/index.html``
    becomes ``forward(address of the first page)``, which sends a reader on to it. The folder
    before stays until the next, for whoever has one of its pages open.
    """
    if not is_url(place):
        swap_folder(new, Path(plain(place)))
        return join(place, _INDEX)
    version = f"v-{Folders(new).digest(str(new))}"
    system, path = filesystem(place)
    system.put(f"{new}/", f"{path}/{version}/", recursive=True)
    index = new.with_name(f"{new.name}-{_INDEX}")
    index.write_text(forward(f"{version}/{_INDEX}"), encoding="utf-8")
    system.put_file(str(index), f"{path}/{_INDEX}")
    files, current = Objects(place), join(place, _CURRENT)
    before = files.texts([current]).get(current)
    files.replace(current, version)
    files.clean(str(place), {version, _INDEX, _CURRENT}, None if before == version else before)
    return join(place, _INDEX)


def swap_folder(new: Path, place: Path) -> None:
    """Put folder ``new`` at ``place``; what was there is removed afterwards.

    On Linux the two are exchanged in one step; elsewhere there is a moment between two renames.
    """
    if place.exists():
        if not exchange(new, place):
            aside = place.with_name(f".{place.name}.old.{os.getpid()}")
            place.rename(aside)
            new.rename(place)
            new = aside
        shutil.rmtree(new)
    else:
        new.rename(place)


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders atomically; False where the system cannot."""
    import ctypes

    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    at_cwd, exchange = -100, 2
    result: int = renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), exchange)
    return result == 0
