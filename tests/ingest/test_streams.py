"""Streams: compression and encoding are told by the first bytes."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crisp.errors import InputError
from crisp.ingest.streams import DamagedError, Stream, opened

TEXT = '{"data": [{"name": "žluťoučký kůň 🐎 שלום"}]}'
LONG = TEXT * 200_000


def packed(text: bytes) -> bytes:
    return zstandard.compress(text)


def frames(text: bytes) -> bytes:
    third = len(text) // 3
    return b"".join(packed(text[k : k + third]) for k in range(0, len(text), third))


def members(text: bytes) -> bytes:
    half = len(text) // 2
    return gzip.compress(text[:half]) + gzip.compress(text[half:])


def streamed_frame(text: bytes) -> bytes:
    """A frame that does not say how long it is, as pipes write it."""
    packer = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return packer.compress(text) + packer.flush()


def read_all(data: bytes, size: int = 1 << 20) -> bytes:
    stream = Stream(io.BytesIO(data))
    parts = []
    while piece := stream.read(size):
        parts.append(piece)
    return b"".join(parts)


WRAPPINGS = [bytes, gzip.compress, members, packed, frames, streamed_frame]
ENCODINGS = [
    ("utf-8", b""),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
    ("utf-16-le", b""),
    ("utf-16-be", b""),
]


@pytest.mark.parametrize("wrap", WRAPPINGS)
@pytest.mark.parametrize(("encoding", "mark"), ENCODINGS)
def test_every_wrapping_of_every_encoding_gives_the_same_utf8(
    wrap: Callable[[bytes], bytes], encoding: str, mark: bytes
) -> None:
    assert read_all(wrap(mark + TEXT.encode(encoding))).decode() == TEXT


@pytest.mark.parametrize("wrap", WRAPPINGS)
def test_text_longer_than_any_buffer_comes_back_whole(wrap: Callable[[bytes], bytes]) -> None:
    assert read_all(wrap(LONG.encode())) == LONG.encode()


@given(size=st.integers(1, 70), cut=st.integers(0, 40))
def test_sizes_of_reads_do_not_matter(size: int, cut: int) -> None:
    text = TEXT[cut:]
    for data in (text.encode(), codecs.BOM_UTF16_LE + text.encode("utf-16-le")):
        assert read_all(packed(data), size).decode() == text


def test_skippable_frames_of_zstandard_are_passed_over() -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    assert read_all(packed(b"[1]") + skippable + packed(b"[2]")) == b"[1][2]"


def test_an_empty_source_is_an_empty_text() -> None:
    assert read_all(b"") == b""
    assert read_all(gzip.compress(b"")) == b""
    assert read_all(packed(b"")) == b""
    assert read_all(codecs.BOM_UTF8) == b""
    assert read_all(codecs.BOM_UTF16_LE) == b""


@pytest.mark.parametrize("size", range(1, 8))
def test_short_texts_come_back_whole(size: int) -> None:
    assert read_all(TEXT.encode()[:size]) == TEXT.encode()[:size]


@pytest.mark.parametrize("wrap", [gzip.compress, members, packed, frames, streamed_frame])
@pytest.mark.parametrize("lost", [1, 4, 9])
def test_what_was_cut_off_shows_as_damage_and_not_as_the_end(
    wrap: Callable[[bytes], bytes], lost: int
) -> None:
    with pytest.raises(DamagedError):
        read_all(wrap(TEXT.encode())[:-lost])


@pytest.mark.parametrize("wrap", [gzip.compress, packed])
def test_text_before_the_damage_is_delivered(wrap: Callable[[bytes], bytes]) -> None:
    stream = Stream(io.BytesIO(wrap(LONG.encode())[:-1]))
    got = b""

    def read_on() -> None:
        nonlocal got
        while True:
            got += stream.read(1 << 16)

    with pytest.raises(DamagedError):
        read_on()
    assert len(got) > len(LONG.encode()) // 2
    assert LONG.encode().startswith(got)


def test_half_a_utf16_character_is_damage() -> None:
    with pytest.raises(DamagedError):
        read_all(codecs.BOM_UTF16_LE + "{}".encode("utf-16-le") + b"\x3d")


def test_a_lone_surrogate_in_utf16_is_damage() -> None:
    with pytest.raises(DamagedError):
        read_all(codecs.BOM_UTF16_LE + b'{\0"\0\x00\xd8"\0}\0')


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_damage(data: bytes) -> None:
    for head in (b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xef\xbb\xbf"):
        with contextlib.suppress(DamagedError):
            read_all(head + data)


@pytest.mark.parametrize("path", ["missing.json", "nowhere/at/all", "nosuch://place/x", "a\0b"])
def test_a_source_that_cannot_be_opened_is_named(path: str) -> None:
    with pytest.raises(InputError) as caught, opened(path):
        pass
    assert path in str(caught.value)
