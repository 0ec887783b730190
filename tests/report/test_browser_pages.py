"""The other pages in Chromium, and what holds for all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.pages import forward
from crisp.report.site import write_site
from tests.report.conftest import HOSTILE

Marts = dict[str, pa.Table]

pytestmark = pytest.mark.browser


def test_fleet_searches_sorts_and_filters(page: Page, hostile: Marts, tmp_path: Path) -> None:
    site = write_site(hostile, tmp_path, title="Fleet", generated_us=0)
    page.goto(Path(site.index).as_uri())
    rows = page.locator("#table tbody tr")
    expect(rows).to_have_count(9)
    page.locator("#search").fill("[SVC (")
    expect(rows).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1 of 9 endpoints")
    page.reload()
    expect(rows).to_have_count(1)
    page.locator("#search").fill("")
    page.locator("#service").select_option("javascript:alert(3)")
    expect(rows).to_have_count(1)
    page.locator("#service").select_option("")
    first_order = rows.all_inner_texts()
    page.get_by_role("button", name="Endpoint").click()
    expect(rows.first).to_contain_text("../../etc/passwd")
    page.get_by_role("button", name="Endpoint").click()
    expect(rows.last).to_contain_text("../../etc/passwd")
    assert page.url.endswith("#sort=-name")
    head = page.locator("th", has_text="Endpoint")
    expect(head).to_have_attribute("title", re.compile("click again for the first order"))
    page.get_by_role("button", name="Endpoint").press("Enter")
    assert rows.all_inner_texts() == first_order
    assert "#" not in page.url
    expect(page.get_by_role("button", name="Endpoint")).to_be_focused()
    expect(page.locator("[aria-sort]")).to_have_count(0)


def test_fleet_shows_changes_since_the_window_before(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    row = shop["fleet"].to_pylist()[0] | {"p50_us": 10_000.0}
    kind = shop["fleet"].schema
    now = [row, row | {"endpoint_id": 2, "p50_us": 6_000.0}, row | {"endpoint_id": 3}]
    before = [row | {"p50_us": 8_000.0}, row | {"endpoint_id": 2, "p50_us": 8_000.0}]
    site = write_site(
        shop | {"fleet": pa.Table.from_pylist(now, schema=kind)},
        tmp_path,
        title="Fleet",
        generated_us=0,
        previous=pa.Table.from_pylist(before, schema=kind),
    )
    page.goto(Path(site.index).as_uri())
    page.get_by_role("button", name="Change").click()
    rows = page.locator("#table tbody tr")
    changes = [rows.nth(i).locator("td").nth(4) for i in range(3)]
    expect(changes[0]).to_have_text("+25.0 %")
    expect(changes[0].locator("span")).to_have_attribute(
        "title", "median was 8.00 ms over 40 traces"
    )
    expect(changes[1]).to_have_text("\u221225.0 %")
    expect(changes[2]).to_have_text("\u2013")
    expect(changes[2].locator("span")).to_have_attribute(
        "title", "new: it has no trace in the window before"
    )
    page.get_by_role("button", name="Change").click()
    expect(changes[0]).to_have_text("\u221225.0 %")
    expect(changes[2]).to_have_text("\u2013")
    expect(page.locator("#owner")).to_have_count(0)


def test_fleet_is_filtered_by_owner_and_pages_name_theirs(
    page: Page, hostile: Marts, tmp_path: Path
) -> None:
    owners = {"two*": "Payments", "emoji*": HOSTILE[0]}
    site = write_site(hostile, tmp_path, title="Fleet", generated_us=0, owners=owners)
    page.goto(Path(site.index).as_uri())
    rows = page.locator("#table tbody tr")
    owner = page.get_by_label("Owner")
    expect(owner.locator("option")).to_have_text(["all owners", "(nobody)", HOSTILE[0], "Payments"])
    owner.select_option(label="(nobody)")
    expect(rows).to_have_count(7)
    owner.select_option(label="Payments")
    expect(rows).to_have_count(1)
    assert page.url.endswith("#owner=Payments")
    page.reload()
    expect(rows).to_have_count(1)
    rows.get_by_role("link").click()
    expect(page.locator(".crumbs")).to_contain_text("owner Payments")


def test_an_api_opens_the_endpoints_that_it_slows(page: Page, shop_site: Path) -> None:
    page.goto((shop_site / "bottom-up.html").as_uri())
    page.get_by_role("button", name="Details").first.click()
    reach = page.locator("tr.details").first
    expect(reach.locator("tbody tr")).to_have_text(["buyshop10.0 ms57.1 %40"])
    reach.get_by_role("link", name="buy").click()
    expect(page).to_have_url((shop_site / "endpoint/shop-buy-0000000000000001.html").as_uri())


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_its_window(
    page: Page, shop_site: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for path in sorted(shop_site.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_empty_site_opens_and_says_what_is_missing(
    page: Page, empty: Marts, tmp_path: Path
) -> None:
    site = write_site(empty, tmp_path, title="Empty", generated_us=0)
    page.goto(Path(site.index).as_uri())
    expect(page.locator("main .empty")).to_contain_text("no trace was read in this window")
    page.get_by_role("link", name="Bottom-up").click()
    expect(page.locator("#table .empty")).to_have_text("There are no APIs.")


def test_the_index_of_an_object_store_leads_to_the_newest_pages(
    page: Page, hostile: Marts, tmp_path: Path
) -> None:
    newest = tmp_path / "v-1"
    newest.mkdir()
    write_site(hostile, newest, title="Fleet", generated_us=0)
    (tmp_path / "index.html").write_text(forward("v-1/index.html"), encoding="utf-8")
    page.goto((tmp_path / "index.html").as_uri())
    expect(page).to_have_url((newest / "index.html").as_uri())
    expect(page.locator("#table tbody tr")).to_have_count(9)
