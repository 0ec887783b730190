"""What to generate: the settings of a synthetic day of traces."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date
from typing import Literal, get_args

from crisp.errors import ConfigError
from crisp.synth import shapes

Layout = Literal["jsonl", "jsonl.gz", "jsonl.zst", "files"]
Shape = Literal["uber", "flat"]
FaultKind = Literal["slow", "serialise", "retry-storm", "cold-cache"]

LARGEST_MEAN_SPANS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectRates:
    """How often the spans of a trace are not a strict tree with one clock.

    The first five are shares of traces, as published for Uber (`shapes`); the rest are shares
    of spans, and ours, except ``clock`` which scales the measured offsets between hosts.
    """

    multi_root: float = shapes.UBER_MULTI_ROOT
    orphan: float = shapes.UBER_DANGLING
    duplicate_id: float = shapes.UBER_DUPLICATE_ID
    repeated_parent: float = shapes.UBER_REPEATED_PARENT
    second_parent: float = shapes.UBER_SECOND_PARENT
    overlap: float = 0.01
    error: float = 0.003
    null_fields: float = 0.005
    big_number: float = 0.01
    asynchronous: float = 1.0
    clock: float = 1.0

    def problems(self) -> list[str]:
        """What is wrong with the rates, in words; empty when nothing is."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [
            f"defects.{name} must be in [0, {limit}], not {value}"
            for name, value in values
            if not 0 <= value <= (limit := 1000 if name == "clock" else 1)
        ]


PUBLISHED = DefectRates()
NONE = DefectRates(**{field.name: 0.0 for field in fields(DefectRates)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A change planted into the last ``fraction`` of the traces of one entry endpoint.

    ``factor`` slows (`slow`); ``attempts`` counts the calls of a `retry-storm`, of which all
    but the last fail; ``pick`` chooses the next best call path instead of the best (0).
    """

    kind: FaultKind
    entry: int = 0
    fraction: float = 0.5
    factor: float = 3.0
    attempts: int = 4
    pick: int = 0

    def problems(self) -> list[str]:
        """What is wrong with the fault, in words; empty when nothing is."""
        found = []
        if self.kind not in get_args(FaultKind):
            found.append(f"fault {self.kind!r} is none of {', '.join(get_args(FaultKind))}")
        if self.entry < 0:
            found.append(f"{self.kind}: entry must be at least 0, not {self.entry}")
        if not 0 < self.fraction <= 1:
            found.append(f"{self.kind}: fraction must be in (0, 1], not {self.fraction}")
        if not 1 < self.factor <= 1000:
            found.append(f"{self.kind}: factor must be in (1, 1000], not {self.factor}")
        if not 2 <= self.attempts <= 100:
            found.append(f"{self.kind}: attempts must be in [2, 100], not {self.attempts}")
        if self.pick < 0:
            found.append(f"{self.kind}: pick must be at least 0, not {self.pick}")
        return found

    def settings(self) -> dict[str, str | int | float]:
        """The kind and the settings that this kind has, by name."""
        return {"kind": self.kind} | {name: getattr(self, name) for name in _KEYS[self.kind]}


_KEYS: dict[str, dict[str, type[int] | type[float]]] = {
    "slow": {"entry": int, "fraction": float, "factor": float, "pick": int},
    "serialise": {"entry": int, "fraction": float, "pick": int},
    "retry-storm": {"entry": int, "fraction": float, "attempts": int, "pick": int},
    "cold-cache": {"entry": int, "fraction": float},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthOptions:
    """A synthetic day: ``traces`` requests to ``endpoints`` entry endpoints on ``day`` (UTC).

    ``spans`` is the mean per trace. With shape `uber` the sizes of the traces follow Uber's
    distribution, scaled to that mean; with `flat` every endpoint has that size. ``seed`` decides
    the system, and together with ``draw`` its traces: other draws are other days of it. ``clean``
    switches every defect off, whatever ``defects`` says. ``files`` is the number of output
    files (default: one for about 64 MB); layout `files` writes one file for each trace.

    Raises: ConfigError, naming all problems.
    """

    day: date
    traces: int = 1000
    endpoints: int = 20
    services: int = 80
    seed: int = 0
    draw: int = 0
    spans: float = 100.0
    shape: Shape = "uber"
    clean: bool = False
    defects: DefectRates = PUBLISHED
    faults: tuple[Fault, ...] = ()
    layout: Layout = "jsonl"
    files: int | None = None

    def __post_init__(self) -> None:
        found = [
            f"{name} must be in [{low}, {high}], not {value}"
            for name, value, low, high in (
                ("traces", self.traces, 1, 1_000_000_000),
                ("endpoints", self.endpoints, 1, 10_000),
                ("services", self.services, 2, 20_000),
                ("seed", self.seed, 0, 2**63 - 1),
                ("draw", self.draw, 0, 2**63 - 1),
                ("spans", self.spans, 3, LARGEST_MEAN_SPANS),
                ("files", 1 if self.files is None else self.files, 1, self.traces),
            )
            if not low <= value <= high
        ]
        if self.layout not in get_args(Layout):
            found.append(f"layout {self.layout!r} is none of {', '.join(get_args(Layout))}")
        if self.shape not in get_args(Shape):
            found.append(f"shape {self.shape!r} is none of {', '.join(get_args(Shape))}")
        if self.layout == "files" and self.files is not None:
            found.append("files cannot be chosen with layout 'files' (one file for each trace)")
        found += self.defects.problems()
        for fault in self.faults:
            found += fault.problems()
            if fault.entry >= self.endpoints:
                found.append(
                    f"{fault.kind}: entry {fault.entry} does not exist, there are "
                    f"{self.endpoints} endpoints, counted from 0"
                )
        if found:
            raise ConfigError("; ".join(found))

    @property
    def rates(self) -> DefectRates:
        """The defect rates that apply."""
        return NONE if self.clean else self.defects


def parse_fault(text: str) -> Fault:
    """A fault from its text, as in ``slow:entry=0,factor=3,fraction=0.5``.

    Raises: ConfigError, naming all problems.
    """
    kind, _, rest = text.partition(":")
    known = _KEYS.get(kind.strip())
    if known is None:
        raise ConfigError(f"fault {text!r}: {kind!r} is none of {', '.join(_KEYS)}")
    values: dict[str, int | float] = {}
    found = []
    for part in filter(None, (part.strip() for part in rest.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            found.append(f"{part!r} is not of the form name=value")
        elif name not in known:
            found.append(f"{name!r} is none of {', '.join(known)}")
        elif name in values:
            found.append(f"{name!r} is given twice")
        else:
            try:
                values[name] = known[name](value)
            except ValueError:
                found.append(f"{name} must be a number, not {value!r}")
    if not found:
        fault = Fault(kind=kind.strip(), **values)  # type: ignore[arg-type]  # checked above
        found = fault.problems()
    if found:
        raise ConfigError(f"fault {text!r}: " + "; ".join(found))
    return fault
