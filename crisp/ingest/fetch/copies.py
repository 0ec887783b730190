"""Drop traces that two shards wrote, each not knowing of the other."""

from __future__ import annotations

from crisp.ingest.fetch.books import read_records
from crisp.ingest.fetch.parts import rewrite
from crisp.ingest.fetch.places import Place
from crisp.ingest.fetch.repair import stray


def drop_copies(place: Place) -> int:
    """Rewrite the parts with traces that an earlier part holds too; how many traces went.

    The part and its record are written anew before the old record goes: a kill in between
    leaves copies, which the next time drops, and never loses a trace. Parts that no record
    names go last, among them those of shards that died before they could count them.
    """
    names = place.names()
    seen: set[bytes] = set()
    dropped = 0
    for name, record in read_records(place, names).items():
        keys = list(record.each_key())
        keep = [key not in seen for key in keys]
        seen.update(keys)
        if record.part is None or all(keep):
            continue
        rewrite(place, record, keep)
        place.remove([name])
        dropped += keep.count(False)
    names = place.names()
    place.remove(stray(names, read_records(place, names)))
    return dropped
