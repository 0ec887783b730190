"""Sentences that a person on call understands."""

from __future__ import annotations

from typing import Any

import pytest

from crisp.anomaly.wording import duration, over, percent, summary


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
                " c::d holds the critical path 900 µs shorter"
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
                path(test="presence", today=0.8, before=0.1),
                path(test="failed", path_id=0, today=0.3),
            ],
            (
                "takes 2 ms more per request (+20 %) since D; c::d is on the critical path of 80 %"
                " of requests (before 10 %); 30 % of requests (before 0 %) fail"
            ),
        ),
        (2_000.0, [path(test="latency", path_id=0)], "takes 2 ms more per request (+20 %) since D"),
    ],
)
def test_the_change_in_one_sentence(
    change_us: float, paths: list[dict[str, Any]], text: str
) -> None:
    assert summary("shop", "GET /", change_us, 10_000.0, "D", paths) == f"shop GET / {text}"


def test_the_end_in_one_sentence() -> None:
    assert over("s", "o", 3, "D", "new normal") == "s o: over after 3 nights since D: new normal"
