"""Every shape in which traces are handed over gives the same traces."""

from __future__ import annotations

import codecs
import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crisp.ingest import documents
from crisp.ingest.documents import Piece, Read, is_splittable, read
from crisp.ingest.jaeger import Trace
from tests.documents import Json, envelope, lines, trace, traces

MANY = traces(2500)


def indented(made: list[Json]) -> bytes:
    return b"".join(json.dumps(one, indent=2).encode() for one in made)


SHAPES: dict[str, Callable[[list[Json]], bytes]] = {
    "lines": lines,
    "lines-without-the-last-break": lambda made: lines(made).rstrip(),
    "lines-with-carriage-returns": lambda made: lines(made).replace(b"\n", b"\r\n"),
    "lines-with-empty-ones-between": lambda made: b"\n" + lines(made).replace(b"\n", b"\n\n \n"),
    "lines-of-envelopes": lambda made: b"".join(envelope([one]) + b"\n" for one in made),
    "lines-indented-by-a-space": lambda made: b" " + lines(made).replace(b"\n", b"\n "),
    "list-after-empty-lines": lambda made: b"\n \n" + json.dumps(made).encode(),
    "lines-of-lists": lambda made: b"".join(json.dumps([one]).encode() + b"\n" for one in made),
    "envelope": envelope,
    "envelope-and-a-line-break": lambda made: envelope(made) + b"\n",
    "envelope-indented": lambda made: envelope(made, indent=2),
    "envelope-with-a-trace-a-line": lambda made: (
        b'{"data":[\n' + lines(made).strip().replace(b"\n", b",\n") + b"\n]}\n"
    ),
    "list": lambda made: json.dumps(made).encode(),
    "list-indented": lambda made: json.dumps(made, indent=1).encode(),
    "list-with-a-trace-a-line": lambda made: (
        b"[\n" + lines(made).strip().replace(b"\n", b",\n") + b"\n]\n"
    ),
    "concatenated": lambda made: lines(made).replace(b"\n", b""),
    "concatenated-and-indented": indented,
    "concatenated-envelopes": lambda made: b"".join(envelope([one]) for one in made),
    "compact-then-indented": lambda made: lines(made[:1]) + indented(made[1:]),
    "indented-then-compact": lambda made: indented(made[:1]) + b"\n" + lines(made[1:]),
    "one-line-twice-as-full": lambda made: (
        lines(made[:3]) + lines(made[3:5]).replace(b"\n", b"") + b"\n" + lines(made[5:])
    ),
}


def found(path: Path) -> list[Read]:
    return list(read(Piece(str(path), path.stat().st_size)))


def good(reads: list[Read]) -> list[Json]:
    """The traces without regard to how they were indented; there is nothing else."""
    assert all(isinstance(one.trace, Trace) for one in reads), reads
    return [json.loads(msgspec.json.encode(one.trace)) for one in reads]


def expected(folder: Path, made: list[Json]) -> list[Json]:
    """Each trace read alone."""
    path = folder / "alone.json"
    alone: list[Json] = []
    for one in made:
        path.write_bytes(json.dumps(one).encode())
        alone += good(found(path))
    return alone


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_traces(tmp_path: Path, shape: str, count: int) -> None:
    made = traces(count)
    path = tmp_path / "given"
    path.write_bytes(SHAPES[shape](made))
    assert good(found(path)) == expected(tmp_path, made)


@pytest.mark.parametrize("shape", SHAPES)
def test_thousands_of_traces_in_one_file_are_all_read(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "given"
    path.write_bytes(SHAPES[shape](MANY))
    assert [one["traceID"] for one in good(found(path))] == [one["traceID"] for one in MANY]


@pytest.mark.parametrize(
    "shape", ["lines", "envelope", "list-indented", "concatenated-and-indented"]
)
def test_files_too_large_to_decode_whole_are_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    path = tmp_path / "given"
    path.write_bytes(SHAPES[shape](MANY))
    whole = found(path)
    monkeypatch.setattr(documents, "SNIFF", 1000)
    monkeypatch.setattr(documents, "WHOLE", 5000)
    monkeypatch.setattr(documents, "CHUNK", 777)
    assert good(found(path)) == good(whole)


WRAPPINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip-members": lambda text: gzip.compress(text[:999]) + gzip.compress(text[999:]),
    "zstd": zstandard.compress,
    "zstd-frames": lambda text: zstandard.compress(text[:999]) + zstandard.compress(text[999:]),
    "utf8-with-mark": lambda text: codecs.BOM_UTF8 + text,
    "utf16-little": lambda text: codecs.BOM_UTF16_LE + text.decode().encode("utf-16-le"),
    "utf16-big": lambda text: codecs.BOM_UTF16_BE + text.decode().encode("utf-16-be"),
    "utf16-little-without-mark": lambda text: text.decode().encode("utf-16-le"),
    "utf16-little-in-gzip": lambda text: gzip.compress(text.decode().encode("utf-16")),
}


@pytest.mark.parametrize("shape", ["lines", "envelope", "envelope-indented", "concatenated"])
@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapping_and_file_name_do_not_matter(tmp_path: Path, shape: str, wrapping: str) -> None:
    made = traces(9)
    path = tmp_path / "traces.csv.gz.zst.txt"
    path.write_bytes(WRAPPINGS[wrapping](SHAPES[shape](made)))
    assert good(found(path)) == expected(tmp_path, made)


@pytest.mark.parametrize("shape", ["lines", "concatenated-and-indented", "envelope-indented"])
def test_positions_say_where_a_document_begins(tmp_path: Path, shape: str) -> None:
    made = traces(5)
    text = SHAPES[shape](made)
    path = tmp_path / "given"
    path.write_bytes(text)
    for one, document in zip(found(path), made, strict=True):
        if shape == "envelope-indented":
            assert one.position == 0
        else:
            decoded, _ = json.JSONDecoder().raw_decode(text[one.position :].decode())
            assert decoded == document


def test_sizes_add_up_to_the_text(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(lines([trace(), {"data": traces(3)}]))
    assert sum(one.size for one in found(path)) == path.stat().st_size - 2


@pytest.fixture(scope="module")
def long_lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Read]]:
    path = tmp_path_factory.mktemp("cut") / "lines.json"
    path.write_bytes(lines([trace("é" * n, latency=100 + n) for n in range(40)]))
    return path, found(path)


@given(cuts=st.lists(st.integers(0, 30_000), max_size=5))
def test_byte_ranges_cover_every_line_once_however_they_are_cut(
    long_lines: tuple[Path, list[Read]], cuts: list[int]
) -> None:
    path, whole = long_lines
    size = path.stat().st_size
    edges = sorted({0, size, *(cut for cut in cuts if cut < size)})
    pieces = [Piece(str(path), b - a, a, b) for a, b in itertools.pairwise(edges)]
    assert [one for piece in pieces for one in read(piece)] == whole


def test_byte_ranges_cut_at_every_byte_of_some_lines_cover_each_once(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_bytes(b'{"spans":[]}\n\n{"spans":[],"traceID":"b"}\n{"spans":[]}')
    whole = found(path)
    size = path.stat().st_size
    for cut in range(1, size):
        pieces = [Piece(str(path), cut, 0, cut), Piece(str(path), size - cut, cut, size)]
        assert [one for piece in pieces for one in read(piece)] == whole


@pytest.mark.parametrize(
    ("text", "yes"),
    [
        (lines(traces(3)), True),
        (lines(traces(1)), True),
        (b'{"spans":[\n' + lines(traces(3)), True),
        (lines(traces(1)) + b'{"spans":[\n{"spa\n' + lines(traces(2)), True),
        (indented(traces(3)), False),
        (lines(traces(1)) + indented(traces(3)), False),
        (envelope(traces(3), indent=2), False),
        (SHAPES["list-with-a-trace-a-line"](traces(3)), False),
        (SHAPES["envelope-with-a-trace-a-line"](traces(3)), False),
        (gzip.compress(lines(traces(3)), mtime=0), False),
        (lines(traces(3)).decode().encode("utf-16-le"), False),
        (b"\xef\xbb\xbf" + lines(traces(3)), False),
        (b"", False),
        (b"\n\n", False),
    ],
)
def test_only_plain_json_lines_are_cut_into_ranges(tmp_path: Path, text: bytes, yes: bool) -> None:
    path = tmp_path / "given"
    path.write_bytes(text)
    assert is_splittable(str(path)) is yes
