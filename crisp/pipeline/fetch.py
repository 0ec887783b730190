"""Pull a day of traces out of a Jaeger into the landing area."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from itertools import product

import msgspec
import pyarrow as pa

from crisp.engine import Engine
from crisp.errors import ConfigError
from crisp.ingest.fetch import books
from crisp.ingest.fetch import refetch as afresh
from crisp.ingest.fetch.books import Day, Gap
from crisp.ingest.fetch.choose import choose
from crisp.ingest.fetch.client import Client, Traffic
from crisp.ingest.fetch.copies import drop_copies
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.places import Place, place
from crisp.ingest.fetch.repair import repair
from crisp.ingest.fetch.scope import Scope, Task, find_tasks
from crisp.ingest.fetch.shards import FETCHED, FetchShard, fetch_shard
from crisp.ingest.fetch.windows import SMALLEST_US, Window, cut
from crisp.locations import Location, join
from crisp.options import MICROSECONDS_PER_DAY

_SLICES = 4
"""Parts of the day that an engine may fetch at the same time."""
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch did, and what lies in the landing day now."""

    folder: str
    endpoints: int
    """operations that were asked for, alone or with their service"""
    services: int
    traces: int
    """new ones"""
    traces_on_disk: int
    received_bytes: int
    written_bytes: int
    raw_bytes: int
    """text of the new traces"""
    requests: int
    retries: int
    splits: int
    duplicates: int
    gaps: list[Gap]
    """of the landing day: windows of which the server may have more"""
    unknown: list[str]
    """services, and operations of known services, that the server does not list"""
    complete: bool
    """the day is over, and all that was asked for is on disk"""


def fetch(
    landing: Location,
    day: date,
    options: FetchOptions,
    scope: Scope,
    *,
    now: datetime,
    refetch: bool = False,
    engine: Engine | None = None,
    on_progress: Progress = lambda _done, _total: None,
    on_trouble: Callable[[str], None] = lambda _text: None,
) -> Fetched:
    """Pull what is missing of ``day`` into ``landing``/date=DAY.

    With ``refetch`` the day is pulled afresh beside the old one, which it then replaces. With
    an ``engine`` services are spread over its workers, else all is done in this process.

    Raises:
        ConfigError: the day has not begun, its folder holds something else or more than a
            refetch would, or a token or certificate cannot be read.
        FetchError: the server refuses, is away for too long or knows nothing of what is asked
            for; what came before is saved. Or another fetch is at work there.
    """
    job = _Job(options, scope, *_times(day, now, options), on_progress, on_trouble)
    final = place(join(landing, f"date={day}"))
    new = Day.of(str(day), options)
    with final.locked():
        if not (refetch and books.is_begun(final)):
            return _fetch_into(final, new, job, engine)
        afresh.check(final, scope)
        aside = place(join(landing, f".refetch-date={day}"))
        afresh.begin(aside, new, scope)
        result = _fetch_into(aside, new, job, engine)
        afresh.end(final, aside)
    return replace(result, folder=final.location)


@dataclass(frozen=True, slots=True)
class _Job:
    """What to fetch, and whom to tell."""

    options: FetchOptions
    scope: Scope
    whole: Window
    asked: Window
    """the day as far as it is over"""
    on_progress: Progress
    on_trouble: Callable[[str], None]


def _times(day: date, now: datetime, options: FetchOptions) -> tuple[Window, Window]:
    """The day, and as much of it as is over."""
    start = datetime.combine(day, datetime.min.time(), UTC)
    start_us = int(start.timestamp()) * 1_000_000
    whole = Window(start_us, start_us + MICROSECONDS_PER_DAY)
    over_us = int(now.timestamp() * 1000) * SMALLEST_US
    if over_us <= start_us:
        raise ConfigError(f"{day} has not begun")
    asked = Window(start_us, min(whole.end_us, over_us))
    if options.sample and asked != whole:
        raise ConfigError(f"{day} is not over, so no sample can be taken of it")
    return whole, asked


def _fetch_into(where: Place, day: Day, job: _Job, engine: Engine | None) -> Fetched:
    folder = where.location
    held = _begin(where, day, job.options.limit)
    totals = dict.fromkeys(FETCHED.names, 0)
    tasks: list[Task] = []
    unknown: list[str] = []
    before = held
    if not any(map(job.scope.is_within, held.complete)):
        plan = asyncio.run(_plan(job))
        tasks, unknown = plan.tasks, plan.unknown
        before = held = books.update_day(where, held, held.with_begun(job.scope.texts))
        totals = _pull(folder, plan, job, engine)
        totals["requests"] += plan.traffic.requests
        totals["retries"] += plan.traffic.retries
        totals["received_bytes"] += plan.traffic.received
        copies = drop_copies(where)
        totals["traces"] -= min(copies, totals["traces"])
        totals["duplicates"] += copies
        if job.asked == job.whole:
            held = held.with_complete(job.scope.texts)
    records = books.read_records(where, where.names()).values()
    gaps = sorted({gap for record in records for gap in record.gaps})
    books.update_day(where, before, msgspec.structs.replace(held, gaps=len(gaps)))
    return Fetched(
        folder=folder,
        endpoints=sum(len(task.operations) or 1 for task in tasks),
        services=len({task.endpoint.service for task in tasks}),
        traces_on_disk=sum(record.traces for record in records),
        gaps=gaps,
        unknown=unknown,
        complete=any(map(job.scope.is_within, held.complete)),
        **totals,
    )


def _begin(where: Place, day: Day, limit: int) -> Day:
    """The day as it lies there, or a new one; what a killed fetch left is gone.

    Raises:
        ConfigError: what lies there came from elsewhere, or was chosen in another way.
    """
    names = where.names()
    held = books.read_day(where)
    if held is None and names:
        raise ConfigError(f"{where.location}: holds files that crisp fetch did not write")
    if held is None:
        books.write_day(where, day)
        return day
    for what, old, new in (
        ("Jaeger", held.jaeger, day.jaeger),
        ("sample", held.sample, day.sample),
    ):
        if old != new:
            raise ConfigError(
                f"{where.location}: was fetched with {what} {old or 'none'}, not {new or 'none'};"
                " --refetch replaces it"
            )
    return repair(where, names, held, limit)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the server has of what is asked for."""

    tasks: list[Task]
    unknown: list[str]
    """what of it the server does not list"""
    options: FetchOptions
    """with the interface it has"""
    traffic: Traffic


async def _plan(job: _Job) -> _Plan:
    async with Client(job.options, job.on_trouble) as client:
        api = await choose(client)
        each = job.options.sample is not None
        tasks, unknown = await find_tasks(api, job.scope, each=each)
        if not tasks:
            text = f"knows no service {', '.join(unknown)}" if unknown else "knows no services"
            raise client.failure("", text)
        return _Plan(tasks, unknown, replace(job.options, api=api.name), client.traffic)


def _pull(folder: str, plan: _Plan, job: _Job, engine: Engine | None) -> dict[str, int]:
    """Fetch what is missing; the sums of table ``fetched``."""
    if engine is None:
        shard = FetchShard(0, folder, job.whole, job.asked, tuple(plan.tasks))
        batches = [b for _, b in fetch_shard(shard, plan.options, job.on_progress, job.on_trouble)]
        rows = pa.Table.from_batches(batches, FETCHED)
    else:
        step = partial(fetch_shard, options=plan.options)
        shards = _shards(folder, plan, job)
        rows = engine.collect(engine.map(shards, step, {"fetched": FETCHED})["fetched"])
    return {name: int(sum(rows[name].to_pylist())) for name in FETCHED.names}


def _shards(folder: str, plan: _Plan, job: _Job) -> list[FetchShard]:
    """Each service in slices of the day, so that a large one does not wait for one worker."""
    groups: dict[str, list[Task]] = {}
    for task in plan.tasks:
        groups.setdefault(task.endpoint.service, []).append(task)
    slices = cut(job.asked, 1 if job.options.sample else _SLICES)
    return [
        FetchShard(number, folder, job.whole, asked, tuple(group))
        for number, (group, asked) in enumerate(product(groups.values(), slices))
    ]
