"""One endpoint: its latency bands, and its critical calling context tree by band as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp.report.columns import Grouped, Rows, dicts, hex_id
from crisp.report.kept import Kept, KeptTables
from crisp.report.model import THIN
from crisp.report.model_fleet import Endpoint
from crisp.report.paths import CallPaths, Tree

_CELLS = ("exclusive_us", "traces", "error_traces", "spans")
_PERCENTILES = tuple(
    f"{which}_p{q}_us" for which in ("exclusive", "inclusive") for q in (50, 95, 99)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A range of latency percentiles of one endpoint."""

    band: int
    lo_percentile: float
    hi_percentile: float
    traces: int
    lo_us: int
    hi_us: int
    latency_us: int

    @property
    def label(self) -> str:
        """The percentiles it spans: ``P50-P90``."""
        return f"P{self.lo_percentile:g}\u2013P{self.hi_percentile:g}"

    @property
    def mean_us(self) -> float | None:
        """Mean latency, None without traces."""
        return self.latency_us / self.traces if self.traces else None

    @property
    def missing(self) -> int:
        """Traces that are missing for the band not to be thin."""
        return max(0, THIN - self.traces)


def bands_of(rows: Rows) -> tuple[Band, ...]:
    """The bands of an endpoint, fastest first; ``rows`` are its rows of the mart ``bands``."""
    names = Band.__dataclass_fields__
    return tuple(Band(**{name: row[name] for name in names}) for row in dicts(rows))


@dataclass(frozen=True, slots=True)
class Marts:
    """The tables of the endpoint pages, grouped once for all of them."""

    bands: Grouped
    cct: Grouped
    path_stats: Grouped
    exemplars: Grouped
    paths: CallPaths
    kept: KeptTables

    def tree(self, endpoint: Endpoint) -> Tree:
        """All call paths of an endpoint that hold its critical path in some trace."""
        cct = self.cct.of(endpoint.endpoint_id)
        return self.paths.tree(cct.ints("path_id"), cct.ints("exclusive_us"))

    def kept_traces(self, endpoint: Endpoint, tree: Tree, bands: tuple[Band, ...]) -> Kept:
        """The traces of an endpoint that are kept whole."""
        return self.kept.of(endpoint.endpoint_id, tree, {band.band: band.traces for band in bands})

    def endpoint_data(
        self, endpoint: Endpoint, tree: Tree, bands: tuple[Band, ...]
    ) -> dict[str, Any]:
        """The tree of an endpoint: paths parents first, and per band one number for each path.

        Sums are as in the mart, so they add up over bands and over subtrees: the exclusive times
        of a band sum to its total latency. Percentiles are over all traces of the endpoint.
        """
        number = endpoint.endpoint_id
        cct = self.cct.of(number)
        return {
            "version": 1,
            "kind": "endpoint",
            "id": hex_id(number),
            "service": endpoint.service,
            "operation": endpoint.operation,
            **tree.data(),
            "bands": [_band_data(band) for band in bands],
            "cells": _cells(cct, tree, bands),
            "stats": _stats(self.path_stats.of(number), tree),
            "exemplars": _exemplars(self.exemplars.of(number), tree),
        }


def _band_data(band: Band) -> dict[str, Any]:
    return {
        "label": band.label,
        "traces": band.traces,
        "latency_us": band.latency_us,
        "lo_us": band.lo_us,
        "hi_us": band.hi_us,
    }


def _cells(cct: Rows, tree: Tree, bands: tuple[Band, ...]) -> dict[str, list[list[int]]]:
    """Per measure one row for each band, in it one number for each path."""
    place = {band.band: number for number, band in enumerate(bands)}
    at_band = np.array([place[band] for band in cct.list("band")], dtype=np.int64)
    at_path = tree.rows_of(cct.ints("path_id"))
    cells = {}
    for measure in _CELLS:
        matrix = np.zeros((len(bands), len(tree.path_ids)), dtype=np.int64)
        matrix[at_band, at_path] = cct.ints(measure)
        cells[measure] = matrix.tolist()
    return cells


def _stats(stats: Rows, tree: Tree) -> dict[str, list[int]]:
    """Per path percentiles, rounded to the microsecond; 0 where the path has none."""
    at_path = tree.rows_of(stats.ints("path_id"))
    found = {}
    for measure in ("traces", *_PERCENTILES):
        values = np.zeros(len(tree.path_ids), dtype=np.int64)
        values[at_path] = np.rint(stats.floats(measure)).astype(np.int64)
        found[measure] = values.tolist()
    return found


def _exemplars(exemplars: Rows, tree: Tree) -> dict[str, list[Any]]:
    kept = ("trace_id", "span_id", "start_us", "latency_us", "exclusive_us")
    return {
        "path": tree.rows_of(exemplars.ints("path_id")).tolist(),
        **{name: exemplars.list(name) for name in kept},
    }
