"""Which call paths are columns of a model, and traces as rows over these columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from crisp.anomaly.vectors import Flags, Floats, Ints, Vectors


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
    pattern: Ints
    """(n,) stable hash of which columns are there"""
    unseen: Ints
    """(n,) how many paths of each row the vocabulary does not hold"""
    latency_us: Floats
    """(n,)"""
    failed: Flags
    """(n,) the root failed"""
