"""Sites of recorded and of synthetic traces, written once by the commands that people type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from crisp.pipeline.places import places
from crisp.synth import SynthOptions, parse_fault, write
from tests.conftest import ROOT
from tests.documents import Json, lines, span
from tests.report.conftest import HOSTILE
from tests.running import Row, rows

JAEGER = "https://jaeger.test/trace/{trace_id}?uiFind={span_id}"
RECORDED = ROOT / "examples" / "traces"
KINDS = (
    *("fleet", "bottom-up", "ledger"),
    *("largest endpoint", "endpoint with most traces", "endpoint of the hotel"),
    *("endpoint of the shop", "endpoint with hostile names", "endpoint with one trace"),
    *("single file", "comparisons", "comparison"),
    *("anomalies", "fleet with alerts", "endpoint with an alert"),
)
"""Of pages: what `RealSites.pages` has one of each of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSites:
    """Folders that `crisp run` wrote to, and pages of `crisp diff` and `report --single-file`."""

    shop: Path
    hotel: Path
    boutique: Path
    oddities: Path
    synth: Path
    hostile: Path
    diff: Path
    single: Path
    anomalies: Path
    """Six nights; of the last, `alert` found two endpoints slower, and one of them is silenced"""

    def pages(self) -> dict[str, Path]:
        """A page of each of `KINDS`."""
        return {
            "fleet": self.synth / "site" / "index.html",
            "bottom-up": self.synth / "site" / "bottom-up.html",
            "ledger": self.oddities / "site" / "ledger.html",
            "largest endpoint": self.largest(),
            "endpoint with most traces": endpoint_pages(self.boutique)[0],
            "endpoint of the hotel": endpoint_pages(self.hotel)[0],
            "endpoint of the shop": self.product(),
            "endpoint with hostile names": endpoint_pages(self.hostile)[0],
            "endpoint with one trace": self.thin(),
            "single file": self.single,
            "comparisons": self.diff / "index.html",
            "comparison": next(self.diff.glob("endpoint/frontend-get-product-*.html")),
            "anomalies": self.anomalies / "site" / "anomalies.html",
            "fleet with alerts": self.anomalies / "site" / "index.html",
            "endpoint with an alert": next(
                self.anomalies.glob("site/endpoint/payment-gateway-*.html")
            ),
        }

    def largest(self) -> Path:
        """The largest page of an endpoint of the synthetic traces."""
        return max(endpoint_pages(self.synth), key=lambda page: page.stat().st_size)

    def product(self) -> Path:
        """The page of the shop that six faults were planted for."""
        return next(self.shop.glob("site/endpoint/frontend-get-product-*.html"))

    def thin(self) -> Path:
        """An oddity of one trace."""
        alone = {row["endpoint_id"] for row in mart(self.oddities, "fleet") if row["traces"] == 1}
        found = endpoint_pages(self.oddities)
        return next(page for page in found if endpoint_id(page) in alone)


def endpoint_pages(out: Path) -> list[Path]:
    """Pages of the endpoints of a site, by name."""
    return sorted(out.glob("site/endpoint/*.html"))


def endpoint_id(page: Path) -> int:
    """The number in the name of a page of an endpoint."""
    return int.from_bytes(bytes.fromhex(page.stem.rpartition("-")[2]), signed=True)


def mart(out: Path, name: str) -> list[Row]:
    """Rows of a table that the site was written from."""
    return rows(places(out).marts, name)


def lake(out: Path, name: str) -> list[Row]:
    """Rows of a table that the marts were merged from."""
    return rows(places(out).lake, name)


@pytest.fixture(scope="session")
def real_sites(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSites]:
    """All of them; takes about 40 seconds."""
    folder = tmp_path_factory.mktemp("real-sites")
    (folder / "hostile.jsonl").write_bytes(lines([_hostile(n) for n in range(25)]))
    _crisp("synth", folder / "synthetic", "--traces", 10_000, "--spans", 30)
    sources: dict[str, list[Path]] = {
        "shop": sorted(RECORDED.glob("*.zst")),
        "hotel": sorted((shared_data / "traceweaver_hotel").glob("load*.json.gz")),
        "boutique": [_boutique(shared_data, folder / "boutique.json")],
        "oddities": [shared_data / "oddities"],
        "synth": [folder / "synthetic"],
        "hostile": [folder / "hostile.jsonl"],
    }
    for name, traces in sources.items():
        _crisp("run", *traces, "-o", folder / name, "--jaeger-url", JAEGER, "--title", name)
    for name in ("normal", "slow-query"):
        _crisp("analyse", RECORDED / f"{name}.jsonl.zst", "-o", folder / name)
    _crisp("diff", folder / "normal", folder / "slow-query", "-o", folder)
    of = ("--service", "frontend", "--operation", "GET /product/{id}")
    single = folder / "single.html"
    _crisp("report", folder / "shop", "--single-file", single, *of)
    _nights(folder / "anomalies")
    made = {name: folder / name for name in (*sources, "diff", "anomalies")}
    yield RealSites(**made, single=single)
    (folder / "boutique.json").unlink()  # it is large, and pytest keeps the folders of three runs
    for path in (folder / "synthetic").iterdir():
        path.unlink()


def _nights(out: Path) -> None:
    """Six days of five endpoints, one call of two of them slow on the last, judged by the others.

    With the usual ``alpha`` no request could be called abnormal: there are too few to calibrate.
    """
    last, traces = date(2026, 11, 6), out / "traces"
    for number in range(1, last.day + 1):
        day = last.replace(day=number)
        faults = _FAULTS if day == last else ()
        options = SynthOptions(
            day=day,
            traces=600,
            endpoints=5,
            spans=16,
            seed=3,
            draw=number,
            clean=True,
            faults=tuple(map(parse_fault, faults)),
        )
        write(options, traces / str(day), 1)
    (out / "silences.toml").write_text(_SILENCES, encoding="utf-8")
    _crisp("analyse", *sorted(traces.iterdir()), "-o", out)
    shutil.rmtree(traces)
    eve = last.replace(day=last.day - 1)
    _crisp("train", out, "--date", eve, "--profile", "plain", "--alpha", 0.03)
    _crisp("score", out, "--date", last)
    _crisp("alert", out, "--date", last, "--silences", out / "silences.toml")
    _crisp("aggregate", out)
    _crisp("report", out, "--jaeger-url", JAEGER, "--title", "anomalies")


_FAULTS = ("slow:entry=0,factor=1.6,fraction=1", "slow:entry=1,factor=2,fraction=1")
_SILENCES = """
[[silence]]
service = "order-gateway"
until = 2026-11-09
reason = "the new index is being built"
"""


def _crisp(*arguments: object) -> None:
    command = [sys.executable, "-m", "crisp", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _boutique(shared_data: Path, target: Path) -> Path:
    compact = shared_data / "nezha_online_boutique" / "spans_compact.tsv.gz"
    expand = shared_data.parent / "tools" / "expand.py"
    command: list[Any] = [sys.executable, expand, compact, target, "--batch"]
    subprocess.run(command, check=True, capture_output=True)
    return target


def _hostile(number: int) -> Json:
    """A request whose service, operation, calls and host all have names that could do harm."""
    trace_id = f"{HOSTILE[0]}{number}"
    calls = [name for name in HOSTILE if name]
    each = 100 + number
    made = [span("root", 0, each * len(calls), name=calls[1], trace_id=trace_id)]
    made += [
        span(f"<b>{i}", each * i, each * (i + 1), parent="root", name=name, process=f"p{i}")
        | {"traceID": trace_id}
        for i, name in enumerate(calls)
    ]
    host = {"key": "hostname", "value": calls[number % 2]}
    processes = {f"p{i}": {"serviceName": name, "tags": [host]} for i, name in enumerate(calls, 0)}
    return {"traceID": trace_id, "spans": made, "processes": processes, "warnings": None}
