"""Receivers of the alerts of a night also hear what ended on nights when they were not asked."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from crisp import store
from crisp.anomaly.delivery import Delivered
from crisp.anomaly.outbox import FOLDER
from crisp.anomaly.sinks import Sink
from crisp.pipeline.deliver import Round, deliver_night
from crisp.pipeline.places import places
from tests.anomaly.receivers import alert, table

OVER = {"status": "resolved", "ended": "back to before"}


def judged(out: Path, number: int, *rows: dict[str, Any]) -> str:
    """Write the alerts of a night of August."""
    root, day = places(out).alerts, f"2026-08-{number:02}"
    with store.staging(root) as folder:
        made = Path(folder) / day / "alerts"
        made.mkdir(parents=True)
        pq.write_table(table(*rows), made / "part-0.parquet")
        store.commit(root, day, str(made.parent), {"days": [day]})
    return day


def told(out: Path, day: str, *sinks: Sink, said: list[str] | None = None) -> Round:
    return deliver_night(
        out,
        day,
        sinks,
        site_url="https://crisp.example",
        trace_url=None,
        expires_hours=36,
        now=datetime.now(UTC),
        on_trouble=(said if said is not None else []).append,
    )


def test_the_end_of_an_alert_between_two_deliveries_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    sink = Sink(target=str(file), kind="lines")
    other = alert(alert_id="00000000000000bb", endpoint_id=8)
    first = judged(tmp_path, 5, alert(), other)
    assert told(tmp_path, first, sink) == Round(((str(file), Delivered(2, 0)),), ())
    judged(tmp_path, 6, alert(nights=2), other)
    judged(tmp_path, 7, alert(**OVER), other)
    eighth = judged(tmp_path, 8, other)
    assert told(tmp_path, eighth, sink) == Round(((str(file), Delivered(1, 1)),), ())
    assert told(tmp_path, eighth, sink) == Round(((str(file), Delivered(0, 1)),), ())
    ninth = judged(tmp_path, 9)
    told(tmp_path, ninth, sink)
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(e["alert_id"][-2:], e["status"], e["day"][-2:], e["ended"]) for e in events] == [
        ("aa", "firing", "05", ""),
        ("bb", "firing", "05", ""),
        ("aa", "resolved", "07", "back to before"),
        ("bb", "resolved", "09", "end not recorded"),
    ]
    assert events[2]["page"].startswith("https://crisp.example/endpoint/")


def test_a_receiver_that_fails_does_not_hold_up_another_nor_hide_what_it_took(
    tmp_path: Path,
) -> None:
    bad = Sink(target=str(tmp_path / "missing" / "a.jsonl"), kind="lines")
    good = Sink(target=str(tmp_path / "b.jsonl"), kind="lines")
    done = told(tmp_path, judged(tmp_path, 5, alert()), bad, good)
    assert done.told == ((good.shown, Delivered(1, 0)),)
    assert len(done.problems) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"acknowledged": {}, "pending": [{"id"', id="cut off"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"acknowledged": []}', id="a part of another kind"),
        pytest.param(b'{"of": "another program"}', id="other parts"),
        pytest.param(b'{"pending": [{"id": "a"}]}', id="half an event"),
    ],
)
def test_damaged_notes_of_a_receiver_are_one_line_and_hold_up_nobody_else(
    tmp_path: Path, damaged: bytes
) -> None:
    one, two = (Sink(target=str(tmp_path / name), kind="lines") for name in ("a", "b"))
    day = judged(tmp_path, 5, alert())
    told(tmp_path, day, one, two)
    notes = tmp_path / FOLDER / f"{one.key}.json"
    notes.write_bytes(damaged)
    done = told(tmp_path, day, one, two)
    assert done.told == ((two.shown, Delivered(0, 1)),)
    assert done.problems == (
        f"{notes}: damaged; remove it, then alerts that fire are told once more",
    )
    assert notes.read_bytes() == damaged
    notes.unlink()
    assert told(tmp_path, day, one).told == ((one.shown, Delivered(1, 0)),)


def test_nobody_is_told_of_a_night_that_is_not_the_newest(tmp_path: Path) -> None:
    first = judged(tmp_path, 5, alert())
    judged(tmp_path, 6)
    said: list[str] = []
    file = tmp_path / "alerts.jsonl"
    sink = Sink(target=str(file), kind="lines")
    assert told(tmp_path, first, sink, said=said) == Round((), ())
    assert said == ["2026-08-05 is not the newest night that has alerts: nobody is told of it"]
    assert not file.exists()
