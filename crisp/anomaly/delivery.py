"""Alerts on their way to a receiver: none is lost, and none is told twice."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from crisp.anomaly.messages import Event, Links, alertmanager, end_of, events_of
from crisp.anomaly.outbox import Outbox, shelf
from crisp.anomaly.sinks import RefusedError, Sink
from crisp.errors import DeliveryError
from crisp.locations import Location, plain

_AT_ONCE = 100
"""Events in one request to Alertmanager."""


Ends = Callable[[str], Iterator[Event]]
"""Events of all alerts that were over on a night from a day on, before the one that is told of;
the newest night first."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of the events of a night at one sink."""

    sent: int
    """events the receiver heard of for the first time"""
    known: int
    """events it knew already"""


def deliver(
    alerts: pa.Table,
    day: str,
    sink: Sink,
    *,
    root: Location,
    links: Links,
    ends: Ends,
    expires_hours: float,
    now: datetime,
    on_trouble: Callable[[str], None],
) -> Delivered:
    """Tell a sink what is new in the alerts of a night, and what it missed before.

    What it missed are events that it did not take, and ends of alerts on nights when it was not
    asked: every alert that it heard of and that the night no longer has gets its end, as ``ends``
    tells it or, when no night has it, a plain one.

    ``root`` is the output folder or URL, where `crisp.anomaly.outbox` remembers what was
    acknowledged. ``now``, with a time zone, is when an alert that is over ended for
    Alertmanager. ``on_trouble`` hears of requests that are repeated. Alertmanager is sent alerts
    that still fire on every night, which tells it to keep them; it notifies nobody again. To
    ``-`` all events of the night are written each time, for a script that reads them.

    Raises:
        DeliveryError: the receiver did not take everything, and what is left goes out with the
            next run; or the file of what it was told is damaged.
        ConfigError: the sink's token cannot be read.
    """
    events = events_of(alerts, day, links)
    if sink.target == "-":
        told = [event for event in events if not event["silence"]]
        sys.stdout.write("".join(map(_line, told)))
        sys.stdout.flush()
        return Delivered(len(told), 0)
    with shelf(root, sink.key) as kept:
        box = kept.read()
        events = [*_missed(box.unfinished(events, day), ends, day), *events]
        box = box.with_events(events, day)
        events = [event for event in events if not box.is_silent(event)]
        kept.write(box)
        fresh = {event["id"] for event in box.pending}
        known = [e for e in events if e["id"] not in fresh and not box.is_over(e)]
        problems: list[str] = []
        for taken, problem in _sent(box, known, sink, expires_hours, now, on_trouble):
            box = box.after([event for event in taken if event["id"] in fresh])
            kept.write(box)
            problems += [problem] if problem else []
    if problems:
        raise DeliveryError(
            f"{sink.shown}: {problems[0]}; {len(box.pending)} of {len(fresh)} new events wait"
            " for the next run"
        )
    return Delivered(len(fresh), len(events) - len(fresh & {e["id"] for e in events}))


def _missed(heard: Mapping[str, Event], ends: Ends, day: str) -> Iterator[Event]:
    """The end of each of these alerts; reads no more nights than it takes."""
    left = dict(heard)
    nights = ends(min(event["day"] for event in left.values())) if left else iter(())
    for event in nights:
        if left.pop(event["alert_id"], None):
            yield event
        if not left:
            return
    yield from (end_of(event, day) for event in left.values())


Progress = Iterator[tuple[Sequence[Event], str]]
"""Events that were acknowledged, and what went wrong since the last time, '' for nothing."""


def _sent(
    box: Outbox,
    known: Sequence[Event],
    sink: Sink,
    expires_hours: float,
    now: datetime,
    on_trouble: Callable[[str], None],
) -> Progress:
    if sink.kind == "lines":
        yield from _appended(box.pending, Path(plain(sink.target)))
        return
    from crisp.anomaly.webhook import posting

    with posting(sink, on_trouble) as post:
        if sink.kind == "json":
            yield from _told(box.pending, lambda event: post(event, event["id"]))
            return
        firing = [event for event in known if event["status"] == "firing"]
        bodies = {
            event["id"]: alertmanager(event, box.severities(event), now, expires_hours)
            for event in (*box.pending, *firing)
        }
        everything = (*box.pending, *firing)
        for start in range(0, len(everything), _AT_ONCE):
            batch = everything[start : start + _AT_ONCE]
            try:
                post([body for event in batch for body in bodies[event["id"]]])
            except RefusedError:  # one of them is bad: the others shall not wait for it
                yield from _told(batch, lambda event: post(bodies[event["id"]]))
            except DeliveryError as error:
                yield [], str(error)
                return
            else:
                yield batch, ""


def _told(events: Sequence[Event], tell: Callable[[Event], None]) -> Progress:
    """One by one; stops where no other would fare better."""
    for event in events:
        try:
            tell(event)
        except RefusedError as error:
            yield [], f"{error} (event {event['id']})"
        except DeliveryError as error:
            yield [], str(error)
            return
        else:
            yield [event], ""


def _appended(events: Sequence[Event], file: Path) -> Progress:
    """Add lines to a file, but for events it holds already, in one write."""
    if not events:
        return
    try:
        with file.open("a+b") as lines:
            fcntl.flock(lines, fcntl.LOCK_EX)
            lines.seek(0)
            held = lines.read()
            ids = set(_ids(held))
            text = "".join(_line(event) for event in events if event["id"] not in ids)
            if text and held and not held.endswith(b"\n"):  # cut off by a kill: it stays alone
                text = "\n" + text
            lines.write(text.encode())
            lines.flush()
            os.fsync(lines.fileno())
    except OSError as error:
        yield [], error.strerror or str(error)
    else:
        yield events, ""


def _ids(held: bytes) -> Iterator[str]:
    for line in held.splitlines():
        try:
            yield json.loads(line)["id"]
        except (ValueError, TypeError, KeyError):
            continue  # not one of ours, or not whole


def _line(event: Event) -> str:
    return json.dumps(event, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
