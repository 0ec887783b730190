"""Bad input is a row of rejects, never a traceback, never a lost good trace beside it."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from crisp.options import LARGEST_DURATION_US, LARGEST_TIME_US, IngestOptions
from tests.documents import DAY, Json, envelope, lines, span, trace, traces
from tests.mapped import Mapped, map_files

GOOD = ["before", "after"]
NAMES = {
    "html": "<script>alert(1)</script>&amp;",
    "line breaks": "a\nb\r\nc\u2028d",
    "quotes": "'\"`\\",
    "semicolon": "a;b;c",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd\u200f",
    "emoji": "👩‍👩‍👧 🐎",
    "nul": "a\0b",
    "control": "\x1b[31m\x07\x7f",
    "empty": "",
    "space": "   ",
    "long": "x" * 100_000,
    "colons": "a::b::c",
    "number": "42",
    "null": "null",
    "percent": "%s %d {0} {id}",
}


@pytest.fixture(scope="module")
def given_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad") / "given"


def mapped(path: Path, data: bytes) -> Mapped:
    path.write_bytes(data)
    return map_files(path)


def beside(path: Path, bad: bytes) -> Mapped:
    """``bad`` between two good traces, a line each; the good ones are analysed."""
    before, after = lines([trace("before")]), lines([trace("after")])
    result = mapped(path, before + bad + b"\n" + after)
    assert [one for one in result.traces if one in GOOD] == GOOD
    return result


def changed(**fields: Any) -> Json:
    """A trace whose second span has other fields."""
    one = trace("odd")
    one["spans"][1] |= fields
    return one


ABSENT = object()
UNREADABLE: dict[str, tuple[Json, str]] = {
    "no start": (changed(startTime=None), "wrong-type"),
    "a list as start": (changed(startTime=[1]), "wrong-type"),
    "a word as start": (changed(startTime="soon"), "wrong-type"),
    "half a microsecond": (changed(startTime=DAY + 0.5), "wrong-type"),
    "a start before 1970": (changed(startTime=-1), "bad-time"),
    "a start beyond all clocks": (changed(startTime=LARGEST_TIME_US + 1), "bad-time"),
    "a duration beyond all requests": (changed(duration=LARGEST_DURATION_US + 1), "bad-time"),
    "a duration below 0": (changed(duration=-1), "bad-time"),
    "a duration of 2^63": (changed(duration=2**63), "bad-time"),
    "a duration of 2^64": (changed(duration=2**64), "bad-time"),
    "a duration of a thousand digits": (changed(duration=10**1000), "bad-time"),
    "infinity as duration": (changed(duration=1e999), "not-json"),
    "no name": (changed(operationName=None), "wrong-type"),
    "a number as name": (changed(operationName=7), "wrong-type"),
    "no id": (changed(spanID=None), "wrong-type"),
    "an object as id": (changed(spanID={}), "wrong-type"),
    "a text as references": (changed(references="a"), "wrong-type"),
    "null in references": (changed(references=[None]), "wrong-type"),
    "spans as text": (trace("odd") | {"spans": "none"}, "wrong-type"),
    "null as span": (trace("odd") | {"spans": [None]}, "wrong-type"),
    "no spans": (trace("odd") | {"spans": []}, "no-spans"),
    "spans null": (trace("odd") | {"spans": None}, "no-spans"),
    "processes as list": (trace("odd") | {"processes": []}, "wrong-type"),
    "a process without a name": (trace("odd") | {"processes": {"p1": {}}}, "wrong-type"),
    "a trace id that is a list": (trace("odd") | {"traceID": [1]}, "wrong-type"),
    "no trace at all": ({"hello": "world"}, "not-a-trace"),
    "an answer with an error": ({"data": None, "errors": [{"code": 404}]}, "not-a-trace"),
    "null among the traces": ({"data": [None]}, "not-a-trace"),
    "every span has a missing parent": (
        trace("odd") | {"spans": [span("x", 0, 9, parent="y", trace_id="odd")]},
        "no-root",
    ),
    "spans in a circle": (
        {
            "traceID": "t1",
            "spans": [span("x", 0, 9, parent="y"), span("y", 0, 9, parent="x")],
        },
        "cycle",
    ),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_trace_that_cannot_be_used_is_one_reject_with_its_reason(
    given_file: Path, what: str
) -> None:
    document, reason = UNREADABLE[what]
    assert beside(given_file, json.dumps(document).encode()).reasons == [reason]


@pytest.mark.parametrize("what", [what for what in UNREADABLE if "data" not in UNREADABLE[what][0]])
def test_a_bad_trace_of_an_envelope_costs_only_itself(given_file: Path, what: str) -> None:
    document, reason = UNREADABLE[what]
    result = mapped(given_file, envelope([trace("before"), document, trace("after")]))
    assert result.traces == GOOD
    assert result.reasons == [reason]


READABLE: dict[str, Json] = {
    "numbers as texts": changed(startTime=str(DAY + 5), duration="10"),
    "whole floats": changed(startTime=float(DAY + 5), duration=10.0),
    "a duration of 0": changed(duration=0),
    "the largest duration": changed(duration=LARGEST_DURATION_US),
    "a start in 1970": changed(startTime=0),
    "tags, logs and references null": changed(tags=None, logs=None, references=None),
    "tags with odd values": changed(
        tags=[
            {"key": "span.kind", "value": 3},
            {"key": "error", "value": {"deep": [1, 2]}},
            {"key": "x", "value": 10**40},
            {"key": "sampler.type", "value": "probabilistic"},
            {"key": "sampler.param", "value": "nan"},
        ]
    ),
    "an unknown process": changed(processID="nobody"),
    "no process": changed(processID=None),
    "processes null": trace("odd") | {"processes": None},
    "a process null": trace("odd") | {"processes": {"p1": None}},
    "no processes": {key: value for key, value in trace("odd").items() if key != "processes"},
    "no trace id": {key: value for key, value in trace("odd").items() if key != "traceID"},
    "fields nobody knows": trace("odd") | {"x": {"y": [1, {"z": None}]}},
    "a reference to another trace": changed(
        references=[{"refType": "CHILD_OF", "traceID": "other", "spanID": "a"}]
    ),
    "a reference of a new kind": changed(
        references=[{"refType": "LIKES", "traceID": "odd", "spanID": "a"}]
    ),
    "a reference without ids": changed(references=[{"traceID": None, "spanID": None}]),
    "a span that is its own parent": changed(
        references=[{"refType": "CHILD_OF", "traceID": "odd", "spanID": "b"}]
    ),
}


@pytest.mark.parametrize("what", READABLE)
def test_a_trace_that_can_be_used_is_used(given_file: Path, what: str) -> None:
    result = beside(given_file, json.dumps(READABLE[what]).encode())
    assert result.reasons == []
    assert result.counts["analysed"] == 3


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("what", NAMES)
def test_odd_names_come_through_unchanged(given_file: Path, what: str, ascii_only: bool) -> None:
    name = NAMES[what]
    one = changed(operationName=name)
    one["processes"]["p2"]["serviceName"] = name
    result = beside(given_file, json.dumps(one, ensure_ascii=ascii_only).encode())
    assert result.counts["analysed"] == 3
    named = [(row["service"], row["operation"]) for row in result.tables["endpoint_names"]]
    assert (name, name) in named


BROKEN: dict[str, bytes] = {
    "half a line": json.dumps(trace("odd")).encode()[:300],
    "a lone surrogate": json.dumps(changed(operationName="\ud800")).encode(),
    "a lone surrogate as id": json.dumps(trace("odd\udfff")).encode(),
    "a reversed surrogate pair": json.dumps(changed(operationName="\udc00\ud800")).encode(),
    "invalid utf-8": json.dumps(changed(operationName="é")).encode().replace(b"\\u00e9", b"\xe9"),
    "invalid utf-8 as id": json.dumps(trace("odd")).encode().replace(b'"odd"', b'"\xff"'),
    "an overlong utf-8 zero": json.dumps(trace("odd")).encode().replace(b"odd", b"\xc0\x80"),
    "a bare line break in a name": json.dumps(trace("odd")).encode().replace(b"find", b"a\rb"),
    "single quotes": str(trace("odd")).encode(),
    "a number too large for a float": json.dumps(changed(duration=12321))
    .encode()
    .replace(b"12321", b"1e999"),
    "not a number": json.dumps(changed(duration=float("nan"))).encode(),
    "a bad escape": json.dumps(trace("odd")).encode().replace(b"find", b"\\x41"),
    "binary": bytes(range(256)) * 4,
    "nothing but brackets": b"{[" * 500,
    "closing brackets": b"}]" * 500,
    "a quote": b'"',
    "deep lists": b"[" * 50_000 + b"]" * 50_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "a deep tag": json.dumps(trace("odd"))
    .encode()
    .replace(b'"tags": []', b'"tags": ' + b"[" * 20_000 + b"]" * 20_000),
    "a log line": b"2026-11-21 INFO traces follow",
    "html": b"<html><body>502 Bad Gateway</body></html>",
    "a scalar": b"42",
    "a text": b'"spans"',
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_line_costs_only_itself(given_file: Path, what: str) -> None:
    result = beside(given_file, BROKEN[what])
    assert result.counts["rejected"] >= 1 or result.counts["analysed"] == 3


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_first_or_last_line_costs_only_itself(given_file: Path, what: str) -> None:
    good = lines([trace("before"), trace("after")])
    for data in (BROKEN[what] + b"\n" + good, good + BROKEN[what]):
        result = mapped(given_file, data)
        assert [one for one in result.traces if one in GOOD] == GOOD
        assert result.counts["read"] >= 3


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_rejected_or_read(given_file: Path, what: str) -> None:
    for data in (BROKEN[what], gzip.compress(BROKEN[what]), zstandard.compress(BROKEN[what])):
        assert mapped(given_file, data).counts["read"] >= 1


@pytest.mark.parametrize(
    "data", [b"", b"\n", b" \r\n\t ", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)]
)
def test_an_empty_file_holds_nothing(given_file: Path, data: bytes) -> None:
    assert mapped(given_file, data).counts["read"] == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("shape", [lines, envelope, lambda made: envelope(made, indent=1)])
def test_a_cut_file_gives_the_traces_before_the_cut_and_one_reject(
    given_file: Path, pack: Callable[[bytes], bytes], shape: Callable[[list[Json]], bytes]
) -> None:
    made = traces(400)
    packed = pack(shape(made))
    for part in (0.3, 0.7, 0.99):
        result = mapped(given_file, packed[: int(len(packed) * part)])
        ids = [one["traceID"] for one in made]
        assert result.traces == ids[: len(result.traces)]
        assert len(result.reasons) == 1
        if pack is bytes:
            assert abs(len(result.traces) - part * len(made)) < 20


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("lost", [1, 4, 8])
def test_a_file_that_lacks_only_its_checksum_gives_every_trace_and_one_reject(
    given_file: Path, pack: Callable[[bytes], bytes], lost: int
) -> None:
    for text in (lines(traces(3)), lines(traces(3)).rstrip(), envelope(traces(3))):
        packed = (
            zstandard.ZstdCompressor(write_checksum=True).compress(text)
            if pack is zstandard.compress
            else pack(text)
        )
        result = mapped(given_file, packed[: -min(lost, 4)])
        assert result.reasons == ["damaged-compression"]
        assert len(result.traces) in (3, 0)


def test_a_good_member_before_a_cut_one_is_kept_and_the_loss_is_told(given_file: Path) -> None:
    for pack in (gzip.compress, zstandard.compress):
        data = pack(lines([trace("before")])) + pack(lines(traces(50)))[:-30]
        result = mapped(given_file, data)
        assert result.traces[0] == "before"
        assert result.reasons == ["damaged-compression"]


def test_what_stands_before_a_trace_in_a_small_file_is_told(given_file: Path) -> None:
    whole = lines([trace("odd")]).rstrip()
    tail = whole[whole.index(b'"references"') :]
    result = mapped(given_file, tail + lines([trace("after")]))
    assert result.traces == ["after"]
    assert len(result.reasons) >= 1


def test_a_trace_larger_than_the_limit_is_rejected(given_file: Path) -> None:
    given_file.write_bytes(lines([trace("large"), {"spans": [span("a", 0, 9)]}]))
    result = map_files(given_file, IngestOptions(max_spans=2))
    assert result.reasons == ["too-large"]
    assert len(result.traces) == 1


VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None, True, False, 0, -1, 1, 2**53, 2**63, 10**30, 0.5, -0.0, 1e308, "", "a", "12", "é",
        "\ud800", [], {}, [None], [[]], {"a": 1}, [{}], {"spans": []}, [1, "x"],
    ]
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a document."""
    found = [at] if at else []
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        found += places(inner, (*at, key))
    return found


RICH = trace("odd")
RICH["spans"][1]["tags"] = [
    {"key": "span.kind", "type": "string", "value": "client"},
    {"key": "error", "type": "bool", "value": True},
    {"key": "sampler.type", "type": "string", "value": "probabilistic"},
    {"key": "sampler.param", "type": "float64", "value": 0.01},
]
RICH["spans"][2]["references"].append({"refType": "FOLLOWS_FROM", "traceID": "x", "spanID": "b"})
RICH["spans"].append(copy.deepcopy(RICH["spans"][1]))
PLACES = places(RICH)


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES | st.just(ABSENT)), max_size=3))
def test_any_value_at_any_place_is_analysed_or_rejected(
    given_file: Path, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    document = copy.deepcopy(RICH)
    for place, value in changes:
        inner: Any = document
        try:
            for key in place[:-1]:
                inner = inner[key]
            if value is ABSENT:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    result = beside(given_file, json.dumps(document).encode())
    assert result.counts["read"] == 3
    again = mapped(given_file, envelope([trace("before"), document, trace("after")]))
    assert [one for one in again.traces if one in GOOD] == GOOD
    assert again.reasons == result.reasons


TEXT = envelope([RICH, trace("other")], indent=1)
PACKED = {"plain": TEXT, "gzip": gzip.compress(TEXT), "zstd": zstandard.compress(TEXT)}


@given(
    st.sampled_from(sorted(PACKED)),
    st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 255)), max_size=4),
    st.none() | st.integers(0, len(TEXT)),
)
def test_any_flipped_bytes_and_any_cut_are_survived(
    given_file: Path, form: str, flips: list[tuple[int, int]], cut: int | None
) -> None:
    data = bytearray(PACKED[form])
    for place, value in flips:
        data[place % len(data)] = value
    mapped(given_file, bytes(data[: len(data) if cut is None else cut % len(data)]))


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(given_file: Path, data: bytes) -> None:
    mapped(given_file, data)
    beside(given_file, data.replace(b"\n", b" "))
