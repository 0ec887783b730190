"""Takes orders from the queue and packs them; every few seconds a van leaves with the parcels.

Nobody who shops waits for this. `process orders` is a CONSUMER span below the PRODUCER span of
the order, in the same trace. `dispatch van` is about many orders, hence a trace of its own that
only links to theirs.
"""

from __future__ import annotations

import asyncio
from typing import Any

from opentelemetry import propagate
from opentelemetry.trace import Link, SpanKind

from examples.shop.orders_queue import ABOUT, QUEUE
from examples.shop.service import Parts, Service

VAN_SECONDS = 2


def service(parts: Parts) -> Service:
    """A consumer; nothing to ask it."""
    parcels: list[Link] = []

    async def pack(message: dict[str, Any]) -> None:
        with parts.tracer.start_as_current_span(
            f"process {QUEUE}",
            context=propagate.extract(message["headers"]),
            kind=SpanKind.CONSUMER,
            attributes={**ABOUT, "messaging.operation.name": "process"},
        ) as span:
            for line in message["body"]["lines"]:
                await parts.peers.call("POST", "inventory", "/shipments", json=line)
            with parts.tracer.start_as_current_span("print label"):
                await parts.pace.work(25)
            parcels.append(Link(span.get_span_context()))

    async def consume() -> None:
        async for message in parts.queue.messages():
            parts.beside(pack(message))

    async def drive() -> None:
        while True:
            await asyncio.sleep(VAN_SECONDS)
            if parcels:
                loaded, parcels[:] = list(parcels), []
                with parts.tracer.start_as_current_span("dispatch van", links=loaded) as span:
                    span.set_attribute("shop.parcels", len(loaded))
                    await parts.pace.work(40)

    return Service([], [consume, drive])
