"""Charges a card: asks the bank, and asks again when the bank is not available."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.service import Parts, Service

REFUSED = 0.05
"""Share of charges that the bank can't take at once, on a usual day."""
REFUSED_IN_A_STORM = 0.75


def service(parts: Parts) -> Service:
    """A charge, tried three times."""

    async def charge(request: Request) -> JSONResponse:
        cents = (await request.json())["cents"]
        await parts.pace.work(2)
        storm = parts.faults.on("retry-storm")
        receipt = await parts.peers.call(
            "POST",
            "outside",
            "/bank/charges",
            json={"cents": cents, "refused": REFUSED_IN_A_STORM if storm else REFUSED},
            attempts=3,
        )
        await parts.pace.work(1)
        return JSONResponse(receipt, 201)

    return Service([Route("/charges", charge, methods=["POST"])])
