"""Changes planted in traces that are taken for normal, to see which score would find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crisp.anomaly.sparse import edges_of, find, row_sums
from crisp.anomaly.vectors import Flags, Ints, Vectors
from crisp.anomaly.vocabulary import callers

_DROPPED = 0.2
"""Share of the cells that the paper drops (4.7.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The same traces with one kind of change in each."""

    kind: str
    vectors: Vectors
    changed: Flags
    """(n,) rows in which there was something to change"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Which call path is below which: path j is i or below it if first[i] ≤ first[j] ≤ last[i]."""

    paths: Ints
    """(p,) ascending"""
    first: Ints
    """(p,) place in an order in which every path is followed by all below it"""
    last: Ints
    """(p,) place of the last of these"""
    top: Flags
    """(p,) there is no path above it"""


def family(paths: Ints, parents: tuple[Ints, Ints]) -> Family:
    """The family of these paths and all above them; ``parents`` as of `fit_vocabulary`."""
    members, above = callers(paths, parents)
    place, known = find(members, above)
    below: list[list[int]] = [[] for _ in range(len(members) + 1)]
    for child, parent in enumerate(place.tolist()):
        below[parent].append(child)
    first, last = _tour(below, len(members))
    return Family(paths=members, first=first, last=last, top=~known)


def _tour(below: Sequence[Sequence[int]], count: int) -> tuple[Ints, Ints]:
    """First and last places; ``below[count]`` are the tops."""
    order, waiting = [], list(below[count])
    while waiting:
        order.append(waiting.pop())
        waiting.extend(below[order[-1]])
    first = np.zeros(count, np.int64)
    first[order] = np.arange(len(order))
    size = [1] * count
    for path in reversed(order):  # those below come before those above
        size[path] += sum(size[child] for child in below[path])
    return first, first + np.array(size, np.int64) - 1


def planted(
    vectors: Vectors, parents: tuple[Ints, Ints], *, overlapping: bool, seed: int
) -> list[Planted]:
    """Four kinds of change, one in each trace:

    - a path takes 2 or 4 times as long, and the trace by that time longer. The chance of a path
      is its share of the trace's time; where times are ``overlapping`` (STV) all are as likely,
      and those above it take longer too;
    - an early return: a path and all below it are gone, and their time with them; every path
      but the top one is as likely;
    - the paper's: a fifth of the paths is dropped, the times of the others are shuffled.

    The same seed plants the same changes.
    """
    random = np.random.default_rng(seed)
    tree = family(vectors.path_id, parents)
    return [
        _slower(vectors, tree, 2, overlapping, random),
        _slower(vectors, tree, 4, overlapping, random),
        _early_return(vectors, tree, overlapping, random),
        _shuffled(vectors, overlapping, random),
    ]


def _slower(
    vectors: Vectors, tree: Family, factor: int, overlapping: bool, random: np.random.Generator
) -> Planted:
    weights = np.ones(len(vectors.path_id)) if overlapping else vectors.time_us.astype(np.float64)
    cell, chosen = _chosen(vectors, weights, random)
    more = np.where(chosen, np.append(vectors.time_us, 0)[cell] * (factor - 1), 0)
    place, _ = find(tree.paths, vectors.path_id)
    here = np.arange(len(place)) == cell[vectors.row]
    if overlapping:
        at = np.append(tree.first[place], 0)[cell][vectors.row]
        here = (tree.first[place] <= at) & (at <= tree.last[place])
    changed = replace(
        vectors,
        time_us=vectors.time_us + np.where(here, more[vectors.row], 0),
        latency_us=vectors.latency_us + more,
    )
    return Planted(kind=f"a path {factor} × slower", vectors=changed, changed=more > 0)


def _early_return(
    vectors: Vectors, tree: Family, overlapping: bool, random: np.random.Generator
) -> Planted:
    place, _ = find(tree.paths, vectors.path_id)
    cell, chosen = _chosen(vectors, (~tree.top[place]).astype(np.float64), random)
    position, row = tree.first[place], vectors.row
    top = np.append(position, 0)[cell][row]
    gone = (top <= position) & (position <= np.append(tree.last[place], -1)[cell][row])
    time_us, spent = vectors.time_us, np.append(vectors.time_us, 0)[cell]
    if overlapping:
        above = (position <= top) & (top <= tree.last[place]) & chosen[row]
        time_us = np.where(above, np.maximum(time_us - spent[row], 0), time_us)
    else:
        spent = row_sums(vectors.edges, np.where(gone, time_us, 0))
    shorter = np.maximum(vectors.latency_us - np.where(chosen, spent, 0), 0)
    changed = _kept(replace(vectors, time_us=time_us, latency_us=shorter), ~gone)
    return Planted(kind="an early return", vectors=changed, changed=chosen)


def _shuffled(vectors: Vectors, overlapping: bool, random: np.random.Generator) -> Planted:
    lengths = np.diff(vectors.edges)
    mixed = np.lexsort((random.random(len(vectors.path_id)), vectors.row))  # within each row
    dropped = np.where(lengths > 1, np.maximum(1, np.rint(_DROPPED * lengths)), 0)
    rank = np.arange(len(mixed)) - np.repeat(vectors.edges[:-1], lengths)
    stays = rank >= dropped[vectors.row]
    keep = np.zeros(len(mixed), np.bool_)
    keep[mixed[stays]] = True
    time_us = vectors.time_us.copy()
    time_us[keep] = vectors.time_us[mixed[stays]]  # both are ordered by row
    changed = _kept(replace(vectors, time_us=time_us), keep)
    if not overlapping:
        changed = replace(changed, latency_us=row_sums(changed.edges, changed.time_us))
    return Planted(kind="paths dropped and shuffled", vectors=changed, changed=lengths > 1)


def _chosen(
    vectors: Vectors, weights: npt.NDArray[Any], random: np.random.Generator
) -> tuple[Ints, Flags]:
    """(n,) a cell of each row, drawn by weight, and whether there is one of any weight."""
    upto = np.concatenate(([0.0], np.cumsum(weights)))
    low, high = upto[vectors.edges[:-1]], upto[vectors.edges[1:]]
    cell = np.searchsorted(upto, low + random.random(len(vectors)) * (high - low), "right") - 1
    return np.where(high > low, np.minimum(cell, len(weights) - 1), len(weights)), high > low


def _kept(vectors: Vectors, keep: Flags) -> Vectors:
    """The vectors with only the cells that are marked."""
    return replace(
        vectors,
        edges=edges_of(np.bincount(vectors.row[keep], minlength=len(vectors))),
        path_id=vectors.path_id[keep],
        time_us=vectors.time_us[keep],
        status=vectors.status[keep],
    )
