"""Find the files that hold traces and deal them out as shards of about equal bytes."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import fsspec

from crisp.errors import InputError
from crisp.ingest.documents import Piece, is_splittable
from crisp.ingest.streams import opened

SHARD = 16 << 20
"""Bytes a shard aims at: memory is bounded by this, not by the input."""

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
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
            problems.append(f"{source}: {error.strerror or error}")
            continue
        if not found:
            problems.append(f"{source}: no such file, and no folder or pattern with files")
        files.update(found)
    if problems:
        raise InputError("; ".join(problems))
    return sorted(files.items())


def _local(source: str) -> Iterable[tuple[str, int]]:
    path = Path(source)
    if path.is_dir():
        return [(str(p), p.stat().st_size) for p in path.rglob("*") if _is_data(p, path)]
    if path.exists():
        return [(source, path.stat().st_size)]
    matches = (Path(m) for m in glob.glob(source, recursive=True))
    return [(str(p), p.stat().st_size) for p in matches if p.is_file()]


def _is_data(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return path.is_file() and not any(part.startswith(_IGNORED) for part in parts)


def _remote(source: str) -> Iterable[tuple[str, int]]:
    try:
        system, path = fsspec.core.url_to_fs(source)
        names = system.glob(path) if glob.has_magic(path) else system.find(path)
    except (ValueError, ImportError) as error:
        raise InputError(f"{source}: {error}") from error
    return [(system.unstrip_protocol(name), int(system.size(name) or 0)) for name in names]


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
            parts = [Piece(path, b - a, a, b) for a, b in zip(edges, edges[1:], strict=False)]
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
    return stored * _RATIO if head.startswith(_PACKED) else stored
