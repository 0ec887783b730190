"""The table of cases is shared with crisp/report/web/test/units.test.ts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crisp.units import chance, changed, count, micros, moment, share, signed, size

WORDS = {
    "micros": micros,
    "count": count,
    "share": share,
    "changed": changed,
    "signed": signed,
}
CASES = json.loads(Path(__file__).with_name("units.json").read_text())


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [(kind, value, text) for kind, cases in CASES.items() for value, text in cases],
)
def test_number_reads_as_in_the_table(kind: str, value: float | None, text: str) -> None:
    assert WORDS[kind](value) == text


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (None, "\u2013"),
        (float("nan"), "\u2013"),
        (1.0, "more often than not"),
        (0.5, "1 in 2"),
        (0.3, "1 in 3"),
        (1 / 45.4, "1 in 45"),
        (1 / 251, "1 in 250"),
        (1 / 1_201, "1 in 1,200"),
        (1 / 999_500, "1 in 1 million"),
        (1e-7, "1 in 10 million"),
        (1 / 3_449e6, "1 in 3.4 billion"),
        (1e-12, "1 in 1 trillion"),
        (1e-300, "less than 1 in a trillion"),
        (0.0, "less than 1 in a trillion"),
    ],
)
def test_chances_are_odds_of_two_digits(p: float | None, words: str) -> None:
    assert chance(p) == words


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
