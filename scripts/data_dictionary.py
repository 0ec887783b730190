"""Writes docs/data-dictionary.md from crisp/schema.py: ``make docs``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from crisp import schema
from crisp.errors import Reject

PAGE = Path(__file__).parent.parent / "docs" / "data-dictionary.md"

HEAD = f"""# Data dictionary

Every table that crisp writes: Parquet (but `runs`, which is `run.json` beside the tables of a day
or window), schema version {schema.VERSION}. The page is made from
[`crisp/schema.py`](../crisp/schema.py) by `make docs`; change it there. The words are explained in
[Definitions](definitions.md).

Times are whole microseconds with the unit in the name (`_us`). Ids are signed 64-bit hashes of
names, the same on every machine and every day. A day is a UTC date.
"""

LAKE = """## Lake

One set of tables for each day, written by `crisp analyse`. Running a day again replaces that day.
"""

MARTS = """## Marts

What the report shows: the days of a window merged, written by `crisp aggregate`. All of it can be
computed again from the lake.
"""

SHARED = """The marts also hold `{}` as above, for the days and call paths of the window.
"""

ANOMALIES = """## Anomalies

Under `OUT/models` one row an endpoint for each day they were trained (`crisp train`), under
`OUT/scores` the tables `scores` and `shifts` of each day that was judged (`crisp score`), under
`OUT/alerts` the alerts of each night (`crisp alert`). What the figures mean is told in
[Anomalies](anomalies.md) and [Alerts](alerts.md).
"""

LEDGER = """## Ledger entries

What was corrected, pruned or left out, in column `ledger` of `traces` and in `ledgers`. None of
these stops an analysis; all of them are reported.
"""

REJECTS = """## Reject reasons

Why a document is not analysed, in column `reason` of `rejects` and `rejected`. For every run,
documents read = analysed + rejected.
"""

TESTS = """## Tests

What the rows of `shifts` compare, a day with the days before it.
"""

METRICS = """## Metrics

What the rows of `histograms` count.
"""


def render() -> str:
    """The whole page."""
    parts = [
        HEAD,
        LAKE,
        *_tables(schema.LAKE),
        *_tables({"runs": schema.RUNS}),
        MARTS,
        *_tables({name: table for name, table in schema.MARTS.items() if name not in _WRITTEN}),
        SHARED.format("`, `".join(sorted(_WRITTEN & set(schema.MARTS)))),
        ANOMALIES,
        *_tables(schema.ANOMALIES),
        LEDGER,
        _grid(("entry", "meaning"), ((f"`{k}`", v) for k, v in schema.LEDGER.items())),
        REJECTS,
        _grid(("reason", "meaning"), ((f"`{reason}`", reason.meaning) for reason in Reject)),
        METRICS,
        _grid(("metric", "meaning"), ((f"`{k}`", v) for k, v in schema.METRICS.items())),
        TESTS,
        _grid(("test", "meaning"), ((f"`{k}`", v) for k, v in schema.TESTS.items())),
    ]
    return "\n".join(parts)


_WRITTEN = {*schema.LAKE, "runs"}


def _tables(tables: Mapping[str, pa.Schema]) -> Iterable[str]:
    for name, table in tables.items():
        yield f"### {name}\n"
        yield _grid(("column", "type", "meaning"), _rows(table, ""))


def _rows(fields: Iterable[pa.Field], prefix: str) -> Iterable[tuple[str, str, str]]:
    """One row for each column, then one for each field of the structs in it."""
    for field in fields:
        name, inner = f"{prefix}{field.name}", _record(field.type)
        kind = "list of records" if inner else str(field.type)
        yield f"`{name}`", kind, schema.meaning(field)
        yield from _rows(inner, f"{name}.")


def _record(kind: pa.DataType) -> list[pa.Field]:
    """Fields of the struct that a column lists, none for any other column."""
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return list(kind.value_type)
    return []


def _grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    cells = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)


def main() -> None:
    """Write the page."""
    PAGE.write_text(render(), encoding="utf-8")
    print(PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE)


if __name__ == "__main__":
    main()
