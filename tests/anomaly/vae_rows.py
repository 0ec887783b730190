"""Drawn traces of an endpoint: rows over columns, with the faults that tests plant in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from crisp.anomaly.vectors import OWN, SOUND, Ints, Vectors
from crisp.anomaly.vocabulary import Encoded, Vocabulary, encode

ABSENT = np.nan
Dense = npt.NDArray[np.float64]
"""(n, d) µs, `ABSENT` where a path is not in the row"""


def parents(columns: int, rng: np.random.Generator) -> Ints:
    """(columns,) a tree: the column above each, −1 above the first."""
    return np.array([-1, *(rng.integers(0, c) for c in range(1, columns))])


def requests(
    n: int,
    parent: Ints,
    rng: np.random.Generator,
    shape: np.random.Generator,
    always: float = 0.5,
) -> Dense:
    """Traces over a tree of paths. A path is there if the one above is and, for some, if a coin
    that whole families share says so; times are log-normal with one factor a trace in common."""
    columns = len(parent)
    chance = np.where(shape.random(columns) < always, 1.0, shape.uniform(0.1, 0.7, columns))
    typical = shape.uniform(5, 10, columns)
    chance[0] = 1.0
    coin = rng.random((n, 8))[:, shape.integers(0, 8, columns)] < chance
    there = np.ones((n, columns), np.bool_)
    for c in range(1, columns):
        there[:, c] = there[:, parent[c]] & coin[:, c]
    load = rng.normal(0, 0.3, (n, 1))
    time = np.exp(typical + load + rng.normal(0, 0.3, (n, columns))).round()
    return np.where(there, time, ABSENT)


def drop_and_shuffle(x: Dense, rng: np.random.Generator) -> Dense:
    """A fifth of the paths of each row dropped, the times of the others shuffled (paper 4.7.3)."""
    out = x.copy()
    for row in out:
        nodes = np.flatnonzero(~np.isnan(row))
        times = rng.permutation(row[nodes])
        row[nodes] = times
        row[rng.choice(nodes, max(1, len(nodes) // 5), replace=False)] = ABSENT
    return out


def drop_subtrees(x: Dense, parent: Ints, rng: np.random.Generator) -> Dense:
    """Of each row, paths with all below them dropped until a fifth of the row is gone."""
    out = x.copy()
    below = np.eye(len(parent), dtype=np.bool_)
    for c in range(len(parent) - 1, 0, -1):
        below[parent[c]] |= below[c]
    for row in out:
        most = 0.8 * (~np.isnan(row)).sum()
        while (~np.isnan(row)).sum() > max(most, 1):
            row[below[rng.choice(np.flatnonzero(~np.isnan(row[1:])) + 1)]] = ABSENT
    return out


def traces(x: Dense, *, own: npt.ArrayLike = False, endpoint: int = 1) -> Vectors:
    """Traces with these times over paths 1 to d; ``own`` (n, d) marks failures of their own."""
    there = ~np.isnan(x)
    n, column = len(x), np.nonzero(there)[1]
    return Vectors(
        endpoint_id=endpoint,
        tree_id=np.arange(n),
        trace_id=[str(i) for i in range(n)],
        root_span_id=[str(i) for i in range(n)],
        start_us=np.arange(n),
        latency_us=np.where(there, x, 0).sum(1).astype(np.int64),
        failed=np.zeros(n, np.bool_),
        edges=np.concatenate(([0], np.cumsum(there.sum(1)))),
        path_id=column + 1,
        time_us=x[there].astype(np.int64),
        status=np.where(np.broadcast_to(own, x.shape), OWN, SOUND)[there].astype(np.int8),
    )


def vocabulary(paths: Ints) -> Vocabulary:
    """A column for each of these paths, and that of the unseen."""
    return Vocabulary(
        paths=paths,
        column=np.arange(len(paths)),
        columns=len(paths) + 1,
        folded_parent=np.empty(0, np.int64),
        keys=np.append(paths, 0),
    )


def encoded(
    x: Dense, *, paths: Ints | None = None, own: npt.ArrayLike = False, endpoint: int = 1
) -> Encoded:
    """Rows with these times, over columns for ``paths``, all d unless said."""
    words = vocabulary(np.arange(1, x.shape[1] + 1) if paths is None else paths)
    return encode(traces(x, own=own, endpoint=endpoint), words)
