"""What traces do not show from inside: the bank, and the broker that carries messages."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.shop.service import Parts, Service

WAIT_SECONDS = 1.0
"""How long a receiver is kept waiting for a message before it must ask again."""


def service(parts: Parts) -> Service:
    """Charges, and queues by name."""
    queues: dict[str, asyncio.Queue[object]] = defaultdict(asyncio.Queue)

    async def charge(request: Request) -> JSONResponse:
        refused = (await request.json())["refused"]
        if parts.pace.random.random() < refused:
            await parts.pace.work(12)
            return JSONResponse({"error": "not now"}, 503)
        await parts.pace.work(35)
        return JSONResponse({"receipt": f"{parts.pace.random.getrandbits(32):08x}"}, 201)

    async def put(request: Request) -> Response:
        queues[request.path_params["name"]].put_nowait(await request.json())
        return Response(status_code=202)

    async def take(request: Request) -> Response:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return JSONResponse(await queues[request.path_params["name"]].get())
        except TimeoutError:
            return Response(status_code=204)

    return Service(
        [
            Route("/bank/charges", charge, methods=["POST"]),
            Route("/queues/{name}", put, methods=["POST"]),
            Route("/queues/{name}", take),
        ]
    )
