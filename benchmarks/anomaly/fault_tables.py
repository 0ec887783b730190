"""The tables of P3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.anomaly.boutique import NORMAL
from benchmarks.anomaly.faults import ALPHA, FaultTraces, FaultWindow
from benchmarks.anomaly.tables import figure, grouped, table


def tables(traces: Sequence[FaultTraces], windows: Sequence[FaultWindow]) -> list[str]:
    """Traces by method and fault; windows one by one."""
    ill = [row for row in windows if row.fault != NORMAL]
    calm = [row for row in windows if row.fault == NORMAL]
    whole = grouped(
        [row for row in traces if row.family == "all"], lambda row: (row.features, row.method)
    )
    parts = grouped(
        [row for row in traces if row.family != "all"],
        lambda row: (row.features, row.method.split(" (")[0]),
    )
    together = grouped(windows, lambda row: row.vector)
    return [
        table(
            f"P3, single traces: area under the curve / recall at p = {ALPHA}",
            [
                {
                    "vector": features.upper(),
                    "method": method,
                    "false positives": figure(some[0].false_positive_rate, 4),
                    **{row.fault: f"{figure(row.auc)} / {figure(row.recall)}" for row in some},
                }
                for (features, method), some in whole.items()
            ],
        ),
        table(
            "P3, single traces, a model for each family: area under the curve",
            [
                {"vector": features.upper(), "method": method, **_areas(some)}
                for (features, method), some in parts.items()
            ],
        ),
        table("P3, windows of faults", [_window(row) for row in ill]),
        table("P3, windows of normal traces: an alert is false", [_window(row) for row in calm]),
        table("P3, windows", [_together(vector, some) for vector, some in together.items()]),
    ]


def _areas(rows: Sequence[FaultTraces]) -> dict[str, str]:
    """Area by fault, families weighted by their abnormal traces."""
    by_fault = grouped(rows, lambda row: row.fault)
    return {
        fault: figure(
            float(np.average([row.auc for row in some], weights=[row.abnormal for row in some]))
        )
        for fault, some in sorted(by_fault.items())
    }


def _window(row: FaultWindow) -> dict[str, str]:
    return {
        "vector": row.vector,
        "fault": row.fault,
        "in": row.service or "–",
        "at": row.at,
        "traces": str(row.traces),
        "before": str(row.reference),
        "alert": "yes" if row.alert else "no",
        "smallest p": f"{row.smallest_p:.0e}",
        "latency": f"{row.change:+.0%}".replace("%", " %").replace("-", "−"),
        "named first": row.first or "–",
        "place of the service": str(row.place) if row.place else "–",
    }


def _together(vector: str, rows: Sequence[FaultWindow]) -> dict[str, str]:
    ill = [row for row in rows if row.fault != NORMAL]
    calm = [row for row in rows if row.fault == NORMAL]
    return {
        "vector": vector,
        "faults found": f"{sum(row.alert for row in ill)} of {len(ill)}",
        "service first": f"{sum(row.place == 1 for row in ill)} of {len(ill)}",
        "among three": f"{sum(0 < row.place <= 3 for row in ill)} of {len(ill)}",
        "false alerts": f"{sum(row.alert for row in calm)} of {len(calm)}",
    }
