"""From a window of the lake to a model of each endpoint."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from crisp import __version__, arrow, schema, store
from crisp.aggregate import day_edges
from crisp.anomaly.model import EndpointModel, fit_models, model_rows, models_of
from crisp.engine import Engine
from crisp.errors import LakeError
from crisp.locations import Location, join
from crisp.options import TrainOptions
from crisp.pipeline.cells import (
    EXCLUDED,
    EndpointShard,
    endpoint_shards,
    read_parents,
    read_rows,
    read_vectors,
)
from crisp.pipeline.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What was made, by what serves and how the networks came about."""

    day: str
    endpoints: int
    traces: int
    serves: dict[str, int]
    trained: dict[str, int]


def train(
    lake: Location,
    models: Location,
    shown: Window,
    engine: Engine,
    options: TrainOptions,
    *,
    left_out: Mapping[int, Sequence[str]],
) -> Trained:
    """Fit a model of each endpoint to the days of ``lake`` in ``shown``, and keep them in
    ``models`` as those of its last day.

    Networks of the newest models before are kept or taken as a start. ``left_out`` names days of
    endpoints that are not to be taken for normal.

    Raises:
        ConfigError: the options ask for a network, and torch is not installed.
        LakeError: the options ask for all call paths, and the lake holds critical paths only.
    """
    day = shown.days[-1]
    earlier = store.newest_before(models, day)
    with (
        store.reading(lake, shown.days) as versions,
        store.reading(models, [earlier] if earlier else []) as before,
        store.staging(models) as folder,
    ):
        shards = endpoint_shards(
            engine,
            lake,
            versions,
            folder,
            features=options.features,
            charge_callee=options.charge_callee,
            most=options.most_traces,
            excluded=_excluded(left_out),
        )
        first = [shard for shard in shards if not shard.part]
        step = partial(
            fit_shard,
            options=options,
            days=(shown.days[0], day),
            before=tuple(_models(models, before)),
            threads=max(1, len(os.sched_getaffinity(0)) // max(1, len(first))),
        )
        made = engine.map(first, step, {"models": schema.MODELS})["models"]
        version = join(folder, day)
        engine.write(made, join(version, "models"), ("endpoint_id",))
        counts = engine.collect(
            engine.sql(
                _COUNTED,
                _COUNTS,
                models=engine.read(store.written(join(version, "models")), _BRIEF),
            )
        ).to_pylist()
        record = {
            "crisp_version": __version__,
            "days": shown.days,
            "versions": versions,
            "options": asdict(options),
            "before": earlier,
            "endpoints": sum(row["endpoints"] for row in counts),
        }
        store.commit(models, day, version, record)
    return _trained(day, counts)


_BRIEF = pa.schema([schema.MODELS.field(name) for name in ("serves", "trained", "traces")])
_COUNTS = pa.schema(
    [
        *(_BRIEF.field(name) for name in ("serves", "trained")),
        *((name, pa.int64()) for name in ("endpoints", "traces")),
    ]
)
_COUNTED = """
SELECT serves, trained, count(*) AS endpoints, sum(traces) AS traces
FROM models GROUP BY serves, trained
"""


def _trained(day: str, counts: Sequence[Mapping[str, Any]]) -> Trained:
    by: dict[str, dict[str, int]] = {"serves": {}, "trained": {}}
    for row in counts:
        for what, names in by.items():
            names[row[what]] = names.get(row[what], 0) + row["endpoints"]
    return Trained(
        day=day,
        endpoints=sum(row["endpoints"] for row in counts),
        traces=sum(row["traces"] for row in counts),
        serves=dict(sorted(by["serves"].items())),
        trained=dict(sorted(by["trained"].items())),
    )


def _models(models: Location, versions: Mapping[str, str]) -> Iterator[str]:
    for day, version in versions.items():
        yield from store.files(models, day, "models", version)


def _excluded(left_out: Mapping[int, Sequence[str]]) -> pa.Table:
    pairs = [(endpoint, day) for endpoint, days in sorted(left_out.items()) for day in sorted(days)]
    edges = day_edges([day for _, day in pairs])
    columns = {
        "endpoint_id": [endpoint for endpoint, _ in pairs],
        "start_us": arrow.numbers(edges["start_us"].combine_chunks()) if pairs else [],
        "end_us": arrow.numbers(edges["end_us"].combine_chunks()) if pairs else [],
    }
    return pa.Table.from_batches([arrow.batch(columns, EXCLUDED)])


def fit_shard(
    shard: EndpointShard,
    options: TrainOptions,
    days: tuple[str, str],
    before: tuple[str, ...],
    threads: int,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The models of the endpoints of a shard. Models before that cannot be read, because they are
    damaged or of another version, are no start: these networks begin anew."""
    earlier: dict[int, EndpointModel] = {}
    with suppress(LakeError):
        earlier = shard_models(shard, before)
    fitted = fit_models(
        read_vectors(shard),
        options,
        parents=read_parents(shard),
        days=days,
        before=earlier,
        threads=threads,
    )
    for model in fitted:  # a row each: they are large
        yield "models", model_rows([model])


def shard_models(shard: EndpointShard, files: Sequence[str]) -> dict[int, EndpointModel]:
    """The models in ``files`` of the endpoints of a shard, by endpoint.

    Raises:
        LakeError: they are damaged or of another version.
    """
    rows = read_rows(files, schema.MODELS, [shard.endpoints])
    return {model.endpoint_id: model for model in models_of(rows)}
