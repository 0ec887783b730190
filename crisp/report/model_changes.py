"""Groups of traces of one endpoint, and what changed between any two of a kind, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from crisp.report.changes import Comparison, Group, Interval, Sample, compare_all
from crisp.report.columns import Ints, Rows
from crisp.report.kept import Kept
from crisp.report.model import THIN
from crisp.report.model_endpoint import Band
from crisp.report.paths import Tree

_DAYS = 14
_VERSIONS = 6
_SHOWN = {"day": 15}
_SHOWN_ELSE = 30
"""Changes given per pair of groups: of days there are up to 91 pairs."""
_DAY_US = 86_400_000_000


def changes_data(
    tree: Tree,
    bands: Sequence[Band],
    band_sums: Sequence[Sequence[int]],
    kept: Kept,
    groups: Rows,
    group_paths: Rows,
    *,
    seed: int,
) -> dict[str, Any]:
    """All that is compared on the page of an endpoint, see `differences`.

    Groups are the bands, in their order, then the last 14 days, then the 6 versions with most
    traces, in the order of their names; days and versions where there are 2 at least.
    ``band_sums`` are exclusive times by band and path, ``groups`` and ``group_paths`` the rows of
    the endpoint in these marts.
    """
    found = [
        Group(
            kind="band",
            label=band.label,
            traces=band.traces,
            latency_us=band.latency_us,
            exclusive_us=np.array(sums, dtype=np.int64),
            sample=sample_of(kept, kept.band == band.band),
        )
        for band, sums in zip(bands, band_sums, strict=True)
    ]
    found += _of_kind("day", tree, _days(kept), kept, groups, group_paths)
    found += _of_kind(
        "version", tree, np.array(kept.version, dtype=np.str_), kept, groups, group_paths
    )
    return differences(tree, found, seed=seed)


def differences(tree: Tree, groups: Sequence[Group], *, seed: int) -> dict[str, Any]:
    """Groups over the paths of a tree, and the changes between all pairs of one kind.

    Sums of bands are left out, as the page has them with its tree. Of a pair ``a`` comes first in
    the groups and changes are from it to ``b``. ``first`` is by kind the pair to show first: the
    fastest and the slowest band that is not thin (where all are, the one with most traces), else
    the last two groups that have traces.
    """
    return differences_data(groups, comparisons(tree, groups, seed=seed))


def comparisons(
    tree: Tree, groups: Sequence[Group], *, seed: int
) -> dict[tuple[int, int], Comparison]:
    """All pairs of one kind that have traces, by the places of both groups."""
    names = [tree.names[name] for name in tree.name]
    pairs = [
        (a, b)
        for a, b in combinations(range(len(groups)), 2)
        if groups[a].kind == groups[b].kind and groups[a].traces and groups[b].traces
    ]
    compared: dict[tuple[int, int], Comparison] = {}
    for kind in dict.fromkeys(group.kind for group in groups):
        of_kind = [pair for pair in pairs if groups[pair[0]].kind == kind]
        most = _SHOWN.get(kind, _SHOWN_ELSE)
        results = compare_all(groups, of_kind, seed=seed, names=names, most=most)
        compared.update(zip(of_kind, results, strict=True))
    return {pair: compared[pair] for pair in pairs}


def differences_data(
    groups: Sequence[Group], compared: Mapping[tuple[int, int], Comparison]
) -> dict[str, Any]:
    """Groups and what changed between them, as the page reads it."""
    kinds = list(dict.fromkeys(group.kind for group in groups))
    return {
        "thin": THIN,
        "groups": [_group_data(group) for group in groups],
        "first": {kind: first for kind in kinds if (first := _first(kind, groups)) is not None},
        "pairs": [_pair_data(pair, found) for pair, found in compared.items()],
    }


def _first(kind: str, groups: Sequence[Group]) -> tuple[int, int] | None:
    places = [i for i, group in enumerate(groups) if group.kind == kind and group.traces]
    if len(places) < 2:
        return None
    if kind != "band":
        return places[-2], places[-1]
    slow = [place for place in places[1:] if groups[place].traces >= THIN]
    most = max(places[1:], key=lambda place: groups[place].traces)
    return places[0], slow[-1] if slow else most


def _group_data(group: Group) -> dict[str, Any]:
    held = np.flatnonzero(group.exclusive_us)
    return {
        "kind": group.kind,
        "label": group.label,
        "traces": group.traces,
        "latency_us": group.latency_us,
        "missing": max(0, THIN - group.traces),
        "kept": len(group.sample),
        "sums": None
        if group.kind == "band"
        else {"path": held.tolist(), "exclusive_us": group.exclusive_us[held].tolist()},
    }


def _pair_data(pair: tuple[int, int], found: Comparison) -> dict[str, Any]:
    low, high = _ends(found.interval_us, 1)
    time = [_ends(change.interval_us, 1) for change in found.changes]
    share = [_ends(change.share_interval, 6) for change in found.changes]
    return {
        "a": pair[0],
        "b": pair[1],
        "change_us": round(found.change_us, 1),
        "low_us": low,
        "high_us": high,
        "changes": {
            "path": [change.path for change in found.changes],
            "change_us": [round(change.change_us, 1) for change in found.changes],
            "low_us": [ends[0] for ends in time],
            "high_us": [ends[1] for ends in time],
            "share": [round(change.share, 6) for change in found.changes],
            "share_low": [ends[0] for ends in share],
            "share_high": [ends[1] for ends in share],
        },
    }


def _ends(interval: Interval | None, digits: int) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return round(interval.low, digits), round(interval.high, digits)


def _of_kind(
    kind: str, tree: Tree, label_of: npt.NDArray[np.str_], kept: Kept, groups: Rows, paths: Rows
) -> list[Group]:
    """The groups of a kind that are shown, ascending by label; none where there is but one."""
    rows = [
        (label, traces, latency)
        for is_kind, label, traces, latency in zip(
            groups.list("kind"),
            groups.list("label"),
            groups.list("traces"),
            groups.list("latency_us"),
            strict=True,
        )
        if is_kind == kind
    ]
    if kind == "day":
        shown = sorted(rows)[-_DAYS:]
    else:
        shown = sorted(sorted(rows, key=lambda row: (-row[1], row[0]))[:_VERSIONS])
    if len(shown) < 2:
        return []
    sums = _sums(kind, [label for label, *_ in shown], tree, paths)
    return [
        Group(
            kind=kind,
            label=label,
            traces=traces,
            latency_us=latency,
            exclusive_us=sums[place],
            sample=sample_of(kept, label_of == label),
        )
        for place, (label, traces, latency) in enumerate(shown)
    ]


def _sums(kind: str, labels: list[str], tree: Tree, paths: Rows) -> Ints:
    """Exclusive time by group and path."""
    place = {label: number for number, label in enumerate(labels)}
    at_group = np.array(
        [
            place.get(label, -1) if is_kind == kind else -1
            for is_kind, label in zip(paths.list("kind"), paths.list("label"), strict=True)
        ],
        dtype=np.int64,
    )
    used = at_group >= 0
    sums = np.zeros((len(labels), len(tree.path_ids)), dtype=np.int64)
    at_path = tree.rows_of(paths.ints("path_id")[used])
    np.add.at(sums, (at_group[used], at_path), paths.ints("exclusive_us")[used])
    return sums


def _days(kept: Kept) -> npt.NDArray[np.str_]:
    """The UTC day on which each kept trace started, (n,)."""
    days, which = np.unique(kept.start_us // _DAY_US, return_inverse=True)
    labels = [f"{datetime.fromtimestamp(day * 86_400, UTC):%Y-%m-%d}" for day in days.tolist()]
    return np.array(labels, dtype=np.str_)[which] if labels else np.empty(0, dtype=np.str_)


def sample_of(kept: Kept, wanted: npt.NDArray[np.bool_]) -> Sample:
    """The kept traces of a group, those ``wanted`` (n,), and their cells."""
    number = np.cumsum(wanted) - 1
    cells = wanted[kept.trace]
    return Sample(
        latency_us=kept.latency_us[wanted],
        weight=kept.weight[wanted],
        trace=number[kept.trace[cells]],
        path=kept.path[cells],
        exclusive_us=kept.exclusive_us[cells],
    )
