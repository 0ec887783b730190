"""The pages that people see. Everything on them comes from other services."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from examples.shop.service import Parts, Service


def service(parts: Parts) -> Service:
    """Home, search, product, cart and checkout."""
    call = parts.peers.call

    async def together(*calls: Coroutine[Any, Any, Any]) -> list[Any]:
        """All answers; the calls run side by side, unless needlessly in line."""
        if parts.faults.on("needless-serialisation"):
            return [await one for one in calls]
        return list(await asyncio.gather(*calls))

    async def home(request: Request) -> JSONResponse:
        cart = request.query_params.get("cart", "0")
        await parts.pace.work(1)
        featured, items = await together(
            call("GET", "catalogue", "/featured"), call("GET", "cart", "/carts/{cart}", cart=cart)
        )
        await parts.pace.work(3)
        return JSONResponse({"featured": featured, "cart": items})

    async def search(request: Request) -> JSONResponse:
        word = request.query_params.get("q", "a")
        await parts.pace.work(1)
        found = await call("GET", "catalogue", "/products?q={word}", word=word)
        ids = ",".join(str(product["id"]) for product in found)
        stock = await call("GET", "inventory", "/stock?ids={ids}", ids=ids)
        await parts.pace.work(2)
        return JSONResponse({"found": found, "stock": stock})

    async def product(request: Request) -> JSONResponse:
        number = request.path_params["id"]
        await parts.pace.work(1)
        about, similar, stock = await together(
            call("GET", "catalogue", "/products/{id}", id=number),
            call("GET", "catalogue", "/products/{id}/similar", id=number),
            call("GET", "inventory", "/stock/{id}", id=number),
        )
        await parts.pace.work(4)
        return JSONResponse({"product": about, "similar": similar, "stock": stock})

    async def add(request: Request) -> JSONResponse:
        wanted = await request.json()
        await parts.pace.work(1)
        item = await call(
            "POST", "cart", "/carts/{cart}/items", cart=wanted["cart"], json=wanted["item"]
        )
        await parts.pace.work(1)
        return JSONResponse(item, 201)

    async def checkout(request: Request) -> JSONResponse:
        wanted = await request.json()
        await parts.pace.work(2)
        order = await call("POST", "checkout", "/orders", json=wanted)
        await parts.pace.work(2)
        return JSONResponse(order, 201)

    return Service(
        [
            Route("/", home),
            Route("/search", search),
            Route("/product/{id:int}", product),
            Route("/cart", add, methods=["POST"]),
            Route("/checkout", checkout, methods=["POST"]),
        ]
    )
