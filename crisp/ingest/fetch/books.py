"""What is on disk already: the bookkeeping of a landing day.

Each part of traces has a record that says which windows it completes and which traces it
holds. A part without its record is one that a killed run left; a record without its part is
worth nothing. So the record is written last, and a window counts only when its traces are safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from crisp.errors import FetchError
from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.found import KEY_BYTES
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.places import BOOKS, DAY, Place, place
from crisp.ingest.fetch.scope import beyond
from crisp.ingest.fetch.windows import Window
from crisp.locations import Location, join

T = TypeVar("T")
RECORD = f"{BOOKS}/record-"
VERSION = 1
_LONGEST_NAME = 200


class Asked(Struct, frozen=True):
    """A window that is complete."""

    service: str
    operation: str
    start_us: int
    end_us: int
    traces: int
    """that the server named, those known from elsewhere included"""

    @property
    def endpoint(self) -> Endpoint:
        """What was asked for."""
        return Endpoint(self.service, self.operation)

    @property
    def window(self) -> Window:
        """When."""
        return Window(self.start_us, self.end_us)


class Gap(Struct, frozen=True, order=True):
    """A window too short to cut that still had as many traces as the limit."""

    service: str
    operation: str
    start_us: int
    end_us: int
    limit: int

    @property
    def endpoint(self) -> Endpoint:
        """What was asked for."""
        return Endpoint(self.service, self.operation)


class Stratum(Struct, frozen=True):
    """The traces of an endpoint with latencies from one to another."""

    shortest_us: int
    longest_us: int | None
    """included; None means any"""
    share: float
    """of all traces of the endpoint, estimated from a first reply"""
    population: int | None
    """traces there are; None when there are more than one reply can name"""
    taken: int


class Sampled(Struct, frozen=True):
    """How the traces of an endpoint were chosen."""

    service: str
    operation: str
    strata: list[Stratum]


class Record(Struct, frozen=True, kw_only=True):
    """One part of a service, or windows without a new trace."""

    service: str
    part: str | None
    """name of the file; None when there was no new trace"""
    size: int = 0
    """bytes of the part"""
    raw_size: int = 0
    """bytes of its text"""
    windows: list[Asked] = []
    gaps: list[Gap] = []
    sampled: list[Sampled] = []
    keys: str = ""
    """the ids of the traces, 32 hexadecimal digits each"""

    @property
    def traces(self) -> int:
        """How many there are."""
        return len(self.keys) // (2 * KEY_BYTES)

    def each_key(self) -> Iterator[bytes]:
        """The ids of the traces, 16 bytes each."""
        keys = bytes.fromhex(self.keys)
        return (keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES))


class Day(Struct, frozen=True, kw_only=True):
    """Whose traces lie there, and of what they are all there."""

    date: str
    jaeger: str
    """address, without user and password"""
    sample: int | None
    complete: list[list[str]] = []
    """scopes that were fetched to the end of the day"""
    begun: list[list[str]] = []
    """scopes that were not, yet or for good"""
    refetch: bool = False
    """lies aside, and will replace the day"""
    gaps: int = 0
    """in the records, when the last fetch ended"""
    version: int = VERSION

    @classmethod
    def of(cls, date: str, options: FetchOptions) -> Day:
        """A day of which nothing is there yet."""
        return cls(date=date, jaeger=options.shown, sample=options.sample)

    def with_begun(self, scope: list[str]) -> Day:
        """The day while ``scope`` is being fetched."""
        begun = self.begun if scope in self.begun else [*self.begun, scope]
        return msgspec.structs.replace(self, begun=begun)

    def reopened(self) -> Day:
        """The day when all its scopes have to be gone through again."""
        begun = [*self.begun, *(scope for scope in self.complete if scope not in self.begun)]
        return msgspec.structs.replace(self, begun=begun, complete=[])

    def with_complete(self, scope: list[str]) -> Day:
        """The day with all of ``scope``, and so of scopes within it."""
        begun = [other for other in self.begun if beyond(other, scope)]
        return msgspec.structs.replace(self, begun=begun, complete=[*self.complete, scope])


def read_day(place: Place) -> Day | None:
    """What a landing day says of itself; None when there is none.

    Raises:
        FetchError: the bookkeeping is broken or of another version.
    """
    text = place.read(DAY)
    if text is None:
        return None
    day = _decode(join(place.location, DAY), text, Day)
    if day.version != VERSION:
        raise FetchError(
            f"{join(place.location, DAY)}: written by another version of crisp;"
            " --refetch begins anew"
        )
    return day


def update_day(place: Place, old: Day, new: Day) -> Day:
    """``new``, which is written where it differs."""
    if new != old:
        write_day(place, new)
    return new


def is_begun(place: Place) -> bool:
    """There is a day, readable or not."""
    return place.read(DAY) is not None


def unfinished(folder: Location) -> bool:
    """A fetch wrote ``folder``, and something of what it was asked for is missing.

    So it is when a fetch was killed or goes on, the day was not over, there are gaps, or the
    bookkeeping cannot be read. Costs one small read.
    """
    try:
        day = read_day(place(folder))
    except FetchError:
        return True
    return day is not None and (not day.complete or bool(day.begun) or day.gaps > 0)


def is_quiet(folder: Location) -> bool:
    """A fetch into ``folder`` went to its end, and there was no trace."""
    where = place(folder)
    if not is_begun(where) or unfinished(folder):
        return False
    return all(name.startswith(f"{BOOKS}/") for name in where.names())


def write_day(place: Place, day: Day) -> None:
    """Say whose traces lie there."""
    place.write(DAY, msgspec.json.encode(day) + b"\n")


def read_records(place: Place, names: Iterable[str]) -> dict[str, Record]:
    """The records among ``names``, by name and in order, whose parts are there.

    Raises:
        FetchError: as `read_day`.
    """
    known = set(names)
    found = {}
    for name in sorted(known):
        if name.startswith(RECORD) and (text := place.read(name)) is not None:
            record = _decode(join(place.location, name), text, Record)
            if record.part is None or record.part in known:
                found[name] = record
    return found


def write_record(place: Place, record: Record) -> str:
    """Count a part that is in place; the record's name."""
    text = msgspec.json.encode(record) + b"\n"
    name = f"{RECORD}{blake2b(text, digest_size=8).hexdigest()}.json"
    place.write(name, text)
    return name


def done(records: Iterable[Record]) -> dict[Endpoint, list[Window]]:
    """Windows that need not be asked again."""
    found: dict[Endpoint, list[Window]] = {}
    for record in records:
        for asked in record.windows:
            found.setdefault(asked.endpoint, []).append(asked.window)
    return found


def folder(service: str) -> str:
    """The folder of a service in a landing day."""
    name = quote(service, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 20]}~{blake2b(name.encode(), digest_size=8).hexdigest()}"
    return f"service={name}"


def _decode(name: str, text: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FetchError(
            f"{name}: the bookkeeping is broken: {error}; --refetch begins anew"
        ) from error
