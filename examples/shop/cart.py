"""What each customer is about to buy."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.service import Parts, Service

_TABLES = "CREATE TABLE items (cart TEXT, product INTEGER, pieces INTEGER, cents INTEGER);"


def service(parts: Parts) -> Service:
    """A cart, an item more in it, and what it costs today."""
    database = parts.database(_TABLES)

    async def items(request: Request) -> JSONResponse:
        rows = await database.run(
            "SELECT items",
            "SELECT product, pieces FROM items WHERE cart = ?",
            [request.path_params["cart"]],
            ms=5,
        )
        return JSONResponse([{"product": row[0], "pieces": row[1]} for row in rows])

    async def add(request: Request) -> JSONResponse:
        wanted = await request.json()
        about = await parts.peers.call("GET", "catalogue", "/products/{id}", id=wanted["product"])
        values = [request.path_params["cart"], wanted["product"], wanted["pieces"], about["cents"]]
        written = database.run(
            "INSERT items", "INSERT INTO items VALUES (?, ?, ?, ?)", values, ms=12
        )
        if parts.faults.on("early-return"):
            parts.beside(written)
            await parts.pace.work(2)
        else:
            await written
        return JSONResponse(about, 201)

    async def bill(request: Request) -> JSONResponse:
        cart = request.path_params["cart"]
        rows = await database.run(
            "SELECT items",
            "SELECT product, sum(pieces) FROM items WHERE cart = ? GROUP BY product LIMIT 4",
            [cart],
            ms=6,
        )
        lines = []
        for product, pieces in rows:  # one after another, as it is often written
            today = await parts.peers.call("GET", "catalogue", "/products/{id}", id=product)
            cents = pieces * today["cents"]
            lines.append({"product": product, "pieces": pieces, "cents": cents})
        await database.run("DELETE items", "DELETE FROM items WHERE cart = ?", [cart], ms=4)
        return JSONResponse(lines)

    return Service(
        [
            Route("/carts/{cart}", items),
            Route("/carts/{cart}/items", add, methods=["POST"]),
            Route("/carts/{cart}/bill", bill, methods=["POST"]),
        ]
    )
