"""What a receiver of alerts has acknowledged, and what it still has to hear.

One small JSON file for each sink, below ``delivery/`` of the output, replaced in one step. An
event is written there as pending before it is sent, and as acknowledged after: a run that is
killed between leaves it pending, and the next run sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from crisp.anomaly.messages import Event
from crisp.errors import DeliveryError
from crisp.locations import Location, is_url, join, plain
from crisp.store.files import Files
from crisp.store.local import Folders
from crisp.store.objects import Objects

FOLDER = "delivery"
_REMEMBERED_DAYS = 90
_READ = frozenset(
    ("id", "alert_id", "status", "severity", "day", "silence", "service", "operation", "since")
)
"""Fields of an event that are read here and by `crisp.anomaly.messages.end_of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """Of one sink."""

    acknowledged: dict[str, str]
    """newest day of each event, by its id"""
    told: dict[str, Event]
    """by alert, of those that fired and whose end is not acknowledged: the event as it was when
    it was last told or went on"""
    pending: tuple[Event, ...]

    def with_events(self, events: Sequence[Event], day: str) -> Outbox:
        """With the events of a night pending, but for those that are known or told to nobody.

        Of an alert only the newest event is kept: it says all that the one before did. What an
        alert that is over said while it fired is old. What was acknowledged of an alert is
        forgotten 90 days after its end.
        """
        again = {event["id"]: day for event in events if event["id"] in self.acknowledged}
        known = _lasting(self.acknowledged | again, day)
        going_on = {e["alert_id"]: e for e in events if e["id"] in known and not _ends(e)}
        newest = {event["alert_id"]: event for event in self.pending}
        for event in events:
            if newest.get(event["alert_id"], event)["status"] != "resolved" or _ends(event):
                newest[event["alert_id"]] = event
        box = Outbox(acknowledged=known, told=self.told | going_on, pending=())
        box = replace(box, told={i: e for i, e in box.told.items() if not box.is_over(e)})
        fresh = (e for e in newest.values() if e["id"] not in known and not box.is_silent(e))
        return replace(box, pending=tuple(e for e in fresh if not box.is_over(e)))

    def unfinished(self, events: Sequence[Event], day: str) -> dict[str, Event]:
        """By alert: what the receiver heard, or was to hear, of those that are not among the events
        of the night ``day``, and whose end it neither knows nor is to be told yet."""
        tonight = {event["alert_id"] for event in events}
        heard = self.told | {event["alert_id"]: event for event in self.pending}
        return {
            alert: event
            for alert, event in sorted(heard.items())
            if alert not in tonight
            and event["day"] <= day  # nothing, when an older night is run again
            and not (_ends(event) or self.is_over(event))
        }

    def is_silent(self, event: Event) -> bool:
        """Nobody is to hear of it: its alert is silenced, or was before it ended and is unknown."""
        silenced = event["status"] == "silenced"
        return silenced or bool(event["silence"] and not self.severities(event))

    def is_over(self, event: Event) -> bool:
        """The end of its alert is known already, so it may no longer fire."""
        return not _ends(event) and f"{event['alert_id']}-resolved" in self.acknowledged

    def severities(self, event: Event) -> list[str]:
        """Under which its alert fired before, as acknowledged."""
        start = f"{event['alert_id']}-firing-"
        return sorted(i.removeprefix(start) for i in self.acknowledged if i.startswith(start))

    def after(self, taken: Sequence[Event]) -> Outbox:
        """When the receiver has acknowledged some."""
        ids = {event["id"]: event["day"] for event in taken}
        left = tuple(event for event in self.pending if event["id"] not in ids)
        told = self.told | {e["alert_id"]: e for e in taken if not _ends(e)}
        for event in filter(_ends, taken):
            told.pop(event["alert_id"], None)
        return Outbox(acknowledged=self.acknowledged | ids, told=told, pending=left)


def _ends(event: Event) -> bool:
    return bool(event["status"] == "resolved")


def _lasting(acknowledged: Mapping[str, str], day: str) -> dict[str, str]:
    """Without alerts whose end was acknowledged, and which nobody spoke of for 90 days."""
    oldest = str(date.fromisoformat(day) - timedelta(_REMEMBERED_DAYS))
    spoken: dict[str, str] = {}
    for event_id, when in acknowledged.items():
        alert = event_id.partition("-")[0]
        spoken[alert] = max(when, spoken.get(alert, when))
    gone = {a for a, w in spoken.items() if w < oldest and f"{a}-resolved" in acknowledged}
    return {i: when for i, when in acknowledged.items() if i.partition("-")[0] not in gone}


def _outbox(found: Any) -> Outbox:
    """What a file held. Raises ValueError where that is no outbox."""
    kinds = {"acknowledged": dict, "told": dict, "pending": list}
    if not isinstance(found, dict) or not found.keys() <= kinds.keys():
        raise ValueError("no outbox")
    whole = {name: found.get(name, kind()) for name, kind in kinds.items()}
    if not all(isinstance(whole[name], kind) for name, kind in kinds.items()):
        raise ValueError("a part of another kind")
    events = [*whole["told"].values(), *whole["pending"]]
    if not all(isinstance(event, dict) and event.keys() >= _READ for event in events):
        raise ValueError("no event")
    return Outbox(**(whole | {"pending": tuple(whole["pending"])}))


class Shelf:
    """The file of one outbox, held by one run at a time."""

    def __init__(self, files: Files, file: str) -> None:
        self._files, self._file = files, file

    def read(self) -> Outbox:
        """The outbox; an empty one at first.

        Raises:
            DeliveryError: the file is damaged, so nobody knows what the receiver has heard.
        """
        try:
            text = self._files.texts([self._file]).get(self._file)
            return _outbox({} if text is None else json.loads(text))
        except ValueError as error:
            raise DeliveryError(
                f"{self._file}: damaged; remove it, then alerts that fire are told once more"
            ) from error

    def write(self, box: Outbox) -> None:
        """Replace it in one step."""
        self._files.replace(self._file, json.dumps(asdict(box), sort_keys=True))


@contextmanager
def shelf(root: Location, key: str) -> Iterator[Shelf]:
    """The outbox of the sink ``key`` below ``root``. On disks no other run has it meanwhile."""
    folder = join(root, FOLDER)
    if not is_url(root):
        Path(plain(folder)).mkdir(parents=True, exist_ok=True)
    files: Files = Objects(folder) if is_url(root) else Folders(folder)
    with files.locked():
        yield Shelf(files, join(folder, f"{key}.json"))
