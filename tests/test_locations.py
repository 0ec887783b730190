"""Paths stay paths, and URLs URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from crisp.errors import ConfigError
from crisp.locations import Location, filesystem, is_url, join, plain


@pytest.mark.parametrize(
    ("location", "url", "text", "joined"),
    [
        ("out", False, "out", "out/a/b"),
        ("/tmp/out/", False, "/tmp/out/", "/tmp/out/a/b"),  # noqa: S108  # only a name
        (Path("x") / "y", False, "x/y", "x/y/a/b"),
        ("C:drive", False, "C:drive", "C:drive/a/b"),
        ("file:///x/y", False, "/x/y", "/x/y/a/b"),
        ("FILE:///x/y", False, "/x/y", "/x/y/a/b"),
        ("s3://bucket/out", True, "s3://bucket/out", "s3://bucket/out/a/b"),
        ("s3://bucket/out/", True, "s3://bucket/out", "s3://bucket/out/a/b"),
        ("memory://x", True, "memory://x", "memory://x/a/b"),
    ],
)
def test_what_a_location_is(location: Location, url: bool, text: str, joined: str) -> None:
    assert (is_url(location), plain(location), join(location, "a", "b")) == (url, text, joined)


def test_a_url_of_no_known_kind_is_named() -> None:
    with pytest.raises(ConfigError, match="nosuch://x"):
        filesystem("nosuch://x")
