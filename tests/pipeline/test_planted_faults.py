"""The table of differences names what `crisp synth` planted, first."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from crisp.options import AggregateOptions, EngineOptions, IngestOptions, ReportOptions
from crisp.pipeline.diff import Side, diff
from crisp.pipeline.engines import engine
from crisp.synth import SynthOptions, parse_fault, write
from tests.running import analysed

SLOW = "slow:factor=1.5,fraction=0.5"
CASES = [
    *((SLOW, seed) for seed in range(4)),
    *((kind, seed) for kind in ("serialise:", "retry-storm:", "cold-cache:") for seed in (0, 1)),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seed"), CASES, ids=[f"{kind.partition(':')[0]}-{seed}" for kind, seed in CASES]
)
def test_the_first_row_lies_on_a_planted_path(kind: str, seed: int, tmp_path: Path) -> None:
    """Half of the requests have the fault; those before it are compared with those after."""
    options = SynthOptions(
        day=date(2022, 1, 1),
        traces=1_000,
        endpoints=3,
        spans=60,
        seed=seed,
        faults=(parse_fault(kind),),
    )
    write(options, tmp_path / "in")
    (fault,) = json.loads((tmp_path / "in" / "_truth.json").read_text(encoding="utf-8"))["faults"]
    first_us = fault["from_us"]
    for name, window in (
        ("before", IngestOptions(end_us=first_us)),
        ("after", IngestOptions(start_us=first_us)),
    ):
        analysed([tmp_path / "in"], tmp_path / name, ingest=window)
    with_duckdb = EngineOptions(workers=1)
    found = diff(
        Side(out=tmp_path / "before"),
        Side(out=tmp_path / "after"),
        tmp_path / "d",
        lambda: engine(tmp_path / "d", with_duckdb),
        shared=tmp_path / "d",
        scratch=tmp_path / "d",
        options=AggregateOptions(),
        report=ReportOptions(),
        generated_us=0,
    )
    (row,) = (
        row
        for row in found.changed
        if f"{row.after.service}::{row.after.operation}" == fault["endpoint"]
    )
    chain = list(row.path)
    assert row.path_us > 0
    if kind.startswith("slow"):
        assert chain in fault["paths"]
    else:  # what was planted is a call, and what takes the time is what it does
        assert any(chain[: len(path)] == path for path in fault["paths"]), (chain, fault["paths"])
