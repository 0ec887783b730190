"""Make a landing day usable again: what a kill or a hand left half done goes, or is asked anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from crisp.ingest.fetch.books import RECORD, Day, Record, read_records, update_day, write_record
from crisp.ingest.fetch.places import Place

_PART = re.compile(r"service=[^/]+/part-[0-9a-f]{16}\.jsonl\.zst")


def repair(where: Place, names: Sequence[str], held: Day, limit: int) -> Day:
    """The day without what cannot be used, and ready to ask for what is missing.

    Whose windows found the traces of a part that is gone is not known, as each trace is filed
    once: then all are asked for again. The day stops being complete before anything else.
    """
    records = read_records(where, names)
    strays = stray(names, records)
    if any(name.startswith(RECORD) for name in strays):
        reopened = {name: forget(record) for name, record in records.items()}
        held = update_day(where, held, held.reopened())
    else:
        reopened = {name: reopen(record, limit) for name, record in records.items()}
    changed = [name for name, record in reopened.items() if record != records[name]]
    if changed:
        held = update_day(where, held, held.reopened())
        for name in changed:
            write_record(where, reopened[name])
        where.remove(changed)
    where.remove(strays)
    return held


def stray(names: Iterable[str], records: Mapping[str, Record]) -> list[str]:
    """Parts that no record names, and records whose part is missing."""
    parts = {record.part for record in records.values()}
    return [
        name
        for name in names
        if (_PART.fullmatch(name) and name not in parts)
        or (name.startswith(RECORD) and name not in records)
    ]


def reopen(record: Record, limit: int) -> Record:
    """The record without the gaps that a greater limit may fill, and without their windows."""
    narrow = [gap for gap in record.gaps if gap.limit < limit]
    times = {(gap.start_us, gap.end_us) for gap in narrow}
    return msgspec.structs.replace(
        record,
        gaps=[gap for gap in record.gaps if gap not in narrow],
        windows=[w for w in record.windows if (w.start_us, w.end_us) not in times],
    )


def forget(record: Record) -> Record:
    """The record of the traces alone: all windows are to be asked for again."""
    return msgspec.structs.replace(record, windows=[], gaps=[], sampled=[])
