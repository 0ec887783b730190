"""What changed on a call path, in words: one line of an alert or of an endpoint's own list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp import units
from crisp.report.paths import CallPaths, Tree
from crisp.schema import TESTS

_ABOVE = 3
"""Calls above one that are named with it."""
_TIMES = frozenset({"latency", "time"})
_SIGNS = {"more": "\u25b2", "less": "\u25bc", "other": "\u25c6"}
TEST_WORDS: Mapping[str, str] = {
    "latency": "latency",
    "time": "time on the path",
    "presence": "how often it is on the path",
    "error": "its own failures",
    "failed": "failed requests",
    "abnormal": "unusual requests",
}
"""The tests of `schema.TESTS`, short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Where a call is made."""

    service: str
    operation: str
    above: tuple[str, ...]
    """operations of the nearest calls above it, outermost first"""
    deeper: bool
    """there are more above these"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one test says of one call path, or of the endpoint as a whole."""

    path_id: int
    call: Call | None
    """None for the endpoint as a whole"""
    test: str
    test_hint: str
    before: str
    today: str
    change: str
    """per request"""
    direction: str
    """more, less or other"""
    chance: str
    changed: bool

    @property
    def label(self) -> str:
        """The change as a badge; its sign says it without colour."""
        if self.direction == "other":
            return f"{_SIGNS['other']} {self.before} \u2192 {self.today}"
        return f"{_SIGNS[self.direction]} {self.change}"

    @property
    def note(self) -> str:
        """The same in words."""
        return f"{self.test}: {self.before} before, {self.today} now; {self.chance} by chance"


def changes_of(rows: Iterable[Mapping[str, Any]], tree: Tree) -> tuple[Change, ...]:
    """Rows of `schema.SHIFTS`, or paths of an alert, in their order; ``tree`` may lack some."""
    place = places(tree)
    return tuple(_change(row, tree, place) for row in rows)


def forest_of(rows: Iterable[Mapping[str, Any]], paths: CallPaths) -> Tree:
    """The call paths that rows with a ``path_id`` speak of, with all above them."""
    return paths.forest(np.array([row["path_id"] for row in rows], dtype=np.int64))


def places(tree: Tree) -> dict[int, int]:
    """The row of each path of a tree by its id."""
    return {path: row for row, path in enumerate(tree.path_ids)}


def call_of(tree: Tree, row: int) -> Call:
    """A call path of a tree as it is named on pages."""
    service, operation = tree.names[tree.name[row]]
    above: list[str] = []
    higher = tree.parent[row]
    while higher >= 0 and len(above) < _ABOVE:
        above.append(tree.names[tree.name[higher]][1])
        higher = tree.parent[higher]
    return Call(
        service=service,
        operation=operation,
        above=tuple(above[::-1]),
        deeper=higher >= 0,
    )


def value_words(test: str, value: float) -> str:
    """A value of a day in the unit of its test."""
    return units.micros(value) if test in _TIMES else units.share(value)


def _change(row: Mapping[str, Any], tree: Tree, place: Mapping[int, int]) -> Change:
    path, test = row["path_id"], row["test"]
    known = place.get(path, -1)
    unnamed = Call(
        service="",
        operation=row.get("name") or "a call path that these days do not hold",
        above=(),
        deeper=False,
    )
    change = units.signed(row["change_us"])
    no_time = change == units.micros(0)
    return Change(
        path_id=path,
        call=None if path == 0 else call_of(tree, known) if known >= 0 else unnamed,
        test=TEST_WORDS.get(test, test),
        test_hint=TESTS.get(test, ""),
        before=value_words(test, row["before"]),
        today=value_words(test, row["today"]),
        change=units.ABSENT if no_time and test not in _TIMES else change,
        direction="other" if no_time else _direction(row["change_us"]),
        chance=units.chance(row["q"]),
        changed=bool(row.get("changed", True)),
    )


def _direction(change_us: float) -> str:
    return "more" if change_us > 0 else "less"
