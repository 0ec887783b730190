"""The marts once more, slowly and in Python, from the rows of the lake and the definitions.

Only DESIGN section 7 and the meanings in `crisp.schema` are used here, not the SQL.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

Row = dict[str, Any]
DEFAULT_EDGES = (0, 50, 90, 95, 99, 100)


def bands_of(trees: list[Row], edges: Sequence[float] = DEFAULT_EDGES) -> dict[int, int]:
    """Band by tree: exact ranks, ties by trace id, then root span id."""
    found = {}
    for group in grouped(trees, "endpoint_id").values():
        order = sorted(group, key=lambda t: (t["latency_us"], t["trace_id"], t["root_span_id"]))
        limits = [Fraction(str(edge)) * len(order) / 100 for edge in edges]
        for rank, tree in enumerate(order, 1):
            (found[tree["tree_id"]],) = (
                band for band, (lo, hi) in enumerate(pairwise(limits)) if lo < rank <= hi
            )
    return found


def grouped(rows: list[Row], *names: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[names[0]] if len(names) == 1 else tuple(row[name] for name in names)].append(row)
    return groups


def uses(trees: list[Row], edges: Sequence[float] = DEFAULT_EDGES) -> list[Row]:
    """One row per tree and call path, hosts merged."""
    band = bands_of(trees, edges)
    found = []
    for tree in trees:
        for path_id, parts in grouped(tree["paths"], "path_id").items():
            longest = min(parts, key=lambda part: (-part["exclusive_us"], part["span_id"]))
            found.append(
                {
                    "endpoint_id": tree["endpoint_id"],
                    "path_id": path_id,
                    "band": band[tree["tree_id"]],
                    "tree": tree,
                    "spans": sum(part["spans"] for part in parts),
                    "exclusive_us": sum(part["exclusive_us"] for part in parts),
                    "inclusive_us": sum(part["inclusive_us"] for part in parts),
                    "error": any(part["error"] for part in parts),
                    "span_id": longest["span_id"],
                }
            )
    return found


def bands(trees: list[Row], edges: Sequence[float] = DEFAULT_EDGES) -> list[Row]:
    band = bands_of(trees, edges)
    marked = [tree | {"band": band[tree["tree_id"]]} for tree in trees]
    return [
        {
            "endpoint_id": endpoint,
            "band": number,
            "lo_percentile": float(edges[number]),
            "hi_percentile": float(edges[number + 1]),
            "traces": len(group),
            "weight": sum(tree["weight"] for tree in group),
            "lo_us": min(tree["latency_us"] for tree in group),
            "hi_us": max(tree["latency_us"] for tree in group),
            "latency_us": sum(tree["latency_us"] for tree in group),
        }
        for (endpoint, number), group in grouped(marked, "endpoint_id", "band").items()
    ]


def cct(used: list[Row]) -> list[Row]:
    return [
        {
            "endpoint_id": endpoint,
            "path_id": path,
            "band": band,
            "traces": len(group),
            "weight": sum(use["tree"]["weight"] for use in group),
            "spans": sum(use["spans"] for use in group),
            "exclusive_us": sum(use["exclusive_us"] for use in group),
            "inclusive_us": sum(use["inclusive_us"] for use in group),
            "weighted_exclusive_us": sum(
                use["tree"]["weight"] * use["exclusive_us"] for use in group
            ),
            "weighted_inclusive_us": sum(
                use["tree"]["weight"] * use["inclusive_us"] for use in group
            ),
            "error_traces": sum(use["error"] for use in group),
        }
        for (endpoint, path, band), group in grouped(used, "endpoint_id", "path_id", "band").items()
    ]


def path_stats(trees: list[Row], used: list[Row]) -> list[Row]:
    total = Counter(tree["endpoint_id"] for tree in trees)
    found = []
    for (endpoint, path), group in grouped(used, "endpoint_id", "path_id").items():
        row: Row = {"endpoint_id": endpoint, "path_id": path, "traces": len(group)}
        for which in ("exclusive", "inclusive"):
            values = [use[f"{which}_us"] for use in group] + [0] * (total[endpoint] - len(group))
            for q in (50, 95, 99):
                row[f"{which}_p{q}_us"] = float(np.percentile(values, q))
        found.append(row)
    return found


def exemplars(used: list[Row], count: int = 3) -> list[Row]:
    found = []
    for (endpoint, path), group in grouped(used, "endpoint_id", "path_id").items():
        order = sorted(group, key=lambda use: (-use["exclusive_us"], use["tree"]["tree_id"]))
        found += [
            {
                "endpoint_id": endpoint,
                "path_id": path,
                "place": place,
                "trace_id": use["tree"]["trace_id"],
                "span_id": use["span_id"],
                "start_us": use["tree"]["start_us"],
                "latency_us": use["tree"]["latency_us"],
                "exclusive_us": use["exclusive_us"],
            }
            for place, use in enumerate(order[:count], 1)
        ]
    return found


def fleet(trees: list[Row], names: dict[int, tuple[str, str]]) -> list[Row]:
    found = []
    for endpoint, group in grouped(trees, "endpoint_id").items():
        held: Counter[int] = Counter()
        for tree in group:
            for use in tree["endpoints"]:
                held[use["endpoint_id"]] += use["exclusive_us"]
        top = min(held, key=lambda each: (-held[each], each))
        latency = [tree["latency_us"] for tree in group]
        found.append(
            {
                "endpoint_id": endpoint,
                "service": names[endpoint][0],
                "operation": names[endpoint][1],
                "traces": len(group),
                "weight": sum(tree["weight"] for tree in group),
                "errors": sum(tree["error"] for tree in group),
                "spans": sum(tree["spans"] for tree in group),
                "first_us": min(tree["start_us"] for tree in group),
                "last_us": max(tree["start_us"] for tree in group),
                "latency_us": sum(latency),
                "p50_us": float(np.percentile(latency, 50)),
                "p95_us": float(np.percentile(latency, 95)),
                "p99_us": float(np.percentile(latency, 99)),
                "max_us": max(latency),
                "top_endpoint_id": top,
                "top_exclusive_us": held[top],
            }
        )
    return found


def daily(by_day: dict[str, list[Row]]) -> list[Row]:
    return [
        {
            "endpoint_id": endpoint,
            "day": day,
            "traces": len(group),
            **{
                f"p{q}_us": float(np.percentile([tree["latency_us"] for tree in group], q))
                for q in (50, 95, 99)
            },
        }
        for day, trees in by_day.items()
        for endpoint, group in grouped(trees, "endpoint_id").items()
    ]


def bottom_up(trees: list[Row], names: dict[int, tuple[str, str]]) -> list[Row]:
    whole = sum(tree["weight"] * tree["latency_us"] for tree in trees)
    interior = [
        use | {"tree": tree}
        for tree in trees
        for use in tree["endpoints"]
        if use["endpoint_id"] != tree["endpoint_id"]
    ]
    found = []
    for endpoint, group in grouped(interior, "endpoint_id").items():
        on_path = [use for use in group if use["cp_spans"]]
        exclusive = sum(use["tree"]["weight"] * use["exclusive_us"] for use in group)
        inclusive = sum(use["tree"]["weight"] * use["inclusive_us"] for use in group)
        found.append(
            {
                "endpoint_id": endpoint,
                "service": names[endpoint][0],
                "operation": names[endpoint][1],
                "entries": len({use["tree"]["endpoint_id"] for use in on_path}),
                "traces": len(on_path),
                "traces_any": len(group),
                "spans": sum(use["spans"] for use in group),
                "cp_spans": sum(use["cp_spans"] for use in group),
                "exclusive_us": sum(use["exclusive_us"] for use in group),
                "inclusive_us": sum(use["inclusive_us"] for use in group),
                "weighted_exclusive_us": exclusive,
                "exclusive_share": exclusive / whole if whole else 0.0,
                "inclusive_share": inclusive / whole if whole else 0.0,
            }
        )
    found.sort(
        key=lambda r: (
            -round(r["weighted_exclusive_us"], 3), -r["entries"], r["service"], r["operation"]
        )
    )  # fmt: skip
    return [row | {"place": place} for place, row in enumerate(found, 1)]


def bins() -> list[int]:
    """Edges: 0, then 10^(k/10) rounded to whole numbers, each once."""
    edges = {round(10 ** (k / 10)) for k in range(200)}
    return [0, *sorted(edge for edge in edges if edge < 2**63), 2**63 - 1]


def histograms(trees: list[Row], calls: list[Row]) -> list[Row]:
    values: dict[str, list[int]] = {
        name: [tree[name] for tree in trees]
        for name in (
            "spans", "unique_endpoints", "latency_us", "depth", "cp_spans", "concurrency",
            "cp_endpoints",
        )
    }  # fmt: skip
    anywhere = grouped([use for tree in trees for use in tree["endpoints"]], "endpoint_id")
    callers = defaultdict(set)
    for call in calls:
        callers[call["endpoint_id"]].add(call["caller_id"])
    values["appearances"] = [sum(u["spans"] for u in group) for group in anywhere.values()]
    values["cp_appearances"] = [sum(u["cp_spans"] for u in group) for group in anywhere.values()]
    values["callers"] = [len(callers[endpoint]) for endpoint in anywhere]
    edges = bins()
    found = []
    for metric, observed in values.items():
        counts = Counter(bisect.bisect_right(edges, value) - 1 for value in observed)
        found += [
            {"metric": metric, "lo": edges[k], "hi": edges[k + 1], "count": count}
            for k, count in counts.items()
        ]
    return found


def ledgers(trees: list[Row]) -> list[Row]:
    entries = [
        entry | {"endpoint_id": tree["endpoint_id"], "trace_id": tree["trace_id"]}
        for tree in trees
        for entry in tree["ledger"]
    ]
    return [
        {
            "endpoint_id": endpoint,
            "entry": name,
            "traces": len(group),
            "spans": sum(entry["spans"] for entry in group),
            "amount_us": sum(entry["amount_us"] for entry in group),
            "example": min(
                group, key=lambda entry: (-entry["amount_us"], -entry["spans"], entry["trace_id"])
            )["trace_id"],
        }
        for (endpoint, name), group in grouped(entries, "endpoint_id", "entry").items()
    ]


def rejected(rejects: list[Row]) -> list[Row]:
    found = []
    for reason, group in grouped(rejects, "reason").items():
        first = min(group, key=lambda r: (r["source"], r["position"], r["trace_id"], r["detail"]))
        found.append(first | {"reason": reason, "documents": len(group)})
    return found
