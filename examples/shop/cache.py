"""A cache in front of a table; hits and misses are visible in traces."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from opentelemetry.trace import Tracer


class Cache:
    """Keeps values for some seconds."""

    def __init__(self, tracer: Tracer, seconds: float) -> None:
        self._tracer, self._seconds = tracer, seconds
        self._kept: dict[str, tuple[float, Any]] = {}

    async def get(
        self, key: str, load: Callable[[], Awaitable[Any]], *, cold: Callable[[], bool]
    ) -> Any:
        """The value of a key, by ``load`` when it is not there; nothing is while ``cold``."""
        with self._tracer.start_as_current_span("cache get") as span:
            if cold():
                self._kept.clear()
            until, value = self._kept.get(key, (0.0, None))
            hit = time.monotonic() < until
            span.set_attribute("cache.hit", hit)
        if not hit:
            value = await load()
            self._kept[key] = (time.monotonic() + self._seconds, value)
        return value
