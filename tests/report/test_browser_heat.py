"""The heat map in Chromium: what its canvas shows, and what pointer and keyboard do to it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.site import write_site
from crisp.schema import MARTS

Marts = dict[str, pa.Table]

pytestmark = pytest.mark.browser

DB = -9223372036854775803  # the path of db::read, see conftest.py
# Exclusive and inclusive time in ms by path. Each fast trace stands for 15, each slow one for 5.
TRACES = {
    ("aa", 0, 10): {11: (2, 10), 12: (3, 8), DB: (5, 5)},
    ("bb", 0, 8): {11: (2, 8), 12: (1, 6), DB: (5, 5)},
    ("cc", 1, 40): {11: (5, 40), 12: (0, 25), DB: (25, 25), 14: (10, 10)},
    ("dd", 1, 24): {11: (4, 24), 12: (0, 20), DB: (20, 20)},
}


Traces = dict[tuple[str, int, int], dict[int, tuple[int, int]]]


def with_kept(marts: Marts, traces: Traces = TRACES) -> Marts:
    """The marts with these traces kept of their endpoint 1; trace cc failed."""
    kept, paths = [], []
    for number, ((trace_id, band, latency), held) in enumerate(traces.items(), 1):
        tree = {"endpoint_id": 1, "tree_id": number}
        row = {"trace_id": trace_id, "root_span_id": f"s{number}", "start_us": 0, "version": ""}
        row |= {"band": band, "latency_us": 1_000 * latency, "error": trace_id == "cc"}
        kept.append(tree | row)
        paths += [
            tree | {"path_id": p, "host": "", "exclusive_us": 1_000 * e, "inclusive_us": 1_000 * i}
            for p, (e, i) in held.items()
        ]
    return marts | {
        "kept": pa.Table.from_pylist(kept, schema=MARTS["kept"]),
        "kept_paths": pa.Table.from_pylist(paths, schema=MARTS["kept_paths"]),
    }


def opened(page: Page, marts: Marts, target: Path, jaeger_url: str | None = None) -> Page:
    """The page of shop::buy, its heat map in view."""
    write_site(marts, target, title="Shop", generated_us=0, jaeger_url=jaeger_url)
    page.goto((target / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    seen(page)
    return page


def seen(page: Page) -> None:
    page.locator("#heat-section").scroll_into_view_if_needed()
    page.locator(".heat-head, #heat-map .empty:visible").first.wait_for()


@pytest.fixture
def heat(page: Page, shop: Marts, tmp_path: Path) -> Page:
    return opened(page, with_kept(shop), tmp_path)


def heads(page: Page) -> list[str]:
    found: list[str] = page.locator(".heat-head").evaluate_all(
        "all => all.map(h => h.querySelector('bdi').textContent + ' '"
        " + h.querySelector('b').textContent)"
    )
    return found


def drawn_levels(page: Page) -> list[list[int]]:
    """The colour of each cell on the canvas, as a number from 0 to 7; -1 for any other."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    found: list[list[int]] = page.evaluate(
        """() => {
          const canvas = document.querySelector('.heat-scroll canvas');
          const head = document.querySelector('.heat-corner').clientWidth;
          const style = getComputedStyle(document.documentElement);
          const value = name => style.getPropertyValue(name).trim();
          const colours = [...Array(8).keys()].map(i => value(`--heat-${i}`));
          const label = document.querySelector('.heat-scroll').getAttribute('aria-label');
          const columns = [...Array(Number(label.match(/([0-9]+) traces? by/)[1])).keys()];
          const rows = [...Array(document.querySelectorAll('.heat-head').length).keys()];
          const {width, height} = canvas;
          const copy = new OffscreenCanvas(width, height).getContext('2d');
          copy.drawImage(canvas, 0, 0);
          const {data} = copy.getImageData(0, 0, width, height);
          const level = (row, column) => {
            const first = 4 * (width * (44 + 22 * row + 11) + head + 24 * column + 12);
            const [r, g, b] = data.slice(first, first + 3);
            const hex = [r, g, b].map(part => part.toString(16).padStart(2, '0')).join('');
            return colours.indexOf('#' + hex);
          };
          return rows.map(row => columns.map(column => level(row, column)));
        }"""
    )
    return found


def spot(page: Page, row: int, column: int) -> tuple[float, float]:
    """Where a cell is on the page; row -1 is the strip of latencies."""
    box = page.locator(".heat-scroll").bounding_box()
    head = page.locator(".heat-corner").bounding_box()
    assert box
    assert head
    x = box["x"] + head["width"] + 24 * column + 12
    return x, box["y"] + (20 if row < 0 else 44 + 22 * row + 11)


def hash_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.url.partition("#")[2])


# In % of the latency       cc   dd  aa  bb
BY_LATENCY = [
    [7, 7, 7, 7],  # db       62   83  50  62
    [5, 5, 6, 6],  # shop     12   17  20  25
    [0, 0, 6, 5],  # cart      0    0  30  12
    [6, 0, 0, 0],  # price    25    0   0   0
]


def test_cells_are_coloured_by_their_share_slowest_trace_first(heat: Page) -> None:
    """P50 over all 40 traces: db 5 (30 times), shop 2 (30 times), cart 0, 1 or 3, price 0."""
    assert heads(heat) == ["read 5.00 ms", "buy 2.00 ms", "get 1.00 ms", "quote 0 µs"]
    assert drawn_levels(heat) == BY_LATENCY
    lead = heat.locator("#heat-section .lead")
    expect(lead).to_contain_text("4 of 40 traces are shown, evenly over the bands")
    expect(heat.locator("#heat-count")).to_contain_text("16 traces more are needed")


def test_colours_follow_the_theme(heat: Page) -> None:
    heat.emulate_media(color_scheme="dark")
    assert drawn_levels(heat) == BY_LATENCY
    heat.emulate_media(color_scheme="light")
    assert drawn_levels(heat) == BY_LATENCY


def test_rows_sort_by_percentile_and_metric_and_a_link_restores_it(heat: Page) -> None:
    heat.locator("#heat-sort").select_option("p95")
    assert heads(heat) == ["read 25.0 ms", "quote 10.0 ms", "buy 5.00 ms", "get 3.00 ms"]
    assert drawn_levels(heat)[1] == [6, 0, 0, 0]
    heat.locator("#heat-metric").select_option("inclusive")
    # cart: 8 and 6 for 15 traces each, 25 and 20 for 5 each
    assert heads(heat) == ["buy 40.0 ms", "read 25.0 ms", "get 25.0 ms", "quote 10.0 ms"]
    assert drawn_levels(heat)[0] == [7, 7, 7, 7]
    assert hash_of(heat) == {"heat-metric": ["inclusive"], "heat-sort": ["p95"]}
    heat.reload()
    seen(heat)
    assert heads(heat)[0] == "buy 40.0 ms"
    expect(heat.locator("#heat-sort")).to_have_value("p95")


def test_a_name_sorts_the_columns_and_once_more_undoes_it(heat: Page) -> None:
    heat.locator(".heat-head", has_text="get").click()
    assert drawn_levels(heat)[2] == [6, 5, 0, 0]  # aa 3 ms, bb 1 ms, then by latency
    assert drawn_levels(heat)[3] == [0, 0, 6, 0]
    assert hash_of(heat) == {"heat-row": ["cart::get"]}
    expect(heat.locator("#heat-count")).to_contain_text("columns sorted by cart::get")
    heat.locator(".heat-head", has_text="get").click()
    assert drawn_levels(heat) == BY_LATENCY
    heat.locator(".heat-head", has_text="get").click()
    heat.get_by_role("button", name="Columns by latency").click()
    assert drawn_levels(heat) == BY_LATENCY


def test_pointing_at_a_name_leaves_it_there_to_be_clicked(heat: Page) -> None:
    head = heat.locator(".heat-head", has_text="get").element_handle()
    heat.mouse.move(*spot(heat, 2, -3))
    drawn_levels(heat)  # waits for the picture
    assert head.evaluate("head => head.isConnected && head.matches('.marked')")
    heat.mouse.move(2, 2)
    drawn_levels(heat)
    assert not head.evaluate("head => head.matches('.marked')")


def test_back_undoes_a_zoom_and_nothing_else(heat: Page) -> None:
    steps = heat.evaluate("history.length")
    heat.locator(".heat-head", has_text="get").click()
    assert heat.evaluate("history.length") == steps
    heat.locator('#flame g.frame[name^="cart::get"]').click()
    heat.locator("#heat-search").fill("e")
    heat.locator("#search").fill("db")
    heat.get_by_role("button", name="Only P75\u2013P100").click()
    kept = {"bands": ["1"], "heat-row": ["cart::get"], "heat-search": ["e"], "search": ["db"]}
    zoomed = kept | {"path": ["000000000000000c"]}
    assert hash_of(heat) == zoomed
    heat.go_back()
    expect(heat.locator("#trail")).to_have_text("whole request")
    assert hash_of(heat) == kept
    expect(heat.locator("#search")).to_have_value("db")
    expect(heat.locator("#heat-search")).to_have_value("e")
    heat.go_forward()
    expect(heat.locator("#trail")).to_have_text("buyget")
    assert hash_of(heat) == zoomed


def test_a_link_opened_in_the_page_is_taken_whole_and_back_too(heat: Page) -> None:
    heat.locator("#search").fill("db")
    heat.evaluate("location.hash = '#bands=1&heat-search=cart'")
    expect(heat.locator("#heat-search")).to_have_value("cart")
    expect(heat.locator("#search")).to_have_value("")
    heat.go_back()
    expect(heat.locator("#heat-search")).to_have_value("")
    expect(heat.locator("#search")).to_have_value("db")
    assert hash_of(heat) == {"search": ["db"]}


def test_where_no_endpoint_holds_time_it_says_so(page: Page, shop: Marts, tmp_path: Path) -> None:
    heat = opened(page, with_kept(shop, {("aa", 0, 0): {11: (0, 0)}}), tmp_path)
    expect(heat.locator("#heat-count")).to_have_text(
        "1 trace. Percentiles of so few are single requests: 19 traces more are needed."
    )
    expect(heat.locator("#heat-map .empty")).to_have_text("No endpoint holds time in these traces.")
    heat.locator("#heat-details summary").click()
    expect(heat.locator("#heat-table .empty")).to_have_text(
        "No endpoint holds time in these traces."
    )
    lead = heat.locator("#heat-section .lead")
    expect(lead).to_contain_text("1 of 40 traces is shown")


def test_search_is_literal_and_tells_what_is_left(heat: Page) -> None:
    heat.locator("#heat-search").fill("PRICE::")
    assert heads(heat) == ["quote 0 µs"]
    expect(heat.locator("#heat-count")).to_contain_text("4 traces by 1 of 4 endpoints")
    height = heat.locator(".heat-scroll").bounding_box()
    heat.locator("#heat-search").fill("pr.ce")
    expect(heat.locator("#heat-map .empty")).to_have_text("No endpoint matches.")
    assert heat.locator(".heat-scroll").bounding_box() == height
    heat.locator("#heat-search").fill("")
    assert len(heads(heat)) == 4


def test_bands_choose_the_columns(heat: Page) -> None:
    heat.get_by_role("button", name="Only P75\u2013P100").click()
    assert drawn_levels(heat) == [row[:2] for row in BY_LATENCY]
    assert heads(heat)[0] == "read 5.00 ms"  # percentiles stay those of all traces
    expect(heat.locator("#heat-count")).to_contain_text("2 traces by 4 endpoints")


def test_pointing_tells_the_time_the_trace_and_the_chains(heat: Page) -> None:
    tip = heat.get_by_role("tooltip").filter(visible=True)
    heat.mouse.move(*spot(heat, 0, 1))
    expect(tip.locator("bdi")).to_have_text("db::read")
    words = ["20.0 ms · 83.3 %", "24.0 ms", "P75\u2013P100", "1970-01-01 00:00:00 UTC", "dd"]
    expect(tip.locator("dd")).to_have_text([*words, "share of its own time", "100 %"])
    expect(tip.locator("dt").last).to_have_text("buy \u203a get \u203a read")
    heat.mouse.move(*spot(heat, 3, -3))  # the header of price
    expect(tip.locator("dt").last).to_have_text("buy \u203a quote")
    expect(tip.locator("dd").first).to_have_text("0 µs")
    heat.mouse.move(*spot(heat, -1, 0))
    expect(tip.locator("bdi")).to_have_text("Trace cc")
    expect(tip).to_contain_text("failed")
    heat.mouse.move(2, 2)
    expect(tip).to_have_count(0)


def test_click_without_a_viewer_marks_the_id_for_copying(heat: Page) -> None:
    heat.mouse.click(*spot(heat, 1, 2))
    now = heat.locator("#heat-now")
    expect(now).to_contain_text("shop::buy: 2.00 ms held itself, 20.0 % of 10.0 ms")
    expect(now.locator("code")).to_have_text("aa")
    assert heat.evaluate("getSelection().toString()") == "aa"


def test_click_and_enter_open_the_trace_in_a_tab_of_its_own(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    template = "https://jaeger.test/trace/{trace_id}?uiFind={span_id}"
    heat = opened(page, with_kept(shop), tmp_path, template)
    heat.context.route("https://jaeger.test/**", lambda route: route.fulfill(body="a trace"))
    with heat.context.expect_page() as clicked:
        heat.mouse.click(*spot(heat, 1, 0))
    assert clicked.value.url == "https://jaeger.test/trace/cc?uiFind=s3"
    assert clicked.value.evaluate("window.opener") is None
    heat.bring_to_front()
    heat.keyboard.press("ArrowRight")
    with heat.context.expect_page() as entered:
        heat.keyboard.press("Enter")
    assert entered.value.url == "https://jaeger.test/trace/dd?uiFind=s4"
    link = heat.locator("#heat-now a")
    expect(link).to_have_attribute("href", "https://jaeger.test/trace/dd?uiFind=s4")


def test_the_grid_works_from_the_keyboard(heat: Page) -> None:
    now, grid = heat.locator("#heat-now"), heat.locator(".heat-scroll")
    heat.locator("#heat-search").focus()
    heat.keyboard.press("Tab")  # "Columns by latency" is disabled
    expect(grid).to_be_focused()
    expect(now).to_contain_text("db::read: 25.0 ms held itself, 62.5 % of 40.0 ms")
    for key, words in (
        ("ArrowRight", "db::read: 20.0 ms"),
        ("ArrowDown", "shop::buy: 4.00 ms"),
        ("PageDown", "price::quote: 0 µs held itself, 0 % of 24.0 ms"),
        ("Home", "price::quote: P50 held itself 0 µs"),
        ("Control+Home", "db::read: P50 held itself 5.00 ms"),
        ("End", "db::read: 5.00 ms held itself, 62.5 % of 8.00 ms"),
        ("Control+End", "price::quote: 0 µs held itself, 0 % of 8.00 ms"),
        ("ArrowUp", "cart::get: 1.00 ms"),
    ):
        heat.keyboard.press(key)
        expect(now).to_contain_text(words)
    heat.keyboard.press("Home")
    heat.keyboard.press("Enter")
    assert hash_of(heat) == {"heat-row": ["cart::get"]}
    assert drawn_levels(heat)[2] == [6, 5, 0, 0]
    expect(grid).to_be_focused()
    heat.keyboard.press("Escape")
    assert hash_of(heat) == {}


def test_the_rows_are_a_table_too(heat: Page) -> None:
    heat.locator("#heat-details summary").click()
    first = heat.locator("#heat-table tbody tr").first
    numbers = ["5.00 ms", "25.0 ms", "25.0 ms", "5.00 ms", "25.0 ms", "25.0 ms"]
    expect(first.locator("td.number")).to_have_text(numbers)
    first.get_by_role("button", name="Details").click()
    expect(heat.locator("#heat-table .detail li")).to_have_text(
        ["buy \u203a get \u203a read · 100 %"]
    )
    heat.get_by_role("button", name="Sort the columns by this row").click()
    assert hash_of(heat) == {"heat-row": ["db::read"]}


def test_it_is_read_when_it_comes_into_view_or_is_printed(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    write_site(with_kept(shop), tmp_path, title="Shop", generated_us=0)
    page.set_viewport_size({"width": 1280, "height": 300})
    page.goto((tmp_path / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    page.locator("g.frame").first.wait_for()
    section = page.locator("#heat-section").bounding_box()
    expect(page.locator(".heat-head")).to_have_count(0)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".heat-head")).to_have_count(4)
    assert page.locator("#heat-section").bounding_box() == section  # nothing below it jumps


def test_an_endpoint_without_kept_traces_says_so(page: Page, shop: Marts, tmp_path: Path) -> None:
    write_site(shop, tmp_path, title="Shop", generated_us=0)
    page.goto((tmp_path / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    expect(page.locator("#heat-section .empty")).to_contain_text("at least one is needed")
    page.get_by_role("button", name="Only P75\u2013P100").click()
    expect(page.locator("#chosen-traces")).to_have_text("10 traces")


def test_hostile_names_show_as_text(page: Page, hostile: Marts, tmp_path: Path) -> None:
    names = hostile["endpoint_names"].to_pylist()
    kept = {"endpoint_id": 100, "tree_id": 1, "band": 0, "trace_id": "<img>", "latency_us": 900}
    kept |= {"root_span_id": "<b>", "start_us": 0, "error": False, "version": ""}
    paths = [
        {"endpoint_id": 100, "tree_id": 1, "path_id": 100_000 + name["endpoint_id"], "host": ""}
        | {"exclusive_us": 100, "inclusive_us": 100}
        for name in names
    ]
    marts = hostile | {
        "kept": pa.Table.from_pylist([kept], schema=MARTS["kept"]),
        "kept_paths": pa.Table.from_pylist(paths, schema=MARTS["kept_paths"]),
    }
    write_site(marts, tmp_path, title="x", generated_us=0)
    page.goto(next(tmp_path.glob("endpoint/*-0000000000000064.html")).as_uri())
    seen(page)
    expect(page.locator("#heat-section .lead")).to_contain_text("The only trace is shown.")
    shown = page.locator("#heat-map").text_content() or ""
    assert all((name["operation"] or "(no name)") in shown for name in names)
    page.mouse.click(*spot(page, 0, 0))
    expect(page.locator("#heat-now code")).to_have_text("<img>")
    assert page.locator("main img, .tip img").count() == 0
