"""Deal out the time that is left to ask for among the workers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.windows import Cursor, share


@dataclass(frozen=True, slots=True)
class Job:
    """Time of one endpoint that is still to be asked for."""

    endpoint: Endpoint
    cursor: Cursor


class Board:
    """Jobs in order. A worker without one takes the later half of another's time.

    Services come one after the other, so that few parts are open at once.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = deque(jobs)
        self._held: dict[int, Job] = {}
        self._changed = asyncio.Event()
        self._next = 0

    async def take(self) -> int | None:
        """The number of a job to work on; None when nothing is left for anybody."""
        while True:
            job = self._waiting.popleft() if self._waiting else self._shared()
            if job is not None:
                self._next += 1
                self._held[self._next] = job
                return self._next
            if not self._held:
                return None
            self._changed.clear()
            await self._changed.wait()

    def job(self, number: int) -> Job:
        """A held job as it is now: its end may have been given away meanwhile."""
        return self._held[number]

    def put(self, number: int, cursor: Cursor | None) -> None:
        """What is left of a held job; None when it is done."""
        if cursor is None:
            del self._held[number]
        else:
            self._held[number] = replace(self._held[number], cursor=cursor)
        self._changed.set()

    def is_done(self, service: str) -> bool:
        """Nothing of the service waits or is worked on."""
        jobs = (*self._held.values(), *self._waiting)
        return all(job.endpoint.service != service for job in jobs)

    def _shared(self) -> Job | None:
        """The later half of the longest time behind a window that a worker asks for now."""
        halves = {number: cut for number, job in self._held.items() if (cut := share(job.cursor))}
        if not halves:
            return None
        number = max(halves, key=lambda each: self._held[each].cursor.rest.width_us)
        job = self._held[number]
        self._held[number] = replace(job, cursor=halves[number][0])
        return replace(job, cursor=halves[number][1])
