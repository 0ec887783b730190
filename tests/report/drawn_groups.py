"""Groups of traces drawn as the time of every path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crisp.report.changes import REPLICATES, Comparison, Group, Sample, compare_all


def group_of(
    traces: Sequence[Sequence[int]],
    *,
    kept: Sequence[int] | None = None,
    weight: Sequence[float] | None = None,
) -> Group:
    """A group of traces, each drawn as the time of every path; the latency is their sum."""
    times = np.array(traces, dtype=np.int64)
    rows = list(range(len(traces))) if kept is None else list(kept)
    trace, path = np.nonzero(times[rows])
    return Group(
        kind="band",
        label="x",
        traces=len(traces),
        latency_us=int(times.sum()),
        exclusive_us=times.sum(axis=0),
        sample=Sample(
            latency_us=times[rows].sum(axis=1),
            weight=np.array(weight or [1.0] * len(rows)),
            trace=trace,
            path=path,
            exclusive_us=times[rows][trace, path],
        ),
    )


def compare(
    a: Group,
    b: Group,
    *,
    seed: int,
    names: Sequence[tuple[str, str]] | None = None,
    most: int = 30,
    replicates: int = REPLICATES,
) -> Comparison:
    """The one pair of two groups."""
    (found,) = compare_all(
        [a, b], [(0, 1)], seed=seed, names=names, most=most, replicates=replicates
    )
    return found
