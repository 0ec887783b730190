"""Traces of three days for a real Jaeger: bursts, equal times, many endpoints, midnight."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import httpx

DAY = date(2023, 11, 15)
DAY_US = 1_700_006_400_000_000
"""Its first microsecond."""
LENGTH_US = 86_400_000_000
SERVICES = ("cart", "front", "pay", "shop", "shop2", "store")
"""One name begins as another does."""
OPERATIONS = ("GET /", "GET /item", "POST /order?x=1&y=ü", "find", "find all")


@dataclass(frozen=True, slots=True)
class Spanned:
    """One span: when, how long, and of which endpoint."""

    start_us: int
    duration_us: int
    service: str
    operation: str


@dataclass(frozen=True, slots=True)
class Traced:
    """A trace: its root, and children of that."""

    trace_id: str
    spans: tuple[Spanned, ...]

    def is_of(self, start_us: int, end_us: int) -> bool:
        """A span starts then."""
        return any(start_us <= span.start_us < end_us for span in self.spans)


def world(count: int = 20_000, seed: int = 7) -> list[Traced]:
    """``count`` traces; nine tenths on `DAY`, the others on the days around it."""
    draw = random.Random(seed)
    starts = [*_edges(), *_same(90, DAY_US + 3_600_000_000), *_same(150, DAY_US + 7_200_000_999)]
    burst = DAY_US + 43_200_000_000
    starts += [burst + draw.randrange(2_000_000) for _ in range(count // 5)]
    starts += [DAY_US - draw.randrange(LENGTH_US) - 1 for _ in range(count // 20)]
    starts += [DAY_US + LENGTH_US + draw.randrange(LENGTH_US) for _ in range(count // 20)]
    starts += [DAY_US + draw.randrange(LENGTH_US) for _ in range(count - len(starts))]
    return [_traced(draw, number, start) for number, start in enumerate(starts)]


def _edges() -> list[int]:
    """The first and last moments of the day, and those beside them."""
    end = DAY_US + LENGTH_US
    return [*(DAY_US + n for n in (-1, 0, 1)), *(end + n for n in (-1000, -1, 0, 1, 1000))] * 4


def _same(count: int, start: int) -> list[int]:
    return [start] * count


def _traced(draw: random.Random, number: int, start: int) -> Traced:
    high = draw.choice((0, 0xFF << 56, draw.getrandbits(64)))
    trace_id = f"{high | (number if high else 0):016x}{draw.getrandbits(63) + 1:016x}"
    length = int(draw.lognormvariate(10, 1)) + 10
    spans = [Spanned(start, length, draw.choice(SERVICES), draw.choice(OPERATIONS))]
    for _ in range(draw.choice((0, 0, 1, 2))):
        later = draw.randrange(length // 2)
        child = Spanned(start + later, length // 3, draw.choice(SERVICES), draw.choice(OPERATIONS))
        spans.append(child)
    return Traced(trace_id, tuple(spans))


def post(otlp: str, traces: Sequence[Traced], batch: int = 1000) -> None:
    """Send traces to a collector by OTLP over HTTP, as JSON."""
    with httpx.Client(timeout=60) as client:
        for at in range(0, len(traces), batch):
            document = {"resourceSpans": list(_resources(traces[at : at + batch]))}
            client.post(f"{otlp}/v1/traces", json=document).raise_for_status()


def _resources(traces: Sequence[Traced]) -> Iterator[dict[str, Any]]:
    by_service: dict[str, list[dict[str, Any]]] = {}
    for trace in traces:
        for number, span in enumerate(trace.spans):
            by_service.setdefault(span.service, []).append(_span(trace, number, span))
    for service, spans in by_service.items():
        name = {"key": "service.name", "value": {"stringValue": service}}
        host = {"key": "host.name", "value": {"stringValue": f"{service}-1"}}
        scope = {"name": "test", "version": "1"}
        yield {
            "resource": {"attributes": [name, host]},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }


def _span(trace: Traced, number: int, span: Spanned) -> dict[str, Any]:
    root = f"{int(trace.trace_id[-12:], 16):016x}"
    begin = span.start_us * 1000 + 123
    return {
        "traceId": trace.trace_id,
        "spanId": f"{int(root, 16) + number:016x}",
        "parentSpanId": root if number else "",
        "name": span.operation,
        "kind": 3 if number % 2 else 2,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + span.duration_us * 1000),
        "attributes": [{"key": "n", "value": {"intValue": str(number)}}],
        "status": {"code": 2 if span.duration_us % 11 == 0 else 0},
    }
