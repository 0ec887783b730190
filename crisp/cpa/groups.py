"""Runs of equal rows in columns that are sorted by them."""

from __future__ import annotations

import numpy as np

from crisp.forest import Flags, Ints


def changes(*columns: Ints) -> Flags:
    """Whether a row differs from the one before it in any column; the first always does."""
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return first
