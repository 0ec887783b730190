"""Find the trace documents inside a JSON text of any size, in bounded memory.

The text may be one trace, a list of traces, ``{"data": [traces]}``, or several such values one
after the other. Brackets outside strings are found with array operations over each chunk; only
the few at the outer levels are looked at one by one. Nothing is decoded here, so a broken
trace costs only itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_QUOTE, _BACKSLASH = 34, 92
_OPEN, _CLOSE = 0x7B, 0x7D  # '{' and '}'; '[' and ']' become these with bit 0x20 set
_DATA_KEY = re.compile(rb'"data"\s*:\s*$')
_OUTER = 3
_BETWEEN = b" \t\r\n,\x1e\0\xef\xbb\xbf"
"""Space, commas, record separators, padding and byte order marks between values."""
_STRAY = 256
"""Bytes kept of text that is no value."""


@dataclass(frozen=True, slots=True)
class Found:
    """A complete document and where it starts."""

    position: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left when the text ends in the middle of a value, or with what is none."""

    position: int
    text: bytes
    stray: bool = False
    """it stands outside all brackets; only its beginning is kept"""


class Scanner:
    """Feed chunks, get documents; state carries over from chunk to chunk.

    Text outside all brackets is no document, but it comes out like one: it may be what is left
    of one.
    """

    def __init__(self, position: int = 0) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._offset = position
        self._array = False
        """the outermost value is an array"""
        self._data = False
        """inside the array under "data" of the outermost object"""
        self._kept: list[bytes] = []
        self._kept_from: int | None = None
        self._stray = b""
        self._stray_from = position

    def feed(self, chunk: bytes) -> Iterator[Found]:
        """Documents that end in ``chunk``, in order."""
        before = self._depth
        places, opens, depths = self._brackets(chunk)
        begin = 0 if self._kept_from is not None else None
        outside = 0 if before == 0 else None
        for place, is_open, depth in zip(places, opens, depths, strict=True):
            if outside is not None:
                self._pass_over(chunk, outside, place)
                if self._stray:
                    yield Found(self._stray_from, self._stray)
                    self._stray = b""
            outside = place + 1 if depth == 0 else None
            if is_open and self._starts(chunk, place, depth):
                self._kept, self._kept_from, begin = [], self._offset + place, place
            elif not is_open and self._ends(depth):
                found = self._take(chunk, begin, place + 1)
                begin = None
                if found is not None:
                    yield found
        if begin is not None:
            self._kept.append(chunk[begin:])
        if outside is not None:
            self._pass_over(chunk, outside, len(chunk))
        self._offset += len(chunk)

    def _pass_over(self, chunk: bytes, begin: int, end: int) -> None:
        """Keep the beginning of what stands between values and parts none."""
        text = chunk[begin:end]
        if not self._stray:
            found = text.lstrip(_BETWEEN)
            self._stray_from = self._offset + end - len(found)
            text = found
        self._stray += text[: _STRAY - len(self._stray)]

    def _take(self, chunk: bytes, begin: int | None, end: int) -> Found | None:
        """The document that ends at ``end``, and let go of its parts."""
        kept, position = self._kept, self._kept_from
        self._kept, self._kept_from = [], None
        if begin is None or position is None:
            return None
        return Found(position, b"".join([*kept, chunk[begin:end]]))

    def finish(self) -> Remainder | None:
        """What is left of a value that never ended; None when all were complete."""
        if self._depth == 0 and self._kept_from is None:
            return Remainder(self._stray_from, self._stray, stray=True) if self._stray else None
        begin = self._kept_from if self._kept_from is not None else self._offset
        return Remainder(begin, b"".join(self._kept))

    def _starts(self, chunk: bytes, place: int, depth: int) -> bool:
        """A document, or what may be one, opens here (``depth`` after the bracket)."""
        brace = chunk[place] == _OPEN
        if depth == 1:
            self._array, self._data = not brace, False
            return brace
        if depth == 2:
            if self._array:
                return brace
            if not brace and _DATA_KEY.search(b"".join(self._kept)[-64:] + chunk[:place][-64:]):
                self._data = True
                self._kept, self._kept_from = [], None
            return False
        return brace and self._data and depth == _OUTER

    def _ends(self, depth: int) -> bool:
        """A document ends here (``depth`` after the bracket)."""
        if depth == 0:
            return not self._array
        if depth == 1:
            if self._data:
                self._data = False
                return False
            return self._array
        return self._data and depth == _OUTER - 1

    def _brackets(self, chunk: bytes) -> tuple[list[int], list[bool], list[int]]:
        """Places, direction and depth afterwards of the brackets at the outer levels."""
        codes = np.frombuffer(chunk, np.uint8)
        quotes = codes == _QUOTE
        if self._escaped or b"\\" in chunk:
            quotes &= ~self._escapes(codes)
        inside = np.cumsum(quotes, dtype=np.uint8)
        inside += self._in_string
        inside &= 1
        folded = codes | 0x20
        places = np.flatnonzero(((folded == _OPEN) | (folded == _CLOSE)) & (inside == 0))
        # The closing quote belongs to its string, and no bracket is a quote: parity decides.
        opens = folded[places] == _OPEN
        depths = self._depth + np.cumsum(np.where(opens, 1, -1))
        if len(codes):
            self._in_string = bool(inside[-1])
        if len(depths):
            if depths.min() < 0:  # closing brackets that close nothing count for nothing
                depths -= np.minimum(np.minimum.accumulate(depths), 0)
            self._depth = int(depths[-1])
        outer = np.where(opens, depths, depths + 1) <= _OUTER
        return places[outer].tolist(), opens[outer].tolist(), depths[outer].tolist()

    def _escapes(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        """Which characters are escaped by a backslash before them."""
        escaped = np.zeros(len(codes) + 1, np.bool_)
        marks = np.flatnonzero(codes == _BACKSLASH)
        if self._escaped and len(codes):
            escaped[0] = True
            marks = marks[marks > 0]
        if len(marks):
            first = np.empty(len(marks), np.bool_)
            first[0] = True
            first[1:] = np.diff(marks) > 1
            run_start = np.maximum.accumulate(np.where(first, np.arange(len(marks)), 0))
            odd = (np.arange(len(marks)) - run_start) % 2 == 0
            escaped[marks[odd] + 1] = True
        self._escaped = bool(escaped[-1])
        return escaped[:-1]
