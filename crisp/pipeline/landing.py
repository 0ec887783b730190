"""What `crisp fetch` knows of the landing days that are to be analysed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from crisp.errors import CrispError, InputError
from crisp.ingest.fetch import books
from crisp.ingest.sources import find
from crisp.locations import is_url


def files(sources: Sequence[str]) -> list[tuple[str, int]]:
    """What `crisp.ingest.sources.find` finds.

    Raises:
        InputError: as there; of a landing day without traces it says that this is no mistake.
    """
    try:
        return find(sources)
    except InputError as error:
        if quiet := ", ".join(_quiet(sources)):
            reason = "fetched completely, and there was no trace that day"
            raise InputError(f"{quiet}: {reason}") from error
        raise


def _quiet(sources: Sequence[str]) -> list[str]:
    """Landing days among ``sources`` that are complete and have no trace."""
    with suppress(CrispError, OSError):  # what cannot be read has been told already
        return [day for day in _folders(sources) if books.is_quiet(day)]
    return []


def unfinished(sources: Sequence[str]) -> list[str]:
    """A warning for each landing day that lacks traces, as its fetch knows."""
    return [
        f"{day}: its fetch has not finished, or left gaps; run crisp fetch for that day again"
        for day in _folders(sources)
        if books.unfinished(day)
    ]


def _folders(sources: Sequence[str]) -> list[str]:
    """Sources that may be landing days."""
    return [
        source
        for source in sources
        if Path(source).is_dir() or (is_url(source) and not source.startswith("http"))
    ]
