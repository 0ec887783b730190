"""What every service of the shop is made of, and the process that serves it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.trace import Tracer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route

from examples.shop.cache import Cache
from examples.shop.database import Database
from examples.shop.faults import Faults
from examples.shop.orders_queue import Queue
from examples.shop.pace import Pace
from examples.shop.peers import PeerError, Peers

UNTRACED = "/health$,/faults"
"""Paths that are no business of the shop's users."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the code of a service works with."""

    name: str
    tracer: Tracer
    faults: Faults
    pace: Pace
    peers: Peers
    queue: Queue
    folder: Path
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    """work that goes on beside requests"""

    def database(self, tables: str) -> Database:
        """A database of its own with these tables."""
        return Database(self.folder / f"{self.name}.db", tables, self.tracer, self.pace)

    def cache(self, seconds: float) -> Cache:
        """A cache of its own that keeps values so long."""
        return Cache(self.tracer, seconds)

    def beside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something without waiting for it."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


@dataclass(frozen=True, slots=True)
class Service:
    """What a service answers, and what it does beside."""

    routes: Sequence[BaseRoute]
    beside: Sequence[Callable[[], Coroutine[Any, Any, Any]]] = ()


def application(service: Service, parts: Parts) -> Starlette:
    """The service as an ASGI application, with ``/health`` and switches for its faults."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        for work in service.beside:
            parts.beside(work())
        yield
        for task in list(parts.tasks):
            task.cancel()
        await parts.peers.close()
        await parts.queue.close()

    return Starlette(
        routes=[
            *service.routes,
            Route("/health", _health),
            Route("/faults", _switches(parts.faults)),
            Route("/faults/{name}", _switches(parts.faults), methods=["PUT", "DELETE"]),
        ],
        exception_handlers={PeerError: _peer_error},
        lifespan=lifespan,
    )


async def _health(_: Request) -> Response:
    return Response(status_code=204)


def _switches(faults: Faults) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def switch(request: Request) -> Response:
        if name := request.path_params.get("name"):
            try:
                faults.switch(name, request.method == "PUT")
            except LookupError as error:
                return JSONResponse({"error": str(error)}, 404)
        return JSONResponse(faults.state())

    return switch


async def _peer_error(_: Request, error: Exception) -> Response:
    """A refusal is passed on; a failure of another service makes this one unavailable."""
    status = error.status if isinstance(error, PeerError) else 500
    return JSONResponse({"error": str(error)}, status if status < 500 else 503)


def span_details(routes: Sequence[BaseRoute]) -> Callable[[Mapping[str, Any]], tuple[str, Any]]:
    """Name and attributes of the span of a request: the route's template, not the path."""

    def details(scope: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
        for route in routes:
            if isinstance(route, Route) and route.matches(dict(scope))[0] is Match.FULL:
                path = route.path_format
                return f"{scope['method']} {path}", {"http.route": path}
        return str(scope["method"]), {}

    return details
