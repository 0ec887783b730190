"""Ask for every window of some endpoints, many at a time, and write what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from crisp.ingest.fetch.api import Api, Query
from crisp.ingest.fetch.board import Board, Job
from crisp.ingest.fetch.books import Asked, Gap, Sampled
from crisp.ingest.fetch.client import Client, TooLargeError
from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.found import Found, read_found
from crisp.ingest.fetch.parts import Writer
from crisp.ingest.fetch.sample import take_sample
from crisp.ingest.fetch.scope import Task
from crisp.ingest.fetch.windows import Window, advance, begin, halve

_TICK_S = 1.0


@dataclass(slots=True)
class Counts:
    """What happened besides writing."""

    splits: int = 0
    duplicates: int = 0
    done_us: int = 0


class Pull:
    """One run over tasks and the times of each that are left.

    ``seen`` holds the traces on disk, and grows.
    """

    def __init__(
        self,
        api: Api,
        client: Client,
        writer: Writer,
        tasks: Sequence[tuple[Task, Sequence[Window]]],
        *,
        day: Window,
        seen: set[bytes],
        on_progress: Callable[[int, int], None],
    ) -> None:
        self.counts = Counts()
        self._api, self._options, self._writer = api, client.options, writer
        self._day, self._seen, self._on_progress = day, seen, on_progress
        self._operations = {task.endpoint: task.operations for task, _ in tasks}
        jobs = [Job(task.endpoint, begin(left)) for task, times in tasks for left in times]
        self._board = Board(jobs)
        self._total_us = sum(job.cursor.rest.width_us for job in jobs)

    async def run(self) -> None:
        """Ask until nothing is left; whatever happens, what came is saved.

        Raises:
            FetchError: the server refuses, or is away for too long.
        """
        workers = asyncio.gather(*(self._work() for _ in range(self._options.concurrency)))
        ticker = asyncio.create_task(self._tick())
        try:
            both: list[asyncio.Future[Any]] = [workers, ticker]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if ticker.done():
                await ticker  # a full disk, as it were
            await workers
        finally:
            workers.cancel()
            ticker.cancel()
            await asyncio.gather(workers, ticker, return_exceptions=True)
            await self._writer.close_all()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            await self._writer.close_old()

    async def _work(self) -> None:
        while (number := await self._board.take()) is not None:
            service = self._board.job(number).endpoint.service
            while not await (self._sample(number) if self._options.sample else self._ask(number)):
                pass
            if self._board.is_done(service):
                await self._writer.close(service)

    async def _sample(self, number: int) -> bool:
        endpoint, window = self._board.job(number).endpoint, self._board.job(number).cursor.rest
        chosen = await take_sample(self._api, self._options, endpoint, window)
        await self._keep(endpoint, window, chosen.traces, sampled=[chosen.record])
        self._board.put(number, None)
        return True

    async def _ask(self, number: int) -> bool:
        """Ask for the next window of a job; whether that was its last."""
        job = self._board.job(number)
        window, last = job.cursor.window, halve(job.cursor) is None
        traces, full = await self._search(job.endpoint, window, last=last)
        if full and last:
            await self._ask_each(job.endpoint, window, traces)
        elif not full:
            await self._keep(job.endpoint, window, traces)
        cursor = self._board.job(number).cursor  # its end may be nearer now
        if full and not last:
            self.counts.splits += 1
            left = halve(cursor)
        else:
            left = advance(cursor, len(traces), self._options.limit)
        self._board.put(number, left)
        return left is None

    async def _search(
        self, endpoint: Endpoint, window: Window, *, last: bool
    ) -> tuple[list[Found], bool]:
        """Traces of a window, and whether there may be more. The ``last`` try takes any size."""
        limit = self._options.limit
        query = Query(endpoint=endpoint, window=window, limit=limit)
        try:
            lines = await self._api.search(query, None if last else self._options.reply_mb << 20)
        except TooLargeError:
            return [], True
        full = len(lines) >= limit or (not last and len(lines) == self._api.silent_limit)
        if full and not last:
            return [], True
        return [read_found(line, endpoint) for line in lines], full

    async def _ask_each(self, endpoint: Endpoint, window: Window, traces: list[Found]) -> None:
        """A window that cannot be cut: of a service, each operation alone may still fit."""
        narrow = [Endpoint(endpoint.service, name) for name in self._operations[endpoint]]
        full = [] if narrow else [endpoint]
        for operation in narrow:
            more, is_full = await self._search(operation, window, last=True)
            traces = [*traces, *more]
            full += [operation] if is_full else []
        gaps = [
            Gap(each.service, each.operation, window.start_us, window.end_us, self._options.limit)
            for each in full
        ]
        await self._keep(endpoint, window, traces, gaps=gaps)

    async def _keep(
        self,
        endpoint: Endpoint,
        window: Window,
        traces: Sequence[Found],
        *,
        gaps: Sequence[Gap] = (),
        sampled: Sequence[Sampled] = (),
    ) -> None:
        """Write those of the day that are new. A window includes its end, and so may the next."""
        own = [trace for trace in traces if trace.starts_in(self._day)]
        new = {trace.key: trace for trace in own if trace.key not in self._seen}
        known = [trace for trace in own if trace.key in self._seen]
        self._seen |= new.keys()
        self.counts.duplicates += len(own) - len(new)
        start, end = window.start_us, window.end_us
        asked = Asked(endpoint.service, endpoint.operation, start, end, len(own))
        await self._writer.add(endpoint.service, list(new.values()), [asked], gaps, sampled, known)
        self.counts.done_us += window.width_us
        self._on_progress(self.counts.done_us, self._total_us)
