"""A file of silences is right, or all that is wrong with it is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from crisp.anomaly.silences import Silence, expired, read_silences
from crisp.errors import ConfigError

GOOD = """
[[silence]]
service = "checkout*"
operation = "POST *"
path = "payments::charge"
until = 2026-12-01
reason = "migration, see the calendar"

[[silence]]
path = "* > legacy::*"
until = "2026-11-01"
reason = "switched off soon"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "silences.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_of_silences_is_read(tmp_path: Path) -> None:
    assert read_silences(written(tmp_path, GOOD)) == (
        Silence(
            service="checkout*",
            operation="POST *",
            path="payments::charge",
            until="2026-12-01",
            reason="migration, see the calendar",
        ),
        Silence(path="* > legacy::*", until="2026-11-01", reason="switched off soon"),
    )
    assert read_silences(written(tmp_path, "")) == ()
    assert len(read_silences(written(tmp_path, GOOD).as_uri())) == 2


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    bad = written(
        tmp_path,
        """
        quiet = true
        [[silence]]
        until = "soon"
        [[silence]]
        service = 7
        team = "b"
        until = 2026-12-01T10:00:00
        reason = " "
        """,
    )
    with pytest.raises(ConfigError) as caught:
        read_silences(bad)
    assert str(caught.value) == (
        f"{bad}: unknown key 'quiet'; silence 1: name a service, an operation or a path; silence 1:"
        " until must be a date such as 2026-12-01; silence 1: give a reason; silence 2: unknown key"
        " 'team'; known: service, operation, path, until, reason; silence 2: service must be a"
        " text, not 7; silence 2: until must be a date such as 2026-12-01; silence 2: give a reason"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("silence = 3", "each begun by a line"),
        ("silence = [1]", "each begun by a line"),
        ("[[silence", "silences.toml: "),
        ('[silence]\nservice = "a"', "each begun by a line"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        read_silences(written(tmp_path, text))
    with pytest.raises(ConfigError, match="No such file"):
        read_silences(tmp_path / "none.toml")


def test_a_silence_has_ended_on_its_day() -> None:
    silence = Silence(service="a", path="b::c", until="2026-12-01", reason="r")
    assert expired([silence], "2026-11-30") == []
    assert expired([silence], "2026-12-01") == ["silence of a * b::c has ended on 2026-12-01: r"]
    assert silence.fits("a", "x", ["q::r", "b::c"], "2026-11-30")
    assert not silence.fits("a", "x", ["b::c", "q::r"], "2026-11-30")
    assert not silence.fits("A", "x", ["b::c"], "2026-11-30")
    assert not silence.fits("a", "x", ["b::c"], "2026-12-01")
