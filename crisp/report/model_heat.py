"""The heat map of an endpoint: kept traces by endpoints on their critical paths (paper, 4.6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp.report.columns import Floats, Ints
from crisp.report.kept import Kept
from crisp.report.model import THIN
from crisp.report.model_endpoint import Band
from crisp.report.paths import Tree

ROWS = 500
"""Endpoints that the heat map has rows for, those that hold the path longest."""
CHAINS = 5
"""Call chains that are named for each row."""
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCells:
    """What each endpoint held in each kept trace: c cells, ascending by trace, then by endpoint.

    Exclusive time is summed over all call paths to the endpoint and over hosts. Inclusive time is
    that of its outermost instances, those not below another call of the same endpoint: what they
    hold covers the others (DESIGN section 6, rule 6). Both are the columns of that name in
    ``traces.endpoints`` of the lake. Cells of two zeros are left out.
    """

    trace: Ints
    name: Ints
    """which of the tree's names, (c,)"""
    exclusive_us: Ints
    inclusive_us: Ints


def heat_data(kept: Kept, tree: Tree, bands: tuple[Band, ...]) -> dict[str, Any]:
    """The part ``heat`` of an endpoint page, where every trace stands for ``kept.weight`` of them.

    ``rows`` has at most `ROWS` endpoints, the most exclusive time of all traces first, ties by
    name; percentiles are those of `weighted_percentiles`, rounded to the microsecond, and the
    chains are tree rows with their share of the row's exclusive time, None where it has none
    (the order is then that of inclusive time). ``cells`` lists the rows of each trace in turn:
    those of trace i are at ``first[i]`` up to ``first[i + 1]``.
    """
    cells = heat_cells(kept, tree)
    weight = kept.weight[cells.trace]
    total = _total(cells.name, cells.exclusive_us * weight, len(tree.names))
    on_path = np.unique(cells.name).tolist()
    rows = sorted(on_path, key=lambda name: (-total[name], tree.names[name]))[:ROWS]
    place = np.full(len(tree.names), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    at_band = {band.band: number for number, band in enumerate(bands)}
    return {
        "total": sum(band.traces for band in bands),
        "missing": max(0, THIN - len(kept)),
        "left_out": len(on_path) - len(rows),
        "traces": {
            "trace_id": kept.trace_id,
            "span_id": kept.span_id,
            "start_us": kept.start_us.tolist(),
            "latency_us": kept.latency_us.tolist(),
            "band": [at_band[band] for band in kept.band.tolist()],
            "error": kept.error,
        },
        "rows": {
            "name": rows,
            **_percentiles(cells, place[cells.name], len(rows), kept.weight),
            **_chains(kept, tree, place, total[rows]),
        },
        "cells": _columns(cells, place[cells.name], len(kept)),
    }


def heat_cells(kept: Kept, tree: Tree) -> HeatCells:
    """The cells of call paths, merged by the endpoint they lead to."""
    outermost = np.array(_outermost(tree), dtype=np.bool_)
    names = np.array(tree.name, dtype=np.int64)
    size = max(1, len(tree.names))
    key = kept.trace * size + names[kept.path]
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    inclusive = np.where(outermost[kept.path], kept.inclusive_us, 0)[order]
    sums = [_sums(kept.exclusive_us[order], first), _sums(inclusive, first)]
    held = (sums[0] != 0) | (sums[1] != 0)
    return HeatCells(
        trace=(key[first] // size)[held],
        name=(key[first] % size)[held],
        exclusive_us=sums[0][held],
        inclusive_us=sums[1][held],
    )


def weighted_percentiles(
    row: Ints, value: Ints, weight: Floats, *, rows: int, total: float, q: tuple[float, ...]
) -> Floats:
    """Percentiles of each of ``rows`` rows, (rows, q), of values that are 0 where none is given.

    ``value`` (c,), none negative, are what rows ``row`` hold, each in ``weight`` of ``total``
    traces. Let X(k) be the value at place k = 0, 1, … when all traces are in ascending order, each
    value as often as it weighs: the first one at which the weights up to and with it exceed k.
    With h = q/100 · (total - 1), the percentile is X(⌊h⌋) + (h - ⌊h⌋) · (X(⌊h⌋ + 1) - X(⌊h⌋)).
    Where weights are whole that is `numpy.percentile`, method "linear", of the repeated values
    (Hyndman and Fan 1996, type 7); weights of 1 repeat nothing.
    """
    width = int(value.max(initial=0)) + 1
    order = np.argsort(row * width + value)  # ties are equal values: their order does not matter
    ends = np.searchsorted(row[order], np.arange(rows + 1))
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    padded = np.concatenate([value[order], [0]]).astype(np.float64)
    below = cumulated[ends[:-1]]
    absent = total - (cumulated[ends[1:]] - below)

    def at(place: float) -> Floats:
        after = place + _ROUNDING - absent  # weight of the cells that are passed by
        cell = np.searchsorted(cumulated[1:], below + after, "right")
        return np.where(after < 0, 0.0, padded[np.minimum(cell, ends[1:] - 1)])

    last = max(0.0, total - 1)
    found = np.zeros((rows, len(q)))
    for column, each in enumerate(q):
        h = each / 100 * last
        low = np.floor(h)
        first = at(low)
        found[:, column] = first + (h - low) * (at(min(low + 1, last)) - first)
    return found


_ROUNDING = 1e-4
"""Of a trace: weights are quotients, and what they sum to is a little off."""


def _percentiles(cells: HeatCells, row: Ints, rows: int, weight: Floats) -> dict[str, list[int]]:
    """Per row the percentiles of both times; cells of row -1 are of none."""
    shown = row >= 0
    found: dict[str, list[int]] = {}
    for which, value in (("exclusive", cells.exclusive_us), ("inclusive", cells.inclusive_us)):
        values = weighted_percentiles(
            row[shown],
            value[shown],
            weight[cells.trace[shown]],
            rows=rows,
            total=float(weight.sum()),
            q=_PERCENTILES,
        )
        whole = np.rint(values).astype(np.int64)
        found |= {f"{which}_p{q}_us": whole[:, i].tolist() for i, q in enumerate(_PERCENTILES)}
    return found


def _chains(kept: Kept, tree: Tree, place: Ints, total: Floats) -> dict[str, list[Any]]:
    """Per row the paths that lead to it, most time first, and their shares of its ``total``."""
    size = len(tree.name)
    weight = kept.weight[kept.trace]
    exclusive = _total(kept.path, kept.exclusive_us * weight, size)
    inclusive = _total(kept.path, kept.inclusive_us * weight, size)
    row = place[np.array(tree.name, dtype=np.int64)]
    held = np.flatnonzero((row >= 0) & ((exclusive > 0) | (inclusive > 0)))
    order = held[np.lexsort((held, -inclusive[held], -exclusive[held], row[held]))]
    of_row = row[order]
    place_in_row = np.arange(len(order)) - np.searchsorted(of_row, of_row)
    order = order[place_in_row < CHAINS]
    of_row = row[order]
    share = np.round(exclusive[order] / np.maximum(total[of_row], 1), 6)
    paths: list[list[int]] = [[] for _ in total]
    shares: list[list[float | None]] = [[] for _ in total]
    for at, path, part in zip(of_row.tolist(), order.tolist(), share.tolist(), strict=True):
        paths[at].append(path)
        shares[at].append(part if total[at] else None)
    return {"chains": paths, "shares": shares}


def _columns(cells: HeatCells, row: Ints, traces: int) -> dict[str, list[int]]:
    """The cells of all rows that are shown, trace by trace."""
    shown = row >= 0
    return {
        "first": np.searchsorted(cells.trace[shown], np.arange(traces + 1)).tolist(),
        "row": row[shown].tolist(),
        "exclusive_us": cells.exclusive_us[shown].tolist(),
        "inclusive_us": cells.inclusive_us[shown].tolist(),
    }


def _total(group: Ints, value: Floats, groups: int) -> Floats:
    return np.bincount(group, value, groups).astype(np.float64)


def _sums(value: Ints, first: Ints) -> Ints:
    """The sum of each run of values that begins at ``first``."""
    return np.add.reduceat(value, first) if len(first) else value


def _outermost(tree: Tree) -> list[bool]:
    """Which paths are not below another call of the same endpoint."""
    above: list[int] = []  # the rows from the root down to the last one seen
    calls = [0] * len(tree.names)  # how many of them are of each endpoint
    found = []
    for row, (parent, name) in enumerate(zip(tree.parent, tree.name, strict=True)):
        while above and above[-1] != parent:  # rows come depth first
            calls[tree.name[above.pop()]] -= 1
        found.append(calls[name] == 0)
        calls[name] += 1
        above.append(row)
    return found
