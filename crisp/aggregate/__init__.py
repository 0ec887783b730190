"""From one row a trace to the tables that are shown (DESIGN section 7).

The reduce step is SQL, one file a table, in the dialect that DuckDB and Spark share. This
package holds the text and the small tables it joins with; `crisp.pipeline.marts` runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files

import pyarrow as pa

from crisp import arrow
from crisp.options import MICROSECONDS_PER_DAY

EDGES = pa.schema([("band", pa.int64()), ("lo", pa.int64()), ("hi", pa.int64())])
BINS = pa.schema([("lo", pa.int64()), ("hi", pa.int64())])
_DAYS = pa.schema([("day", pa.string()), ("start_us", pa.int64()), ("end_us", pa.int64())])
_LIMITS = pa.schema([(name, pa.int64()) for name in ("exemplars", "kept", "reach")])
_REACH = 20
"""Entry endpoints named for each interior endpoint."""

_MILLION = 1_000_000
_PER_DECADE, _DECADES = 10, 19


def sql(name: str) -> str:
    """The text of ``crisp/aggregate/NAME.sql``."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def band_edges(percentiles: Sequence[float]) -> pa.Table:
    """Bands between neighbouring percentiles, edges in millionths of a percent."""
    whole = [round(edge * _MILLION) for edge in percentiles]
    return _table({"band": range(len(whole) - 1), "lo": whole[:-1], "hi": whole[1:]}, EDGES)


def histogram_bins() -> pa.Table:
    """Whole-numbered bins, ten a decade: 0, 1, 2, … 8, 10, 13, 16, 20, …, 2^63 - 1.

    Edges are 10^(k/10), rounded; whole numbers make the counts exact on every engine.
    """
    edges = {round(10 ** (k / _PER_DECADE)) for k in range(_PER_DECADE * _DECADES)}
    ordered = [0, *sorted(edge for edge in edges if edge < 2**63), 2**63 - 1]
    return _table({"lo": ordered[:-1], "hi": ordered[1:]}, BINS)


def day_edges(days: Sequence[str]) -> pa.Table:
    """UTC days with their first microsecond and the first one after them."""
    starts = [
        int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1_000_000 for day in days
    ]
    ends = [start + MICROSECONDS_PER_DAY for start in starts]
    return _table({"day": days, "start_us": starts, "end_us": ends}, _DAYS)


def limits(exemplars: int, kept: int) -> pa.Table:
    """How many examples are kept of each call path, how many traces of each endpoint whole, and how
    many entries are named for each interior endpoint."""
    return _table({"exemplars": [exemplars], "kept": [kept], "reach": [_REACH]}, _LIMITS)


def _table(columns: Mapping[str, Sequence[object]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches([arrow.batch(columns, schema)])
