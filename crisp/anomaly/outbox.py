"""What a receiver of alerts has acknowledged, and what it still has to hear.

One small JSON file for each sink, below ``delivery/`` of the output, replaced in one step. An
event is written there as pending before it is sent, and as acknowledged after: a run that is
killed between leaves it pending, and the next run sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from crisp.anomaly.messages import Event
from crisp.locations import Location, is_url, join, plain
from crisp.store.files import Files
from crisp.store.local import Folders
from crisp.store.objects import Objects

FOLDER = "delivery"
_REMEMBERED_DAYS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """Of one sink."""

    acknowledged: dict[str, str]
    """day of each event, by its id"""
    pending: tuple[Event, ...]

    def with_events(self, events: Sequence[Event], day: str) -> Outbox:
        """With the events of a night pending, but for those that are known or told to nobody.

        Of an alert only the newest event is kept: it says all that the one before did. What an
        alert that is over said while it fired is old. Acknowledgements are forgotten after 90
        days in which the alert did not fire.
        """
        oldest = str(date.fromisoformat(day) - timedelta(_REMEMBERED_DAYS))
        again = {event["id"]: day for event in events if event["id"] in self.acknowledged}
        known = {i: when for i, when in (self.acknowledged | again).items() if when >= oldest}
        newest = {event["alert_id"]: event for event in self.pending}
        for event in events:
            if newest.get(event["alert_id"], event)["status"] != "resolved" or _ends(event):
                newest[event["alert_id"]] = event
        box = Outbox(acknowledged=known, pending=())
        fresh = (e for e in newest.values() if e["id"] not in known and not box.is_silent(e))
        return replace(box, pending=tuple(e for e in fresh if not box.is_over(e)))

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
        return replace(self, acknowledged=self.acknowledged | ids, pending=left)


def _ends(event: Event) -> bool:
    return bool(event["status"] == "resolved")


class Shelf:
    """The file of one outbox, held by one run at a time."""

    def __init__(self, files: Files, file: str) -> None:
        self._files, self._file = files, file

    def read(self) -> Outbox:
        """The outbox; an empty one at first."""
        text = self._files.texts([self._file]).get(self._file)
        found = json.loads(text) if text else {"acknowledged": {}, "pending": []}
        return Outbox(acknowledged=found["acknowledged"], pending=tuple(found["pending"]))

    def write(self, box: Outbox) -> None:
        """Replace it in one step."""
        content = {"acknowledged": box.acknowledged, "pending": box.pending}
        self._files.replace(self._file, json.dumps(content, sort_keys=True))


@contextmanager
def shelf(root: Location, key: str) -> Iterator[Shelf]:
    """The outbox of the sink ``key`` below ``root``. On disks no other run has it meanwhile."""
    folder = join(root, FOLDER)
    if not is_url(root):
        Path(plain(folder)).mkdir(parents=True, exist_ok=True)
    files: Files = Objects(folder) if is_url(root) else Folders(folder)
    with files.locked():
        yield Shelf(files, join(folder, f"{key}.json"))
