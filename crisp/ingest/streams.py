"""Open a source as a stream of UTF-8 bytes, whatever it is wrapped in.

Compression and encoding are told by their first bytes, never by the file name.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol

import zstandard

from crisp.errors import InputError

CHUNK = 1 << 20
"""Bytes read at a time: small enough to stay in the processor's cache."""
_PACKED_INPUT = 128 << 10
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""Tells zlib that a gzip header and checksum surround the data."""
_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_UTF8_BOM = codecs.BOM_UTF8
_DAMAGE = (EOFError, zlib.error, zstandard.ZstdError, UnicodeError)


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
        self._raw = raw
        self._file: Readable | None = None

    def read(self, size: int = CHUNK) -> bytes:
        """Up to ``size`` bytes; b"" at the end.

        Raises:
            DamagedError: the compressed or encoded data cannot be read on.
        """
        try:
            if self._file is None:
                self._file = _decoded(_decompressed(self._raw))
            return self._file.read(size)
        except _DAMAGE as error:
            raise DamagedError(str(error) or type(error).__name__) from error


def _decompressed(file: Readable) -> Readable:
    head, file = _peek(file)
    if head.startswith(_GZIP):
        return _Unpacked(file, lambda: zlib.decompressobj(_GZIP_WINDOW))
    if is_packed(head):
        return _Unpacked(file, lambda: zstandard.ZstdDecompressor().decompressobj())
    return file


def is_packed(head: bytes) -> bool:
    """A file with these first four bytes is compressed."""
    skippable = head[1:4] == _SKIPPABLE and head[0] >> 4 == 5  # as pzstd begins
    return head.startswith((_GZIP, _ZSTD)) or skippable


def _peek(file: Readable) -> tuple[bytes, Readable]:
    """The first four bytes, and the file as if they had not been read."""
    head = b""
    while len(head) < 4 and (more := file.read(4 - len(head))):
        head += more
    return head, Prefixed(head, file)


class _Decoder(Protocol):
    """Of one gzip member or one Zstandard frame."""

    @property
    def eof(self) -> bool:
        """The end is reached."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the end."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """Some more of the text."""
        ...


class _Unpacked:
    """All gzip members or Zstandard frames of a file, with all the text there is before damage."""

    def __init__(self, file: Readable, new_decoder: Callable[[], _Decoder]) -> None:
        self._file, self._new_decoder = file, new_decoder
        self._decoder: _Decoder | None = None
        self._packed = b""
        self._text = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes, b"" only at the end; an unfinished member or frame raises."""
        while self._at >= len(self._text):
            self._packed = self._packed or self._file.read(_PACKED_INPUT)
            if not self._packed:
                if self._decoder is not None:
                    raise EOFError("the compressed data is cut off")
                return b""
            if self._decoder is None:
                self._packed = self._packed.lstrip(b"\0")  # padding, as tapes and tools leave it
                if not self._packed:
                    continue
                self._decoder = self._new_decoder()
            packed, self._packed = self._packed, b""
            self._text, self._at = self._decoder.decompress(packed), 0
            if self._decoder.eof:
                self._packed, self._decoder = self._decoder.unused_data, None
        out = self._text[self._at : self._at + size]
        self._at += size
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
        file = _remote(path) if "://" in path else open(path, "rb")  # noqa: SIM115 (closed below)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"{path}: cannot be opened: {_reason(error)}") from error
    try:
        with file:
            if start:
                file.seek(start)
            yield file
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from error


def _remote(url: str) -> IO[bytes]:
    import fsspec  # it takes long to import, and most sources are plain files

    file: IO[bytes] = fsspec.open(url, "rb").open()
    return file


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
