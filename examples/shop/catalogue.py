"""Products and their descriptions: a table with a cache in front of it."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.service import Parts, Service

PRODUCTS = 60
_THINGS = ("lamp", "chair", "table", "shelf", "clock", "plant", "carpet", "mirror", "sofa", "desk")
_COLOURS = ("red", "blue", "green", "white", "black", "grey")
_TABLES = """
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, cents INTEGER);
CREATE TABLE reviews (product INTEGER, stars INTEGER);
"""


def service(parts: Parts) -> Service:
    """Products by id, by word, like another, and featured ones."""
    database = parts.database(_TABLES)
    names = [f"{colour} {thing}" for colour in _COLOURS for thing in _THINGS]
    database.fill(
        "INSERT INTO products VALUES (?, ?, ?)",
        [(n + 1, name, 900 + 137 * n) for n, name in enumerate(names)],
    )
    database.fill(
        "INSERT INTO reviews VALUES (?, ?)",
        [(1 + n % PRODUCTS, 1 + n * n % 5) for n in range(5 * PRODUCTS)],
    )
    cache = parts.cache(seconds=6)

    def cold() -> bool:
        return parts.faults.on("cold-cache")

    async def load(number: int) -> dict[str, Any]:
        [(name, cents)] = await database.run(
            "SELECT products", "SELECT name, cents FROM products WHERE id = ?", [number], ms=14
        )
        [(stars,)] = await database.run(
            "SELECT reviews", "SELECT avg(stars) FROM reviews WHERE product = ?", [number], ms=10
        )
        return {"id": number, "name": name, "cents": cents, "stars": stars}

    async def product(request: Request) -> JSONResponse:
        number = request.path_params["id"]
        await parts.pace.work(0.5)
        found = await cache.get(f"product {number}", lambda: load(number), cold=cold)
        return JSONResponse(found)

    async def similar(request: Request) -> JSONResponse:
        number = request.path_params["id"]
        rows = await database.run(
            "SELECT products",
            "SELECT id, name FROM products WHERE id % 10 = ? AND id <> ?",
            [number % 10, number],
            ms=9,
        )
        await parts.pace.work(1)
        return JSONResponse([{"id": row[0], "name": row[1]} for row in rows])

    async def search(request: Request) -> JSONResponse:
        word = request.query_params["q"]
        rows = await database.run(
            "SELECT products",
            "SELECT id, name FROM products WHERE name LIKE ? ORDER BY id LIMIT 12",
            [f"%{word}%"],
            ms=22,
        )
        await parts.pace.work(4)
        return JSONResponse([{"id": row[0], "name": row[1]} for row in rows])

    async def featured(_: Request) -> JSONResponse:
        async def load_featured() -> list[Any]:
            return await database.run(
                "SELECT products", "SELECT id, name FROM products ORDER BY cents LIMIT 8", ms=30
            )

        return JSONResponse(await cache.get("featured", load_featured, cold=cold))

    return Service(
        [
            Route("/products/{id:int}", product),
            Route("/products/{id:int}/similar", similar),
            Route("/products", search),
            Route("/featured", featured),
        ]
    )
