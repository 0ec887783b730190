"""Endpoints with fourteen days of traces and a night after them, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crisp.anomaly.blocks import DAY_US
from crisp.anomaly.fleet import over_fleet
from crisp.anomaly.vectors import OWN, Flags, Floats, Ints, Vectors
from crisp.anomaly.windows import AbnormalCounts, shifts
from crisp.options import AlertOptions

UNSCORED = AbnormalCounts(k_test=0, n_test=0, k_cal=0, n_cal=0)
DAYS = 14


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An endpoint: log-normal times of paths 1, 2, … that are there or not."""

    log_us: Floats
    spread: Floats
    share: Floats
    day_effect: float = 0.0
    """standard deviation of the logarithm of what a day does to all times of a path"""
    slow_spell: float = 0.0
    """share of the quarter hours in which everything takes three times as long"""
    slower: dict[int, float] = field(default_factory=dict)
    """of the night: factors of the times of paths"""
    failing: dict[int, float] = field(default_factory=dict)
    """of the night: share of requests in which a path fails; later paths are then missing"""


def shape(rng: np.random.Generator, paths: int, **changes: object) -> Shape:
    """Path 1 in all requests, half of the others in some."""
    share = np.where(rng.random(paths) < 0.5, 1.0, rng.uniform(0.05, 1, paths))
    share[0] = 1.0
    settings: dict[str, object] = {
        "log_us": rng.uniform(5, 10, paths),
        "spread": rng.uniform(0.3, 1.0, paths),
        "share": share,
    }
    return Shape(**(settings | changes))  # type: ignore[arg-type]  # as the test wishes


def draw(
    rng: np.random.Generator, made: Shape, *, reference: int = 600, today: int = 200
) -> tuple[Vectors, Vectors]:
    """Traces of fourteen days, and of the night after them."""
    paths = len(made.log_us)
    effects = made.day_effect * rng.standard_normal((DAYS + 1, paths))
    spells = rng.random((DAYS + 1) * 96) < made.slow_spell
    sides = []
    for count, first, length in ((reference, 0, DAYS), (today, DAYS, 1)):
        start = np.sort(rng.integers(first * DAY_US, (first + length) * DAY_US, count))
        logs = made.log_us + made.spread * rng.standard_normal((count, paths))
        times = np.exp(logs + effects[start // DAY_US])
        times[spells[start * 96 // DAY_US]] *= 3
        there = rng.random((count, paths)) < made.share
        own = np.zeros((count, paths), np.bool_)
        if length == 1:
            for path, factor in made.slower.items():
                times[:, path - 1] *= factor
            for path, share in made.failing.items():
                bad = rng.random(count) < share
                there[bad, path:] = False
                own[bad, path - 1] = True
        sides.append(vectors(start, times.astype(np.int64) + 1, there, own & there))
    return sides[0], sides[1]


def vectors(
    start_us: Ints, times: Ints, there: Flags, own: Flags | None = None, failed: Flags | None = None
) -> Vectors:
    """Traces in the order of their starts; path j + 1 is column j."""
    row, column = np.nonzero(there)
    status: npt.NDArray[np.int8] = np.zeros(len(row), np.int8)
    if own is not None:
        status[own[row, column]] = OWN
    n = len(start_us)
    return Vectors(
        endpoint_id=1,
        tree_id=np.arange(n),
        trace_id=[str(i) for i in range(n)],
        root_span_id=["r"] * n,
        start_us=start_us.astype(np.int64),
        latency_us=np.where(there, times, 0).sum(axis=1),
        failed=np.zeros(n, np.bool_) if failed is None else failed,
        edges=np.concatenate(([0], np.cumsum(there.sum(axis=1)))),
        path_id=column + 1,
        time_us=times[row, column],
        status=status,
    )


def compared(*pairs: tuple[Vectors, Vectors], options: AlertOptions | None = None) -> pa.Table:
    """The shifts of a fleet of these endpoints, numbered from 1, with q."""
    settings = options or AlertOptions()
    tables = []
    for number, (reference, today) in enumerate(pairs, 1):
        batch = shifts(reference, today, {}, UNSCORED, settings)
        column = pa.array([number] * batch.num_rows, pa.int64())
        tables.append(pa.Table.from_batches([batch]).set_column(0, batch.schema.field(0), column))
    return over_fleet(pa.concat_tables(tables), settings)
