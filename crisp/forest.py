"""Spans of many analysis trees as columns: what ingest hands to the critical path.

A batch of trees is one forest, so that every rule is a few array operations over all of them
instead of a loop over each span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Kind(IntEnum):
    """OpenTelemetry span kind."""

    INTERNAL = 0
    SERVER = 1
    CLIENT = 2
    PRODUCER = 3
    CONSUMER = 4


@dataclass(frozen=True, slots=True)
class Trees:
    """One entry per analysis tree; tree ``i`` is rooted at row ``i`` of the forest."""

    trace_id: list[str]
    source: list[str]
    position: list[int]
    root_kind: list[str]
    weight: list[float]
    ledger: list[dict[str, int]]
    """Counts of spans by ledger entry that ingest made; each trace's stand with one tree only."""


@dataclass(frozen=True, slots=True)
class Forest:
    """Columns of shape (n,), rows ordered by depth, so parents come before children.

    The first rows are the roots, in the order of `trees`.
    """

    trees: Trees
    tree: Ints
    """tree each row belongs to"""
    parent: Ints
    """row of the parent; -1 for roots"""
    levels: list[slice]
    """rows of each depth, roots first"""
    start_us: Ints
    end_us: Ints
    endpoint: Ints
    """index into `endpoint_ids`"""
    host: Ints
    """index into `hosts`"""
    clock: Ints
    """index of the clock that stamped the span; 0 when unknown"""
    kind: Ints
    failed: Callable[[Ints], Flags]
    """whether the spans in some rows failed; asked only for rows on a path"""
    follows: Flags
    """the parent was found by a FOLLOWS_FROM reference"""
    span_ids: list[str]
    origin: Ints
    """row's place in `span_ids`"""
    endpoint_ids: Ints
    endpoint_services: Ints
    """index of the service of each endpoint"""
    hosts: list[str]

    def __len__(self) -> int:
        return len(self.parent)

    def span_id(self, row: int) -> str:
        """Id of the span in ``row``."""
        span_id: str = self.span_ids[self.origin[row]]
        return span_id
