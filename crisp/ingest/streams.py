"""Open a source as a stream of UTF-8 bytes, whatever it is wrapped in.

Compression and encoding are told by their first bytes, never by the file name.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Protocol

import fsspec
import zstandard

from crisp.errors import InputError

CHUNK = 1 << 20
"""Bytes read at a time: small enough to stay in the processor's cache."""
_FRAME_INPUT = 128 << 10
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF8_BOM = codecs.BOM_UTF8
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError, UnicodeError)


class Readable(Protocol):
    """Anything bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes, b"" only at the end."""
        ...


class DamagedError(Exception):
    """The rest of the stream cannot be unpacked; what came before it is good."""


class Stream:
    """Reads decompressed UTF-8 bytes; damage shows as `DamagedError`, not as a short file."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._file = _decoded(_decompressed(raw))

    def read(self, size: int = CHUNK) -> bytes:
        """Up to ``size`` bytes; b"" at the end.

        Raises:
            DamagedError: the compressed or encoded data cannot be read on.
        """
        try:
            return self._file.read(size)
        except _DAMAGE as error:
            raise DamagedError(str(error) or type(error).__name__) from error

    def chunks(self) -> Iterator[bytes]:
        """The rest of the stream in pieces of about `CHUNK` bytes."""
        while piece := self.read():
            yield piece


def _decompressed(file: Readable) -> Readable:
    head, file = _peek(file)
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=io.BufferedReader(_Raw(file), CHUNK))
    if head.startswith(_ZSTD):
        return _Frames(file)
    return file


def _peek(file: Readable) -> tuple[bytes, Readable]:
    """The first four bytes, and the file as if they had not been read."""
    head = b""
    while len(head) < 4 and (more := file.read(4 - len(head))):
        head += more
    return head, Prefixed(head, file)


class _Raw(io.RawIOBase):
    """A readable with the interface that gzip wants."""

    def __init__(self, file: Readable) -> None:
        self._file = file

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer`` as far as bytes are at hand."""
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class _Frames:
    """All Zstandard frames of a file; an unfinished last frame raises, as gzip's does."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._decoder: zstandard.ZstdDecompressionObj | None = None
        self._pending = b""
        self._out = b""

    def read(self, size: int) -> bytes:
        """Up to ``size`` decompressed bytes, b"" only at the end."""
        while not self._out:
            if not self._pending:
                self._pending = self._file.read(_FRAME_INPUT)
            if not self._pending:
                if self._decoder is not None:
                    raise EOFError("the last Zstandard frame is cut off")
                return b""
            if self._decoder is None:
                self._decoder = zstandard.ZstdDecompressor().decompressobj()
            self._out = self._decoder.decompress(self._pending)
            self._pending = b""
            if self._decoder.eof:
                self._pending, self._decoder = self._decoder.unused_data, None
        out, self._out = self._out[:size], self._out[size:]
        return out


def _decoded(file: Readable) -> Readable:
    """The stream as UTF-8 without a byte order mark."""
    head, file = _peek(file)
    for mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if head.startswith(mark):
            return _Transcoded(file, "utf-16")
    if head[:1] in (b"{", b"[") and head[1:2] == b"\0":
        return _Transcoded(file, "utf-16-le")
    if head[:1] == b"\0" and head[1:2] in (b"{", b"["):
        return _Transcoded(file, "utf-16-be")
    if head.startswith(_UTF8_BOM):
        file.read(len(_UTF8_BOM))
    return file


class Prefixed:
    """Some bytes, then a file."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, b"" only at the end."""
        if self._head:
            out, self._head = self._head[:size], self._head[size:]
            return out
        return self._file.read(size)


class _Transcoded:
    """UTF-16 in, UTF-8 out."""

    def __init__(self, file: Readable, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        """About ``size`` bytes, b"" only at the end."""
        while True:
            piece = self._file.read(size)
            text = self._decoder.decode(piece, final=not piece)
            if text or not piece:
                return text.encode()


@contextmanager
def opened(path: str, start: int = 0) -> Iterator[IO[bytes]]:
    """The raw bytes of a file or URL from ``start`` on.

    Raises:
        InputError: it does not exist or may not be read.
    """
    try:
        file = fsspec.open(path, "rb").open() if "://" in path else open(path, "rb")  # noqa: SIM115 (closed below)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"{path}: cannot be opened: {_reason(error)}") from error
    with file:
        if start:
            file.seek(start)
        yield file


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
