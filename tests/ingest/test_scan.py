"""The scanner finds the same documents as a JSON parser, however the text is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.ingest.scan import Found, Remainder, Scanner

ODD = st.text(st.sampled_from('{}[]"\\,:/ \n\tdatué😀\x00'), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ODD
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(ODD, VALUES, max_size=3)
BARE = OBJECTS.filter(lambda value: "data" not in value)


def scan(text: bytes, sizes: Iterable[int] = ()) -> tuple[list[Found], Remainder | None]:
    """Documents of ``text`` fed in chunks of these sizes, the rest in one."""
    scanner = Scanner()
    found: list[Found] = []
    place = 0
    for size in (*sizes, len(text)):
        found += scanner.feed(text[place : place + size])
        place += size
    return found, scanner.finish()


def values(text: bytes, sizes: Iterable[int] = ()) -> list[Any]:
    found, rest = scan(text, sizes)
    assert rest is None
    for document in found:
        at = document.position
        assert text[at : at + len(document.text)] == document.text
    return [json.loads(document.text) for document in found]


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, list[Any]]:
    """A text of several top-level values, and the documents in it."""
    parts: list[str] = []
    expected: list[Any] = []
    for shape in draw(st.lists(st.sampled_from(["bare", "list", "envelope"]), max_size=4)):
        documents = draw(st.lists(BARE if shape == "bare" else OBJECTS, max_size=3))
        value: Any = documents
        if shape == "bare":
            documents = documents[:1] or [{}]
            value = documents[0]
        elif shape == "envelope":
            before, after = draw(BARE), draw(BARE)
            value = {**before, "data": documents, **after}
        expected += documents
        indent = draw(st.sampled_from([None, 0, 2]))
        ascii_only = draw(st.booleans())
        parts += [json.dumps(value, indent=indent, ensure_ascii=ascii_only)]
        parts += [draw(st.sampled_from(["", " ", "\n", "\r\n\n", ","]))]
    return "".join(parts).encode(), expected


@given(texts(), st.lists(st.integers(1, 9), max_size=80))
def test_documents_are_those_of_a_json_parser_for_any_chunks(
    made: tuple[bytes, list[Any]], sizes: list[int]
) -> None:
    text, expected = made
    assert values(text, sizes) == expected


@given(texts(), st.data())
def test_documents_before_a_cut_are_found(
    made: tuple[bytes, list[Any]], data: st.DataObject
) -> None:
    text, _ = made
    cut = data.draw(st.integers(0, len(text)))
    whole, _ = scan(text)
    found, rest = scan(text[:cut])
    ended = [document for document in whole if document.position + len(document.text) <= cut]
    assert found[: len(ended)] == ended
    begun = [document for document in whole if document.position < cut]
    if len(begun) > len(ended):
        assert rest is not None


@given(st.binary(max_size=60) | st.text(st.sampled_from('{}[]"\\,:d'), max_size=60).map(str.encode))
def test_any_bytes_are_scanned_alike_in_any_chunks(text: bytes) -> None:
    whole = scan(text)
    for size in (1, 2, 3, 7):
        assert scan(text, [size] * (len(text) // size)) == whole


@pytest.mark.parametrize("size", range(1, 12))
def test_strings_full_of_brackets_and_backslashes_hide_nothing(size: int) -> None:
    documents = [{"a": '}]{["\\'}, {"b\\": "\\\\"}, {"c": ['"', "\\"]}, {"\\\\\\": {}}]
    text = json.dumps({"data": documents}).encode()
    assert values(text, [size] * (len(text) // size)) == documents


def test_a_data_key_deeper_down_is_no_envelope() -> None:
    document = {"tags": {"data": [{"x": 1}]}, "spans": [{"data": [{"y": 2}]}]}
    assert values(json.dumps(document).encode()) == [document]


def test_a_string_that_looks_like_a_data_key_is_no_envelope() -> None:
    document = {"note": 'say "data" : ', "spans": [{"y": 2}]}
    assert values(json.dumps(document).encode()) == [document]


def test_stray_closing_brackets_do_not_hide_what_follows() -> None:
    text = b'}}]] {"a": 1} ]}} {"b": 2}'
    assert values(text) == [{"a": 1}, {"b": 2}]


def test_the_unfinished_document_is_told_with_its_place() -> None:
    found, rest = scan(b'{"data": [{"a": 1}, {"b": [1, 2')
    assert [document.text for document in found] == [b'{"a": 1}']
    assert rest == Remainder(20, b'{"b": [1, 2')
