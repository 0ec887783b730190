"""Write traces into parts: files of JSON lines in independent Zstandard frames.

A part and the windows it completes belong together: all traces of a reply go into one part, and
the record that counts both is written after the part is in place. A window that found a trace
which a part holds that is not counted yet is not counted before that one either.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Sequence
from itertools import compress
from typing import IO
from uuid import uuid4

import msgspec
import zstandard

from crisp.ingest.fetch.books import Asked, Gap, Record, Sampled, folder, write_record
from crisp.ingest.fetch.found import Found
from crisp.ingest.fetch.places import Place
from crisp.ingest.fetch.repair import forget

FRAME = 8 << 20
"""Bytes of text after which a frame ends; readers may unpack each on its own."""
PART = 32 << 20
"""Bytes after which a part is closed: about 300 MB of text, which is one shard of the analysis."""
OPEN_S = 20.0
"""Seconds after which a part is closed, so that a kill loses little."""
_LEVEL = 3


class _Part:
    """A file that is being written aside."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = self.raw_size = 0
        self._lines: list[bytes] = []
        self._waiting = 0

    def add(self, line: bytes) -> None:
        """Append a line."""
        self._lines.append(line)
        self._waiting += len(line) + 1
        if self._waiting >= FRAME:
            self.flush()

    def flush(self) -> None:
        """End the frame."""
        if self._lines:
            text = b"\n".join([*self._lines, b""])
            frame = zstandard.ZstdCompressor(level=_LEVEL).compress(text)
            self.file.write(frame)
            self.size += len(frame)
            self.raw_size += len(text)
            self._lines, self._waiting = [], 0


def rewrite(place: Place, record: Record, keep: Sequence[bool]) -> None:
    """Write a part again with some of its traces only, and a record for it."""
    old = record.part
    assert old is not None
    keys = list(compress(record.each_key(), keep))
    record = msgspec.structs.replace(record, keys=b"".join(keys).hex())
    if not keys:
        write_record(place, _move_in(place, record, None))
        return
    packed = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(place.read(old) or b""), read_across_frames=True
    )
    part = _Part(place.aside())
    for line in compress(io.BufferedReader(packed), keep):
        part.add(line.removesuffix(b"\n"))
    write_record(place, _move_in(place, record, part))


def _move_in(place: Place, record: Record, part: _Part | None) -> Record:
    """Put a part in its place, under a name of its own; the record that may count it.

    The same traces come twice, from two slices of a day or two fetches, and then each record
    must have its own part: when one of them goes, the other stays.
    """
    if part is None:
        return msgspec.structs.replace(record, part=None, size=0, raw_size=0)
    part.flush()
    name = f"{folder(record.service)}/part-{uuid4().hex[:16]}.jsonl.zst"
    place.move_in(part.file, name)
    return msgspec.structs.replace(record, part=name, size=part.size, raw_size=part.raw_size)


class _Batch:
    """What of a service is not counted yet."""

    def __init__(self, place: Place, service: str, opened_s: float) -> None:
        self.opened_s = opened_s
        self.part: _Part | None = None
        self.keys: list[bytes] = []
        self.leans_on: set[str] = set()
        """services whose batches hold traces that this one found too"""
        self._place, self._service = place, service
        self._windows: list[Asked] = []
        self._gaps: list[Gap] = []
        self._sampled: list[Sampled] = []

    def add(
        self,
        traces: Sequence[Found],
        windows: Sequence[Asked],
        gaps: Sequence[Gap],
        sampled: Sequence[Sampled],
    ) -> None:
        """The traces and windows of a reply."""
        if traces and self.part is None:
            self.part = _Part(self._place.aside())
        for trace in traces:
            assert self.part is not None
            self.part.add(trace.line)
            self.keys.append(trace.key)
        self._windows += windows
        self._gaps += gaps
        self._sampled += sampled

    def move_in(self) -> Record:
        """Put the part in its place; the record that counts it."""
        record = Record(
            service=self._service,
            part=None,
            windows=self._windows,
            gaps=self._gaps,
            sampled=self._sampled,
            keys=b"".join(self.keys).hex(),
        )
        return _move_in(self._place, record, self.part)


class Writer:
    """The open batches of all services, and what has been counted.

    Packing and writing are done in a thread beside the event loop, which goes on asking; one
    thing after the other, and what has begun is ended though nobody may wait for it any more.
    After an error nothing more is written or counted.
    """

    def __init__(self, place: Place, clock: Callable[[], float]) -> None:
        self.traces = self.size = self.raw_size = 0
        """of the parts that are in place"""
        self._place, self._clock = place, clock
        self._open: dict[str, _Batch] = {}
        self._holders: dict[bytes, str] = {}
        """for the traces of open batches: of which service"""
        self._turn = asyncio.Lock()
        self._sound = True

    async def add(
        self,
        service: str,
        traces: Sequence[Found],
        windows: Sequence[Asked],
        gaps: Sequence[Gap] = (),
        sampled: Sequence[Sampled] = (),
        known: Sequence[Found] = (),
    ) -> None:
        """Write the new traces of a reply, not those that are ``known``, and note its windows."""

        def step() -> None:
            batch = self._open.setdefault(service, _Batch(self._place, service, self._clock()))
            batch.leans_on.update(self._holders.get(trace.key, service) for trace in known)
            batch.add(traces, windows, gaps, sampled)
            self._holders.update(dict.fromkeys((trace.key for trace in traces), service))
            if batch.part and batch.part.size >= PART:
                self._close(service)

        await self._in_turn(step)

    async def close(self, service: str) -> None:
        """Count what there is of a service, and of those on whose traces that leans."""
        await self._in_turn(lambda: self._close(service))

    async def close_old(self) -> None:
        """Count what has been open for long."""

        def step() -> None:
            now = self._clock()
            for service in list(self._open):
                if service in self._open and now - self._open[service].opened_s >= OPEN_S:
                    self._close(service)

        await self._in_turn(step)

    async def close_all(self) -> None:
        """Count everything."""

        def step() -> None:
            while self._open:
                self._close(next(iter(self._open)))

        await self._in_turn(step)

    async def _in_turn(self, step: Callable[[], None]) -> None:
        async def run() -> None:
            async with self._turn:
                if not self._sound:
                    self._drop_open()
                    return
                self._sound = False
                await asyncio.to_thread(step)
                self._sound = True

        await asyncio.shield(asyncio.create_task(run()))

    def _drop_open(self) -> None:
        for batch in self._open.values():
            if batch.part:
                batch.part.file.close()
        self._open.clear()

    def _close(self, service: str) -> None:
        """All parts of a group are known before a window of any of them counts.

        Two batches may lean on each other, so there is no order in which one could be counted
        after the other.
        """
        group = self._group(service)
        records = [self._open[name].move_in() for name in group]
        early = [forget(r) for r in records if r.part] if len(group) > 1 else []
        names = [write_record(self._place, record) for record in early]
        for record in records:
            write_record(self._place, record)
            self.traces += record.traces
            self.size += record.size
            self.raw_size += record.raw_size
        self._place.remove(names)
        for name in group:
            for key in self._open.pop(name).keys:
                del self._holders[key]

    def _group(self, service: str) -> list[str]:
        """The open services on whose traces one leans, in turn, itself included."""
        found: list[str] = []
        waiting = [service]
        while waiting:
            name = waiting.pop()
            if name in self._open and name not in found:
                found.append(name)
                waiting += sorted(self._open[name].leans_on)
        return found
