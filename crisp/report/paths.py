"""Call paths as trees: the paths of one endpoint, every parent before its children."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crisp.report.columns import Ints, hex_id, rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Call paths in drawing order: depth first, of siblings the one that holds longest first."""

    path_ids: list[int]
    parent: list[int]
    """Row of the parent, -1 for the root, which is row 0."""
    name: list[int]
    """Which of `names` the path ends at."""
    names: list[tuple[str, str]]
    """Service and operation, each pair once."""
    depth: int
    """Levels: calls on the longest path."""
    sorted_ids: Ints
    sorted_rows: Ints

    def rows_of(self, path_ids: Ints) -> Ints:
        """The rows of some of its paths."""
        return self.sorted_rows[np.searchsorted(self.sorted_ids, path_ids)]

    def chain(self, row: int) -> list[str]:
        """``service::operation`` of the calls from the root down to a row."""
        calls = []
        while row >= 0:
            calls.append("::".join(self.names[self.name[row]]))
            row = self.parent[row]
        return calls[::-1]

    def data(self) -> dict[str, Any]:
        """The tree as pages read it, by column."""
        return {
            "depth": self.depth,
            "names": self.names,
            "paths": {
                "id": [hex_id(path) for path in self.path_ids],
                "parent": self.parent,
                "name": self.name,
            },
        }


class CallPaths:
    """All call paths of the marts, sorted by id, with their parents and names."""

    def __init__(self, call_paths: pa.Table, names: Mapping[int, tuple[str, str]]) -> None:
        rows = rows_of(call_paths, ("path_id",))
        ids, first = np.unique(rows.ints("path_id"), return_index=True)
        self._ids = ids
        self._endpoint = rows.ints("endpoint_id")[first]
        self._depth = rows.ints("depth")[first]
        self._parent = self._positions(rows.ints("parent_id")[first])
        self._names = names

    def tree(self, path_ids: Ints, exclusive_us: Ints) -> Tree:
        """The paths and all paths above them as a tree; ids may repeat, their times add up.

        Raises:
            KeyError: a path is not in the table, or the paths do not share one root.
        """
        known = self._with_ancestors(self._known(path_ids))
        parent = self._rows_in(known, self._parent[known])
        names = [self._names[number] for number in self._endpoint[known].tolist()]
        total = np.zeros(len(known), dtype=np.int64)
        np.add.at(total, np.searchsorted(self._ids[known], path_ids), exclusive_us)
        order = _drawing_order(parent.tolist(), self._depth[known].tolist(), total.tolist(), names)
        return self._tree(known, parent, names, order)

    def forest(self, path_ids: Ints) -> Tree:
        """Paths of any endpoints and all above them, shallow ones first, ties by id; those that
        the table does not hold are left out."""
        found = self._positions(np.unique(path_ids))
        known = self._with_ancestors(found[found >= 0])
        parent = self._rows_in(known, self._parent[known])
        names = [self._names[number] for number in self._endpoint[known].tolist()]
        order = np.argsort(self._depth[known], kind="stable").tolist()
        return self._tree(known, parent, names, order)

    def _tree(
        self, known: Ints, parent: Ints, names: list[tuple[str, str]], order: list[int]
    ) -> Tree:
        row = np.empty(len(order) + 1, dtype=np.int64)
        row[np.array(order, dtype=np.int64)] = np.arange(len(order))
        row[-1] = -1  # what parent -1 points at
        distinct = sorted(set(names))
        place = {name: number for number, name in enumerate(distinct)}
        return Tree(
            path_ids=self._ids[known][order].tolist() if order else [],
            parent=row[parent][order].tolist() if order else [],
            name=[place[names[number]] for number in order],
            names=distinct,
            depth=int(self._depth[known].max(initial=0)),
            sorted_ids=self._ids[known],
            sorted_rows=row[:-1],
        )

    def _known(self, path_ids: Ints) -> Ints:
        wanted = np.unique(path_ids)
        found = self._positions(wanted)
        if (found < 0).any():
            raise KeyError(f"call_paths has no path {int(wanted[found < 0][0])}")
        return found

    def _with_ancestors(self, known: Ints) -> Ints:
        new = known
        while len(new):
            above = np.unique(self._parent[new])
            new = np.setdiff1d(above[above >= 0], known, assume_unique=True)
            known = np.union1d(known, new)
        return known

    def _positions(self, path_ids: Ints) -> Ints:
        """Where ids lie in the sorted table, -1 for those it does not hold."""
        return self._rows_in(self._ids, path_ids)

    @staticmethod
    def _rows_in(ascending: Ints, wanted: Ints) -> Ints:
        if not len(ascending):
            return np.full(len(wanted), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
        return np.where(ascending[place] == wanted, place, -1)


def _drawing_order(
    parent: list[int], depth: list[int], exclusive: list[int], names: list[tuple[str, str]]
) -> list[int]:
    """Rows depth first; siblings by time with all below them, then name, then id."""
    inclusive = list(exclusive)
    children: list[list[int]] = [[] for _ in parent]
    roots = []
    for row in sorted(range(len(parent)), key=lambda row: -depth[row]):
        above = parent[row]
        if above < 0:
            roots.append(row)
        else:
            inclusive[above] += inclusive[row]
            children[above].append(row)
    if len(roots) > 1:
        raise KeyError(f"the call paths of one endpoint have {len(roots)} roots")
    order = []
    pending = roots
    while pending:
        row = pending.pop()
        order.append(row)
        first_last = sorted(children[row], key=lambda r: (-inclusive[r], names[r], r), reverse=True)
        pending.extend(first_last)
    return order
