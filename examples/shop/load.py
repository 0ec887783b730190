"""People who shop: a fixed number of them, each waiting for an answer before asking again."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass

import httpx

from examples.shop.catalogue import PRODUCTS

ACTIONS = {"home": 15, "search": 13, "product": 28, "add": 22, "checkout": 22}
"""How often each is done, of 100."""
WORDS = ("red", "blue", "lamp", "chair", "sofa", "e", "green cl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much is asked. Without limit it goes on."""

    requests: int | None = None
    seconds: float | None = None
    rate: float = 12.0
    """requests a second, on average, where the shop keeps up"""
    users: int = 10
    seed: str = "load"


async def run(url: str, load: Load) -> Counter[str]:
    """Shop at ``url`` until the load is done; how many answers there were of each class."""
    rng = random.Random(load.seed)
    moments = _moments(load, rng)
    answers: Counter[str] = Counter()
    began = time.monotonic()
    async with (
        httpx.AsyncClient(base_url=url, timeout=30, headers={"user-agent": "shop-load"}) as client,
        asyncio.TaskGroup() as users,
    ):

        async def shop(user: _User) -> None:
            for moment in moments:
                await asyncio.sleep(moment - (time.monotonic() - began))
                answers[await _kind(user.act(client))] += 1

        for number in range(load.users):
            users.create_task(shop(_User(f"{load.seed}-{number}")))
    return answers


async def _kind(request: Awaitable[httpx.Response]) -> str:
    try:
        return f"{(await request).status_code // 100}xx"
    except httpx.TransportError:
        return "no answer"


def _moments(load: Load, rng: random.Random) -> Iterator[float]:
    """When requests are due, in seconds from the start: a Poisson process."""
    moment = 0.0
    for number in itertools.count():
        moment += rng.expovariate(load.rate)
        if load.requests is not None and number >= load.requests:
            return
        if load.seconds is not None and moment >= load.seconds:
            return
        yield moment


class _User:
    """Somebody with a cart. A few products are much more popular than the others."""

    def __init__(self, name: str) -> None:
        self._name, self._rng = name, random.Random(name)
        self._carts, self._items = 0, 0
        self._popularity = [1 / (place + 1) for place in range(PRODUCTS)]

    async def act(self, client: httpx.AsyncClient) -> httpx.Response:
        """Do one thing."""
        [action] = self._rng.choices(list(ACTIONS), list(ACTIONS.values()))
        cart = f"{self._name}-{self._carts}"
        if action == "checkout" and self._items:
            self._carts, self._items = self._carts + 1, 0
            return await client.post("/checkout", json={"cart": cart})
        if action in ("add", "checkout"):
            self._items += 1
            item = {"product": self._product(), "pieces": self._rng.randint(1, 3)}
            return await client.post("/cart", json={"cart": cart, "item": item})
        if action == "product":
            return await client.get(f"/product/{self._product()}")
        if action == "search":
            return await client.get("/search", params={"q": self._rng.choice(WORDS)})
        return await client.get("/", params={"cart": cart})

    def _product(self) -> int:
        [found] = self._rng.choices(range(1, PRODUCTS + 1), self._popularity)
        return found
