"""The other pages in Chromium, and what holds for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.pages import forward
from crisp.report.site import write_site

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
    page.get_by_role("button", name="Endpoint").click()
    expect(rows.first).to_contain_text("../../etc/passwd")
    page.get_by_role("button", name="Endpoint").click()
    expect(rows.last).to_contain_text("../../etc/passwd")
    assert page.url.endswith("#sort=-name")


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
