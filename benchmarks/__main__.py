"""`make bench`: the main job on synthetic traces of about 92 KB, beside `json.load`.

Machines differ and are noisy, so every figure stands beside the same bytes read by the standard
library in the same run; that ratio is what is compared with the recorded one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import site, spark
from benchmarks.measure import Usage, watch
from crisp.synth import SynthOptions, write

RECORDED = Path(__file__).with_name("recorded.json")
DATA = Path("build/bench")
DAY = date(2026, 11, 20)
SIZES = (2_000, 10_000)

_JSON_LOAD = """
import json, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jsonl")):
    with path.open("rb") as lines:
        for line in lines:
            json.loads(line)
"""


_MAP = """
import sys, tempfile
from functools import partial
from pathlib import Path
from crisp.engine.pool import map_shards
from crisp.ingest.sources import find, shards
from crisp.options import IngestOptions, PathOptions
from crisp.pipeline.mapping import MAPPED, map_shard
work = shards(find([sys.argv[1]]))
step = partial(map_shard, ingest=IngestOptions(), path=PathOptions())
with tempfile.TemporaryDirectory() as folder:
    map_shards(work, step, MAPPED, Path(folder), 1, lambda size: None)
"""
"""The map step alone: reading, critical paths, rows; one process, nothing merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    case: str
    traces: int
    spans: int
    mb: float
    usage: Usage
    times_json: float
    """MB per CPU second, as a multiple of `json.load`'s on the same bytes"""

    @property
    def speed(self) -> float:
        """MB per CPU second."""
        return self.mb / self.usage.cpu_s


def main() -> None:
    """Measure, print, and compare with or replace the recorded figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--record", action="store_true", help="keep the figures of this run")
    parser.add_argument("--traces", type=int, nargs="+", default=SIZES, help="sizes to measure")
    parser.add_argument("--site", action="store_true", help="only the pages of the site")
    arguments = parser.parse_args()
    if arguments.site:
        site.show(site.measure())
        return
    rows = [row for traces in arguments.traces for row in measure(traces)]
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    show(rows, recorded)
    spark.show(
        [
            row
            for traces, mb in {row.traces: row.mb for row in rows}.items()
            for row in spark.measure(_folder(traces), mb)
        ]
    )
    site.show(site.measure())
    if arguments.record:
        kept = {f"{row.case} {row.traces}": _figures(row) for row in rows}
        RECORDED.write_text(json.dumps(recorded | kept, indent=1, sort_keys=True) + "\n")


def measure(traces: int) -> list[Row]:
    """`json.load`, the map step, `crisp analyse` and `crisp run` on ``traces`` traces."""
    folder = _folder(traces)
    written = write(SynthOptions(day=DAY, traces=traces), folder, workers=2)
    out = DATA / f"out-{traces}"
    crisp = str(Path(sys.executable).with_name("crisp"))
    commands = {
        "json.load": [sys.executable, "-c", _JSON_LOAD, str(folder)],
        "map step": [sys.executable, "-c", _MAP, str(folder)],
        "analyse": [crisp, "analyse", str(folder), "-o", str(out), "--json"],
        "run": [crisp, "run", str(folder), "-o", str(out), "--json"],
    }
    rows: list[Row] = []
    for case, command in commands.items():
        shutil.rmtree(out, ignore_errors=True)
        usage = watch(command)
        mb = written.bytes / 1e6
        reference = rows[0].speed if rows else mb / usage.cpu_s
        rows.append(
            Row(
                case=case,
                traces=traces,
                spans=written.spans,
                mb=mb,
                usage=usage,
                times_json=mb / usage.cpu_s / reference,
            )
        )
    shutil.rmtree(out, ignore_errors=True)
    return rows


def _folder(traces: int) -> Path:
    return DATA / f"traces-{traces}"


def show(rows: list[Row], recorded: dict[str, dict[str, float]]) -> None:
    """Print the table."""
    table = Table(title="the main job, start-up included", title_justify="left")
    table.add_column("case")
    columns = ("traces", "MB", "wall s", "CPU s", "MB/CPU s", "× json.load", "recorded", "spans/s")
    for heading in (*columns, "peak MB", "recorded"):
        table.add_column(heading, justify="right")
    for row in rows:
        old = recorded.get(f"{row.case} {row.traces}", {})
        table.add_row(
            row.case,
            f"{row.traces:,}",
            f"{row.mb:,.0f}",
            f"{row.usage.wall_s:.2f}",
            f"{row.usage.cpu_s:.2f}",
            f"{row.speed:.0f}",
            f"{row.times_json:.2f}",
            f"{old['times_json']:.2f}" if old else "–",
            f"{row.spans / row.usage.wall_s:,.0f}",
            f"{row.usage.peak_mb:.0f}",
            f"{old['peak_mb']:.0f}" if old else "–",
        )
    Console(width=max(Console().width, 120)).print(table)


def _figures(row: Row) -> dict[str, float]:
    figures = {name: round(value, 2) for name, value in asdict(row.usage).items()}
    return {
        **figures,
        "mb": round(row.mb),
        "mb_per_cpu_s": round(row.speed),
        "times_json": round(row.times_json, 2),
    }


if __name__ == "__main__":
    main()
