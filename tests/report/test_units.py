"""The table of cases is shared with crisp/report/web/test/units.test.ts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crisp.report.units import count, micros, moment, share, size

WORDS = {"micros": micros, "count": count, "share": share}
CASES = json.loads(Path(__file__).with_name("units.json").read_text())


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [(kind, value, text) for kind, cases in CASES.items() for value, text in cases],
)
def test_number_reads_as_in_the_table(kind: str, value: float | None, text: str) -> None:
    assert WORDS[kind](value) == text


def test_size_has_decimal_units() -> None:
    assert [size(0), size(999), size(1_000), size(920e6), size(3e15)] == [
        "0 B",
        "999 B",
        "1.00 kB",
        "920 MB",
        "3,000 TB",
    ]


def test_moment_is_utc_and_survives_absurd_times() -> None:
    assert moment(1_767_225_600_000_000) == "2026-01-01 00:00:00 UTC"
    assert moment(2**62) == "\u2013"
