"""Models as rows of the table ``models`` and back: JSON and safetensors, never pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from crisp import arrow, schema
from crisp.anomaly.calibration import Calibration
from crisp.anomaly.detector import Detector, Frozen
from crisp.anomaly.drift import thaw_sketch
from crisp.anomaly.endpoint import EndpointModel, Network
from crisp.anomaly.expectation import thaw_expectation
from crisp.anomaly.frozen import Arrays, nested, packed, part, unpacked
from crisp.anomaly.gate import Candidate, Choice, Split
from crisp.anomaly.isolation import thaw_isolation
from crisp.anomaly.plain import thaw_excess, thaw_latency, thaw_pattern
from crisp.anomaly.projection import thaw_projection
from crisp.anomaly.sparse import edges_of
from crisp.anomaly.vectors import Vectors
from crisp.anomaly.vocabulary import Vocabulary
from crisp.errors import LakeError

FORMAT = 1
"""Changed whenever models written before could not be read, or would say something else."""

_THAW: Mapping[str, Callable[[Frozen], Detector]] = {
    "latency": thaw_latency,
    "excess": thaw_excess,
    "pattern": thaw_pattern,
    "pca": thaw_projection,
    "isolation": thaw_isolation,
}
_PLAIN_FIELDS = (
    "endpoint_id",
    "profile",
    "features",
    "first_day",
    "last_day",
    "traces",
    "lone",
    "trained",
    "drift",
)
_REFERENCE = ("start_us", "latency_us", "failed", "edges", "time_us", "status")


def model_rows(models: Sequence[EndpointModel]) -> pa.RecordBatch:
    """Table ``models``, a row each; the same models give the same bytes."""
    records = [_row(model) for model in models]
    columns = {name: [record[name] for record in records] for name in schema.MODELS.names}
    columns["candidates"] = _lists(columns["candidates"])
    columns["tensors"] = _binaries(columns["tensors"])
    return arrow.batch(columns, schema.MODELS)


def _lists(candidates: Sequence[Sequence[Candidate]]) -> pa.Array:
    all_of_them = [candidate for some in candidates for candidate in some]
    values = [
        arrow.array([getattr(each, field.name) for each in all_of_them], field.type)
        for field in schema.CANDIDATE
    ]
    edges = arrow.offsets(edges_of(np.array([len(some) for some in candidates], np.int64)))
    return pa.ListArray.from_arrays(
        edges, pa.StructArray.from_arrays(values, fields=list(schema.CANDIDATE))
    )


def _binaries(values: Sequence[bytes]) -> pa.Array:
    edges = edges_of(np.array([len(value) for value in values], np.int64))
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def _row(model: EndpointModel) -> dict[str, Any]:
    about, parts = _frozen(model)
    network = model.network
    return {
        "endpoint_id": model.endpoint_id,
        "format": FORMAT,
        "profile": model.profile,
        "features": model.features,
        "first_day": model.first_day,
        "last_day": model.last_day,
        "traces": model.traces,
        "fit_rows": model.split.fit,
        "gate_rows": model.split.gate,
        "calibration_rows": model.split.calibration,
        "paths": len(model.vocabulary.paths),
        "columns": model.vocabulary.columns,
        "new_path_rate": model.new_path_rate,
        "serves": model.choice.serves,
        "reason": model.choice.reason,
        "candidates": model.choice.candidates,
        "trained": model.trained,
        "trained_day": network.trained_day if network else "",
        "drift": model.drift,
        "about": json.dumps(about, sort_keys=True, allow_nan=False),
        "tensors": packed(nested(parts)),
    }


def _frozen(model: EndpointModel) -> tuple[dict[str, Any], dict[str, Arrays]]:
    about: dict[str, Any] = {name: getattr(model, name) for name in _PLAIN_FIELDS}
    about["split"] = asdict(model.split)
    about["alpha"], about["density"] = model.calibration.alpha, model.calibration.density
    about["choice"] = asdict(model.choice)
    pieces = {f"plain.{detector.name}": detector.freeze() for detector in model.plain}
    pieces["expectation"] = model.expectation.freeze()
    pieces["vocabulary"] = _frozen_vocabulary(model.vocabulary)
    if model.network is not None:
        network = model.network
        about["network"] = {"kind": network.kind, "trained_day": network.trained_day}
        pieces["network.vae"] = network.frozen
        pieces["network.vocabulary"] = _frozen_vocabulary(network.vocabulary)
        pieces["network.sketch"] = network.sketch.freeze()
    about["parts"] = {name: piece.about for name, piece in pieces.items()}
    parts: dict[str, Arrays] = {name: piece.arrays for name, piece in pieces.items()}
    parts["model"] = {"known": model.known, "calibration": model.calibration.scores}
    paths, above = model.callers
    parts["callers"] = {"paths": paths, "above": above}
    parts["reference"] = _frozen_reference(model.reference)
    return about, parts


def _frozen_vocabulary(vocabulary: Vocabulary) -> Frozen:
    names = ("paths", "column", "folded_parent", "keys")
    arrays = {name: getattr(vocabulary, name) for name in names}
    return Frozen(about={"columns": vocabulary.columns}, arrays=arrays)


def _frozen_reference(reference: Vectors) -> Arrays:
    """Without ids; paths are numbers of a list, since there are many cells and few paths."""
    paths, place = np.unique(reference.path_id, return_inverse=True)
    arrays = {name: getattr(reference, name) for name in _REFERENCE}
    return {**arrays, "paths": paths, "place": place}


def models_of(table: pa.Table) -> list[EndpointModel]:
    """The models of a table ``models``, in its order.

    Raises:
        LakeError: one is of another format.
    """
    found = sorted(set(table["format"].to_pylist()) - {FORMAT})
    if found:
        raise LakeError(
            f"models of format {', '.join(map(str, found))}, but this version of crisp reads format"
            f" {FORMAT}: run crisp train again, which replaces them, or the version that wrote them"
        )
    rows = table.select(["about", "tensors"]).to_pylist()
    return [_thawed(json.loads(row["about"]), unpacked(row["tensors"])) for row in rows]


def _thawed(about: Mapping[str, Any], arrays: Arrays) -> EndpointModel:
    def piece(name: str) -> Frozen:
        return Frozen(about=about["parts"][name], arrays=part(arrays, name))

    held = part(arrays, "model")
    above = part(arrays, "callers")
    choice = about["choice"]
    candidates = tuple(Candidate(**candidate) for candidate in choice["candidates"])
    return EndpointModel(
        **{name: about[name] for name in _PLAIN_FIELDS},
        split=Split(**about["split"]),
        vocabulary=_vocabulary(piece("vocabulary")),
        known=held["known"],
        plain=tuple(thaw(piece(f"plain.{name}")) for name, thaw in _THAW.items()),
        network=_network(about["network"], piece) if "network" in about else None,
        expectation=thaw_expectation(piece("expectation")),
        calibration=Calibration(
            scores=held["calibration"], alpha=about["alpha"], density=about["density"]
        ),
        choice=Choice(serves=choice["serves"], reason=choice["reason"], candidates=candidates),
        reference=_reference(about["endpoint_id"], part(arrays, "reference")),
        callers=(above["paths"], above["above"]),
    )


def _network(about: Mapping[str, Any], piece: Callable[[str], Frozen]) -> Network:
    return Network(
        frozen=piece("network.vae"),
        kind=about["kind"],
        vocabulary=_vocabulary(piece("network.vocabulary")),
        sketch=thaw_sketch(piece("network.sketch")),
        trained_day=about["trained_day"],
    )


def _vocabulary(frozen: Frozen) -> Vocabulary:
    return Vocabulary(columns=frozen.about["columns"], **dict[str, Any](frozen.arrays))


def _reference(endpoint_id: int, arrays: Arrays) -> Vectors:
    n = len(arrays["start_us"])
    return Vectors(
        endpoint_id=endpoint_id,
        tree_id=np.arange(n),
        trace_id=[""] * n,
        root_span_id=[""] * n,
        start_us=arrays["start_us"],
        latency_us=arrays["latency_us"],
        failed=arrays["failed"],
        edges=arrays["edges"],
        path_id=arrays["paths"][arrays["place"]],
        time_us=arrays["time_us"],
        status=arrays["status"].astype(np.int8),
    )
