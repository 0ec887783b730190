"""Records traces of the shop: a usual while, then one with each fault."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import zstandard

from examples.shop.faults import FAULTS
from examples.shop.load import Load, run
from examples.shop.processes import ShopError

NORMAL = "normal"
ROOTS = ("frontend", "shipping")
"""Services whose spans begin traces."""
STORE_SECONDS = 30
"""Most time that Jaeger gets to store the last traces."""
SETTLE_SECONDS = 3.5
"""Until parcels are packed, the van has left and all spans have arrived."""
_LEVEL = 19
Trace = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the recording; times in microseconds since 1970."""

    name: str
    start_us: int
    end_us: int
    requests: int


def record(urls: dict[str, str], query: str, folder: Path, load: Load, names: Sequence[str]) -> str:
    """Write ``folder``/PHASE.jsonl.zst for a usual while and each fault, and a README.

    A phase with a fault gets half of the requests. Returns the table that the README holds.

    Raises:
        ShopError: traces are missing that Jaeger should have.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(run(urls["frontend"], replace(load, requests=40, seed="warm up")))
    time.sleep(SETTLE_SECONDS)
    phases = [_phase(urls, load, name) for name in (NORMAL, *names)]
    lines = [
        "| file | fault | traces | spans | from (UTC) | to |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for phase in phases:
        traces = _traces(query, phase)
        text = "".join(json.dumps(trace, separators=(",", ":")) + "\n" for trace in traces)
        file = folder / f"{phase.name}.jsonl.zst"
        file.write_bytes(zstandard.compress(text.encode(), _LEVEL))
        lines.append(_row(phase, traces))
    table = "\n".join(lines)
    (folder / "README.md").write_text(_README.format(table=table), encoding="utf-8")
    return table


def switch(urls: dict[str, str], name: str, *, on: bool) -> None:
    """Switch a fault of the running shop."""
    method = "PUT" if on else "DELETE"
    httpx.request(method, switch_url(urls, name)).raise_for_status()


def switch_url(urls: dict[str, str], name: str) -> str:
    """Where a fault is switched: PUT on, DELETE off."""
    return f"{urls[FAULTS[name].service]}/faults/{name}"


def _phase(urls: dict[str, str], load: Load, name: str) -> Phase:
    requests = load.requests or 0
    if name != NORMAL:
        requests //= 2
        switch(urls, name, on=True)
    start = time.time_ns() // 1000
    answers = asyncio.run(run(urls["frontend"], replace(load, requests=requests, seed=name)))
    time.sleep(SETTLE_SECONDS)
    if name != NORMAL:
        switch(urls, name, on=False)
    return Phase(name, start, time.time_ns() // 1000, answers.total())


def _traces(query: str, phase: Phase) -> list[Trace]:
    """The traces that began in a phase, in order of time, when Jaeger has all of them.

    Raises:
        ShopError: some are missing, though it had time to store them.
    """
    deadline = time.monotonic() + STORE_SECONDS
    while True:
        try:
            traces = _stored(query, phase)
            asked = sum(_root(trace)["operationName"] != "dispatch van" for trace in traces)
            if asked == phase.requests:
                return traces
            raise ShopError(f"{phase.name}: {asked} traces of {phase.requests} requests")
        except ShopError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def _stored(query: str, phase: Phase) -> list[Trace]:
    """The traces that Jaeger's API gives of a phase, in order of time."""
    found: dict[str, Trace] = {}
    for service in ROOTS:
        asked: dict[str, str | int] = {
            "service": service,
            "start": phase.start_us,
            "end": phase.end_us,
            "limit": 100_000,
            "raw": "true",
        }
        answer = httpx.get(f"{query}/api/traces", params=asked, timeout=60)
        answer.raise_for_status()
        found |= {trace["traceID"]: trace for trace in answer.json()["data"]}
    kept = [t for t in found.values() if phase.start_us <= _root(t)["startTime"] < phase.end_us]
    return sorted(kept, key=lambda trace: (_root(trace)["startTime"], trace["traceID"]))


def _root(trace: Trace) -> Trace:
    """The span without a parent in its trace.

    Raises:
        ShopError: a span's parent is missing.
    """
    known = {span["spanID"] for span in trace["spans"]}
    roots: list[Trace] = []
    for span in trace["spans"]:
        above = {r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"}
        if not above <= known:
            raise ShopError(f"trace {trace['traceID']} is not complete")
        if not above:
            roots.append(span)
    [root] = roots
    return root


def _row(phase: Phase, traces: Sequence[Trace]) -> str:
    spans = sum(len(trace["spans"]) for trace in traces)
    start, end = (
        datetime.fromtimestamp(us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
        for us in (phase.start_us, phase.end_us)
    )
    fault = "none" if phase.name == NORMAL else FAULTS[phase.name].does
    return f"| {phase.name}.jsonl.zst | {fault} | {len(traces)} | {spans} | {start} | {end} |"


_README = """# Recorded traces of the example shop

`make record` has written this folder. It ran the [shop](../shop) and a Jaeger on one machine, let
the load generator shop, and pulled the traces from Jaeger's API (`raw=true`). Each file holds a
stretch of that run: Jaeger JSON, one trace a line, in order of time, compressed with zstd. Times
are those of the run; nothing was added, moved or taken out. Host names are those that the services
were told.

{table}

What each fault does to critical paths is in [docs/shop.md](../../docs/shop.md). A span in which a
fault acted says so in its attribute `shop.fault`.
"""
