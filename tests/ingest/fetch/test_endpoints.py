"""The file of endpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from crisp.errors import ConfigError
from crisp.ingest.fetch.endpoints import Endpoint, read_endpoints
from crisp.ingest.fetch.found import read_found, trace_key
from crisp.ingest.fetch.scope import Scope
from crisp.ingest.fetch.windows import Window


def test_a_file_names_one_endpoint_a_line(tmp_path: Path) -> None:
    file = tmp_path / "endpoints"
    file.write_text("\ufeff# the shop\nshop::GET /\n\n  store :: a::b \nshop::GET /\n")
    assert read_endpoints(file) == [Endpoint("shop", "GET /"), Endpoint("store", "a::b")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shop\n::op\nok::op\nshop::\n", "in line 1: 'shop', line 2: '::op', line 4: 'shop::'"),
        ("# nothing\n", "names no endpoint"),
    ],
)
def test_lines_of_another_form_are_named(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "endpoints"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_endpoints(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="missing: No such file"):
        read_endpoints(tmp_path / "missing")


def test_a_scope_within_another_is_known() -> None:
    one = Scope((Endpoint("shop", "find"),))
    assert one.is_within(["*"])
    assert one.is_within(["shop"])
    assert one.is_within(["other", "shop::find"])
    assert not one.is_within(["shop::pay"])
    assert not Scope((Endpoint("shop"),)).is_within(["shop::find"])
    assert not Scope().is_within(["shop"])
    assert Scope().is_within(["*"])


def test_trace_ids_that_differ_in_zeros_and_case_alone_are_one() -> None:
    assert trace_key("ABC") == trace_key("0000000000000abc") == (0xABC).to_bytes(16, "big")
    assert trace_key("f" * 32) == b"\xff" * 16
    assert len({trace_key(text) for text in ("xyz", "xyZ", "0_1", "01", "-1", "f" * 33)}) == 6


def test_a_trace_without_a_span_that_was_asked_for_is_believed() -> None:
    """The server knows better what its operations are called."""
    line = b'{"traceID":"1","spans":[{"operationName":"a","startTime":5,"processID":"p"}]}'
    assert read_found(line, Endpoint("shop", "A")).starts_in(Window(10, 20))


def test_a_trace_over_several_lines_becomes_one() -> None:
    found = read_found(b'{"traceID": "1",\n "spans": [ ]}', Endpoint("shop"))
    assert found.line == b'{"traceID":"1","spans":[]}'
