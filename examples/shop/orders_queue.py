"""The two ends of the queue of orders. The broker between them is in `examples.shop.outside`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
from opentelemetry import propagate
from opentelemetry.trace import SpanKind, Tracer

QUEUE = "orders"
ABOUT = {"messaging.system": "shop-broker", "messaging.destination.name": QUEUE}
"""Attributes of every span about the queue."""


class Queue:
    """The queue as a service sees it.

    Its client is not traced: traces show messages, not the requests that carry them.
    """

    def __init__(self, broker: str, tracer: Tracer) -> None:
        self._url, self._tracer = f"{broker}/queues/{QUEUE}", tracer
        self._client = httpx.AsyncClient(timeout=10)

    async def send(self, body: dict[str, Any]) -> None:
        """Put an order on the queue; the message carries the context of the PRODUCER span."""
        with self._tracer.start_as_current_span(
            f"send {QUEUE}",
            kind=SpanKind.PRODUCER,
            attributes={**ABOUT, "messaging.operation.name": "send"},
        ):
            headers: dict[str, str] = {}
            propagate.inject(headers)
            answer = await self._client.post(self._url, json={"headers": headers, "body": body})
            answer.raise_for_status()

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Messages as they come; each request waits at the broker until there is one."""
        while True:
            try:
                answer = await self._client.get(self._url)
            except httpx.TransportError:  # the broker is not there yet, or starts again
                await asyncio.sleep(0.5)
                continue
            if answer.status_code == 200:
                yield answer.json()

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()
