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
_OPEN, _CLOSE = b"{}"
SNIFF = 1 << 20
WHOLE = 16 << 20
"""Documents up to this size are decoded in one go; larger ones are scanned."""
_INDENTED = (b" ", b"\t", b'"', b"}", b"]")
"""How the lines of an indented document begin."""
_SPANS = b'"spans"'
"""Without it a broken line has no good trace in it."""
_BROKEN = frozenset([Reject.NOT_JSON, Reject.TRUNCATED])


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


def _shared(position: int, text: bytes | memoryview) -> Iterator[Read]:
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
    lines = [line for line in head.split(b"\n", 4)[:4][:-1] if line.strip()]
    full = [jaeger.is_complete(line) for line in lines]
    if full[:1] == [True]:  # a compact document may stand before an indented one
        return full[1:] != [False, False] or lines[2][:1] not in _INDENTED
    return full[1:3] == [True, True]


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
    found = _saved(text, damaged=damage is not None) if text.strip() else []
    yield from found
    if damage is not None:
        yield Read(len(text), 0, Bad(Reject.DAMAGED, damage))


def _saved(text: bytes, *, damaged: bool) -> list[Read]:
    """The documents of ``text``; when it is broken, as many good ones as can be found in it."""
    documents = list(_shared(0, text))
    if not _is_broken(documents, text):
        return documents
    saved = _scan_text(text)
    if _good(saved) < len(saved):
        saved = max(saved, _line_by_line(text), key=_good)
    if not _good(saved):
        saved = documents
    return [read for read in saved if not (damaged and _is(read, Reject.TRUNCATED))]


def _is_broken(documents: list[Read], text: bytes | memoryview) -> bool:
    """The text is not one JSON value, so that nothing could be told apart in it."""
    if len(documents) != 1:
        return False
    alone = documents[0]
    return any(_is(alone, reason) for reason in _BROKEN) or (
        _is(alone, Reject.NOT_A_TRACE) and not jaeger.is_complete(bytes(text))
    )


def _is(document: Read, reason: Reject) -> bool:
    return isinstance(document.trace, Bad) and document.trace.reason is reason


def _good(documents: list[Read]) -> int:
    return sum(isinstance(document.trace, Trace) for document in documents)


def _line_by_line(text: bytes) -> list[Read]:
    return list(_lines(_NOTHING, 0, None, text))


def _scan_text(text: bytes, position: int = 0) -> list[Read]:
    return list(_scanned(_NOTHING, text, position))


def _scanned(stream: Readable, head: bytes, position: int = 0) -> Iterator[Read]:
    """Documents found by their brackets, in bounded memory; ``head`` stands at ``position``."""
    scanner = Scanner(position)
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
    elif rest is not None and rest.stray:
        yield from _shared(rest.position, rest.text)
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
            begin = 0
            while (stop := piece.find(b"\n", begin)) >= 0:
                line = memoryview(piece)[begin:stop]
                if rest:
                    line = memoryview(b"".join([*rest, line]))
                    rest = []
                if not skip:
                    yield from _line(line, position)
                skip = False
                position += len(line) + 1
                begin = stop + 1
                if end is not None and position >= end:
                    return
            if begin < len(piece):
                rest.append(piece[begin:])
    except DamagedError as error:
        last = b"".join(rest)
        if jaeger.is_complete(last):
            yield from _line(memoryview(last), position)
        yield Read(position, 0, Bad(Reject.DAMAGED, str(error)))
        return
    if rest and not skip:
        yield from _line(memoryview(b"".join(rest)), position)


def _line(line: memoryview, position: int) -> Iterator[Read]:
    whole = len(line) > 0 and line[0] == _OPEN and line[-1] == _CLOSE
    text = line if whole else bytes(line).strip(b", \r\t")
    if not text:
        return
    documents = list(_shared(position, text))
    if _is_broken(documents, text) and _SPANS in (whole_line := bytes(line)):
        saved = _scan_text(whole_line, position)
        documents = saved if _good(saved) else documents
    yield from documents
