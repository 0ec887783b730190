"""Slow definitions of the marts about groups, kept traces, errors and reach; see slow.py."""

from __future__ import annotations

import math
from collections import Counter
from itertools import zip_longest
from typing import Any

from tests.aggregate.slow import Row, grouped


def latencies(trees: list[Row], band: dict[int, int]) -> list[Row]:
    found = Counter(
        (
            tree["endpoint_id"],
            band[tree["tree_id"]],
            math.floor(20 * math.log10(tree["latency_us"] + 1)),
        )
        for tree in trees
    )
    return [
        {"endpoint_id": endpoint, "band": number, "bucket": bucket, "traces": count}
        for (endpoint, number, bucket), count in found.items()
    ]


def versions(
    trees: list[Row], hosts: list[Row], parent: dict[int, int], names: dict[int, tuple[str, str]]
) -> dict[int, str]:
    """Version by tree: the one that the root's service tells of its host, if it tells just one."""
    told = grouped([row for row in hosts if row["value"]], "host", "service", "attribute")
    found = {}
    for tree in trees:
        (root,) = (path for path in tree["paths"] if parent[path["path_id"]] == 0)
        service, _ = names[tree["endpoint_id"]]
        for attribute in ("service.version", "version"):
            values = {row["value"] for row in told.get((root["host"], service, attribute), ())}
            if values:
                if len(values) == 1:
                    found[tree["tree_id"]] = values.pop()
                break
    return found


def members(by_day: dict[str, list[Row]], version: dict[int, str]) -> list[Row]:
    """Kind and label of every group that a tree is in."""
    days = [
        {"kind": "day", "label": day, "tree": tree}
        for day, trees in by_day.items()
        for tree in trees
        if len(by_day) > 1
    ]
    return days + [
        {"kind": "version", "label": version[tree["tree_id"]], "tree": tree}
        for trees in by_day.values()
        for tree in trees
        if tree["tree_id"] in version
    ]


def groups(found: list[Row]) -> list[Row]:
    rows = [{**member, "endpoint_id": member["tree"]["endpoint_id"]} for member in found]
    return [
        {
            "endpoint_id": endpoint,
            "kind": kind,
            "label": label,
            "traces": len(group),
            "latency_us": sum(member["tree"]["latency_us"] for member in group),
        }
        for (endpoint, kind, label), group in grouped(rows, "endpoint_id", "kind", "label").items()
    ]


def group_paths(found: list[Row], used: list[Row]) -> list[Row]:
    by_tree = grouped([{**use, "tree_id": use["tree"]["tree_id"]} for use in used], "tree_id")
    rows = [
        {**use, "kind": member["kind"], "label": member["label"]}
        for member in found
        for use in by_tree.get(member["tree"]["tree_id"], ())
    ]
    return [
        {
            "endpoint_id": endpoint,
            "kind": kind,
            "label": label,
            "path_id": path,
            "traces": len(group),
            "exclusive_us": sum(use["exclusive_us"] for use in group),
        }
        for (endpoint, kind, label, path), group in grouped(
            rows, "endpoint_id", "kind", "label", "path_id"
        ).items()
    ]


def kept(trees: list[Row], band: dict[int, int], version: dict[int, str], most: int) -> list[Row]:
    """Bands give a tree each in turn, the slowest band first, until there are enough."""
    found = []
    for group in grouped(trees, "endpoint_id").values():
        by_band: dict[int, list[Row]] = {}
        for tree in sorted(group, key=lambda tree: tree["tree_id"]):
            by_band.setdefault(band[tree["tree_id"]], []).append(tree)
        slowest_first = [by_band[number] for number in sorted(by_band, reverse=True)]
        turns = [tree for turn in zip_longest(*slowest_first) for tree in turn if tree]
        found += turns[:most]
    names = ("trace_id", "root_span_id", "start_us", "latency_us", "error")
    return [
        {
            "endpoint_id": tree["endpoint_id"],
            "tree_id": tree["tree_id"],
            "band": band[tree["tree_id"]],
            **{name: tree[name] for name in names},
            "version": version.get(tree["tree_id"], ""),
        }
        for tree in found
    ]


def kept_paths(trees: list[Row], chosen: list[Row]) -> list[Row]:
    ids = {row["tree_id"] for row in chosen}
    return [
        {
            "endpoint_id": tree["endpoint_id"],
            "tree_id": tree["tree_id"],
            **{name: part[name] for name in ("path_id", "host", "exclusive_us", "inclusive_us")},
        }
        for tree in trees
        if tree["tree_id"] in ids
        for part in tree["paths"]
    ]


def errors(used: list[Row], parent: dict[int, int]) -> list[Row]:
    failed = {(use["tree"]["tree_id"], use["path_id"]): use for use in used if use["error"]}
    below = {(tree, parent[path]) for tree, path in failed}
    rows: dict[Any, list[Row]] = grouped(
        [
            {
                "endpoint_id": use["tree"]["endpoint_id"],
                "path_id": path,
                "from_below": (tree, path) in below,
                "stopped": parent[path] != 0 and (tree, parent[path]) not in failed,
                "inclusive_us": use["inclusive_us"],
            }
            for (tree, path), use in failed.items()
        ],
        "endpoint_id",
        "path_id",
    )
    return [
        {
            "endpoint_id": endpoint,
            "path_id": path,
            "traces": len(group),
            "own": sum(not row["from_below"] for row in group),
            "propagated": sum(row["from_below"] for row in group),
            "stopped": sum(row["stopped"] for row in group),
            "stopped_us": sum(row["inclusive_us"] for row in group if row["stopped"]),
            "failed_us": sum(row["inclusive_us"] for row in group),
        }
        for (endpoint, path), group in rows.items()
    ]


def reach(trees: list[Row], most: int = 20) -> list[Row]:
    latency: Counter[int] = Counter()
    for tree in trees:
        latency[tree["endpoint_id"]] += tree["latency_us"]
    uses = [
        use | {"entry_id": tree["endpoint_id"]}
        for tree in trees
        for use in tree["endpoints"]
        if use["endpoint_id"] != tree["endpoint_id"] and use["cp_spans"]
    ]
    found = []
    for endpoint, group in grouped(uses, "endpoint_id").items():
        by_entry = {
            entry: (sum(use["exclusive_us"] for use in some), len(some))
            for entry, some in grouped(group, "entry_id").items()
        }
        order = sorted(by_entry, key=lambda entry: (-by_entry[entry][0], entry))
        found += [
            {
                "endpoint_id": endpoint,
                "entry_id": entry,
                "place": place,
                "traces": by_entry[entry][1],
                "exclusive_us": by_entry[entry][0],
                "latency_us": latency[entry],
            }
            for place, entry in enumerate(order[:most], 1)
        ]
    return found
