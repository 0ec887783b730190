"""Sentences that a person on call understands."""

from __future__ import annotations

from typing import Any

import pytest

from crisp.anomaly.wording import brief, described, duration, over, percent, summary
from crisp.units import chance


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0, "0 µs"),
        (999.4, "999 µs"),
        (999.6, "1 ms"),
        (1_234, "1.23 ms"),
        (42_000, "42 ms"),
        (999_400, "999 ms"),
        (999_900, "1 s"),
        (61_240_000, "61.2 s"),
        (1_234_000_000, "1,234 s"),
    ],
)
def test_times_have_three_digits_and_the_unit_that_fits(time_us: float, text: str) -> None:
    assert duration(time_us) == text


def test_shares_have_digits_where_they_tell_something() -> None:
    assert [percent(x) for x in (0, 0.001, 0.0951, 0.5, 0.985, 1)] == [
        "0 %",
        "0.1 %",
        "9.5 %",
        "50 %",
        "98.5 %",
        "100 %",
    ]


def path(**changes: Any) -> dict[str, Any]:
    plain = {"path_id": 5, "name": "a::b > c::d", "test": "time", "change_us": -900.0}
    return plain | {"today": 0.0, "before": 0.0} | changes


@pytest.mark.parametrize(
    ("change_us", "paths", "text"),
    [
        (
            -1_000.0,
            [path()],
            (
                "takes 1 ms less per request (−10 %) since D;"
                " c::d holds the critical path 900 µs shorter per request"
            ),
        ),
        (
            10.0,
            [path(test="error", today=0.12, before=0.001)],
            (
                "takes as long as before, but is not the same since D; c::d fails in 12 % of"
                " requests (before 0.1 %)"
            ),
        ),
        (
            2_000.0,
            [
                path(test="presence", today=0.8, before=0.1, change_us=1_500.0),
                path(test="failed", path_id=0, today=0.3),
            ],
            (
                "takes 2 ms more per request (+20 %) since D; c::d is on the critical path of 80 %"
                " of requests (before 10 %), 1.5 ms longer per request; 30 % of requests"
                " (before 0 %) fail"
            ),
        ),
        pytest.param(
            2_000.0,
            [path(test="presence", today=0.52, before=0.66, change_us=1_900.0)],
            (
                "takes 2 ms more per request (+20 %) since D;"
                " c::d holds the critical path 1.9 ms longer per request"
            ),
            id="the share fell while the time rose",
        ),
        (2_000.0, [path(test="latency", path_id=0)], "takes 2 ms more per request (+20 %) since D"),
    ],
)
def test_the_change_in_one_sentence(
    change_us: float, paths: list[dict[str, Any]], text: str
) -> None:
    found = summary(
        "shop",
        "GET /",
        change_us=change_us,
        before_us=10_000.0,
        since="D",
        paths=paths,
        first="c::d",
    )
    assert found == f"shop GET / {text}"


def test_the_end_in_one_sentence() -> None:
    assert over("s", "o", 3, "D", "new normal") == "s o: over after 3 nights since D: new normal"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"test": "presence", "before": 0.137, "today": 0.994, "q": 0.0},
            "on the critical path of 13.7 % → 99.4 % of requests, less than 1 in a trillion",
        ),
        (
            {"test": "time", "before": 11_300.0, "today": 22_200.0, "q": 1e-9},
            "holds the critical path 11.3 ms → 22.2 ms where it is on it, 1 in 1 billion",
        ),
        ({"test": "error", "before": 0.0, "today": 0.0004, "q": 0.01}, "fails in 0 % → <0.1 % of"),
        (
            {"test": "failed", "before": 1.0, "today": 0.9996, "q": 0.0041},
            "100 % → >99.9 % of requests fail, 1 in 240",
        ),
        ({"test": "latency", "before": 900.0, "today": 1_800.0, "q": 0.6}, "takes 900 µs → 1.8 ms"),
        ({"test": "abnormal", "before": 0.001, "today": 0.5, "q": 0.1}, "0.1 % → 50 % of requests"),
    ],
)
def test_a_change_as_a_line_of_a_description(changes: dict[str, Any], text: str) -> None:
    found = described(path(**changes))
    assert found.startswith(f"a::b > c::d: {text}")
    assert found.endswith(" by chance")


def test_chances_are_odds_of_two_digits() -> None:
    assert [chance(p) for p in (0.6, 1 / 45, 1 / 1_240, 1e-7, 9.9e-13)] == [
        "more often than not",
        "1 in 45",
        "1 in 1,200",
        "1 in 10 million",
        "less than 1 in a trillion",
    ]


HOSTILE = "a\x1b[31m\r\nb\u202ec"


def test_names_cannot_move_the_cursor_or_turn_the_text_around() -> None:
    plain = r"a\x1b[31m\r\nb\u202ec"
    found = summary(
        HOSTILE, HOSTILE, change_us=1.0, before_us=1.0, since="D", paths=[path()], first=HOSTILE
    )
    for text in (found, over(HOSTILE, HOSTILE, 1, "D", "x"), described(path(name=HOSTILE, q=0.1))):
        assert text.isprintable()
        assert plain in text


def test_long_names_are_shortened_in_the_middle() -> None:
    assert brief("x" * 120) == "x" * 120
    assert brief("a" * 100 + "b" * 100) == "a" * 59 + "…" + "b" * 60
