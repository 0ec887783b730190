"""What changed between two groups of traces of one endpoint, and how sure that is.

What changed is exact: a group knows the sums of all its traces. How sure it is comes from the
traces that are kept whole, see `crisp.report.bootstrap`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crisp.report.bootstrap import (
    Flags,
    Interval,
    Sample,
    deviations_for,
    intervals,
    parts,
    strayed,
)
from crisp.report.columns import Floats, Ints

REPLICATES = 200
_SMALL = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some traces of one endpoint; sums are over all of them."""

    kind: str
    """band, day, version or window: only groups of one kind are compared"""
    label: str
    traces: int
    latency_us: int
    exclusive_us: Ints
    """by call path, (P,); adds up to ``latency_us``"""
    sample: Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How one call path changed from the first group to the second, by mean per request."""

    path: int
    change_us: float
    interval_us: Interval | None
    """of all calls compared at once; None where too few traces are kept to tell"""
    share: float
    """change of its part of the mean latency"""
    share_interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How the second of two groups differs from the first."""

    change_us: float
    """of the mean latency"""
    interval_us: Interval | None
    changes: tuple[Change, ...]
    """surest first: by distance from 0, then by size, then by name"""


def compare_all(
    groups: Sequence[Group],
    pairs: Sequence[tuple[int, int]],
    *,
    seed: int,
    names: Sequence[tuple[str, str]] | None = None,
    most: int = 30,
    replicates: int = REPLICATES,
) -> list[Comparison]:
    """Per pair of groups the ``most`` surest changes of call paths, and that of the latency.

    Paired groups have at least one trace, and all the same P call paths. Changes that are equally
    sure and large come by ``names`` (P,), then by path. Changes below a thousandth of the larger
    mean latency are passed over, however sure they are, unless the ``most`` largest reach below.
    """
    wanted = [_candidates(groups[a], groups[b], most) for a, b in pairs]
    paths = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *wanted]))
    drawn = {
        place: _Drawn(groups[place], paths, np.random.default_rng([seed, place]), replicates)
        for place in sorted({place for pair in pairs for place in pair})
    }
    return [
        _Pair(drawn[a], drawn[b], rows, _changed(groups[a], groups[b])).comparison(names, most)
        for (a, b), rows in zip(pairs, wanted, strict=True)
    ]


def _changed(a: Group, b: Group) -> int:
    """Call paths that are compared: those whose mean is not the same in both."""
    return int((a.exclusive_us / a.traces != b.exclusive_us / b.traces).sum())


def _candidates(a: Group, b: Group, most: int) -> Ints:
    """Paths that may be among the surest changes, ascending.

    An interval holds the change it is about, so its distance from 0 is at most the size of the
    change: every path that is left out is less than a thousandth of the latency away from 0.
    """
    change = np.abs(b.exclusive_us / b.traces - a.exclusive_us / a.traces)
    latency = max(a.latency_us / a.traces, b.latency_us / b.traces)
    enough = max(most, int((change >= _SMALL * latency).sum()))
    largest = np.argsort(-change, kind="stable")[:enough]
    return np.sort(largest[change[largest] > 0])


class _Drawn:
    """A group with its replicates for some call paths."""

    def __init__(
        self, group: Group, paths: Ints, rng: np.random.Generator, replicates: int
    ) -> None:
        self.latency_us = np.array([group.latency_us / group.traces])
        self.time_us = group.exclusive_us[paths] / group.traces
        self.share = parts(self.time_us, self.latency_us)
        self.paths = paths
        self.strayed = strayed(group.sample, group.traces, paths, rng, replicates)

    def told(self, columns: Ints) -> Flags:
        """Whether it can tell how far paths stray: no trace has them, or a kept one does."""
        seen: Ints = self.strayed.seen if self.strayed else np.zeros_like(self.paths)
        known: Flags = (self.time_us[columns] == 0) | (seen[columns] > 0)
        return known


class _Pair:
    """Two groups and the paths that may have changed between them."""

    def __init__(self, a: _Drawn, b: _Drawn, rows: Ints, compared: int) -> None:
        self.a, self.b = a, b
        self.rows = rows
        self.deviations = deviations_for(compared)
        self.columns = np.searchsorted(a.paths, rows)
        self.change_us = (b.time_us - a.time_us)[self.columns]

    def comparison(self, names: Sequence[tuple[str, str]] | None, most: int) -> Comparison:
        """The surest changes of the pair."""
        a, b = self.a, self.b
        latency = b.latency_us - a.latency_us
        near: list[Interval | None] = [None]
        if a.strayed and b.strayed:
            near = _together(
                latency, b.strayed.latency_us - a.strayed.latency_us, [True], deviations_for(1)
            )
        return Comparison(
            change_us=float(latency[0]),
            interval_us=near[0],
            changes=self._described(self._surest(names, most)),
        )

    def _surest(self, names: Sequence[tuple[str, str]] | None, most: int) -> list[int]:
        """Places of the surest changes in order."""
        distance = np.zeros(len(self.rows))
        if self.a.strayed and self.b.strayed:
            moved = _moved(self.a.strayed.time_us, self.b.strayed.time_us, self.columns)
            low, high = intervals(self.change_us, moved, self.deviations)
            told = self.a.told(self.columns) & self.b.told(self.columns)
            distance = np.where(told, np.maximum(np.maximum(low, -high), 0.0), 0.0)
        key = [
            (-far, -large, names[row] if names else ("", ""), row, place)
            for place, (far, large, row) in enumerate(
                zip(
                    distance.tolist(),
                    np.abs(self.change_us).tolist(),
                    self.rows.tolist(),
                    strict=True,
                )
            )
        ]
        return [place for *_, place in sorted(key)[:most]]

    def _described(self, places: list[int]) -> tuple[Change, ...]:
        columns = self.columns[places]
        change = self.change_us[places]
        share = (self.b.share - self.a.share)[columns]
        near: list[Interval | None] = [None] * len(places)
        share_near = near
        a, b = self.a.strayed, self.b.strayed
        if a and b:
            told = (self.a.told(columns) & self.b.told(columns)).tolist()
            near = _together(change, _moved(a.time_us, b.time_us, columns), told, self.deviations)
            share_near = _together(share, _moved(a.share, b.share, columns), told, self.deviations)
        return tuple(
            Change(path=row, change_us=us, interval_us=us_near, share=part, share_interval=beside)
            for row, us, us_near, part, beside in zip(
                self.rows[places].tolist(),
                change.tolist(),
                near,
                share.tolist(),
                share_near,
                strict=True,
            )
        )


def _moved(a: Floats, b: Floats, columns: Ints) -> Floats:
    return b[:, columns] - a[:, columns]


def _together(
    change: Floats, moved: Floats, told: list[bool], deviations: float
) -> list[Interval | None]:
    low, high = intervals(change, moved, deviations)
    return [
        Interval(*ends) if known else None
        for *ends, known in zip(low.tolist(), high.tolist(), told, strict=True)
    ]


__all__ = ["Change", "Comparison", "Group", "Interval", "Sample", "compare_all"]
