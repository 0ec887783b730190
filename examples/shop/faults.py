"""What can be broken in the shop: each fault lives in one service and is one small idea.

A service asks ``faults.on(NAME)`` at the place where the fault acts. If it is on, the span that is
being recorded there gets the attribute ``shop.fault``, so that a reader of traces can look up
afterwards whether the guess was right. Nothing else tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry import trace

MARK = "shop.fault"
"""Span attribute that names the fault which acted in the span."""
CLOCK_OFFSET_NS = 30_000_000
"""How far the clock of the catalogue's host runs ahead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a fault lives and what it does."""

    service: str
    does: str


FAULTS = {
    "slow-query": Fault("inventory", "reading the stock takes 12 times as long, as without index"),
    "needless-serialisation": Fault("frontend", "calls that could run together wait in line"),
    "cold-cache": Fault("catalogue", "the cache forgets everything at once"),
    "retry-storm": Fault("payment", "the bank refuses most charges; payment and checkout insist"),
    "clock-offset": Fault("catalogue", "the clock of the host runs 30 ms ahead"),
    "early-return": Fault("cart", "an added item is confirmed before it is written"),
}


@dataclass(slots=True)
class Faults:
    """The faults of one service, and which of them are on."""

    service: str
    _on: set[str] = field(default_factory=set)

    def switch(self, name: str, on: bool) -> None:
        """Switch a fault on or off, from the next request on.

        Raises:
            LookupError: no such fault, or one of another service; the text says which.
        """
        if name not in FAULTS:
            raise LookupError(f"no fault {name!r}; there are {', '.join(FAULTS)}")
        if FAULTS[name].service != self.service:
            raise LookupError(f"{name!r} is a fault of {FAULTS[name].service}, not {self.service}")
        (self._on.add if on else self._on.discard)(name)

    def on(self, name: str) -> bool:
        """Whether it is on; the current span is marked if so."""
        if name in self._on:
            trace.get_current_span().set_attribute(MARK, name)
        return name in self._on

    def state(self) -> dict[str, bool]:
        """All faults of the service."""
        return {name: name in self._on for name, f in FAULTS.items() if f.service == self.service}
