"""From the shifts of a night and the alerts of the night before to alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa

from crisp import __version__, arrow, schema, store
from crisp.aggregate import sql
from crisp.anomaly.alerts import SEEN, Names, alerts_of_night, excluded_days
from crisp.anomaly.changes import Change, changes_of_night
from crisp.anomaly.fleet import over_fleet
from crisp.anomaly.silences import Silence
from crisp.engine import Engine, Table
from crisp.errors import LakeError
from crisp.locations import Location, join
from crisp.options import AlertOptions
from crisp.pipeline.anomalies import of_night, readable
from crisp.pipeline.places import Places
from crisp.pipeline.windows import Window

_I64, _TEXT = pa.int64(), pa.string()
_TREES = pa.schema(
    [
        schema.TRACES.field(name)
        for name in (
            *("tree_id", "endpoint_id", "trace_id", "root_span_id"),
            *("start_us", "latency_us", "error"),
        )
    ]
)
_WANTED = pa.schema([("endpoint_id", _I64), ("path_id", _I64)])
_P = pa.schema([schema.SCORES.field(name) for name in ("endpoint_id", "tree_id", "p")])
_NAMED = pa.schema(
    [("path_id", _I64), ("parent_id", _I64), ("service", _TEXT), ("operation", _TEXT)]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertedNight:
    """The alerts of a night, by status."""

    day: str
    compared: int
    """endpoints"""
    firing: int
    silenced: int
    resolved: int
    warnings: tuple[str, ...] = ()


def alert(
    where: Places,
    day: str,
    engine: Engine,
    options: AlertOptions,
    *,
    silences: Sequence[Silence],
) -> AlertedNight:
    """Write the alerts of ``day``, which has been scored, from its shifts and the newest alerts
    before it.

    Raises:
        LakeError: the day has not been scored.
    """
    if day not in readable(where.scores):
        raise LakeError(f"{where.scores}: {day} has not been scored; run crisp score first")
    warnings = _outdated(where, day)
    shifts = over_fleet(of_night(where.scores, day, "shifts", schema.SHIFTS), options)
    earlier = store.newest_before(where.alerts, day)
    before = of_night(where.alerts, earlier, "alerts", schema.ALERTS) if earlier else None
    changes = changes_of_night(shifts, before, options)
    differing = {found: change for found, change in changes.items() if change.differs}
    alerts = alerts_of_night(
        day,
        changes,
        _seen(where, day, engine, differing),
        before,
        names=_names(where.lake, day, engine, differing),
        silences=silences,
        options=options,
    )
    counts = dict.fromkeys(("firing", "silenced", "resolved"), 0)
    for status in alerts["status"].to_pylist():
        counts[status] += 1
    compared = len(np.unique(shifts["endpoint_id"].to_pylist()))
    result = AlertedNight(day=day, compared=compared, warnings=warnings, **counts)
    with store.staging(where.alerts) as folder:
        version = join(folder, day)
        engine.write(engine.table(alerts), join(version, "alerts"), ("service", "operation"))
        record = {
            "crisp_version": __version__,
            "days": [day],
            "options": asdict(options),
            "before": earlier,
            "counts": asdict(result),
        }
        store.commit(where.alerts, day, version, record)
    return result


def _outdated(where: Places, day: str) -> tuple[str, ...]:
    """A warning when the day is another than the one that was scored."""
    scored = store.run_record(where.scores, day)["versions"]
    now = store.version(where.lake, day) if store.is_readable(where.lake, day) else None
    if scored.get(day) == now:
        return ()
    return (f"{day} was analysed again since it was scored; run crisp score again",)


def newest_scored(scores: Location) -> str:
    """The newest day that was scored.

    Raises:
        LakeError: there is none.
    """
    days = readable(scores)
    if not days:
        raise LakeError(f"{scores}: no scores there; run crisp score first")
    return days[-1]


def _seen(where: Places, day: str, engine: Engine, changes: Mapping[int, Change]) -> pa.Table:
    """Traces to choose examples from, columns `SEEN`."""
    if not changes:
        return SEEN.empty_table()
    wanted = {
        "endpoint_id": list(changes),
        "path_id": [change.first_path for change in changes.values()],
    }
    with store.reading(where.lake, [day]) as lake, store.reading(where.scores, [day]) as scores:
        traces = engine.read(store.files(where.lake, day, "traces", lake[day]), schema.TRACES)
        scored = engine.read(store.files(where.scores, day, "scores", scores[day]), _P)
        found = engine.sql(
            sql("seen"),
            SEEN,
            trees=engine.sql(_OF_TREES, _TREES, traces=traces),
            paths=engine.explode(traces, "paths", {"tree_id": "tree_id"}),
            wanted=engine.table(pa.Table.from_batches([arrow.batch(wanted, _WANTED)])),
            scores=scored,
        )
        return engine.collect(found)


_OF_TREES = f"SELECT {', '.join(_TREES.names)} FROM traces"  # noqa: S608  # names of columns


def _names(lake: Location, day: str, engine: Engine, changes: Mapping[int, Change]) -> Names:
    """What the changed endpoints and their paths are called, from the day and those before it
    that tell: a path that is gone was only called then."""
    endpoints: dict[int, tuple[str, str]] = {}
    above: dict[int, tuple[int, str]] = {}
    missing = {row["path_id"] for change in changes.values() for row in change.rows} - {0}
    for known in sorted((each for each in readable(lake) if each <= day), reverse=True):
        if not changes or (missing <= above.keys() and changes.keys() <= endpoints.keys()):
            break
        with store.reading(lake, [known]) as versions:

            def table(name: str, known: str = known, of: str = versions[known]) -> Table:
                return engine.read(store.files(lake, known, name, of), schema.LAKE[name])

            named = table("endpoint_names")
            for row in engine.collect(named).to_pylist():
                endpoints.setdefault(row["endpoint_id"], (row["service"], row["operation"]))
            paths = engine.sql(
                sql("named_paths"), _NAMED, call_paths=table("call_paths"), endpoint_names=named
            )
            for row in engine.collect(paths).to_pylist():
                name = f"{row['service']}::{row['operation']}"
                above.setdefault(row["path_id"], (row["parent_id"], name))
    return Names(endpoints=endpoints, paths={path: _chain(path, above) for path in missing})


def _chain(path: int, above: Mapping[int, tuple[int, str]]) -> list[str]:
    names = []
    while path in above:
        path, name = above[path]
        names.append(name)
    return names[::-1]


def days_left_out(alerts: Location, shown: Window, options: AlertOptions) -> dict[int, list[str]]:
    """Days of a window on which an endpoint was not normal, by endpoint."""
    first = date.fromisoformat(shown.days[0]) - timedelta(days=options.becomes_normal_days)
    nights = {
        night: of_night(alerts, night, "alerts", schema.ALERTS)
        for night in _between(readable(alerts), str(first), shown.days[-1])
    }
    return excluded_days(nights, shown.days, options)


def _between(days: Iterable[str], first: str, last: str) -> list[str]:
    return [day for day in days if first <= day <= last]
