"""Requests to a made-up service: their spans as columns, from calls to clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.anomaly.services import Flags, Floats, Ints, Service

DAY_US = 86_400_000_000
MONDAY_US = 1_785_715_200_000_000
"""2026-08-03, 00:00 UTC"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Spans of ``n`` requests, ordered by depth, then parent, then step; the roots first.

    Columns have one entry a span. The work of a span is its time outside its calls.
    """

    service: Service
    levels: list[slice]
    """rows of each depth"""
    trace: Ints
    parent: Ints
    """row of the parent; -1 for roots"""
    site: Ints
    start_us: Ints
    end_us: Ints

    def __len__(self) -> int:
        return len(self.site)

    @property
    def traces(self) -> int:
        """Requests."""
        return int(self.levels[0].stop)


def requests(
    service: Service,
    starts_us: Ints,
    rng: np.random.Generator,
    *,
    load: Floats | None = None,
    slower: Mapping[int, float] | None = None,
) -> Spans:
    """Requests that begin at ``starts_us`` (ascending).

    The work of each span is lognormal, one in two thousand stalls for five times as long and
    more (Pareto, 2); ``load`` (n,) multiplies it by its power of the site's share (default:
    lognormal, 0.2, of each request by itself). ``slower``: factor by site on its own work.
    """
    if load is None:
        load = rng.lognormal(0.0, 0.2, len(starts_us))
    calls = _calls(service, len(starts_us), rng)
    trace, site = calls.trace, calls.site
    work = service.work_us[site] * rng.lognormal(0.0, 1.0, len(site)) ** service.spread[site]
    stalled = np.flatnonzero(rng.random(len(site)) < 0.0005)
    work[stalled] *= 5 * (1 + rng.pareto(2.0, len(stalled)))
    work *= load[trace] ** service.load[site]
    for slow, factor in (slower or {}).items():
        work[site == slow] *= factor
    piece = np.maximum(1, np.rint(work / (service.steps[site] + 1))).astype(np.int64)
    duration, offset = _durations(service, calls, piece)
    start = np.empty(len(site), np.int64)
    start[calls.levels[0]] = starts_us
    for rows in calls.levels[1:]:
        start[rows] = start[calls.parent[rows]] + offset[rows]
    return Spans(
        service=service,
        levels=calls.levels,
        trace=trace,
        parent=calls.parent,
        site=site,
        start_us=start,
        end_us=start + duration,
    )


@dataclass(frozen=True, slots=True)
class _Calls:
    levels: list[slice]
    trace: Ints
    parent: Ints
    site: Ints
    step: Ints


def _calls(service: Service, traces: int, rng: np.random.Generator) -> _Calls:
    """Who calls whom, level by level."""
    trace, site = np.arange(traces), np.zeros(traces, np.int64)
    columns = [(trace, np.full(traces, -1), site, np.zeros(traces, np.int64))]
    levels, rows = [slice(0, traces)], traces
    while True:
        low = service.slot_edges[site]
        counts = service.slot_edges[site + 1] - low
        slot, above = _ranges(low, counts), np.repeat(np.arange(len(site)), counts)
        made = rng.random(len(slot)) < service.taken[slot]
        slot, above = slot[made], above[made]
        times = _repeats(service.most[slot], rng)
        slot, above = np.repeat(slot, times), np.repeat(above, times)
        if not len(slot):
            break
        choice = np.searchsorted(service.choice_until, slot + rng.random(len(slot)), side="right")
        choice = np.minimum(choice, service.choice_edges[slot + 1] - 1)
        trace, site = trace[above], service.choice_site[choice]
        columns.append((trace, above + levels[-1].start, site, service.step[slot]))
        levels.append(slice(rows, rows + len(site)))
        rows += len(site)
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    return _Calls(levels, *joined)


def _ranges(low: Ints, counts: Ints) -> Ints:
    """The numbers ``low[i] … low[i] + counts[i] - 1`` of each i, one after the other."""
    ends = np.cumsum(counts)
    return np.repeat(low - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def _repeats(most: Ints, rng: np.random.Generator) -> Ints:
    """How often each call is made: P(at least k) = 1/k, cut off at ``most``."""
    times = np.ones(len(most), np.int64)
    loops = np.flatnonzero(most > 1)
    drawn = np.floor(1 / rng.uniform(1e-9, 1.0, len(loops)))
    times[loops] = np.minimum(drawn, most[loops])
    return times


def _durations(service: Service, calls: _Calls, piece: Ints) -> tuple[Ints, Ints]:
    """Duration of each span and how long after its parent it starts.

    A span works a piece, waits for all calls of a step, works a piece, and so on: its steps
    are one more than its slots', and a step in which nothing is called takes no time.
    """
    duration = piece * (service.steps[calls.site] + 1)
    offset = np.zeros(len(piece), np.int64)
    for rows in reversed(calls.levels[1:]):
        parent, step = calls.parent[rows], calls.step[rows]
        first = _changes(parent, step)
        starts = np.flatnonzero(first)
        longest = np.maximum.reduceat(duration[rows], starts)
        owner = parent[starts]
        waited = np.cumsum(longest) - longest
        heads = np.flatnonzero(_changes(owner))
        waited -= np.repeat(waited[heads], np.diff(np.append(heads, len(owner))))
        at = waited + piece[owner] * (step[starts] + 1)
        offset[rows] = at[np.cumsum(first) - 1]
        np.add.at(duration, owner, longest)
    return duration, offset


def _changes(*columns: Ints) -> Flags:
    """Rows that differ from the one before in any column."""
    flags = np.ones(len(columns[0]), np.bool_)
    flags[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return flags
