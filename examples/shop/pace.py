"""How long things take: random, but from a seed, and usual for services: a few are much slower."""

from __future__ import annotations

import asyncio
import math
import random


class Pace:
    """Lengths of work of one service."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def seconds(self, ms: float, spread: float = 0.3) -> float:
        """A length around ``ms`` milliseconds, log-normal: at 0.3, one in 100 is twice as long."""
        return self.random.lognormvariate(math.log(ms / 1000), spread)

    async def work(self, ms: float) -> None:
        """Take about so long; other requests go on."""
        await asyncio.sleep(self.seconds(ms))
