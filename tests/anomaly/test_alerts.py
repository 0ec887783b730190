"""Alerts begin, go on, rise, end once, and make way for what has become normal."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

from crisp import schema
from crisp.anomaly.alerts import BACK, NORMAL, SEEN, VANISHED, Names, alerts_of_night, excluded_days
from crisp.anomaly.changes import changes_of_night
from crisp.anomaly.silences import Silence
from crisp.options import AlertOptions

OPTIONS = AlertOptions(becomes_normal_days=4)
NAMES = Names(
    endpoints={1: ("checkout", "POST /order"), 2: ("search", "GET /find")},
    paths={10: ("checkout::POST /order",), 11: ("checkout::POST /order", "payments::charge")},
)
NOBODY = SEEN.empty_table()


def day(number: int) -> str:
    return str(date(2026, 8, 20) + timedelta(number))


def night(
    slower_us: float = 42_000.0,
    *,
    endpoint: int = 1,
    q: float = 1e-9,
    errors: float = 0.0,
    path: bool = True,
) -> list[dict[str, Any]]:
    """Rows of shifts of one endpoint whose path 11, and so its latency, takes so much more."""
    plain = {"endpoint_id": endpoint, "traces": 200, "reference_traces": 2000, "inflation": 1.0}
    large = abs(slower_us) >= 2_330 and q <= OPTIONS.level
    rows = [
        (0, "latency", 233_000.0, slower_us, slower_us, q, large and not path),
        (0, "failed", 0.0, errors, 0.0, q, errors >= 0.01),
        (0, "abnormal", 0.001, 0.059, 0.0, 1.0, False),
        (11, "time", 60_000.0, slower_us, slower_us, q, large and path),
    ]
    return [
        plain
        | {"path_id": id_, "test": test, "before": before, "today": before + more}
        | {"change_us": change, "p": q_ / 10, "q": q_, "changed": changed}
        for id_, test, before, more, change, q_, changed in rows
    ]


def run(
    number: int,
    rows: list[dict[str, Any]],
    before: pa.Table | None = None,
    silences: tuple[Silence, ...] = (),
    seen: pa.Table = NOBODY,
) -> pa.Table:
    shifts = pa.Table.from_pylist(rows, schema=schema.SHIFTS)
    changes = changes_of_night(shifts, before, OPTIONS)
    found = alerts_of_night(
        day(number), changes, seen, before, names=NAMES, silences=silences, options=OPTIONS
    )
    schema.check("alerts", found.schema, schema.ALERTS)
    return found


def only(found: pa.Table) -> dict[str, Any]:
    (row,) = found.to_pylist()
    assert isinstance(row, dict)
    return row


def test_a_changed_endpoint_is_one_alert_that_says_what_changed() -> None:
    alert = only(run(1, night()))
    assert (alert["status"], alert["since"], alert["nights"]) == ("firing", day(1), 1)
    assert alert["summary"] == (
        "checkout POST /order takes 42 ms more per request (+18 %) since 2026-08-21; "
        "payments::charge holds the critical path 42 ms longer per request"
    )
    assert (alert["latency_us"], alert["before_us"], alert["change_us"]) == (275e3, 233e3, 42e3)
    assert (alert["traces"], alert["abnormal"], alert["severity"]) == (200, 12, "warning")
    assert alert["paths"] == [
        {
            "path_id": 11,
            "name": "checkout::POST /order > payments::charge",
            "test": "time",
            "today": 102e3,
            "before": 60e3,
            "change_us": 42e3,
            "q": 1e-9,
        }
    ]


def test_an_operation_may_hold_what_stands_between_endpoints() -> None:
    odd = Names(endpoints=NAMES.endpoints, paths={11: ("checkout::POST /order", "db::a > b")})
    shifts = pa.Table.from_pylist(night(), schema=schema.SHIFTS)
    changes = changes_of_night(shifts, None, OPTIONS)
    for pattern, status in (("b", "firing"), ("db::a > b", "silenced")):
        held = (silence(path=pattern),)
        found = alerts_of_night(
            day(1), changes, NOBODY, None, names=odd, silences=held, options=OPTIONS
        )
        assert "; db::a > b holds the critical path" in only(found)["summary"]
        assert only(found)["status"] == status


def test_an_endpoint_that_did_not_change_is_no_alert() -> None:
    assert run(1, night(q=0.5)).num_rows == 0


def test_the_same_alert_goes_on_and_a_night_run_again_gives_the_same_table() -> None:
    first = run(1, night())
    second = run(2, night(50_000.0), first)
    assert second.equals(run(2, night(50_000.0), first))
    alert, later = only(first), only(second)
    assert later["alert_id"] == alert["alert_id"]
    assert (later["since"], later["nights"], later["change_us"]) == (day(1), 2, 50_000)


def test_an_alert_that_is_over_is_told_once_and_comes_back_as_another() -> None:
    first = run(1, night())
    over = run(2, night(0.0, q=0.9), first)
    alert = only(over)
    assert (alert["status"], alert["ended"], alert["nights"]) == ("resolved", BACK, 1)
    assert alert["alert_id"] == only(first)["alert_id"]
    assert alert["summary"] == (
        "checkout POST /order: over after 1 night since 2026-08-21: back to before"
    )
    assert (alert["latency_us"], alert["paths"]) == (233e3, only(first)["paths"])
    assert run(3, night(0.0, q=0.9), over).num_rows == 0
    again = only(run(3, night(), over))
    assert (again["since"], again["nights"]) == (day(3), 1)
    assert again["alert_id"] != alert["alert_id"]


@pytest.mark.parametrize(
    ("slower_us", "q", "stays"),
    [
        pytest.param(1_300.0, 0.4, True, id="half the size and p .04 keep it"),
        pytest.param(1_000.0, 0.4, False, id="less than half the size does not"),
        pytest.param(1_300.0, 0.6, False, id="p .06 does not"),
        pytest.param(-9_000.0, 0.4, False, id="a change the other way does not"),
    ],
)
def test_an_alert_stays_for_less_than_it_took_to_begin(
    slower_us: float, q: float, stays: bool
) -> None:
    first = run(1, night())
    assert run(1, night(slower_us, q=q)).num_rows == 0
    assert only(run(2, night(slower_us, q=q), first))["status"] == (
        "firing" if stays else "resolved"
    )


def test_a_change_that_lasts_becomes_normal() -> None:
    alerts = None
    for number in range(1, 5):
        alerts = run(number, night(), alerts)
        assert only(alerts)["status"] == "firing"
    over = only(run(5, night(), alerts))
    assert (over["status"], over["ended"], over["nights"]) == ("resolved", NORMAL, 4)


def test_an_endpoint_that_is_not_compared_keeps_its_alert_for_three_nights() -> None:
    first = run(1, night())
    alerts = first
    for number in (2, 3, 4):
        alerts = run(number, night(endpoint=2, q=0.5), alerts)
        assert alerts.equals(first)
    gone = only(run(5, [], alerts))
    assert (gone["status"], gone["ended"]) == ("resolved", VANISHED)
    back = only(run(4, night(), first))
    assert (back["nights"], back["since"]) == (2, day(1))


@pytest.mark.parametrize(
    ("slower_us", "errors", "severity"),
    [
        (11_000.0, 0.0, "info"),
        (12_000.0, 0.0, "warning"),
        (58_000.0, 0.0, "warning"),
        (59_000.0, 0.0, "critical"),
        (-200_000.0, 0.0, "warning"),
        (3_000.0, 0.01, "warning"),
        (3_000.0, 0.05, "critical"),
        (-200_000.0, 0.3, "critical"),
    ],
)
def test_how_bad_it_is_goes_by_latency_and_failures(
    slower_us: float, errors: float, severity: str
) -> None:
    assert only(run(1, night(slower_us, errors=errors)))["severity"] == severity


def test_the_severity_rises_while_an_alert_lasts_but_does_not_fall() -> None:
    first = run(1, night(12_000.0))
    worse = run(2, night(100_000.0), first)
    better = run(3, night(12_000.0), worse)
    assert [only(t)["severity"] for t in (first, worse, better)] == [
        "warning",
        "critical",
        "critical",
    ]


def silence(**changes: Any) -> Silence:
    return Silence(**({"until": day(3), "reason": "known"} | changes))


@pytest.mark.parametrize(
    ("silences", "silenced"),
    [
        ((silence(service="check*"),), True),
        ((silence(service="check*", operation="GET *"),), False),
        ((silence(path="payments::*"),), True),
        ((silence(path="checkout::* > payments::charge"),), True),
        ((silence(path="stock::*"),), False),
        ((silence(service="checkout", until=day(1)),), False),
        ((silence(path="stock::*"), silence(operation="POST /order")), True),
    ],
)
def test_a_silence_holds_back_what_it_names_until_its_day(
    silences: tuple[Silence, ...], silenced: bool
) -> None:
    alert = only(run(1, night(), silences=silences))
    assert (alert["status"], alert["silence"]) == (
        ("silenced", "known") if silenced else ("firing", "")
    )


def test_a_silence_of_one_path_does_not_hide_another_nor_the_endpoint() -> None:
    other = night()[-1] | {"path_id": 10}
    paths = (silence(path="payments::*"),)
    assert only(run(1, [*night(), other], silences=paths))["status"] == "firing"
    assert only(run(1, night(path=False), silences=paths))["status"] == "firing"
    both = (*paths, silence(path="checkout::*"))
    assert only(run(1, [*night(), other], silences=both))["status"] == "silenced"


def test_a_silenced_alert_lasts_and_fires_when_the_silence_ends() -> None:
    known = (silence(service="checkout"),)
    alerts = run(2, night(), run(1, night(), silences=known), silences=known)
    assert only(alerts)["status"] == "silenced"
    awake = only(run(3, night(), alerts, silences=known))
    assert (awake["status"], awake["since"], awake["nights"]) == ("firing", day(1), 3)


def seen(*rows: tuple[str, int, int, bool, float | None]) -> pa.Table:
    columns = ("trace_id", "latency_us", "time_us", "failed", "p")
    plain = {"endpoint_id": 1, "span_id": "s", "start_us": 5}
    return pa.Table.from_pylist(
        [plain | dict(zip(columns, row, strict=True)) for row in rows], schema=SEEN
    )


TRACES = seen(
    ("a", 900, 10, False, None),
    ("b", 300, 90, False, 0.5),
    ("c", 100, 50, True, 0.9),
    ("d", 200, 50, False, 0.01),
    ("e", 50, 0, False, 0.01),
    ("f", 400, 20, False, 0.7),
)


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        pytest.param(night(), "bdcfa", id="slower: the longest times of the path"),
        pytest.param(night(path=False), "afbdc", id="slower as a whole: the longest"),
        pytest.param(night(-42_000.0), "edbfc", id="faster: the least normal, then the shortest"),
        pytest.param(
            night(0.0, errors=0.3), "cdebf", id="failing: those that failed, then the least normal"
        ),
    ],
)
def test_exemplars_show_the_first_change(rows: list[dict[str, Any]], order: str) -> None:
    alert = only(run(1, rows, seen=TRACES))
    assert "".join(trace["trace_id"] for trace in alert["exemplars"]) == order
    assert alert["exemplars"][0]["span_id"] == "s"


def test_alerts_are_in_the_order_of_their_names() -> None:
    found = run(1, [*night(endpoint=2), *night(endpoint=1)])
    assert found["service"].to_pylist() == ["checkout", "search"]


def history(nights: int, *, quiet: int = 0) -> dict[str, pa.Table]:
    """Nights 1 to ``nights`` with the fault, then quiet ones."""
    found, alerts = {}, None
    for number in range(1, nights + quiet + 1):
        rows = night() if number <= nights else night(0.0, q=0.9)
        found[day(number)] = alerts = run(number, rows, alerts)
    return found


WINDOW = [day(number) for number in range(-3, 8)]


def test_days_with_an_alert_are_not_learnt_from() -> None:
    assert excluded_days(history(2, quiet=2), WINDOW, OPTIONS) == {1: [day(1), day(2)]}
    assert excluded_days({}, WINDOW, OPTIONS) == {}


def test_what_has_become_normal_is_learnt_instead_of_what_was_before() -> None:
    old = [d for d in WINDOW if d < day(1)]
    for nights in (4, 5):  # the night before it ends as the new normal, and that night
        assert excluded_days(history(nights), WINDOW, OPTIONS) == {1: old}
    assert excluded_days(history(3), WINDOW, OPTIONS) == {1: [day(1), day(2), day(3)]}


def test_a_new_fault_after_a_new_normal_is_left_out_again() -> None:
    nights = history(5)
    nights[day(6)] = run(6, night(), nights[day(5)])
    assert only(nights[day(6)])["since"] == day(6)
    left = excluded_days(nights, WINDOW, OPTIONS)[1]
    assert left == [*(d for d in WINDOW if d < day(1)), day(6)]
