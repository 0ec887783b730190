"""Events reach a receiver once each, whatever happens on the way."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from crisp.anomaly.delivery import Delivered, deliver
from crisp.anomaly.messages import Event, Links, events_of
from crisp.anomaly.outbox import FOLDER
from crisp.anomaly.sinks import Sink
from crisp.errors import ConfigError, DeliveryError
from tests.anomaly.receivers import DAY, Receiver, alert, receiver, table
from tests.servers import ROOT, alertmanager, answers, free_port

NEXT_DAY = "2026-08-22"
FIRES, ELSE = alert(), alert(alert_id="00000000000000bb", endpoint_id=8, service="search")
OVER = alert(status="resolved", ended="back to before", summary="over after 1 night")
NAMED = "HOOK_TOKEN"
LINKS = Links(
    pages={-7: "https://crisp.example/endpoint/checkout.html"},
    trace_url="https://jaeger.example/trace/{trace_id}?uiFind={span_id}",
)


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as state:
        yield state


def send(
    root: Path,
    sink: Sink,
    *rows: dict[str, Any],
    day: str = DAY,
    said: list[str] | None = None,
    missed: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    expires_hours: float = 36,
) -> Delivered:
    """Deliver a night; ``missed`` are alerts that were over on nights nobody was told of."""

    def ends(first: str) -> Iterator[Event]:
        for night in sorted((night for night in missed if night >= first), reverse=True):
            yield from events_of(table(missed[night]), night, LINKS)

    return deliver(
        table(*rows),
        day,
        sink,
        root=root,
        links=LINKS,
        ends=ends,
        expires_hours=expires_hours,
        now=datetime.now(UTC),
        on_trouble=(said if said is not None else []).append,
    )


def webhook(url: str, kind: Any = "json", **more: Any) -> Sink:
    return Sink(target=url, kind=kind, **{"retry_s": 0.0, "timeout_s": 5.0, **more})


def ids(hook: Receiver) -> list[str]:
    return [body["id"] for body in hook.bodies]


def test_each_event_is_one_post_and_running_again_sends_none(
    tmp_path: Path, hook: Receiver
) -> None:
    sink = webhook(hook.url)
    assert send(tmp_path, sink, FIRES, ELSE) == Delivered(sent=2, known=0)
    assert send(tmp_path, sink, FIRES, ELSE) == Delivered(sent=0, known=2)
    assert ids(hook) == ["00000000000000aa-firing-warning", "00000000000000bb-firing-warning"]
    assert [headers["Idempotency-Key"] for headers in hook.headers] == ids(hook)


def test_an_event_says_all_that_the_alert_does(tmp_path: Path, hook: Receiver) -> None:
    send(tmp_path, webhook(hook.url), FIRES)
    (event,) = hook.bodies
    assert event["endpoint_id"] == "-7"
    assert event["page"] == "https://crisp.example/endpoint/checkout.html"
    assert event["paths"][0]["path_id"] == "9007199254740993"
    assert event["exemplars"][0]["link"] == "https://jaeger.example/trace/ab12?uiFind=cd%2F34"
    assert (event["status"], event["day"], event["nights"]) == ("firing", DAY, 1)


def test_the_memory_may_lie_in_an_object_store(hook: Receiver) -> None:
    import fsspec

    root, sink = "memory://out-of-alerts", webhook(hook.url)
    for sent in (1, 0):
        found = deliver(
            table(FIRES),
            DAY,
            sink,
            root=root,
            links=LINKS,
            ends=lambda first: iter(()),
            expires_hours=36,
            now=datetime.now(UTC),
            on_trouble=print,
        )
        assert found.sent == sent
    assert fsspec.filesystem("memory").ls("/out-of-alerts/delivery", detail=False) == [
        f"/out-of-alerts/delivery/{sink.key}.json"
    ]


def test_nights_on_which_an_alert_goes_on_are_no_news_but_its_rise_and_its_end_are(
    tmp_path: Path, hook: Receiver
) -> None:
    sink = webhook(hook.url)
    send(tmp_path, sink, FIRES)
    assert send(tmp_path, sink, alert(nights=2), day=NEXT_DAY).sent == 0
    send(tmp_path, sink, alert(nights=3, severity="critical"), day="2026-08-23")
    send(tmp_path, sink, OVER | {"severity": "critical"}, day="2026-08-24")
    assert [body["status"] for body in hook.bodies] == ["firing", "firing", "resolved"]


def test_an_old_night_run_again_does_not_wake_an_alert_that_is_over(
    tmp_path: Path, hook: Receiver
) -> None:
    sink = webhook(hook.url, "alertmanager")
    send(tmp_path, sink, FIRES)
    send(tmp_path, sink, OVER, day=NEXT_DAY)
    assert send(tmp_path, sink, FIRES) == Delivered(sent=0, known=1)
    assert len(hook.bodies) == 2


LATER = "2026-08-24"
SINCE_THEN: list[Any] = [
    pytest.param({"2026-08-23": OVER}, "back to before", "2026-08-23", id="a night has it"),
    pytest.param({}, "end not recorded", LATER, id="no night has it any more"),
]


@pytest.mark.parametrize("kind", ["json", "alertmanager"])
@pytest.mark.parametrize(("missed", "why", "on"), SINCE_THEN)
def test_an_end_on_a_night_without_a_receiver_is_told_with_the_next_and_once(
    tmp_path: Path, hook: Receiver, kind: str, missed: dict[str, Any], why: str, on: str
) -> None:
    sink = webhook(hook.url, kind)
    send(tmp_path, sink, FIRES)
    hook.statuses = [(503, {})]
    with pytest.raises(DeliveryError, match="1 of 1 new events wait"):  # killed, or away
        send(tmp_path, sink, day=LATER, missed=missed)
    for day in (LATER, LATER, "2026-08-25"):
        send(tmp_path, sink, day=day, missed=missed)
    assert len(hook.bodies) == 2
    if kind == "json":
        ends = hook.bodies[1]
        assert (ends["id"], ends["status"]) == ("00000000000000aa-resolved", "resolved")
        assert (ends["ended"], ends["day"], ends["service"]) == (why, on, "checkout")
    else:
        [first], [ends] = hook.bodies
        assert ends["labels"] == first["labels"]
        assert datetime.fromisoformat(ends["endsAt"]) <= datetime.now(UTC)


def test_an_alert_that_goes_on_or_is_silenced_or_was_told_on_a_later_night_has_no_end(
    tmp_path: Path, hook: Receiver
) -> None:
    sink = webhook(hook.url)
    send(tmp_path, sink, FIRES, day=NEXT_DAY)
    send(tmp_path, sink, day=DAY)  # an older night run again
    send(tmp_path, sink, alert(nights=2), day="2026-08-23")
    send(tmp_path, sink, alert(status="silenced", silence="known"), day=LATER)
    assert ids(hook) == ["00000000000000aa-firing-warning"]


def test_what_was_never_taken_and_is_over_is_told_as_over_only(tmp_path: Path) -> None:
    port = free_port()
    sink = webhook(f"http://127.0.0.1:{port}")
    with pytest.raises(DeliveryError):
        send(tmp_path, sink, FIRES)
    with receiver(port) as hook:
        send(tmp_path, sink, day=LATER, missed={NEXT_DAY: OVER})
        assert ids(hook) == ["00000000000000aa-resolved"]


def test_an_end_is_told_even_half_a_year_later(tmp_path: Path, hook: Receiver) -> None:
    sink = webhook(hook.url)
    send(tmp_path, sink, FIRES)
    send(tmp_path, sink, day="2027-02-21")
    assert ids(hook)[1:] == ["00000000000000aa-resolved"]


def test_labels_have_no_characters_that_move_the_cursor(tmp_path: Path, hook: Receiver) -> None:
    send(tmp_path, webhook(hook.url, "alertmanager"), alert(operation="GET\n\u202e/"))
    assert hook.bodies[0][0]["labels"]["operation"] == r"GET\n\u202e/"


def test_of_what_a_receiver_says_80_characters_are_repeated_and_no_piece_of_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: Receiver
) -> None:
    monkeypatch.setenv(NAMED, "sesame-42")
    hook.said = b"x" * 75 + b"sesame-42" + b"y" * 500
    hook.statuses = [(404, {})]
    with pytest.raises(DeliveryError) as caught:
        send(tmp_path, webhook(hook.url, token_env=NAMED), FIRES)
    assert f"HTTP 404: {'x' * 75}***y…;" in str(caught.value)


def test_what_a_receiver_did_not_take_goes_out_with_the_next_run(tmp_path: Path) -> None:
    port = free_port()
    sink = webhook(f"http://127.0.0.1:{port}")
    with pytest.raises(DeliveryError, match="2 of 2 new events wait for the next run"):
        send(tmp_path, sink, FIRES, ELSE)
    with receiver(port) as hook:
        assert send(tmp_path, sink, OVER, ELSE, day=NEXT_DAY).sent == 2
        assert ids(hook) == ["00000000000000aa-resolved", "00000000000000bb-firing-warning"]
        assert send(tmp_path, sink, ELSE, day="2026-08-23") == Delivered(sent=0, known=1)


def test_a_receiver_that_dies_half_way_keeps_what_it_took(tmp_path: Path, hook: Receiver) -> None:
    hook.statuses = [(200, {}), (503, {}), (503, {})]
    sink = webhook(hook.url)
    with pytest.raises(DeliveryError, match="HTTP 503: ok, for 0 s; 1 of 2"):
        send(tmp_path, sink, FIRES, ELSE)
    hook.statuses = []
    assert send(tmp_path, sink, FIRES, ELSE) == Delivered(sent=1, known=1)
    assert ids(hook) == ["00000000000000aa-firing-warning", "00000000000000bb-firing-warning"]


def test_a_bad_event_does_not_hold_up_the_others(tmp_path: Path, hook: Receiver) -> None:
    hook.refused = "00000000000000aa"
    for sink in (webhook(hook.url), webhook(hook.url, "alertmanager")):
        with pytest.raises(DeliveryError, match="1 of 2 new events wait"):
            send(tmp_path, sink, FIRES, ELSE)
    assert [str(body).count("00000000000000bb") > 0 for body in hook.bodies] == [True, True]


def test_a_busy_receiver_is_left_alone_for_as_long_as_it_asks(
    tmp_path: Path, hook: Receiver
) -> None:
    hook.statuses = [(429, {"Retry-After": "1"}), (502, {})]
    said: list[str] = []
    began = time.monotonic()
    assert send(tmp_path, webhook(hook.url, retry_s=30.0), FIRES, said=said).sent == 1
    assert 1.0 < time.monotonic() - began < 10
    assert [text.partition(": ")[2].partition(":")[0] for text in said] == ["HTTP 429", "HTTP 502"]


def test_a_pause_beyond_all_patience_is_not_waited_for(tmp_path: Path, hook: Receiver) -> None:
    hook.statuses = [(503, {"Retry-After": "3600"})]
    began = time.monotonic()
    with pytest.raises(DeliveryError, match="503"):
        send(tmp_path, webhook(hook.url, retry_s=5.0), FIRES)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("status", [301, 401, 404])
def test_what_no_other_event_would_change_ends_the_run_at_once(
    tmp_path: Path, hook: Receiver, status: int
) -> None:
    hook.statuses = [(status, {"Location": "/elsewhere"})]
    words = "redirects are not followed" if status == 301 else "ok"
    with pytest.raises(DeliveryError, match=f"HTTP {status}: {words}; 2 of 2"):
        send(tmp_path, webhook(hook.url, retry_s=30.0), FIRES, ELSE)
    assert hook.bodies == []


def test_no_secret_is_said_or_written(
    tmp_path: Path, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAMED, " sesame-42\n")
    hook.statuses = [(200, {})]
    secret = webhook(f"{hook.url}/hooks/s3cr3tpath?key=hidden", token_env=NAMED)
    send(tmp_path, secret, FIRES)
    assert hook.headers[0]["Authorization"] == "Bearer sesame-42"
    assert hook.paths == ["/hooks/s3cr3tpath?key=hidden"]
    hook.statuses = [(503, {})] * 9
    said: list[str] = []
    basic = webhook(f"http://user:p4ssw0rd@127.0.0.1:{hook.port}/s3cr3tpath", retry_s=0.5)
    with pytest.raises(DeliveryError) as caught:
        send(tmp_path, basic, FIRES, said=said)
    assert hook.headers[-1]["Authorization"] == "Basic dXNlcjpwNHNzdzByZA=="
    written = "".join(p.name + p.read_text() for p in (tmp_path / FOLDER).glob("*.json"))
    everything = str(caught.value) + "".join(said) + written
    assert said
    for word in ("sesame-42", "p4ssw0rd", "s3cr3tpath", "hidden"):
        assert word not in everything


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"target": "ftp://x", "kind": "json"}, "must be an http:// or https:// URL"),
        ({"target": "http://", "kind": "alertmanager"}, "with a host"),
        ({"target": "s3://b/alerts.jsonl", "kind": "lines"}, "a file of this machine"),
        ({"target": "-", "kind": "lines", "token_file": "t"}, "only a webhook takes a token"),
        (
            {"target": "http://x", "kind": "json", "token_file": "a", "token_env": "b"},
            "not both",
        ),
        (
            {"target": "http://x", "kind": "json", "timeout_s": 0},
            "^timeout_s must be above 0, not 0$",
        ),
        (
            {"target": "http://x", "kind": "json", "retry_s": -1},
            "^retry_s must be at least 0, not -1$",
        ),
    ],
)
def test_a_sink_that_cannot_be_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Sink(**settings)


def test_a_missing_token_is_an_error_before_anything_is_sent(
    tmp_path: Path, hook: Receiver
) -> None:
    (tmp_path / "token").write_text("\n", encoding="utf-8")
    for name, problem in (("token", "no token"), ("none", "No such file")):
        with pytest.raises(ConfigError, match=problem):
            send(tmp_path, webhook(hook.url, token_file=str(tmp_path / name)), FIRES)
    assert hook.headers == []


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_file_gets_each_event_as_one_line_even_when_the_memory_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    sink = Sink(target=str(file), kind="lines")
    send(tmp_path / "a", sink, FIRES)
    send(tmp_path / "a", sink, FIRES, ELSE)
    send(tmp_path / "b", sink, FIRES, ELSE, alert(alert_id="cc"))  # another memory, same file
    assert [line["alert_id"][-2:] for line in lines(file)] == ["aa", "bb", "cc"]


def test_a_line_cut_off_by_a_kill_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "alerts.jsonl"
    send(tmp_path / "a", Sink(target=str(file), kind="lines"), FIRES)
    whole = file.read_bytes()
    file.write_bytes(whole[:100])
    send(tmp_path / "b", Sink(target=str(file), kind="lines"), FIRES)
    assert file.read_bytes() == whole[:100] + b"\n" + whole


def test_a_file_that_cannot_be_written_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "alerts.jsonl"
    sink = Sink(target=str(file), kind="lines")
    with pytest.raises(DeliveryError, match="No such file or directory; 1 of 1"):
        send(tmp_path, sink, FIRES)
    file.parent.mkdir()
    assert send(tmp_path, sink, day=NEXT_DAY).sent == 1
    assert len(lines(file)) == 1


def test_standard_output_gets_the_events_of_the_night_on_every_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = Sink(target="-", kind="lines")
    for _ in range(2):
        send(tmp_path, sink, FIRES, alert(alert_id="cc", status="silenced", silence="known"))
        assert [json.loads(line)["alert_id"] for line in capsys.readouterr().out.splitlines()] == [
            "00000000000000aa"
        ]


def test_a_silenced_alert_is_not_told_but_its_end_is_if_it_was_told_before(
    tmp_path: Path, hook: Receiver
) -> None:
    sink = webhook(hook.url)
    hushed = {"status": "silenced", "silence": "known"}
    send(tmp_path, sink, FIRES)
    assert send(tmp_path, sink, alert(**hushed), ELSE | hushed, day=NEXT_DAY) == Delivered(0, 0)
    over = {"status": "resolved", "silence": "known", "ended": "back to before"}
    send(tmp_path, sink, alert(**over), ELSE | over, day="2026-08-23")
    assert ids(hook) == ["00000000000000aa-firing-warning", "00000000000000aa-resolved"]


def test_an_alert_silenced_before_it_could_be_sent_is_held_back(tmp_path: Path) -> None:
    port = free_port()
    sink = webhook(f"http://127.0.0.1:{port}")
    with pytest.raises(DeliveryError):
        send(tmp_path, sink, FIRES)
    with receiver(port) as hook:
        send(tmp_path, sink, alert(status="silenced", silence="known"), day=NEXT_DAY)
        assert hook.headers == []


def test_alertmanager_is_sent_what_its_interface_asks_for(tmp_path: Path, hook: Receiver) -> None:
    send(tmp_path, webhook(f"{hook.url}/am/", "alertmanager"), FIRES)
    assert hook.paths == ["/am/api/v2/alerts"]
    ((posted,),) = hook.bodies
    assert posted["labels"] == {
        "alertname": "CrispEndpointChanged",
        "service": "checkout",
        "operation": "POST /order",
        "endpoint_id": "-7",
        "alert_id": "00000000000000aa",
        "severity": "warning",
    }
    assert posted["startsAt"] == f"{DAY}T00:00:00Z"
    ends = datetime.fromisoformat(posted["endsAt"]) - datetime.now(UTC)
    assert timedelta(hours=35) < ends < timedelta(hours=37)
    assert posted["generatorURL"] == "https://crisp.example/endpoint/checkout.html"
    assert posted["annotations"]["description"] == (
        "checkout::POST /order > payments::charge: holds the critical path 60 ms → 91 ms where"
        " it is on it, 1 in 1 billion by chance"
    )
    assert "jaeger.example/trace/ab12" in posted["annotations"]["traces"]


def wait_for(hook: Receiver, count: int) -> list[tuple[str, str]]:
    """Status and severity of all notifications, when so many are there and no more came."""
    deadline = time.monotonic() + 15
    while len(hook.bodies) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.9)  # three group intervals, for those that should not come
    return [(body["status"], body["commonLabels"]["severity"]) for body in hook.bodies]


@pytest.mark.slow
def test_a_real_alertmanager_notifies_once_and_says_when_it_is_over(
    tmp_path: Path, hook: Receiver
) -> None:
    with alertmanager(tmp_path, hook.url) as server:
        sink = webhook(server.url, "alertmanager")
        send(tmp_path / "out", sink, FIRES)
        assert wait_for(hook, 1) == [("firing", "warning")]
        send(tmp_path / "out", sink, FIRES)
        send(tmp_path / "out", sink, alert(nights=2), day=NEXT_DAY)
        send(tmp_path / "lost", sink, FIRES)  # killed after sending, before recording
        assert wait_for(hook, 1) == [("firing", "warning")]
        send(tmp_path / "out", sink, alert(nights=3, severity="critical"), day="2026-08-23")
        assert sorted(wait_for(hook, 3)[1:]) == [("firing", "critical"), ("resolved", "warning")]
        send(tmp_path / "out", sink, OVER | {"severity": "critical"}, day="2026-08-24")
        assert wait_for(hook, 4)[3:] == [("resolved", "critical")]
        send(tmp_path / "out", sink, OVER | {"severity": "critical"}, day="2026-08-24")
        assert len(wait_for(hook, 4)) == 4


@pytest.mark.slow
def test_a_real_alertmanager_for_which_an_alert_has_expired_notifies_no_second_end(
    tmp_path: Path, hook: Receiver
) -> None:
    with alertmanager(tmp_path, hook.url) as server:
        sink = webhook(server.url, "alertmanager")
        send(tmp_path / "out", sink, FIRES, expires_hours=2 / 3600)
        both = [("firing", "warning"), ("resolved", "warning")]
        assert wait_for(hook, 2) == both
        assert send(tmp_path / "out", sink, day=LATER, missed={NEXT_DAY: OVER}).sent == 1
        assert wait_for(hook, 2) == both


def test_nothing_is_lost_while_a_real_alertmanager_or_its_receiver_is_down(tmp_path: Path) -> None:
    port = free_port()
    with alertmanager(tmp_path, f"http://127.0.0.1:{port}") as server:
        sink = webhook(server.url, "alertmanager")
        server.stop()
        with pytest.raises(DeliveryError, match="1 of 1 new events wait"):
            send(tmp_path / "out", sink, FIRES)
        server.start()
        assert send(tmp_path / "out", sink, FIRES).sent == 1  # whose receiver is away still
        time.sleep(1)
        with receiver(port) as hook:
            assert wait_for(hook, 1) == [("firing", "warning")]


def test_the_example_consumer_tells_each_event_of_both_forms_once(tmp_path: Path) -> None:
    at, told = f"127.0.0.1:{free_port()}", tmp_path / "told.txt"
    command = [sys.executable, str(ROOT / "examples" / "alert_hook.py"), at, str(told)]
    process = subprocess.Popen(command)
    try:
        while not answers(f"http://{at}"):
            assert process.poll() is None
            time.sleep(0.05)
        for run, kind in enumerate(("json", "json", "alertmanager", "alertmanager")):
            send(tmp_path / str(run), webhook(f"http://{at}", kind), FIRES, ELSE)
        send(tmp_path / "0", webhook(f"http://{at}"), OVER, ELSE, day=NEXT_DAY)
        answer = httpx.post(f"http://{at}", json={"id": "x", "status": "firing"})
        assert (answer.status_code, answer.text) == (400, "KeyError: 'summary'\n")
    finally:
        process.terminate()
        process.wait(10)
    assert [line.split("\t")[0] for line in told.read_text(encoding="utf-8").splitlines()] == [
        "00000000000000aa-firing-warning",
        "00000000000000bb-firing-warning",
        "00000000000000aa-resolved",
    ]
