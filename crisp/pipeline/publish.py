"""From marts to the site."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crisp import arrow, schema, store
from crisp.errors import ConfigError, LakeError
from crisp.locations import Location, filesystem, is_url, plain
from crisp.options import ReportOptions
from crisp.pipeline.anomalies import load_anomalies
from crisp.pipeline.places import Places
from crisp.report.pages import bundle, check_jaeger_url, forward
from crisp.report.single import single_page
from crisp.report.site import Site, write_site
from crisp.store.publishing import publish


def latest_mart(marts: Location, day: str | None) -> str:
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


def load_marts(marts: Location, day: str) -> dict[str, pa.Table]:
    """All tables of a window, in memory."""
    with store.reading(marts, [day]) as versions:
        of = versions[day]
        tables = {
            name: _mart(store.files(marts, day, name, of), name)
            for name in schema.MARTS
            if name != "runs"
        }
        return {**tables, "runs": _runs(store.run_record(marts, day, of)["runs"])}


def fleet_before(marts: Location, day: str) -> pa.Table | None:
    """The fleet of the newest window that ends before the one that ends on ``day`` begins; None
    where there is none, or it cannot be read: it only says what changed since."""
    first = store.run_record(marts, day)["days"][0]
    earlier = [end for end in store.days(marts) if end < first]
    if not earlier:
        return None
    with suppress(LakeError), store.reading(marts, [earlier[-1]]) as versions:
        return _mart(store.files(marts, earlier[-1], "fleet", versions[earlier[-1]]), "fleet")
    return None


def _mart(files: Sequence[str], name: str) -> pa.Table:
    table = schema.MARTS[name]
    if not files:
        raise LakeError(f"the marts have no table {name}; run crisp aggregate again")
    found = pa.concat_tables([_rows(file) for file in files])
    schema.check(name, found.schema, table)
    return found.select(table.names).cast(table)


def _rows(file: str) -> pa.Table:
    try:
        if not is_url(file):
            return pq.ParquetFile(file).read()
        system, path = filesystem(file)
        return pq.ParquetFile(pa.BufferReader(system.cat_file(path))).read()
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise LakeError(f"{file}: damaged ({reason}); run crisp aggregate again") from error


def _runs(records: list[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_batches([arrow.rows(records, schema.RUNS)])


def check_site(options: ReportOptions) -> None:
    """Find out early what would keep a site from being written.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
        CrispError: the front end was never built.
    """
    check_jaeger_url(options.jaeger_url)
    bundle()


def report_endpoint(
    where: Places,
    file: Location,
    *,
    service: str | None,
    operation: str | None,
    day: str | None,
    generated_us: int,
    options: ReportOptions,
) -> int:
    """Write the page of one endpoint, with all that it needs, into one file; bytes written.

    The file appears whole or not at all.

    Raises:
        ConfigError: ``service`` and ``operation`` do not choose just one endpoint, or ``file`` is a
            folder.
    """
    check_site(options)
    shown = latest_mart(where.marts, day)
    html = single_page(
        load_marts(where.marts, shown),
        service=service,
        operation=operation,
        title=options.title,
        generated_us=generated_us,
        jaeger_url=options.jaeger_url,
        owners=options.owners,
        anomalies=load_anomalies(where, shown),
    ).encode()
    if is_url(file):
        system, path = filesystem(file)
        system.pipe_file(path, html)
    else:
        _replace(Path(plain(file)), html)
    return len(html)


def _replace(file: Path, content: bytes) -> None:
    if file.is_dir():
        raise ConfigError(f"{file}: is a folder; name a file")
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".crisp-{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def report(
    where: Places,
    *,
    scratch: Path,
    day: str | None,
    generated_us: int,
    options: ReportOptions,
) -> Site:
    """Write the site of a window under ``scratch``, on the same disk as a site of this machine,
    and put it where it belongs in one step.

    Without a ``day`` it is the newest window, also when that came while another was written.
    """
    marts = where.marts
    while True:
        shown = latest_mart(marts, day)
        version = store.version(marts, shown)
        tables = load_marts(marts, shown)
        if not tables["fleet"].num_rows:
            raise LakeError(f"{marts}: the window holds no analysed trace")
        with store.staging(scratch) as folder:
            new = Path(folder) / "site"
            new.mkdir()
            written = write_site(
                tables,
                new,
                title=options.title,
                generated_us=generated_us,
                jaeger_url=options.jaeger_url,
                owners=options.owners,
                previous=fleet_before(marts, shown),
                anomalies=load_anomalies(where, shown),
            )
            index = publish(new, where.site, forward)
        if day is not None or (latest_mart(marts, None), store.version(marts, shown)) == (
            shown,
            version,
        ):
            return Site(index=index, pages=written.pages, bytes=written.bytes)
