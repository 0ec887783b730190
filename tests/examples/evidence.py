"""What faults of the shop leave behind on critical paths, as numbers and as sentences.

The same questions are asked of the committed recording, where docs/shop.md shows the answers, and
of a run of today, where only their direction is certain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import zstandard

from crisp.options import IngestOptions, PathOptions
from tests.mapped import Mapped, map_files

Trace = dict[str, Any]
Tree = dict[str, Any]
FAULTS = (
    "slow-query",
    "needless-serialisation",
    "cold-cache",
    "retry-storm",
    "clock-offset",
    "early-return",
)
HOME, SEARCH = "frontend::GET /", "frontend::GET /search"
PRODUCT, ADD = "frontend::GET /product/{id}", "frontend::POST /cart"
CHECKOUT, VAN = "frontend::POST /checkout", "shipping::dispatch van"


@dataclass(frozen=True)
class Phase:
    """A file of a recording."""

    file: Path

    @cached_property
    def traces(self) -> list[Trace]:
        """As Jaeger gave them."""
        text = zstandard.ZstdDecompressor().stream_reader(self.file.read_bytes()).read()
        return [json.loads(line) for line in text.splitlines()]

    @cached_property
    def mapped(self) -> Mapped:
        """The map step's tables; its books balance and every path tiles its root."""
        return map_files(self.file)

    @cached_property
    def mapped_by_edge(self) -> Mapped:
        """The same after Jaeger's correction of clocks."""
        return map_files(self.file, IngestOptions(), PathOptions(skew="edge"))


def paths_of(mapped: Mapped) -> dict[int, tuple[str, ...]]:
    """Endpoints from the root down, by path id."""
    names = names_of(mapped)
    rows = {row["path_id"]: row for row in mapped.tables["call_paths"]}

    def path(number: int) -> tuple[str, ...]:
        row = rows[number]
        above = path(row["parent_id"]) if row["parent_id"] else ()
        return (*above, names[row["endpoint_id"]])

    return {number: path(number) for number in rows}


def names_of(mapped: Mapped) -> dict[int, str]:
    """Endpoints as service::operation, by id."""
    rows = mapped.tables["endpoint_names"]
    return {row["endpoint_id"]: f"{row['service']}::{row['operation']}" for row in rows}


def trees(mapped: Mapped, entry: str) -> list[Tree]:
    """Trees of an entry endpoint."""
    names = names_of(mapped)
    return [tree for tree in mapped.tables["traces"] if names[tree["endpoint_id"]] == entry]


def share(mapped: Mapped, entry: str, holds: Callable[[str], bool]) -> float:
    """Share of the latency of an entry endpoint that endpoints which ``holds`` accepts hold."""
    names = names_of(mapped)
    found = trees(mapped, entry)
    held = sum(
        use["exclusive_us"]
        for tree in found
        for use in tree["endpoints"]
        if holds(names[use["endpoint_id"]])
    )
    return float(held / sum(tree["latency_us"] for tree in found))


def on_path(mapped: Mapped, entry: str, endpoint: str) -> float:
    """Spans of an endpoint on the critical path, for each trace of an entry endpoint."""
    names = names_of(mapped)
    return _mean(
        sum(use["cp_spans"] for use in tree["endpoints"] if names[use["endpoint_id"]] == endpoint)
        for tree in trees(mapped, entry)
    )


def calls_on_path(mapped: Mapped, entry: str) -> list[int]:
    """How many calls that the root itself makes are on the critical path, by trace."""
    depth = {number: len(path) for number, path in paths_of(mapped).items()}
    return [
        sum(path["spans"] for path in tree["paths"] if depth[path["path_id"]] == 2)
        for tree in trees(mapped, entry)
    ]


def ledger(mapped: Mapped, entry: str, name: str, what: str) -> float:
    """``spans`` or ``amount_us`` of a ledger entry for each trace of an entry endpoint."""
    return _mean(
        sum(row[what] for row in tree["ledger"] if row["entry"] == name)
        for tree in trees(mapped, entry)
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something to see when a fault is on."""

    fault: str
    entry: str
    what: str
    unit: str
    of: Callable[[Phase], float]
    surely: float | None = None
    """with the fault at least so many times as much; below 1, at most this part of it"""

    def row(self, normal: Phase, fault: Phase) -> str:
        """The line of docs/shop.md."""
        numbers = (self._show(self.of(phase)) for phase in (normal, fault))
        return f"| `{self.fault}` | `{self.entry}` | {self.what} | {' | '.join(numbers)} |"

    def is_seen(self, normal: Phase, fault: Phase) -> bool:
        """The numbers differ as they must."""
        if self.surely is None:
            return True
        before, after = self.of(normal), self.of(fault)
        if self.surely > 1:
            return after > before and after >= self.surely * before
        return after <= self.surely * before

    def _show(self, value: float) -> str:
        if self.unit == "%":
            return f"{100 * value:.0f} %"
        return f"{value / 1000:.1f} ms" if self.unit == "ms" else f"{value:.2f}"


def _is(*endpoints: str) -> Callable[[str], bool]:
    return lambda name: name in endpoints


def _of(service: str) -> Callable[[str], bool]:
    return lambda name: name.startswith(f"{service}::")


def _median(fault: str, entry: str) -> Sign:
    return Sign(
        fault=fault,
        entry=entry,
        what="latency, median",
        unit="ms",
        of=lambda phase: median(tree["latency_us"] for tree in trees(phase.mapped, entry)),
    )


SIGNS: Sequence[Sign] = (
    _median("slow-query", PRODUCT),
    Sign(
        fault="slow-query",
        entry=PRODUCT,
        what="share of `inventory::SELECT stock`",
        unit="%",
        of=lambda phase: share(phase.mapped, PRODUCT, _is("inventory::SELECT stock")),
        surely=2,
    ),
    _median("slow-query", SEARCH),
    Sign(
        fault="slow-query",
        entry=SEARCH,
        what="share of `inventory::SELECT stock`",
        unit="%",
        of=lambda phase: share(phase.mapped, SEARCH, _is("inventory::SELECT stock")),
        surely=2,
    ),
    _median("needless-serialisation", PRODUCT),
    Sign(
        fault="needless-serialisation",
        entry=PRODUCT,
        what="calls of the frontend on the path, of three",
        unit="",
        of=lambda phase: _mean(calls_on_path(phase.mapped, PRODUCT)),
        surely=1.5,
    ),
    _median("cold-cache", ADD),
    Sign(
        fault="cold-cache",
        entry=ADD,
        what="share of what the catalogue asks its database",
        unit="%",
        of=lambda phase: share(
            phase.mapped, ADD, _is("catalogue::SELECT products", "catalogue::SELECT reviews")
        ),
        surely=1.2,
    ),
    _median("retry-storm", CHECKOUT),
    Sign(
        fault="retry-storm",
        entry=CHECKOUT,
        what="calls of the bank on the path",
        unit="",
        of=lambda phase: on_path(phase.mapped, CHECKOUT, "payment::POST /bank/charges"),
        surely=1.3,
    ),
    _median("clock-offset", PRODUCT),
    Sign(
        fault="clock-offset",
        entry=PRODUCT,
        what="spans dropped, each trace",
        unit="",
        of=lambda phase: ledger(phase.mapped, PRODUCT, "dropped", "spans"),
        surely=10,
    ),
    Sign(
        fault="clock-offset",
        entry=PRODUCT,
        what="share of the catalogue",
        unit="%",
        of=lambda phase: share(phase.mapped, PRODUCT, _of("catalogue")),
        surely=0.6,
    ),
    Sign(
        fault="clock-offset",
        entry=PRODUCT,
        what="share of the catalogue with `--skew edge`",
        unit="%",
        of=lambda phase: share(phase.mapped_by_edge, PRODUCT, _of("catalogue")),
    ),
    _median("early-return", ADD),
    Sign(
        fault="early-return",
        entry=ADD,
        what="share of `cart::INSERT items`",
        unit="%",
        of=lambda phase: share(phase.mapped, ADD, _is("cart::INSERT items")),
        surely=0.7,
    ),
    Sign(
        fault="early-return",
        entry=ADD,
        what="cut from the ends of spans, each trace",
        unit="ms",
        of=lambda phase: ledger(phase.mapped, ADD, "clipped_end", "amount_us"),
        surely=2,
    ),
)
