"""Endpoints as large as the six of the paper's Table 4.2, made up.

An endpoint is a tree of call sites: which calls a span makes, in which order, side by side
with which others, how often. Rare branches are choices among many by Zipf's law, so a window
of traces never shows all of them. Most calls stand in the shadow of a longer one beside them
and hardly ever hold the request up, which is why critical paths have fewer features.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crisp.stable import text_id

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SHADOW_SCALE = 0.01
"""Work below a call in the shadow of another, beside work elsewhere."""
DEEPEST = 14
_SPARE = 2
TRACES = 20_000
"""Traces in which Table 4.2 counts features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a service shall look like in `TRACES` traces."""

    endpoints: int
    max_spans: int
    stv: int
    """call paths"""
    scpv: int
    """call paths on critical paths"""
    lit: float = 1.0
    """paths out of the shadow by those that come out on critical paths: found by trying"""


TABLE_4_2: Mapping[int, Size] = {
    1: Size(endpoints=214, max_spans=1_429, stv=5_117, scpv=1_186, lit=1.36),
    2: Size(endpoints=969, max_spans=1_724, stv=9_725, scpv=1_860, lit=1.05),
    3: Size(endpoints=734, max_spans=5_320, stv=20_321, scpv=2_154, lit=1.02),
    4: Size(endpoints=912, max_spans=20_001, stv=25_347, scpv=2_715, lit=0.96),
    5: Size(endpoints=768, max_spans=6_562, stv=26_404, scpv=2_336, lit=1.03),
    6: Size(endpoints=1_477, max_spans=10_992, stv=28_968, scpv=1_151, lit=1.08),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Call sites, parents first, and slots: places in the code of a site that call one of some.

    The slots of a site stand together, in the order of their steps; so do the alternatives of a
    slot. Slots of one step run side by side.
    """

    name: str
    parent: Ints
    """(sites,) site above; -1 for the root"""
    endpoint: Ints
    """(sites,) index into ``endpoint_ids``"""
    work_us: Floats
    """(sites,) median of its own work"""
    spread: Floats
    """(sites,) standard deviation of its logarithm"""
    load: Floats
    """(sites,) how much of the load of the moment it feels, 0 to 1"""
    chance: Floats
    """(sites,) share of traces with a call of it, repeats left aside"""
    shadow: Flags
    """(sites,) it or a call above it runs in the shadow of another"""
    steps: Ints
    """(sites,) steps of its slots"""
    slot_edges: Ints
    """(sites + 1,) slots of site i are ``slot_edges[i]:slot_edges[i + 1]``"""
    step: Ints
    """(slots,) its step, from 0"""
    taken: Floats
    """(slots,) chance that it calls at all"""
    most: Ints
    """(slots,) repeats at most, side by side; 1: never repeated"""
    choice_edges: Ints
    """(slots + 1,)"""
    choice_site: Ints
    """(alternatives,) site called"""
    choice_until: Floats
    """(alternatives,) number of the slot + cumulative chance: ascending over all slots"""
    endpoint_ids: Ints
    """(endpoints,)"""

    @property
    def root_endpoint_id(self) -> int:
        """Entry endpoint."""
        return int(self.endpoint_ids[self.endpoint[0]])


def service_of(number: int, seed: int = 0) -> Service:
    """Service ``number`` of Table 4.2."""
    return make_service(f"service {number}", TABLE_4_2[number], seed)


def make_service(name: str, size: Size, seed: int = 0, core: int = 150) -> Service:
    """A service in which `TRACES` traces hold about as many paths and spans as ``size`` says.

    ``core``: calls of an ordinary trace, choices and repeats left aside. The count of paths is
    the expectation Σ 1 − (1 − p)^`TRACES` over sites of chance p, repeats left aside; that of
    paths on critical paths comes out of the times and is met within some percent.
    """
    draft = _Draft(np.random.default_rng([seed, text_id(name) % 2**32]), size.endpoints)
    draft.grow_core(core)
    draft.grow_choices(size.scpv * size.lit, shadow=False)
    draft.repeat(size.max_spans)
    draft.grow_choices(size.stv, shadow=True)
    return draft.finish(name)


class _Draft:
    """A service while its sites are being added."""

    def __init__(self, rng: np.random.Generator, endpoints: int) -> None:
        self.rng = rng
        self.endpoints = endpoints
        self.parent, self.depth, self.chance, self.shadow = [-1], [0], [1.0], [False]
        self.endpoint, self.children, self.steps = [0], [0], [0]
        self.slots: list[tuple[int, int, float, int, list[int], list[float]]] = []
        """(site, step, chance, repeats at most, alternatives, their chances)"""
        self.seen = 1.0
        self.repeated: set[int] = set()
        self.anchors: dict[int, list[int]] = {}
        """steps by site in which a call is always made that casts a shadow"""
        self.casting: list[int] = []

    def add(self, above: int, chance: float, *, shadow: bool) -> int:
        """A site below ``above``; those below one site have endpoints of their own."""
        number = len(self.parent)
        self.parent.append(above)
        self.depth.append(self.depth[above] + 1)
        self.chance.append(chance)
        self.shadow.append(shadow or self.shadow[above])
        # Neighbours in the order of a fixed walk through all endpoints never meet twice.
        begin = text_id(str(above)) % self.endpoints
        self.endpoint.append((begin + self.children[above]) % self.endpoints)
        self.children[above] += 1
        self.children.append(0)
        self.steps.append(0)
        self.seen += 1 - (1 - chance) ** TRACES
        return number

    def call(self, above: int, step: int, taken: float, *, shadow: bool, most: int = 1) -> int:
        """A slot with one alternative; the site it calls."""
        site = self.add(above, self.chance[above] * taken, shadow=shadow)
        self.slots.append((above, step, taken, most, [site], [1.0]))
        self.steps[above] = max(self.steps[above], step + 1)
        return site

    def grow_core(self, sites: int) -> None:
        """Calls that most traces make: in steps of one to three side by side, of which the
        others are often in the shadow of the first."""
        rng = self.rng
        while len(self.parent) < sites:
            above = int(rng.integers(len(self.parent)))
            if self.depth[above] >= DEEPEST - 6 or self.steps[above] >= 4:
                continue
            step, width = self.steps[above], int(rng.integers(1, 4))
            for place in range(width):
                taken = 1.0 if place == 0 else float(rng.choice([1.0, 0.9, 0.5]))
                shadow = place > 0 and rng.random() < 0.6
                called = self.call(above, step, taken, shadow=shadow)
                if place == 0:
                    self.casting.append(called)
            self.anchors.setdefault(above, []).append(step)

    def grow_choices(self, paths: float, *, shadow: bool) -> None:
        """Slots that call one of many, by Zipf's law, each with a few calls below, until about
        ``paths`` paths are expected. In the shadow: beside a longer call of the core."""
        rng = self.rng
        core = [s for s in range(len(self.parent)) if self.chance[s] > 0.4 and self.fits(s)]
        hosts = [s for s in core if shadow == self.shadow[s] or (shadow and s in self.anchors)]
        while self.seen < paths:
            hosts = [site for site in hosts if self.room(site) > 0]
            above = int(rng.choice(hosts))
            most = min(self.room(above) + _SPARE, int((paths - self.seen) / 2) + 2)
            width = min(int(rng.integers(20, 160)), most)
            beside = shadow and not self.shadow[above]
            step = int(rng.choice(self.anchors[above])) if beside else self.steps[above]
            self.choose(above, step, width, shadow=shadow)

    def room(self, site: int) -> int:
        """Endpoints that it does not call yet, but for some that are left for later calls."""
        return self.endpoints - _SPARE - self.children[site]

    def fits(self, site: int) -> bool:
        """Choices may stand below it: shallow enough, and not repeated."""
        return self.depth[site] <= DEEPEST - 6 and site not in self.repeated

    def choose(self, above: int, step: int, width: int, *, shadow: bool) -> None:
        """One slot of ``width`` alternatives with chains and fans of calls below them."""
        rng = self.rng
        taken = float(rng.uniform(0.15, 0.6))
        weights = 1.0 / np.arange(1, width + 1) ** float(rng.uniform(0.8, 1.3))
        weights /= weights.sum()
        chosen = []
        for weight in weights.tolist():
            site = self.add(above, self.chance[above] * taken * weight, shadow=shadow)
            chosen.append(site)
            for _ in range(int(rng.integers(0, 5))):
                below = site if rng.random() < 0.5 else int(rng.integers(site, len(self.parent)))
                self.call(below, self.steps[below], float(rng.choice([1.0, 0.7])), shadow=shadow)
        self.slots.append((above, step, taken, 1, chosen, weights.tolist()))
        self.steps[above] = max(self.steps[above], step + 1)

    def repeat(self, max_spans: int) -> None:
        """A loop in the shadow that makes the largest trace as large as ``max_spans``."""
        body = 4
        usual = sum(self.chance) + 40
        most = max(1, round((max_spans - usual) / body))
        top = self.call(0, max(0, self.steps[0] - 1), 0.8, shadow=True, most=most)
        self.repeated.add(top)
        for step in range(body - 1):
            self.repeated.add(self.call(top, step, 1.0, shadow=True))

    def finish(self, name: str) -> Service:
        """The sites in columns."""
        rng, count = self.rng, len(self.parent)
        slots = sorted(self.slots, key=lambda slot: slot[:2])  # stable: as they were added
        widths = [len(slot[4]) for slot in slots]
        shadow = np.array(self.shadow)
        work = rng.lognormal(np.log(300.0), 0.8, count)
        work[0] = 2_000.0
        work[self.casting] = np.maximum(work[self.casting], 500.0)
        until = [number + np.cumsum(slot[5]) / sum(slot[5]) for number, slot in enumerate(slots)]
        return Service(
            name=name,
            parent=np.array(self.parent),
            endpoint=np.array(self.endpoint),
            work_us=work * np.where(shadow, SHADOW_SCALE, 1.0),
            spread=rng.uniform(0.2, 0.6, count),
            load=rng.uniform(0.0, 1.0, count),
            chance=np.array(self.chance),
            shadow=shadow,
            steps=np.array(self.steps),
            slot_edges=np.searchsorted([slot[0] for slot in slots], np.arange(count + 1)),
            step=np.array([slot[1] for slot in slots]),
            taken=np.array([slot[2] for slot in slots]),
            most=np.array([slot[3] for slot in slots]),
            choice_edges=np.concatenate(([0], np.cumsum(widths))).astype(np.int64),
            choice_site=np.array([site for slot in slots for site in slot[4]]),
            choice_until=np.concatenate(until),
            endpoint_ids=np.array(
                [text_id(f"{name} part {n % 61}", f"call {n}") for n in range(self.endpoints)]
            ),
        )
