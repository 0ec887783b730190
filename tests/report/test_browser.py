"""The endpoint page in Chromium, from file://: what is shown, and what each control does."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.site import write_site

Marts = dict[str, pa.Table]

pytestmark = pytest.mark.browser


@pytest.fixture
def endpoint(page: Page, shop_site: Path) -> Page:
    """The page of shop::buy."""
    page.goto((shop_site / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    return page


def frames(page: Page) -> list[str]:
    """Labels of the frames that are drawn, top row first, left to right."""
    page.locator("#flame g.frame").first.wait_for()
    found = page.locator("#flame g.frame").evaluate_all(
        """all => all.filter(g => !g.classList.contains('fade')).map(g => {
          const {e, f} = g.transform.baseVal.consolidate().matrix;
          return [f, e, g.getAttribute('name')];
        })"""
    )
    return [name for _, _, name in sorted(found)]


def hash_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.url.partition("#")[2])


def test_flame_graph_shows_ms_and_share_of_all_bands(endpoint: Page) -> None:
    assert frames(endpoint) == [
        "shop::buy · 17.5 ms · 100 %",
        "cart::get · 12.3 ms · 70.0 %",
        "price::quote · 2.50 ms · 14.3 %",
        "db::read · 10.0 ms · 57.1 %",
    ]
    label = endpoint.locator("#flame g.frame").nth(0).locator(".d3-flame-graph-label")
    expect(label).to_have_text("shop::buy · 17.5 ms · 100 %")


def test_bands_choose_the_traces_and_the_root_is_their_mean(endpoint: Page) -> None:
    endpoint.get_by_role("button", name="Only P75\u2013P100").click()
    expect(endpoint.locator("#chosen-mean")).to_have_text("40.0 ms")
    expect(endpoint.locator("#chosen-traces")).to_have_text("10 traces")
    expect(endpoint.locator("#flame-title")).to_have_text("Critical path of P75\u2013P100")
    assert frames(endpoint)[0] == "shop::buy · 40.0 ms · 100 %"
    assert hash_of(endpoint) == {"bands": ["1"]}
    fast = endpoint.get_by_role("checkbox", name="P0\u2013P75")
    fast.check()
    expect(endpoint.locator("#chosen-mean")).to_have_text("17.5 ms")
    endpoint.get_by_role("checkbox", name="P75\u2013P100").uncheck()
    assert frames(endpoint)[0] == "shop::buy · 10.0 ms · 100 %"
    assert frames(endpoint)[-1] == "db::read · 5.00 ms · 50.0 %"
    fast.click()  # nothing chosen is everything
    expect(endpoint.locator("#chosen-mean")).to_have_text("17.5 ms")
    assert hash_of(endpoint) == {}


def test_thin_band_says_how_many_traces_are_missing(endpoint: Page) -> None:
    expect(endpoint.locator("#bands .thin")).to_have_text(["thin: 10 more traces needed"])


def test_click_zooms_and_reset_and_back_return(endpoint: Page) -> None:
    endpoint.locator('#flame g.frame[name^="cart::get"]').click()
    expect(endpoint.locator("#trail")).to_have_text("buyget")
    assert hash_of(endpoint) == {"path": ["000000000000000c"]}
    assert frames(endpoint) == ["cart::get · 12.3 ms · 70.0 %", "db::read · 10.0 ms · 57.1 %"]
    endpoint.get_by_role("button", name="Reset zoom").click()
    assert len(frames(endpoint)) == 4
    endpoint.go_back()
    assert len(frames(endpoint)) == 2
    endpoint.locator("#trail").get_by_role("button", name="buy").click()
    assert len(frames(endpoint)) == 4


def test_zoom_stays_when_bands_change(endpoint: Page) -> None:
    endpoint.locator('#flame g.frame[name^="cart::get"]').click()
    endpoint.get_by_role("button", name="Only P75\u2013P100").click()
    assert frames(endpoint) == ["cart::get · 25.0 ms · 62.5 %", "db::read · 25.0 ms · 62.5 %"]


def test_link_restores_bands_zoom_and_search(endpoint: Page) -> None:
    endpoint.goto(endpoint.url + "#bands=1&path=8000000000000005&search=db")
    endpoint.reload()
    assert frames(endpoint) == ["db::read · 25.0 ms · 62.5 %"]
    expect(endpoint.locator("#search")).to_have_value("db")
    expect(endpoint.locator("#matched")).to_have_text("62.5 % matched: 25.0 ms in 1 call path")


def test_skipping_to_the_content_keeps_the_view(endpoint: Page) -> None:
    endpoint.locator("#search").fill("db")
    endpoint.get_by_role("link", name="Skip to content").press("Enter")
    expect(endpoint.locator("main")).to_be_focused()
    expect(endpoint.locator("#search")).to_have_value("db")
    assert hash_of(endpoint) == {"search": ["db"]}


def test_search_is_literal_and_tells_the_matched_share(endpoint: Page) -> None:
    search, matched = endpoint.locator("#search"), endpoint.locator("#matched")
    search.fill("E")  # shop::buy does not match; price and db, below cart, do
    expect(matched).to_have_text("84.3 % matched: 14.8 ms in 3 call paths")
    expect(endpoint.locator("#tree tr.match")).to_have_count(3)
    expect(endpoint.locator('#flame g.frame rect[fill="var(--match)"]')).to_have_count(3)
    search.fill("[db")
    expect(matched).to_have_text("no call matches")
    expect(endpoint.locator("#ranking .empty")).to_be_visible()
    search.fill("")
    expect(matched).to_have_text("")
    expect(endpoint.locator('#flame g.frame rect[fill="var(--match)"]')).to_have_count(0)


def test_tooltip_tells_about_a_frame(endpoint: Page) -> None:
    frame = endpoint.locator('#flame g.frame[name^="price::quote"]')
    frame.scroll_into_view_if_needed()
    # scrolling hides the tooltip, and tells so only with the next picture
    endpoint.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    frame.hover()
    tip = endpoint.get_by_role("tooltip")
    expect(tip).to_contain_text("price::quote")
    expect(tip).to_contain_text("5 of 40 traces")
    endpoint.locator("h1").hover()
    expect(tip).to_be_hidden()


def test_call_tree_works_from_the_keyboard(endpoint: Page) -> None:
    rows = endpoint.locator("#tree tr[data-row]")
    expect(rows).to_have_count(4)
    endpoint.locator("#tree tr[tabindex='0']").focus()
    focused = endpoint.locator("#tree tr:focus")
    endpoint.keyboard.press("ArrowDown")
    expect(focused).to_contain_text("get")
    expect(endpoint.locator("#flame g.frame.current")).to_have_attribute(
        "name", re.compile("cart::get")
    )
    endpoint.keyboard.press("ArrowLeft")  # closes it
    expect(rows).to_have_count(3)
    expect(focused).to_have_attribute("aria-expanded", "false")
    endpoint.keyboard.press("ArrowRight")
    endpoint.keyboard.press("ArrowRight")
    expect(focused).to_contain_text("read")
    endpoint.keyboard.press("Enter")
    assert frames(endpoint) == ["db::read · 10.0 ms · 57.1 %"]
    expect(focused).to_contain_text("read")
    endpoint.keyboard.press("Escape")
    assert len(frames(endpoint)) == 4
    expect(focused).to_contain_text("read")
    endpoint.keyboard.press("Home")
    expect(focused).to_contain_text("buy")
    endpoint.keyboard.press("/")
    expect(endpoint.locator("#search")).to_be_focused()


def test_ranking_lists_own_time_with_chain_and_traces(endpoint: Page) -> None:
    ranking = endpoint.locator("#ranking")
    first = ranking.locator("tbody tr").first
    expect(first).to_contain_text("read")
    expect(first.locator("bdi")).to_have_text(["read", "db", "below buy \u203a get"])
    numbers = ["10.0 ms", "57.1 %", "5.00 ms", "25.0 ms", "30.0 ms", "40", "1"]
    expect(first.locator("td.number")).to_have_text(numbers)
    first.get_by_role("button", name="Details").click()
    expect(ranking.locator(".detail ol li")).to_have_text(["buyshop", "getcart", "readdb"])
    expect(ranking.locator(".detail code.trace")).to_have_text("00000000000000ab")
    ranking.get_by_role("button", name="Show in flame graph").click()
    assert frames(endpoint) == ["db::read · 10.0 ms · 57.1 %"]
    ranking.get_by_role("button", name="Errors").click()
    expect(ranking.locator("tbody tr").first).to_contain_text("quote")


def test_hostile_names_show_as_text_on_every_page(
    page: Page, hostile: Marts, tmp_path: Path
) -> None:
    template = "https://jaeger.test/trace/{trace_id}"
    write_site(hostile, tmp_path, title="<b>&", generated_us=0, jaeger_url=template)
    names = [name.strip() for name in hostile["fleet"]["operation"].to_pylist() if name]
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) == 12
    for path in pages:
        page.goto(path.as_uri())
        shown = page.locator("main").text_content() or ""
        assert all(name in shown for name in names), path
        assert page.locator("main img, main script").count() == 0
        assert page.locator("a[href^='javascript:']").count() == 0
    page.goto(next(tmp_path.glob("endpoint/endpoint-*.html")).as_uri())
    assert f"::{names[0]} · 100 µs · 11.1 %" in "\n".join(frames(page)).replace(names[0], "", 1)
    page.get_by_role("button", name="Details").first.click()
    link = page.locator("#ranking a.trace").first
    assert link.get_attribute("href") == (
        "https://jaeger.test/trace/%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    )


def test_chain_of_5000_calls_can_be_drawn_and_searched(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    depth = 5_000
    deep = pa.Table.from_pylist(
        [{"path_id": i, "parent_id": i - 1, "depth": i, "endpoint_id": 2} for i in range(1, depth)],
        schema=shop["call_paths"].schema,
    )
    held = dict.fromkeys(shop["cct"].schema.names, 0) | {"endpoint_id": 1, "traces": 40}
    cells = pa.Table.from_pylist([held | {"path_id": depth - 1, "exclusive_us": 700_000}])
    marts = shop | {"call_paths": deep, "cct": cells.cast(shop["cct"].schema)}
    marts |= {name: shop[name][:0] for name in ("path_stats", "exemplars")}
    write_site(marts, tmp_path, title="Deep", generated_us=0)
    page.goto((tmp_path / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    assert len(frames(page)) == 200
    page.locator("#search").fill("cart")
    expect(page.locator("#matched")).to_contain_text("100 % matched")
