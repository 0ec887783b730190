"""Traces of an endpoint written down as {path: time}."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from crisp.anomaly.vectors import Ints, Vectors

Row = Mapping[int, int]


def drawn(
    rows: Sequence[Row],
    *,
    status: Sequence[Row] = (),
    failed: Sequence[bool] | None = None,
    latency: Sequence[int] | None = None,
    endpoint: int = 1,
) -> Vectors:
    """A minute apart; ``status`` by row and path, sound where nothing is said; the latency is the
    sum of the times unless given."""
    n = len(rows)
    marked = [*status, *({} for _ in range(n - len(status)))]
    cells = [(i, path) for i, row in enumerate(rows) for path in sorted(row)]
    return Vectors(
        endpoint_id=endpoint,
        tree_id=np.arange(n) + 100,
        trace_id=[f"t{i}" for i in range(n)],
        root_span_id=[f"s{i}" for i in range(n)],
        start_us=np.arange(n) * 60_000_000,
        latency_us=np.array([sum(r.values()) for r in rows] if latency is None else latency, int),
        failed=np.zeros(n, np.bool_) if failed is None else np.array(failed, np.bool_),
        edges=np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=int))),
        path_id=np.array([path for _, path in cells], np.int64),
        time_us=np.array([rows[i][path] for i, path in cells], np.int64),
        status=np.array([marked[i].get(path, 0) for i, path in cells], np.int8),
    )


def undrawn(vectors: Vectors) -> list[dict[int, int]]:
    """The rows again."""
    return [
        dict(zip(vectors.path_id[a:b].tolist(), vectors.time_us[a:b].tolist(), strict=True))
        for a, b in zip(vectors.edges, vectors.edges[1:], strict=False)
    ]


def tree(parent: Mapping[int, int]) -> tuple[Ints, Ints]:
    """Call paths, ascending, and their parents."""
    paths = sorted(parent)
    return np.array(paths, np.int64), np.array([parent[path] for path in paths], np.int64)


TREE = {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 6, 8: 6}
"""A small tree of paths: path to parent."""

rows_of_times = st.lists(
    st.dictionaries(st.sampled_from([*TREE, 90, 91]), st.integers(0, 10**6), max_size=8),
    min_size=1,
    max_size=12,
)
"""Rows over the tree and two paths that are not in it; a row may be empty."""
