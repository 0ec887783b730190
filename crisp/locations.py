"""Where files lie: a path of this machine, or a URL that fsspec understands, as ``s3://…``.

Paths stay what they are; nothing here touches a file or imports fsspec for them.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crisp.errors import ConfigError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Location = str | os.PathLike[str]
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_FILE = re.compile(r"file:/+(?=/)", re.IGNORECASE)


def is_url(location: Location) -> bool:
    """It is not a path of this machine; ``file:///…`` is one."""
    found = _SCHEME.match(os.fspath(location))
    return found is not None and found[1].lower() != "file"


def plain(location: Location) -> str:
    """The path without ``file://``, or the URL without a slash at its end."""
    text = os.fspath(location)
    return text.rstrip("/") if is_url(text) else _FILE.sub("", text)


def join(location: Location, *names: str) -> str:
    """What lies below a place."""
    if is_url(location):
        return "/".join((os.fspath(location).rstrip("/"), *names))
    return os.path.join(plain(location), *names)  # noqa: PTH118  # text in, text out


def filesystem(url: Location) -> tuple[AbstractFileSystem, str]:
    """The file system of a URL, which asks anew each time, and the path in it.

    Raises:
        ConfigError: no such file system, or its package is missing.
    """
    import fsspec  # it takes long to import, and most places are plain paths

    try:
        system, path = fsspec.core.url_to_fs(os.fspath(url), use_listings_cache=False)
    except (ImportError, ValueError) as error:
        hint = "; pip install 'crisp-cpa[s3]'" if isinstance(error, ImportError) else ""
        raise ConfigError(f"{url}: {error}{hint}") from error
    return system, path.rstrip("/")


def exists(location: Location) -> bool:
    """Something lies there."""
    if is_url(location):
        system, path = filesystem(location)
        return bool(system.exists(path))
    return Path(location).exists()


def touch(location: Location) -> None:
    """Make an empty file in a folder that exists."""
    if is_url(location):
        system, path = filesystem(location)
        system.pipe_file(path, b"")
    else:
        Path(location).touch()


def foreign_errors() -> tuple[type[Exception], ...]:
    """What the loaded file systems raise that is no `OSError`: no credentials, no connection.

    To stand in an ``except``, where it is looked at only when something went wrong.
    """
    loaded: Any = sys.modules.get("botocore.exceptions")
    return (loaded.BotoCoreError,) if loaded else ()
