"""What every score has in common: fitted once, frozen, the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from crisp.anomaly.vectors import Floats
from crisp.anomaly.vocabulary import Encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """A fitted detector as data: what JSON can hold, and arrays for safetensors."""

    about: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]


class Detector(Protocol):
    """A fitted score of traces.

    Each has, beside these, a function ``fit`` that makes it from rows that are taken for
    normal, and a function ``thaw`` that makes it again from what `freeze` gave.
    """

    @property
    def name(self) -> str:
        """As it is called in tables, such as "latency" or "vae"."""
        ...

    def score(self, rows: Encoded) -> Floats:
        """(n,) finite; the larger, the less normal. Changes nothing."""
        ...

    def freeze(self) -> Frozen:
        """All that `score` needs; the same model gives the same bytes."""
        ...
