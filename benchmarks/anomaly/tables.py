"""Tables as Markdown, which reads well in a terminal and goes into the docs as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def table(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """A heading and the rows; numbers are set right, the columns are those of the first row."""
    if not rows:
        return f"### {title}\n\nnothing to show\n"
    columns = list(rows[0])
    width = {name: max(len(name), *(len(row[name]) for row in rows)) for name in columns}
    number = {name: all(_is_number(row[name]) for row in rows) for name in columns}
    lines = [f"### {title}", "", _line({name: name for name in columns}, width, number)]
    rules = ["-" * (width[name] + 1) + (":" if number[name] else "-") for name in columns]
    lines += ["|" + "|".join(rules) + "|", *(_line(row, width, number) for row in rows), ""]
    return "\n".join(lines)


def _line(row: Mapping[str, str], width: Mapping[str, int], number: Mapping[str, bool]) -> str:
    cells = [
        f" {row[name].rjust(size) if number[name] else row[name].ljust(size)} "
        for name, size in width.items()
    ]
    return "|" + "|".join(cells) + "|"


def _is_number(text: str) -> bool:
    return text in {"", "–"} or text.lstrip("+−×<> ")[:1].isdigit()


def figure(value: float, digits: int = 3) -> str:
    """A number with so many decimals; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def times(value: float) -> str:
    """A factor."""
    return "–" if math.isnan(value) else f"×{value:.2g}"


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Rows by key, keys in the order they first came."""
    found: dict[K, list[T]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found
