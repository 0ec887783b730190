"""Which work the parent does not wait for (DESIGN rule 6.1)."""

from __future__ import annotations

import numpy as np

from crisp.forest import Flags, Forest, Kind
from crisp.options import AsyncRule


def asynchronous(forest: Forest, rule: AsyncRule) -> tuple[Flags, Flags]:
    """Spans that leave the path because nobody waits for them.

    Returns:
        The tops of such subtrees, and all rows in them, tops included; shape (n,) each.
        An analysis root is never asynchronous.
    """
    tops = np.zeros(len(forest), np.bool_)
    child = forest.parent >= 0
    if rule in ("both", "reference"):
        tops |= forest.follows & child
    if rule in ("both", "kind"):
        producers = forest.kind[forest.parent] == Kind.PRODUCER
        tops |= (forest.kind == Kind.CONSUMER) & producers & child
    if not tops.any():
        return tops, tops
    off = with_descendants(forest, tops)
    return tops & ~off[forest.parent], off


def with_descendants(forest: Forest, marked: Flags) -> Flags:
    """The marked rows and everything below them."""
    below = marked.copy()
    for rows in forest.levels[1:]:
        below[rows] |= below[forest.parent[rows]]
    return below
