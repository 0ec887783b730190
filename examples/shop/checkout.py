"""Orders: bill, stock, payment, then a message to those who pack and ship."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.service import Parts, Service

_TABLES = "CREATE TABLE orders (cart TEXT, cents INTEGER, receipt TEXT);"


def service(parts: Parts) -> Service:
    """An order of all that is in a cart."""
    database = parts.database(_TABLES)
    call = parts.peers.call

    async def order(request: Request) -> JSONResponse:
        cart = (await request.json())["cart"]
        lines = await call("POST", "cart", "/carts/{cart}/bill", cart=cart)
        if not lines:
            return JSONResponse({"error": "the cart is empty"}, 409)
        await asyncio.gather(
            *(call("POST", "inventory", "/reservations", json=line) for line in lines)
        )
        cents = sum(line["cents"] for line in lines)
        paid = await call("POST", "payment", "/charges", json={"cents": cents}, attempts=3)
        await database.run(
            "INSERT orders",
            "INSERT INTO orders VALUES (?, ?, ?)",
            [cart, cents, paid["receipt"]],
            ms=8,
        )
        await parts.queue.send({"cart": cart, "lines": lines})
        return JSONResponse({"cents": cents, **paid}, 201)

    return Service([Route("/orders", order, methods=["POST"])])
