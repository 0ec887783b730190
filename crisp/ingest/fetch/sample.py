"""Choose a few traces of an endpoint, so that slow ones are there in their true share.

The latencies of a first reply are cut into up to ten strata of equal numbers. When that reply
is all there is, the traces of each stratum are at hand; else each stratum is asked for by its
durations. Each gives a share of the sample in proportion to its share of the first reply, so
the sample weighs each trace alike. Within a stratum a hash of the trace id decides: the same
traces give the same sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from crisp.ingest.fetch.api import Api, Query
from crisp.ingest.fetch.books import Sampled, Stratum
from crisp.ingest.fetch.client import TooLargeError
from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.found import Found, read_found
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.windows import Window

STRATA = 10


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sample, and how it came about."""

    traces: list[Found]
    record: Sampled


async def take_sample(
    api: Api, options: FetchOptions, endpoint: Endpoint, window: Window
) -> Chosen:
    """At most ``options.sample`` traces of an endpoint from a window.

    Raises:
        FetchError: the server refuses, or is away for too long.
    """
    wanted = options.sample or 0

    async def ask(shortest_us: int = 0, longest_us: int | None = None) -> tuple[list[Found], bool]:
        query = Query(
            endpoint=endpoint,
            window=window,
            limit=options.limit,
            shortest_us=shortest_us,
            longest_us=longest_us or 0,
        )
        lines, more = await _newest(api, query, options.reply_mb << 20)
        found = (read_found(line, endpoint) for line in lines)
        return [trace for trace in found if trace.starts_in(window)], more

    first, more = await ask()
    traces: list[Found] = []
    strata = []
    bounds = _bounds(sorted(trace.latency_us for trace in first), min(STRATA, wanted))
    members = [[t for t in first if _is_in(t, *bound)] for bound in bounds]
    shares = _shares([len(each) for each in members], wanted)
    for (shortest, longest), own, share in zip(bounds, members, shares, strict=True):
        known = {trace.key: trace for trace in own}
        partial = False
        if more:
            found, partial = await ask(shortest, longest)
            known |= {trace.key: trace for trace in found if _is_in(trace, shortest, longest)}
        taken = sorted(known.values(), key=_lot)[:share]
        traces += taken
        population = None if partial else len(known)
        part = len(own) / len(first)
        strata.append(Stratum(shortest, longest, part, population, len(taken)))
    return Chosen(traces, Sampled(endpoint.service, endpoint.operation, strata))


async def _newest(api: Api, query: Query, most_bytes: int) -> tuple[list[bytes], bool]:
    """A reply, and whether there may be more; half as many traces where it is too large."""
    while True:
        try:
            lines = await api.search(query, most_bytes if query.limit > 1 else None)
        except TooLargeError:
            query = replace(query, limit=query.limit // 2)
        else:
            return lines, len(lines) >= query.limit or len(lines) == api.silent_limit


def _bounds(latencies: Sequence[int], count: int) -> list[tuple[int, int | None]]:
    """Least and greatest latency of at most ``count`` strata of about equal numbers.

    ``latencies`` ascend. Equal ones share a stratum; together the strata hold every latency.
    """
    if not latencies:
        return []
    starts = sorted({latencies[len(latencies) * n // count] for n in range(1, count)} - {0})
    if starts and starts[0] == latencies[0]:
        del starts[0]
    lows = [0, *starts]
    return [
        (low, None if high is None else high - 1)
        for low, high in zip(lows, [*starts, None], strict=True)
    ]


def _is_in(trace: Found, shortest_us: int, longest_us: int | None) -> bool:
    latency = trace.latency_us
    return shortest_us <= latency and (longest_us is None or latency <= longest_us)


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """``wanted`` dealt out in proportion to ``sizes``; the largest remainders round up."""
    total = sum(sizes)
    shares = [size * wanted // total for size in sizes]
    rest = sorted(range(len(sizes)), key=lambda n: (-(sizes[n] * wanted % total), n))
    for n in rest[: wanted - sum(shares)]:
        shares[n] += 1
    return shares


def _lot(trace: Found) -> bytes:
    return blake2b(trace.key, digest_size=8).digest()
