"""The site: how long its pages take to write, how large they are, and how a browser bears them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from benchmarks.measure import watch
from benchmarks.wide_lake import DAY, write_lake
from crisp.options import AggregateOptions, EngineOptions
from crisp.pipeline.engines import engine
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.windows import Window

DATA = Path("build/bench/site")
ROOT = Path(__file__).parent.parent
_PARTS = re.compile(r'<script type="application/json" id="\w+">.*?</script>', re.DOTALL)
_CALIBRATE = 20_000_000
_FLAME = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("#flame g.frame")) return;
  observer.disconnect();
  window.flameDrawn = performance.now();
}).observe(document, { childList: true, subtree: true });
"""
_SCROLL = """
async () => {
  const place = document.querySelector(".heat-scroll");
  const began = [], busy = [];
  for (let frame = 0; frame < 180; frame++) {
    await new Promise((done) => requestAnimationFrame((time) => {
      began.push(time);
      const { port1, port2 } = new MessageChannel();
      const start = performance.now();
      port1.onmessage = () => { busy.push(performance.now() - start); };
      port2.postMessage(0);
      place.scrollLeft += 61;
      place.scrollTop += 17;
      done();
    }));
  }
  return { busy, apart: began.slice(1).map((time, k) => time - began[k]) };
}
"""
"""Frames that scroll both ways: the time from one to the next, which the screen's 60 a second bound
from below, and the work of each: from its callback to the task after it, so scripts, layout and
painting, and waiting for the compositor."""

Row = tuple[str, str, str, str]


def measure() -> list[Row]:
    """What the issue of the site sets figures for: name, measured, allowed, remark."""
    with _site("wide", endpoints=1_000, paths=300, traces=200) as out:
        usage = watch([sys.executable, "-m", "crisp", "report", str(out)])
        pages = sorted((out / "site" / "endpoint").glob("*.html"))
        besides = max(len(_PARTS.sub("", page.read_text("utf-8")).encode()) for page in pages)
        whole = median(page.stat().st_size for page in pages)
        front = sum((out / "site" / name).stat().st_size for name in ("app.js", "app.css"))
    rows = [
        (
            "site of 1,000 endpoints, 300 call paths, 200 traces each",
            f"{usage.wall_s:.1f} s",
            "20 s",
            f"{usage.cpu_s:.1f} s CPU, {usage.peak_mb:,.0f} MB; reference {_reference():.2f} s",
        ),
        (
            "largest page besides its data",
            f"{besides / 1e3:.0f} kB",
            "60 kB",
            f"{whole / 1e3:,.0f} kB with it; app.js and app.css, once: {front / 1e3:.0f} kB",
        ),
    ]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_chromium(), args=["--no-sandbox"])
        for paths in (20_000, 100_000):
            with _site(f"deep-{paths}", endpoints=1, paths=paths, traces=paths // 5) as out:
                _report(out)
                rows += _paint(chromium.new_page, out, paths)
        with _site("heat", kept=2_000, endpoints=1, paths=500, traces=3_000) as out:
            _report(out)
            rows += _scrolled(chromium.new_page, out)
        chromium.close()
    return rows


def show(rows: list[Row]) -> None:
    """Print the table."""
    table = Table(title="the site", title_justify="left")
    for heading in ("what", "measured", "allowed", "remark"):
        table.add_column(heading, justify="left" if heading in {"what", "remark"} else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=max(Console().width, 140)).print(table)


@contextmanager
def _site(name: str, *, kept: int = 500, **size: int) -> Iterator[Path]:
    """An output folder with marts of a lake of that size."""
    out = DATA / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    where = places(out)
    write_lake(Path(where.lake), **size)
    with engine(out, EngineOptions(memory_limit="3GB")) as made:
        shown = Window(first=None, days=[DAY])
        aggregate(where.lake, where.marts, shown, made, AggregateOptions(kept=kept))
    yield out
    shutil.rmtree(out)


def _report(out: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "crisp", "report", str(out)], check=True, stdout=subprocess.DEVNULL
    )


def _opened(new_page: Any, out: Path) -> Page:
    (file,) = (out / "site" / "endpoint").glob("*.html")
    page: Page = new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script(_FLAME)
    page.goto(file.absolute().as_uri())
    page.wait_for_function("window.flameDrawn")
    return page


def _paint(new_page: Any, out: Path, paths: int) -> list[Row]:
    """First paint, and the flame graph drawn, median of five openings."""
    first, flame = [], []
    for _ in range(5):
        page = _opened(new_page, out)
        first.append(page.evaluate("performance.getEntriesByType('paint')[0].startTime"))
        flame.append(page.evaluate("window.flameDrawn"))
        page.close()
    allowed = "300 ms" if paths == 20_000 else "–"
    what = f"endpoint page with {paths:,} call paths"
    return [
        (f"{what}: first paint", f"{median(first):.0f} ms", allowed, "median of 5"),
        (f"{what}: flame graph there", f"{median(flame):.0f} ms", "–", "median of 5"),
    ]


def _scrolled(new_page: Any, out: Path) -> list[Row]:
    page = _opened(new_page, out)
    page.locator("#heat-section").scroll_into_view_if_needed()
    page.wait_for_selector(".heat-scroll")
    found = page.evaluate(_SCROLL)
    page.close()
    return [
        _frames("heat map of 500 x 2,000 cells, scrolled: work of a frame", found["busy"], "16 ms"),
        _frames("the same: from one frame to the next", found["apart"], "16.7 ms"),
    ]


def _frames(what: str, times: list[float], allowed: str) -> Row:
    ordered = sorted(times)
    most = ordered[len(ordered) * 95 // 100]
    remark = f"95 % under {most:.1f} ms, the longest {ordered[-1]:.1f} ms"
    return what, f"{median(ordered):.1f} ms", allowed, remark


def _chromium() -> str:
    found = subprocess.run(
        [ROOT / "scripts" / "find-chromium"], check=True, stdout=subprocess.PIPE, text=True
    )
    return found.stdout.strip()


def _reference() -> float:
    """Seconds for the same arithmetic everywhere, to compare machines by."""
    from time import perf_counter

    began = perf_counter()
    sum(range(_CALIBRATE))
    return perf_counter() - began
