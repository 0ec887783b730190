"""The services of the shop: which there are, on which host each says it runs, whom it calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """One process of the shop."""

    host: str
    zone: str
    version: str
    calls: tuple[str, ...] = ()
    traced: bool = True


SERVICES = {
    "frontend": Plan("web-1", "zone-a", "3.2.0", ("catalogue", "cart", "inventory", "checkout")),
    "catalogue": Plan("app-1", "zone-a", "1.9.4"),
    "cart": Plan("app-2", "zone-a", "2.0.1", ("catalogue",)),
    "checkout": Plan("app-3", "zone-b", "4.1.0", ("cart", "inventory", "payment", "outside")),
    "payment": Plan("app-4", "zone-b", "1.3.3", ("outside",)),
    "inventory": Plan("app-5", "zone-b", "2.7.2"),
    "shipping": Plan("worker-1", "zone-b", "0.8.0", ("inventory", "outside")),
    "outside": Plan("", "", "", traced=False),
}
"""`shipping` takes orders from the queue. `outside` holds what traces do not show from inside:
the bank and the message broker."""
PORT = 8000
"""Port of each service where every service has an address of its own."""


def addresses() -> dict[str, str]:
    """URL of each service where names are host names, as between containers."""
    return {name: f"http://{name}:{PORT}" for name in SERVICES}
