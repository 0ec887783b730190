"""Find the files that hold traces and deal them out as shards of about equal bytes."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from crisp.errors import ConfigError, InputError
from crisp.ingest.documents import Piece, is_splittable
from crisp.ingest.streams import is_packed, opened
from crisp.locations import filesystem

SHARD = 32 << 20
"""Bytes a shard aims at: memory is bounded by this, not by the input."""

_RATIO = 10
"""Compressed traces are about this much larger unpacked."""
_IGNORED = (".", "_")


@dataclass(frozen=True, slots=True)
class Shard:
    """Work for one call of the map step."""

    number: int
    pieces: tuple[Piece, ...]
    size: int
    """estimate of the decompressed bytes"""


def find(sources: Sequence[str]) -> list[tuple[str, int]]:
    """Files named by paths, folders, globs and URLs with their sizes, sorted, each once.

    Folders are searched at all depths; names that begin with a dot or an underscore are passed
    over there, as other readers of data folders do.

    Raises:
        InputError: a source matches nothing or cannot be read; all such sources are named.
    """
    files: dict[str, int] = {}
    problems = []
    for source in sources:
        try:
            found = dict(_remote(source) if "://" in source else _local(source))
        except OSError as error:
            problems.append(f"{error.filename or source}: {error.strerror or error}")
            continue
        if not found:
            name = source or repr(source)
            problems.append(f"{name}: no such file, and no folder or pattern with files")
        files.update(found)
    if problems:
        raise InputError("; ".join(problems))
    return sorted(_each_once(files).items())


def _each_once(files: dict[str, int]) -> dict[str, int]:
    """One name for each file: of several that lead to the same place, the smallest."""
    names: dict[str, str] = {}
    for name in sorted(files):
        names.setdefault(name if "://" in name else os.path.realpath(name), name)
    return {name: files[name] for name in names.values()}


def _local(source: str) -> Iterable[tuple[str, int]]:
    path = Path(source)
    if path.is_dir() and source:
        inside = ((p, p.relative_to(path).parts) for p in path.rglob("*"))
        return [_sized(p) for p, parts in inside if _is_file(p) and not _is_hidden(parts)]
    if path.exists() and source:
        return [_sized(path)]
    return [_sized(p) for m in glob.glob(source, recursive=True) if _is_file(p := Path(m))]


def _sized(path: Path) -> tuple[str, int]:
    return str(path), path.stat().st_size


def _is_file(path: Path) -> bool:
    """A file, or a link that leads nowhere, which is no reason to pass a file over."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(_IGNORED) for part in parts)


def _remote(source: str) -> Iterable[tuple[str, int]]:
    try:
        system, path = filesystem(source)
    except ConfigError as error:
        raise InputError(str(error)) from error
    found = (
        system.glob(path, detail=True)
        if glob.has_magic(path)
        else _below(system.find(path, detail=True), path)
    )
    return [
        (system.unstrip_protocol(name), int(facts["size"] or 0))
        for name, facts in found.items()
        if facts["type"] == "file"
    ]


def _below(found: Mapping[str, Any], folder: str) -> dict[str, Any]:
    return {
        name: facts
        for name, facts in found.items()
        if name == folder or not _is_hidden(name.removeprefix(folder).split("/"))
    }


def shards(files: Sequence[tuple[str, int]], target: int = SHARD) -> list[Shard]:
    """Deal files out into shards of about ``target`` bytes, in order.

    Large files of plain JSON lines are cut into byte ranges; any other large file is a shard
    of its own, read as a stream.
    """
    done: list[Shard] = []
    pieces: list[Piece] = []
    size = 0
    for path, stored in files:
        if stored > target and is_splittable(path):
            count = -(-stored // target)
            edges = [stored * k // count for k in range(count + 1)]
            parts = [Piece(path, b - a, a, b) for a, b in pairwise(edges)]
        else:
            parts = [Piece(path, _unpacked(path, stored, target))]
        for piece in parts:
            if pieces and size + piece.size > target:
                done.append(Shard(len(done), tuple(pieces), size))
                pieces, size = [], 0
            pieces.append(piece)
            size += piece.size
    if pieces:
        done.append(Shard(len(done), tuple(pieces), size))
    return done


def _unpacked(path: str, stored: int, target: int) -> int:
    """Estimate of the decompressed size; only files that could matter are opened."""
    if stored * _RATIO < target // 16:
        return stored
    with opened(path) as raw:
        head = raw.read(4)
    return stored * _RATIO if is_packed(head) else stored
