"""What tests read off a page: drawn frames, columns of tables, rows of the heat map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page

SHIFTS = """
  window.shifts = [];
  new PerformanceObserver(list => {
    for (const {value, sources} of list.getEntries())
      window.shifts.push([value, sources.map(({node}) => node?.outerHTML?.slice(0, 80))]);
  }).observe({type: 'layout-shift', buffered: true});
"""
"""Run before a page: keeps every shift of its layout, and what moved, in ``shifts``."""


# Places that scripts fill; the drawings in some of them only keep the room until then.
UNFILLED = """() => ['table', 'flame', 'tree', 'heat-map', 'compare-flame', 'compare-sentence',
    'compare-table', 'ranking', 'errors-table', 'hosts', 'requests-table', 'judged-table']
  .filter(id => {
    const place = document.getElementById(id);
    return place && (!place.textContent.trim() || place.querySelector(':scope > svg[aria-hidden]'));
  })"""
"""The ids of such places on a page that are still empty."""


def settled(page: Page) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def scrolled_through(page: Page) -> None:
    """Turn the wheel until the end of the page, as a reader does."""
    page.mouse.move(3, 300)  # beside everything that scrolls by itself
    while page.evaluate("scrollY + innerHeight + 1 < document.documentElement.scrollHeight"):
        before = page.evaluate("scrollY")
        page.mouse.wheel(0, 600)
        page.wait_for_function("before => scrollY > before", arg=before)
        settled(page)


def opened(page: Page, path: Path, section: str = "") -> Page:
    page.goto(path.as_uri())
    if section:
        page.locator(section).scroll_into_view_if_needed()
    return page


def part(path: Path, name: str = "") -> Any:
    """The JSON beside a page, or one part of it."""
    found = json.loads(path.with_suffix(".json").read_text("utf-8"))
    return found[name] if name else found


def frames(page: Page, place: str = "#flame") -> list[str]:
    """Labels of the frames that are not faded, top row first, left to right."""
    page.locator(f"{place} g.frame").first.wait_for()
    settled(page)
    found = page.locator(f"{place} g.frame").evaluate_all(
        """all => all.filter(g => !g.classList.contains('fade')).map(g => {
          const {e, f} = g.transform.baseVal.consolidate().matrix;
          return [f, e, g.getAttribute('name')];
        })"""
    )
    return [name for _, _, name in sorted(found)]


def column(rows: Locator, place: int) -> list[str]:
    """The texts of one column of numbers."""
    found: list[str] = rows.evaluate_all(
        "(all, at) => all.map(row => row.querySelectorAll('td.number')[at].innerText)", place
    )
    return found


def heat_heads(page: Page) -> list[tuple[str, str]]:
    """Operation and percentile of the rows of the heat map."""
    page.locator(".heat-head").first.wait_for()
    found = page.locator(".heat-head").evaluate_all(
        "all => all.map(h => [h.querySelector('bdi').textContent,"
        " h.querySelector('b').textContent])"
    )
    return [(name, value) for name, value in found]
