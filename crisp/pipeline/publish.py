"""From marts to the site."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crisp import arrow, schema, store
from crisp.errors import LakeError
from crisp.report.pages import bundle, check_jaeger_url
from crisp.report.site import Site, write_site


def latest_mart(marts: Path, day: str | None) -> str:
    """The window to show: that ending on ``day``, or the newest.

    Raises:
        LakeError: there is none.
    """
    days = store.days(marts)
    if not days:
        raise LakeError(f"{marts}: no marts there; run crisp aggregate first")
    if day is not None and day not in days:
        raise LakeError(f"{marts}: no window ends on {day}; there are {', '.join(days)}")
    return day or days[-1]


def load_marts(marts: Path, day: str) -> dict[str, pa.Table]:
    """All tables of a window, in memory."""
    tables = {}
    for name, table in schema.MARTS.items():
        if name == "runs":
            tables[name] = _runs(store.run_record(marts, day)["runs"])
            continue
        found = pa.concat_tables([_rows(file) for file in store.files(marts, day, name)])
        schema.check(name, found.schema, table)
        tables[name] = found.select(table.names).cast(table)
    return tables


def _rows(file: str) -> pa.Table:
    try:
        return pq.ParquetFile(file).read()
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise LakeError(f"{file}: damaged ({reason}); run crisp aggregate again") from error


def _runs(records: list[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_batches([arrow.rows(records, schema.RUNS)])


def check_site(jaeger_url: str | None) -> None:
    """Find out early what would keep a site from being written.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
        CrispError: the front end was never built.
    """
    check_jaeger_url(jaeger_url)
    bundle()


def report(
    marts: Path,
    site: Path,
    *,
    day: str | None,
    title: str,
    generated_us: int,
    jaeger_url: str | None,
) -> Site:
    """Write the site of a window and put it at ``site`` in one step."""
    tables = load_marts(marts, latest_mart(marts, day))
    if not tables["fleet"].num_rows:
        raise LakeError(f"{marts}: the window holds no analysed trace")
    site.parent.mkdir(parents=True, exist_ok=True)
    with store.staging(site.parent) as folder:
        new = folder / site.name
        new.mkdir()
        written = write_site(
            tables, new, title=title, generated_us=generated_us, jaeger_url=jaeger_url
        )
        store.swap_folder(new, site)
    return Site(index=site / "index.html", pages=written.pages, bytes=written.bytes)
