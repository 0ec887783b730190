"""The traces of one piece of a source, good or bad, with their positions.

Three ways to cut a text into documents: by line (JSON lines), as one document (small files),
and by scanning (large documents, and what is left of broken ones). Which one is decided by
looking at the first bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from crisp.errors import Reject
from crisp.ingest import jaeger
from crisp.ingest.jaeger import Bad, Trace
from crisp.ingest.scan import Scanner
from crisp.ingest.streams import CHUNK, DamagedError, Prefixed, Readable, Stream, opened

_NOTHING = io.BytesIO()
SNIFF = 1 << 20
WHOLE = 16 << 20
"""Documents up to this size are decoded in one go; larger ones are scanned."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a source: bytes [start, end) of the file as stored; ``end`` None means all."""

    path: str
    size: int
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """One document of a source."""

    position: int
    size: int
    """bytes of the text; 0 for all but the first of the traces that share one"""
    trace: Trace | Bad


def _shared(position: int, text: bytes) -> Iterator[Read]:
    """The traces of one text."""
    size = len(text)
    for trace in jaeger.decode(text):
        yield Read(position, size, trace)
        size = 0


def read(piece: Piece) -> Iterator[Read]:
    """Every document of ``piece``, in order; only JSON lines are ever cut into pieces.

    Raises:
        InputError: the source cannot be opened.
    """
    before = max(piece.start - 1, 0)
    with opened(piece.path, before) as raw:
        if piece.end is not None:
            yield from _lines(raw, before, piece.end, skip=piece.start > 0)
        else:
            yield from _read_all(Stream(raw))


def is_splittable(path: str) -> bool:
    """The file is plain JSON lines, so that any byte range of it can be read alone."""
    with opened(path) as raw:
        head = raw.read(SNIFF)
    return head[:1] in (b"{", b"[") and head[1:2] != b"\0" and b"\n" in head and _is_lines(head)


def _is_lines(head: bytes) -> bool:
    """The first line is a complete value, or, if it is broken, the next two are.

    Two complete values in a row never happen inside a JSON list: a comma parts them.
    """
    lines = head.split(b"\n", 4)[:4]
    full = [jaeger.is_complete(line) for line in lines[:-1] if line.strip()]
    return bool(full) and (full[0] or full[1:3] == [True, True])


def _read_all(stream: Stream) -> Iterator[Read]:
    head, damage = _fill(stream, SNIFF)
    if damage is None and b"\n" in head and _is_lines(head):
        yield from _lines(stream, 0, None, head)
        return
    if damage is None and len(head) >= SNIFF:
        more, damage = _fill(stream, WHOLE - SNIFF)
        head += more
    if damage is None and len(head) >= WHOLE:
        yield from _scanned(stream, head)
        return
    yield from _whole(head, damage)


def _fill(stream: Stream, size: int) -> tuple[bytes, str | None]:
    """Up to ``size`` bytes, and what was damaged if they end early."""
    parts: list[bytes] = []
    have = 0
    try:
        while have < size and (piece := stream.read(min(size - have, CHUNK))):
            parts.append(piece)
            have += len(piece)
    except DamagedError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), None


def _whole(text: bytes, damage: str | None) -> Iterator[Read]:
    """A small text: one document, or what can be saved of a broken one."""
    if not text.strip():
        if damage is not None:
            yield Read(0, len(text), Bad(Reject.DAMAGED, damage))
        return
    documents = list(_shared(0, text))
    broken = {Reject.NOT_JSON, Reject.TRUNCATED}
    if len(documents) != 1 or not any(_is(documents[0], reason) for reason in broken):
        yield from documents
        return
    saved = max(_scan_text(text), _line_by_line(text), key=_good)
    if not _good(saved):
        saved = documents
    if damage is not None:
        saved = [r for r in saved if not _is(r, Reject.TRUNCATED)]
        saved.append(Read(len(text), 0, Bad(Reject.DAMAGED, damage)))
    yield from saved


def _is(document: Read, reason: Reject) -> bool:
    return isinstance(document.trace, Bad) and document.trace.reason is reason


def _good(documents: list[Read]) -> int:
    return sum(isinstance(document.trace, Trace) for document in documents)


def _line_by_line(text: bytes) -> list[Read]:
    return list(_lines(_NOTHING, 0, None, text))


def _scan_text(text: bytes) -> list[Read]:
    return list(_scanned(_NOTHING, text))


def _scanned(stream: Readable, head: bytes) -> Iterator[Read]:
    """Documents found by their brackets, in bounded memory."""
    scanner = Scanner()
    damage = None
    reader = Prefixed(head, stream)
    try:
        while piece := reader.read(CHUNK):
            for found in scanner.feed(piece):
                yield from _shared(found.position, found.text)
    except DamagedError as error:
        damage = str(error)
    rest = scanner.finish()
    if damage is not None:
        yield Read(rest.position if rest else 0, 0, Bad(Reject.DAMAGED, damage))
    elif rest is not None:
        detail = f"{len(rest.text)} bytes of an unfinished document"
        yield Read(rest.position, len(rest.text), Bad(Reject.TRUNCATED, detail))


def _lines(
    stream: Readable, start: int, end: int | None, head: bytes = b"", *, skip: bool = False
) -> Iterator[Read]:
    """One document a line; those starting before ``end``, the last one read to its end.

    ``skip`` passes over the text up to the first line break. A range is read from one byte
    before its start with it, so that each line belongs to the range its first byte is in.
    """
    reader = Prefixed(head, stream)
    position = start
    rest: list[bytes] = []
    try:
        while piece := reader.read(CHUNK):
            *lines, last = piece.split(b"\n")
            for line in lines:
                if rest:
                    line = b"".join([*rest, line])
                    rest = []
                if not skip:
                    yield from _line(line, position)
                skip = False
                position += len(line) + 1
                if end is not None and position >= end:
                    return
            if last:
                rest.append(last)
    except DamagedError as error:
        yield Read(position, 0, Bad(Reject.DAMAGED, str(error)))
        return
    if rest and not skip:
        yield from _line(b"".join(rest), position)


def _line(line: bytes, position: int) -> Iterator[Read]:
    if line and not line.isspace():
        yield from _shared(position, line.rstrip(b", \r\t"))
