"""Isolation Forest (Liu and others 2008), grown by scikit-learn, scored here from its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from crisp.anomaly.detector import Frozen
from crisp.anomaly.sparse import edges_of
from crisp.anomaly.vectors import Floats, Ints
from crisp.anomaly.vocabulary import Encoded

_TREES = 64
_SAMPLES = 128
_MOST_ROWS = 2_048
"""Fit rows that the samples of the trees are drawn from, evenly over the time."""
_MOST_CELLS = 2**24
"""Of these rows, absent ones too: with very many columns there are fewer rows."""
_ROWS_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """2^(−mean path length / expected length): how few cuts set a row apart from normal ones.

    Rows are log(1 + µs), absent = 0. The nodes of all trees are one list, each tree depth
    first: the left child of a node is the next one.
    """

    name: ClassVar[str] = "isolation"
    roots: Ints
    """(trees,) first node of each"""
    column: Ints
    """(nodes,) that is compared"""
    right: Ints
    """(nodes,) where rows above the value go; a leaf: itself"""
    value: npt.NDArray[np.float32]
    """(nodes,) rows at or below it go left; a leaf: its path length, with what an average tree
    would have needed to part the fit rows in it"""
    depth: int
    """of the deepest leaf"""
    expected: float
    """path length of an average tree; 0 of one that was grown from one row"""

    def score(self, rows: Encoded) -> Floats:
        """(n,) in [0, 1]; equal to −score_samples of scikit-learn, to float32 precision."""
        n = rows.time_us.shape[0]
        if not len(self.roots) or not self.expected:
            return np.full(n, 0.5)
        used, column = np.unique(self.column, return_inverse=True)
        place = np.full(rows.time_us.shape[1], -1)
        place[used] = np.arange(len(used))
        leaf = self.right == np.arange(len(self.right))
        tree = _Tree(
            column=column.astype(np.int32),
            right=self.right.astype(np.int32),
            cut=np.where(leaf, -np.inf, self.value).astype(np.float32),
        )
        length = np.where(leaf, self.value, 0.0)
        blocks = (rows.time_us[a : a + _ROWS_AT_ONCE] for a in range(0, n, _ROWS_AT_ONCE))
        lengths = [
            length[self._leaves(dense_logs(block, place, len(used)), tree)].mean(axis=1)
            for block in blocks
        ]
        return np.asarray(2.0 ** (-np.concatenate([*lengths, np.empty(0)]) / self.expected))

    def _leaves(self, x: npt.NDArray[np.float32], tree: _Tree) -> npt.NDArray[np.int32]:
        node = np.broadcast_to(self.roots.astype(np.int32), (len(x), len(self.roots)))
        start = (np.arange(len(x), dtype=np.int32) * x.shape[1])[:, None]
        flat = x.ravel()
        for _ in range(self.depth):
            left = flat.take(start + tree.column.take(node)) <= tree.cut.take(node)
            node = np.where(left, node + np.int32(1), tree.right.take(node))
        return node

    def freeze(self) -> Frozen:
        """Its nodes."""
        names = ("roots", "column", "right", "value")
        return Frozen(
            about={"depth": self.depth, "expected": self.expected},
            arrays={name: getattr(self, name) for name in names},
        )


@dataclass(frozen=True, slots=True)
class _Tree:
    """The nodes of a forest as scoring walks them: nothing is left of a leaf's value."""

    column: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    cut: npt.NDArray[np.float32]


def dense_logs(times: Any, place: Ints, width: int) -> npt.NDArray[np.float32]:
    """(n, width) log(1 + µs) of a sparse (n, d) matrix, absent = 0; column j goes to place[j],
    those with −1 nowhere."""
    dense = np.zeros((times.shape[0], width), np.float32)
    row = np.repeat(np.arange(times.shape[0]), np.diff(times.indptr))
    column = place[times.indices]
    kept = column >= 0
    dense[row[kept], column[kept]] = np.log1p(times.data[kept])
    return dense


def fit_isolation(rows: Encoded, seed: int) -> Isolation:
    """64 trees of 128 rows each, or of all rows where there are fewer; never more trees than rows:
    a fleet has many endpoints with hardly any, and trees are what takes the time."""
    from sklearn.ensemble import IsolationForest

    n, d = rows.time_us.shape
    if not n:
        return _planted([], 0)
    most = min(n, _MOST_ROWS, max(_SAMPLES, _MOST_CELLS // d))
    some = np.unique(np.linspace(0, n - 1, most).astype(np.int64))
    x = dense_logs(rows.time_us[some], np.arange(d), d)
    samples = min(_SAMPLES, len(some))
    trees = min(_TREES, len(some))
    forest = IsolationForest(n_estimators=trees, max_samples=samples, random_state=seed).fit(x)
    return _planted([tree.tree_ for tree in forest.estimators_], samples)


def _planted(trees: list[Any], samples: int) -> Isolation:
    edges = edges_of(np.array([tree.node_count for tree in trees], np.int64))
    parts = [_nodes(tree, int(start)) for tree, start in zip(trees, edges, strict=False)]
    column, right, value = (
        np.concatenate([part[i] for part in parts]) if parts else np.empty(0) for i in range(3)
    )
    return Isolation(
        roots=edges[:-1],
        column=column.astype(np.int64),
        right=right.astype(np.int64),
        value=value.astype(np.float32),
        depth=max((int(tree.max_depth) for tree in trees), default=0),
        expected=float(average_length(np.array([samples]))[0]),
    )


def _nodes(tree: Any, start: int) -> tuple[Ints, Ints, npt.NDArray[np.float32]]:
    number = np.arange(tree.node_count)
    leaf = tree.children_left < 0
    assert np.array_equal(tree.children_left[~leaf], number[~leaf] + 1), "not depth first"
    length = tree.compute_node_depths() - 1.0 + average_length(tree.n_node_samples)
    return (
        np.where(leaf, 0, tree.feature),
        np.where(leaf, number, tree.children_right) + start,
        np.where(leaf, length.astype(np.float32), rounded_down(tree.threshold)),
    )


def rounded_down(values: Floats) -> npt.NDArray[np.float32]:
    """The largest float32 at or below each value: x ≤ value says the same of a float32 x."""
    near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)


def average_length(samples: npt.NDArray[Any]) -> Floats:
    """Mean path length of an unsuccessful search in a binary tree of so many rows (Liu and others
    2008, equation 1): 2 H(n − 1) − 2 (n − 1) / n, H(i) ≈ ln i + 0.5772; 1 of two, 0 of one."""
    n = np.maximum(samples, 3).astype(np.float64)
    many = 2.0 * (np.log(n - 1.0) + np.euler_gamma) - 2.0 * (n - 1.0) / n
    return np.where(samples > 2, many, np.where(samples == 2, 1.0, 0.0))


def thaw_isolation(frozen: Frozen) -> Isolation:
    """What `Isolation.freeze` gave."""
    return Isolation(**dict(frozen.about), **dict[str, Any](frozen.arrays))
