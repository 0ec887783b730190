"""What the anomaly stages have written, for those who show it or go on from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pyarrow as pa

from crisp import arrow, schema, store
from crisp.anomaly.calibration import least_calibration
from crisp.locations import Location
from crisp.options import AlertOptions, TrainOptions
from crisp.pipeline.cells import Wanted, read_rows
from crisp.pipeline.places import Places
from crisp.report.anomalies import HISTORY, STRIP_NIGHTS, Anomalies

_LOOKED_AT = ([("p", "<=", 0.05)], [("abnormal", "==", True)])
"""Traces with a larger p are nothing to look at."""
_BRIEF = pa.schema([f for f in schema.MODELS if f.name not in {"about", "tensors"}])


def load_anomalies(where: Places, day: str) -> Anomalies | None:
    """The newest night up to ``day`` that was judged; None where none was."""
    judged = [night for night in readable(where.alerts) if night <= day]
    if not judged:
        return None
    night = judged[-1]
    first = str(date.fromisoformat(night) - timedelta(days=STRIP_NIGHTS - 1))
    nights = [each for each in judged if each >= first]
    scored = night in readable(where.scores)
    used = str(store.run_record(where.scores, night)["model_day"]) if scored else ""
    known = used in readable(where.models)
    trained = store.run_record(where.models, used)["options"] if known else {}
    return Anomalies(
        day=night,
        nights=tuple(nights),
        options=AlertOptions(**store.run_record(where.alerts, night)["options"]),
        alerts=of_night(where.alerts, night, "alerts", schema.ALERTS),
        shifts=(
            of_night(where.scores, night, "shifts", schema.SHIFTS)
            if scored
            else schema.SHIFTS.empty_table()
        ),
        scores=(
            of_night(where.scores, night, "scores", schema.SCORES, _LOOKED_AT)
            if scored
            else schema.SCORES.empty_table()
        ),
        models=(of_night(where.models, used, "models", _BRIEF) if known else _BRIEF.empty_table()),
        history=history(where.alerts, nights, HISTORY),
        calibration_needed=least_calibration(trained.get("alpha", TrainOptions().alpha)),
    ).trimmed()


def readable(root: Location) -> list[str]:
    """Days of a root that this version can read."""
    return [day for day in store.days(root) if store.is_readable(root, day)]


def of_night(
    root: Location, night: str, table: str, columns: pa.Schema, wanted: Wanted | None = None
) -> pa.Table:
    """The wanted rows of a night's table, in some of its columns."""
    with store.reading(root, [night]) as versions:
        return read_rows(store.files(root, night, table, versions[night]), columns, wanted)


def history(alerts: Location, nights: Sequence[str], columns: pa.Schema) -> pa.Table:
    """Alerts of some nights in ``columns``, the first of which is their ``date``."""
    kept = pa.schema(list(columns)[1:])
    parts = []
    for night in nights:
        rows = of_night(alerts, night, "alerts", kept)
        dates = arrow.constant(night, rows.num_rows)
        parts.append(rows.add_column(0, columns.field("date"), dates))
    return pa.concat_tables([columns.empty_table(), *parts])
