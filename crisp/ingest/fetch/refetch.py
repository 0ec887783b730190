"""Fetch a day afresh beside the old one, then put it in its place."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

import msgspec

from crisp.errors import ConfigError, FetchError
from crisp.ingest.fetch.books import RECORD, Day, read_day, read_records, write_day
from crisp.ingest.fetch.places import DAY, Place
from crisp.ingest.fetch.scope import EVERYTHING, Scope, beyond, in_words

_NAMED = 5
"""Of what would be lost."""


def check(old: Place, scope: Scope) -> None:
    """A refetch of ``scope`` leaves nothing out that lies there.

    Raises:
        ConfigError: it would.
    """
    lost = _lost(old, scope)
    if lost:
        some = ", ".join(map(unquote, lost[:_NAMED])) + (", …" if lost[_NAMED:] else "")
        raise ConfigError(
            f"{old.location}: holds {some.replace(EVERYTHING, 'all services')}, which"
            " --refetch would drop; ask for at least as much, or remove the folder"
        )


def _lost(old: Place, scope: Scope) -> list[str]:
    """What was fetched into a day, in words, and is not in ``scope``.

    Nothing when the bookkeeping cannot be read, which is a reason to fetch afresh.
    """
    try:
        day = read_day(old)
        records = read_records(old, old.names()).values()
    except FetchError:
        return []
    asked = {in_words(window.endpoint) for record in records for window in record.windows}
    scopes = [text for texts in day.complete for text in texts] if day else []
    if EVERYTHING in beyond(scopes, scope.texts):
        return [EVERYTHING]
    return beyond([*scopes, *asked], scope.texts)


def begin(aside: Place, day: Day, scope: Scope) -> None:
    """Prepare the folder of a refetch: one that was killed goes on if it was the same.

    Anything else that lies there, an old day among it, is removed.
    """
    new = msgspec.structs.replace(day, refetch=True, begun=[scope.texts])
    if _readable(aside) != new:
        aside.discard()
        write_day(aside, new)


def end(final: Place, aside: Place) -> None:
    """Put a refetch in the place of the old day, which goes.

    Where that takes more than one step, the day is incomplete meanwhile, and holds records of
    the old day or of the new one, never of both.
    """
    new = read_day(aside)
    assert new is not None
    new = msgspec.structs.replace(new, refetch=False)
    write_day(aside, new)
    if not final.swap(aside.location):
        _copy_over(final, aside, new)
        aside.discard()


def _copy_over(final: Place, aside: Place, new: Day) -> None:
    before, after = final.names(), aside.names()
    if old := _readable(final):
        write_day(final, old.reopened())
    final.copy(aside.location, [n for n in after if n != DAY and not n.startswith(RECORD)])
    final.remove(_records(before))
    write_day(final, new.reopened())
    final.copy(aside.location, _records(after))
    final.remove(sorted({*before} - {*after}))
    write_day(final, new)


def _records(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.startswith(RECORD)]


def _readable(place: Place) -> Day | None:
    try:
        return read_day(place)
    except FetchError:
        return None
