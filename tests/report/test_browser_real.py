"""Sites of recorded and synthetic traces in Chromium: every kind of page, its numbers, on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from crisp.units import micros
from tests.report.reading import SHIFTS, UNFILLED, frames, opened, part, scrolled_through, settled
from tests.report.real_sites import KINDS, RealSites, endpoint_id, endpoint_pages, lake, mart

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_page_fills_as_it_is_scrolled_and_nothing_moves(
    page: Page, real_sites: RealSites, kind: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(SHIFTS)
    opened(page, real_sites.pages()[kind])
    scrolled_through(page)
    assert page.evaluate(UNFILLED) == []
    shifts = page.evaluate("window.shifts")
    assert sum(shift for shift, _ in shifts) < 0.02, shifts
    # the body is narrower than the window by the room for a scroll bar
    beside = "document.documentElement.scrollWidth - document.body.offsetWidth"
    assert page.evaluate(beside) <= 0


def test_the_measure_of_layout_shift_sees_one(page: Page, real_sites: RealSites) -> None:
    page.add_init_script(SHIFTS)
    opened(page, real_sites.pages()["fleet"])
    # what has not been drawn yet cannot shift, and a page is open before it is drawn
    page.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
    settled(page)
    page.evaluate("document.querySelector('h1').style.marginTop = '200px'")
    page.wait_for_function("() => window.shifts.some(([shift]) => shift > 0.02)")


def test_every_endpoint_of_the_oddities_opens(page: Page, real_sites: RealSites) -> None:
    pages = endpoint_pages(real_sites.oddities)
    assert len(pages) > 30
    for path in pages:
        data = part(path)
        opened(page, path)
        name = f"{data['service']}::{data['operation']}".replace("\n", " ")
        assert name in frames(page)[0].replace("\u2068", "").replace("\u2069", ""), path


@pytest.mark.parametrize("kind", ["shop", "hotel", "boutique", "synth"])
def test_root_of_the_flame_graph_is_the_mean_of_the_band(
    page: Page, real_sites: RealSites, kind: str
) -> None:
    out: Path = getattr(real_sites, kind)
    path = real_sites.largest() if kind == "synth" else endpoint_pages(out)[0]
    data = part(path)
    number = endpoint_id(path)
    bands = sorted(
        (row for row in mart(out, "bands") if row["endpoint_id"] == number),
        key=lambda row: row["band"],
    )
    opened(page, path)
    name = f"{data['service']}::{data['operation']}"
    buttons = page.locator("#bands button[data-only]")
    assert buttons.count() == len(bands) + 1 == 6
    for place, band in enumerate(bands):
        buttons.nth(place).click()
        mean = micros(band["latency_us"] / band["traces"])
        assert frames(page)[0] == f"{name} · {mean} · 100 %"
        expect(page.locator("#chosen-mean")).to_have_text(mean)
        expect(page.locator("#tree tbody tr").first.locator("td.number").first).to_have_text(mean)
        own = page.evaluate(
            "at => JSON.parse(document.getElementById('data').textContent).cells.exclusive_us[at]",
            place,
        )
        assert sum(own) == band["latency_us"]
    buttons.last.click()
    latency = sum(band["latency_us"] for band in bands)
    mean = micros(latency / sum(band["traces"] for band in bands))
    assert frames(page)[0] == f"{name} · {mean} · 100 %"


@pytest.mark.parametrize("kind", ["shop", "hotel", "boutique", "synth", "oddities"])
def test_cells_of_the_heat_maps_are_those_of_the_lake(real_sites: RealSites, kind: str) -> None:
    out: Path = getattr(real_sites, kind)
    names = {
        row["endpoint_id"]: [row["service"], row["operation"]]
        for row in lake(out, "endpoint_names")
    }
    trees = {
        (row["endpoint_id"], row["trace_id"], row["root_span_id"]): row
        for row in lake(out, "traces")
    }
    compared = 0
    for path in endpoint_pages(out):
        data = part(path)
        heat = data["heat"]
        assert heat["left_out"] == 0
        cells, kept = heat["cells"], heat["traces"]
        for at, (trace_id, span_id) in enumerate(
            zip(kept["trace_id"], kept["span_id"], strict=True)
        ):
            tree = trees[endpoint_id(path), trace_id, span_id]
            assert kept["latency_us"][at] == tree["latency_us"]
            shown = {
                tuple(data["names"][heat["rows"]["name"][cells["row"][cell]]]): (
                    cells["exclusive_us"][cell],
                    cells["inclusive_us"][cell],
                )
                for cell in range(cells["first"][at], cells["first"][at + 1])
            }
            held = {
                tuple(names[use["endpoint_id"]]): (use["exclusive_us"], use["inclusive_us"])
                for use in tree["endpoints"]
                if use["exclusive_us"] or use["inclusive_us"]
            }
            assert shown == held, (path, trace_id)
            assert sum(exclusive for exclusive, _ in shown.values()) == tree["latency_us"]
            compared += 1
    assert compared > 100


def test_page_carries_the_numbers_that_lie_beside_it(page: Page, real_sites: RealSites) -> None:
    path = real_sites.product()
    opened(page, path)
    for name in ("heat", "changes", "errors", "violins"):
        inside = page.evaluate("id => JSON.parse(document.getElementById(id).textContent)", name)
        assert inside == part(path, name), name


def test_printing_fills_every_section(page: Page, real_sites: RealSites, tmp_path: Path) -> None:
    opened(page, real_sites.largest())
    assert page.evaluate(UNFILLED) != []
    page.emulate_media(media="print")
    printed = page.pdf(path=tmp_path / "page.pdf", format="A4")
    assert page.evaluate(UNFILLED) == []
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 4


def test_flame_graphs_are_drawn_before_the_paper_is(page: Page, real_sites: RealSites) -> None:
    opened(page, real_sites.product())
    page.get_by_role("button", name="Only P95\u2013P99").click()
    unlike = page.evaluate(
        """() => {
          dispatchEvent(new Event('beforeprint'));  // the paper is next, no tick comes between
          return ['#flame', '#compare-flame'].map(place => {
            const frames = [...document.querySelectorAll(`${place} g.frame`)];
            return [frames.length > 5, frames.filter(frame =>
              frame.querySelector('rect').getAttribute('width') !== frame.getAttribute('width') ||
              frame.querySelector('div').textContent !== frame.getAttribute('name')).length];
          });
        }"""
    )
    assert unlike == [[True, 0], [True, 0]]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_cut_off_on_paper(page: Page, real_sites: RealSites, kind: str) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with the margins of the browser
    opened(page, real_sites.pages()[kind])
    page.evaluate("() => { dispatchEvent(new Event('beforeprint')); }")
    settled(page)
    wide = """() => [...document.querySelectorAll('main table, main .flame svg, main figure svg')]
      .filter(each => each.getBoundingClientRect().right > document.body.offsetWidth + 1)
      .map(each => each.textContent.slice(0, 80))"""
    assert page.evaluate(wide) == []
