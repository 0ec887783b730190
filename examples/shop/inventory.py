"""How many pieces there are, and who has been promised some."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.catalogue import PRODUCTS
from examples.shop.service import Parts, Service

_TABLES = "CREATE TABLE stock (product INTEGER PRIMARY KEY, pieces INTEGER, reserved INTEGER);"
SLOWER = 12


def service(parts: Parts) -> Service:
    """Stock of one or many products, reservations, shipments."""
    database = parts.database(_TABLES)
    database.fill(
        "INSERT INTO stock VALUES (?, ?, 0)", [(n + 1, 10_000 + n) for n in range(PRODUCTS)]
    )

    async def pieces(numbers: list[int]) -> dict[str, int]:
        marks = ", ".join("?" * len(numbers))
        rows = await database.run(
            "SELECT stock",
            f"SELECT product, pieces - reserved FROM stock WHERE product IN ({marks})",  # noqa: S608  # question marks
            numbers,
            ms=5 * (SLOWER if parts.faults.on("slow-query") else 1),
        )
        return {str(product): left for product, left in rows}

    async def one(request: Request) -> JSONResponse:
        await parts.pace.work(0.5)
        return JSONResponse(await pieces([request.path_params["id"]]))

    async def many(request: Request) -> JSONResponse:
        numbers = [int(n) for n in request.query_params["ids"].split(",") if n]
        return JSONResponse(await pieces(numbers))

    async def reserve(request: Request) -> JSONResponse:
        line = await request.json()
        left = await pieces([line["product"]])
        await database.run(
            "UPDATE stock",
            "UPDATE stock SET reserved = reserved + ? WHERE product = ?",
            [line["pieces"], line["product"]],
            ms=7,
        )
        return JSONResponse(left, 201)

    async def ship(request: Request) -> JSONResponse:
        line = await request.json()
        await database.run(
            "UPDATE stock",
            "UPDATE stock SET reserved = reserved - ?, pieces = pieces - ? WHERE product = ?",
            [line["pieces"], line["pieces"], line["product"]],
            ms=7,
        )
        return JSONResponse({}, 201)

    return Service(
        [
            Route("/stock/{id:int}", one),
            Route("/stock", many),
            Route("/reservations", reserve, methods=["POST"]),
            Route("/shipments", ship, methods=["POST"]),
        ]
    )
