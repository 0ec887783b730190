"""Alerts as `crisp alert` lists them."""

from __future__ import annotations

import pytest

from crisp.cli.alert import list_alerts
from tests.anomaly.receivers import alert, table


def test_the_worst_come_first_and_twenty_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    some = [alert(severity="info", summary=f"s{number}") for number in range(21)]
    over = alert(status="resolved", summary="over")
    list_alerts(table(over, *some, alert(severity="critical", summary="bad\x1b[2J")))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [r"  critical  bad\x1b[2J", "  info      s0"]
    assert (len(lines), lines[-1]) == (21, "  … and 3 more")
    list_alerts(table(over))
    assert capsys.readouterr().out == "  resolved  over\n"
