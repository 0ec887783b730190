"""Which call paths are columns of a model, and traces as rows over these columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crisp.anomaly.sparse import find, merge, row_sums
from crisp.anomaly.vectors import Flags, Floats, Ints, Vectors
from crisp.stable import text_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The call paths that the rows of a model were fitted on.

    Paths seen in fewer than ``least`` fit traces are folded into one column for each parent;
    paths never seen go into the last column. So a row keeps its sum, whatever it holds.
    """

    paths: Ints
    """(p,) ascending: every path seen in fitting"""
    column: Ints
    """(p,) the column each of them counts in"""
    columns: int
    """d: own columns in the order of their paths, then folded ones, then the one of the unseen"""
    folded_parent: Ints
    """(folded,) parent path of each folded column"""
    keys: Ints
    """(d,) what a column is, in any vocabulary: its path, a stable hash of the parent of a folded
    one, 0 for that of the unseen"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """Traces as rows over the columns of a vocabulary."""

    vectors: Vectors
    time_us: Any
    """(n, d) scipy.sparse.csr_array, float64; a stored 0 is a path that took no time"""
    status: npt.NDArray[Any]
    """(time_us.nnz,) worst status of the cells merged into each stored one"""
    merged: Ints
    """(cells,) the stored cell that each cell of ``vectors`` counts in"""
    pattern: Ints
    """(n,) stable hash of which columns are there"""
    unseen: Ints
    """(n,) how many paths of each row the vocabulary does not hold"""
    latency_us: Floats
    """(n,)"""
    failed: Flags
    """(n,) the root failed"""


def fit_vocabulary(vectors: Vectors, parents: tuple[Ints, Ints], least: int) -> Vocabulary:
    """The columns for these traces: paths in at least ``least`` of them have their own.

    ``parents`` are call paths, ascending, and the parent of each; a path that is not among them
    counts as one without a parent, 0.
    """
    paths, counts = np.unique(vectors.path_id, return_counts=True)
    own = counts >= least
    folded_parent, place = np.unique(parent_of(paths[~own], parents), return_inverse=True)
    owned = int(own.sum())
    column = np.empty(len(paths), np.int64)
    column[own] = np.arange(owned)
    column[~own] = owned + place
    folded_keys = [text_id("folded", str(parent)) for parent in folded_parent.tolist()]
    return Vocabulary(
        paths=paths,
        column=column,
        columns=owned + len(folded_parent) + 1,
        folded_parent=folded_parent,
        keys=np.concatenate((paths[own], np.array([*folded_keys, 0], np.int64))),
    )


def parent_of(paths: Ints, parents: tuple[Ints, Ints]) -> Ints:
    """(len(paths),) the parent of each path, 0 where it has none or is not known."""
    place, _ = find(parents[0], paths)
    return np.append(parents[1], 0)[place]


def callers(paths: Ints, parents: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """These paths and all above them, ascending, and the parent of each, as `parent_of`."""
    members = new = np.unique(paths)
    while len(new):
        above = parent_of(new, parents)
        new = np.setdiff1d(above[above != 0], members)
        members = np.union1d(members, new)
    return members, parent_of(members, parents)


def encode(vectors: Vectors, vocabulary: Vocabulary) -> Encoded:
    """The traces as rows over the columns. Each row keeps its sum exactly."""
    from scipy.sparse import csr_array

    unseen = vocabulary.columns - 1
    place, known = find(vocabulary.paths, vectors.path_id)
    row = vectors.row
    cells = merge(
        row,
        np.append(vocabulary.column, unseen)[place],
        vectors.time_us,
        vectors.status,
        len(vectors),
    )
    return Encoded(
        vectors=vectors,
        time_us=csr_array(
            (cells.time_us.astype(np.float64), cells.column, cells.edges),
            shape=(len(vectors), vocabulary.columns),
        ),
        status=cells.status,
        merged=cells.of,
        pattern=row_sums(cells.edges, _scattered(vocabulary.keys)[cells.column]),
        unseen=np.bincount(row[~known], minlength=len(vectors)),
        latency_us=vectors.latency_us.astype(np.float64),
        failed=vectors.failed,
    )


def _scattered(keys: Ints) -> Ints:
    """Keys mixed so that sums of them differ where sets of columns differ (SplitMix64)."""
    mixed = keys.view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)
