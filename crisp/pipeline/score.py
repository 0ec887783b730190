"""From a day of the lake and the models before it to scores of traces and shifts of endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from crisp import __version__, arrow, schema, store
from crisp.anomaly import vocabulary
from crisp.anomaly.calibration import Calibration, least_calibration
from crisp.anomaly.endpoint import EndpointModel
from crisp.anomaly.fleet import over_fleet
from crisp.anomaly.vectors import Ints, Vectors
from crisp.anomaly.windows import AbnormalCounts, shifts
from crisp.engine import Engine, Table
from crisp.errors import LakeError
from crisp.locations import Location, join
from crisp.options import AlertOptions
from crisp.pipeline.cells import (
    EndpointShard,
    endpoint_shards,
    read_parents,
    read_rows,
    read_vectors,
)
from crisp.pipeline.train import shard_models

_NIGHT = {"scores": schema.SCORES, "shifts": schema.SHIFTS}
_ORDER = {
    "scores": ("endpoint_id", "start_us", "tree_id"),
    "shifts": ("endpoint_id", "path_id", "test"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredNight:
    """What a day was judged by, and what came of it."""

    day: str
    model_day: str | None
    """last day of the models' window; None: there were none, and nothing was judged"""
    endpoints: int
    """with a model and traces on the day"""
    unjudged: int
    """endpoints with traces on the day and no model"""
    traces: int
    """scored"""
    abnormal: int
    unsaid: int
    """of the traces, those of which no p-value can be as small as alpha, since too few traces
    calibrate it: only a path never seen may make them abnormal"""
    endpoints_unsaid: int
    """endpoints of these"""
    calibration_needed: int
    """traces that it takes; 0 where nothing was judged"""
    changed: int
    """endpoints"""


def score(
    lake: Location,
    models: Location,
    scores: Location,
    day: str,
    engine: Engine,
    options: AlertOptions,
    *,
    model_day: str | None = None,
) -> ScoredNight:
    """Judge the traces of ``day`` by the newest models before it, or those of ``model_day``.

    Models of the day itself have seen its traces, so they are used only when asked for.

    Raises:
        LakeError: the lake does not hold the day, there are no models of ``model_day``, or they
            are damaged or of another version.
    """
    used = model_day or store.newest_before(models, day)
    if model_day is not None and model_day not in store.days(models):
        there = ", ".join(store.days(models)) or "none"
        raise LakeError(f"{models}: no models of {model_day}; there are {there}")
    with (
        store.reading(lake, [day]) as versions,
        store.reading(models, [used] if used else []) as fitted,
        store.staging(scores) as folder,
    ):
        tables: dict[str, Table] = {
            name: engine.table(table.empty_table()) for name, table in _NIGHT.items()
        }
        total = needed = 0
        judges = _JUDGES.empty_table()
        if used:
            trained = store.run_record(models, used, fitted[used])
            about = trained["options"]
            shards = endpoint_shards(
                engine,
                lake,
                versions,
                folder,
                features=about["features"],
                charge_callee=about["charge_callee"],
                most=about["most_traces"],
            )
            files = tuple(store.files(models, used, "models", fitted[used]))
            judges = read_rows(files, _JUDGES)
            _check_whole(models, used, judges.num_rows, trained["endpoints"])
            step = partial(score_shard, models=files, options=options)
            tables = engine.map(shards, step, _NIGHT | {"unjudged": _UNJUDGED})
            total = _count(engine, tables.pop("unjudged"))
            needed = least_calibration(about["alpha"])
        found = over_fleet(engine.collect(tables["shifts"]), options)
        tables["shifts"] = engine.table(found)
        version = join(folder, day)
        for name, table in tables.items():
            engine.write(table, join(version, name), _ORDER[name])
        written = engine.read(store.written(join(version, "scores")), _BRIEF)
        query = _COUNTED.format(needed=needed)
        counted = engine.sql(query, _COUNTS, scores=written, models=engine.table(judges))
        counts = engine.collect(counted).to_pylist()[0]
        record = {
            "crisp_version": __version__,
            "days": [day],
            "versions": versions,
            "model_day": used,
            "models": fitted.get(used or ""),
            "options": asdict(options),
        }
        changed = {
            row["endpoint_id"]
            for row in found.select(["endpoint_id", "changed"]).to_pylist()
            if row["changed"]
        }
        result = ScoredNight(
            day=day,
            model_day=used,
            unjudged=total,
            changed=len(changed),
            calibration_needed=needed,
            **counts,
        )
        store.commit(scores, day, version, {**record, "counts": asdict(result)})
    return result


def _check_whole(models: Location, day: str, found: int, made: int) -> None:
    """Part of the models would judge part of the endpoints, and nobody would know."""
    if found != made:
        raise LakeError(
            f"{models}: of the {made} models of {day} {found} are there; run crisp"
            f" train --date {day} again"
        )


_UNJUDGED = pa.schema([("endpoint_id", pa.int64())])
_BRIEF = pa.schema([schema.SCORES.field(name) for name in ("endpoint_id", "abnormal")])
_JUDGES = pa.schema(
    [schema.MODELS.field(name) for name in ("endpoint_id", "profile", "calibration_rows")]
)
_COUNTS = pa.schema(
    [
        (name, pa.int64())
        for name in ("endpoints", "traces", "abnormal", "unsaid", "endpoints_unsaid")
    ]
)
_COUNTED = """
SELECT
    count(DISTINCT s.endpoint_id) AS endpoints, count(*) AS traces,
    coalesce(sum(CASE WHEN s.abnormal THEN 1 ELSE 0 END), 0) AS abnormal,
    count(few.endpoint_id) AS unsaid, count(DISTINCT few.endpoint_id) AS endpoints_unsaid
FROM scores AS s
LEFT JOIN (
    SELECT endpoint_id FROM models WHERE calibration_rows < {needed} AND profile <> 'paper'
) AS few ON few.endpoint_id = s.endpoint_id
"""
"""The p-values of profile paper have no floor."""
_ROWS = pa.schema([("rows", pa.int64())])


def _count(engine: Engine, table: Table) -> int:
    query = "SELECT count(DISTINCT endpoint_id) AS rows FROM these"
    found: int = engine.collect(engine.sql(query, _ROWS, these=table)).to_pylist()[0]["rows"]
    return found


def score_shard(
    shard: EndpointShard, models: Sequence[str], options: AlertOptions
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Scores of the traces of a shard, and shifts of its endpoints: these of share 0, a sample."""
    known = shard_models(shard, models)
    parents = read_parents(shard)
    for today in read_vectors(shard):
        model = known.get(today.endpoint_id)
        if model is None:
            yield "unjudged", arrow.batch({"endpoint_id": [today.endpoint_id]}, _UNJUDGED)
            continue
        scored = model.score(today)
        yield "scores", scored
        if not shard.part:
            counts = _abnormal(scored, model.calibration)
            above = callers(model, today, parents)
            yield "shifts", shifts(model.reference, today, above, counts, options)


def callers(model: EndpointModel, today: Vectors, parents: tuple[Ints, Ints]) -> dict[int, int]:
    """The path above each path of both sides: a day does not know the paths that it lacks, and
    rare ones have to be folded on both sides alike."""
    found: dict[int, int] = {}
    for paths, above in (model.callers, vocabulary.callers(today.path_id, parents)):
        found.update(zip(paths.tolist(), above.tolist(), strict=True))
    return found


def _abnormal(scored: pa.RecordBatch, calibration: Calibration) -> AbnormalCounts:
    """How many traces have a small p, and how many calibration rows would."""
    p = np.array(scored["p"].to_pylist(), np.float64)
    said = p[~np.isnan(p)]  # null where nothing can be said
    return AbnormalCounts(
        k_test=int(calibration.small(said).sum()),
        n_test=len(said),
        k_cal=calibration.rank,
        n_cal=len(calibration.scores),
    )
