"""`python -m benchmarks.anomaly`: the protocols, a table or more each, and JSON where asked.

All of it at full size takes hours; what is in the docs was made by the commands shown there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.anomaly import detection, fault_tables, faults, nulls, power, slowdown, speed, tails
from crisp.options import AlertOptions

ROOT = Path(__file__).parent.parent.parent
DATA = ROOT.parent / "shared" / "data" / "nezha_online_boutique"
METHODS = "latency,excess,pattern,pca,isolation,mean z²,node count,hurdle,paper,default"
_PARTS = ["rates", "nights", "found", "tails", "power"]

_Result = tuple[Sequence[Any], list[str]]


def main() -> None:
    """Run the protocols that are asked for."""
    options = _arguments()
    results: dict[str, list[dict[str, Any]]] = {}
    for name in options.protocol:
        rows, tables = _PROTOCOLS[name](options)
        for text in tables:
            print(text, flush=True)
        results[name] = [asdict(row) for row in rows]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.anomaly", description=__doc__, epilog=f"Methods: {METHODS}"
    )
    add = parser.add_argument
    add("--protocol", type=_names, default=list(_PROTOCOLS), help="of P1,P2,P3,P4,speed")
    add("--services", type=_numbers, default=[1, 2, 3, 4, 5, 6], help="of Table 4.2: P1, P2, speed")
    add("--seeds", type=int, default=5, help="P1")
    add("--traces", type=int, default=20_000, help="to train on: P1, P2, speed")
    add("--methods", type=_names, default=_names(METHODS), help="a list of those below")
    add("--features", type=_names, default=["scpv", "stv"], help="P1: scpv,stv")
    add("--epochs", type=int, default=200, help="of the paper's network at most: P1, P3")
    add("--samples", type=int, default=500, help="of its importance sampling: P1, P3")
    add("--threads", type=int, default=2, help="for training networks")
    add("--windows", type=int, default=100, help="P2: windows of each kind")
    add("--data", type=Path, default=DATA, help="P3: folder of the labelled traces")
    add("--work", type=Path, help="P3: folder for the lake; kept, and used again")
    add("--endpoints", type=int, default=5_000, help="P4: endpoints of the fleet")
    add("--nights", type=int, default=200, help="P4")
    add("--noise", type=_names, default=list(nulls.NOISES), help="P4: of iid,days,bursts")
    add(
        "--parts", type=_names, default=["rates", "nights", "found", "power"], help="P4: what of it"
    )
    add("--held-out", type=int, default=20, help="P4: endpoints whose rates are measured")
    add("--json", type=Path, help="file for all figures")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _numbers(text: str) -> list[int]:
    return [int(name) for name in text.split(",")]


def _p1(options: argparse.Namespace) -> _Result:
    rows = detection.detection(
        detection.Settings(
            services=options.services,
            methods=options.methods,
            features=options.features,
            seeds=options.seeds,
            traces=options.traces,
            threads=options.threads,
            epochs=options.epochs,
            samples=options.samples,
        )
    )
    return rows, detection.tables(rows)


def _p2(options: argparse.Namespace) -> _Result:
    rows = slowdown.slowdown(
        options.services, options.methods, options.windows, options.traces, options.threads
    )
    return rows, slowdown.tables(rows)


def _p3(options: argparse.Namespace) -> _Result:
    with tempfile.TemporaryDirectory() as scratch:
        traces, windows = faults.faults(
            options.data,
            options.work or Path(scratch),
            options.methods,
            epochs=options.epochs,
            samples=options.samples,
            threads=options.threads,
        )
    return [*traces, *windows], fault_tables.tables(traces, windows)


def _p4(options: argparse.Namespace) -> _Result:
    fleet = {"endpoints": options.endpoints, "traces": 200, "options": AlertOptions()}
    rates: list[nulls.Rate] = []
    nights: list[nulls.Nights] = []
    found: list[nulls.Discovery] = []
    ends: list[tails.Tail] = []
    for noise in options.noise:
        if "rates" in options.parts:
            rates += nulls.rates(noise, options.methods, options.held_out, 6_000, options.threads)
        if "nights" in options.parts:
            nights.append(nulls.nights(noise, nights=options.nights, **fleet))
        if "found" in options.parts:
            found.append(nulls.discovery(noise, **fleet))
        if "tails" in options.parts:
            ends.append(tails.tail(noise, **fleet))
    powers = power.power(AlertOptions()) if "power" in options.parts else []
    shown = [*nulls.tables(rates, nights, found), *tails.tables(ends), *power.tables(powers)]
    return [*rates, *nights, *found, *ends, *powers], shown


def _speed(options: argparse.Namespace) -> _Result:
    fits, scores = speed.speed(
        options.services[0], options.methods, options.traces, 1_000, options.threads
    )
    return [*fits, *scores], speed.tables(fits, scores)


_PROTOCOLS: dict[str, Callable[[argparse.Namespace], _Result]] = {
    "P1": _p1,
    "P2": _p2,
    "P3": _p3,
    "P4": _p4,
    "speed": _speed,
}


if __name__ == "__main__":
    main()
