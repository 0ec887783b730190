"""The sections «Latency», «Errors on the path» and «Hosts» of the endpoint page in Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.site import write_site
from tests.report.conftest import HOSTILE, table

Marts = dict[str, pa.Table]
PAGE = "endpoint/shop-buy-0000000000000001.html"
DB_READ = -9223372036854775803

pytestmark = pytest.mark.browser


def on_hosts(shop: Marts, names: tuple[str, ...] = ("h1", "h2"), traces: int = 40) -> Marts:
    """The shop with kept traces; db::read takes 20 ms on the first host and 10 on the others."""
    number = range(traces)
    hosts = [names[i % len(names)] for i in number]
    return shop | {
        "kept": table(
            "kept",
            *(
                {"endpoint_id": 1, "tree_id": i, "band": int(i >= 30), "trace_id": f"{i:016x}"}
                for i in number
            ),
        ),
        "kept_paths": table(
            "kept_paths",
            *(
                {"endpoint_id": 1, "tree_id": i, "path_id": DB_READ, "host": host}
                | {"exclusive_us": (20_000 if host == names[0] else 10_000) + 10 * i}
                for i, host in zip(number, hosts, strict=True)
            ),
        ),
        "hosts": table(
            "hosts",
            *(
                {"host": h, "service": "db", "attribute": "sku", "value": f"sku of {h}"}
                for h in names
            ),
        ),
    }


def opened(page: Page, marts: Marts, target: Path) -> Page:
    write_site(marts, target, title="Shop", generated_us=0)
    page.goto((target / PAGE).as_uri())
    return page


def test_latency_is_drawn_by_band_with_edges_and_numbers(page: Page, shop_site: Path) -> None:
    page.goto((shop_site / PAGE).as_uri())
    figure = page.locator("figure.latency")
    expect(figure.locator("rect")).to_have_count(4)
    expect(figure.locator(".edge text")).to_have_text(["P75 19.0 ms"])
    expect(figure.locator(".edge title")).to_have_text(
        "P75: 75 % of the traces took 19.0 ms or less"
    )
    expect(figure.locator("table")).to_be_hidden()
    figure.get_by_text("Numbers").click()
    expect(figure.locator("tbody tr").first).to_have_text("5.01 ms to below 5.62 ms1010–")


def test_errors_are_listed_by_time_and_open_their_call_chain(page: Page, shop_site: Path) -> None:
    page.goto((shop_site / PAGE).as_uri())
    section = page.locator("section", has=page.locator("#errors-title"))
    section.scroll_into_view_if_needed()
    rows = section.locator("tbody tr:not(.details)")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("quote")
    expect(rows.nth(0)).to_contain_text("14.0 ms2.0 %22")
    expect(rows.nth(2)).to_contain_text("0 µs0 %10")
    rows.nth(1).get_by_role("button", name="Details").click()
    expect(section.locator(".details ol")).to_have_text("buyshopgetcart")
    section.get_by_role("button", name="Failed in").click()
    expect(rows.nth(0)).to_contain_text("quote")


def test_without_errors_the_section_says_so(page: Page, shop: Marts, tmp_path: Path) -> None:
    opened(page, shop | {"errors": shop["errors"].slice(0, 0)}, tmp_path)
    expect(page.locator("main")).to_contain_text("No call failed on the critical path")


def test_hosts_show_violins_of_the_chosen_attribute(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    opened(page, on_hosts(shop), tmp_path)
    page.locator("#hosts").scroll_into_view_if_needed()
    hosts = page.locator("#hosts")
    # 20.00, 20.02, … 20.38 ms on h1 and 10.01, 10.03, … 10.39 on h2: medians 20.19 and 10.2
    expect(hosts.locator(".verdict")).to_have_text(
        "The hosts differ (p < 0.001, adjusted for all 2 comparisons on this page): the median on "
        "h1 is 98 % (9.99 ms) higher than on h2."
    )
    expect(hosts.locator("tbody th")).to_have_text(["h1", "h2"])
    expect(hosts.locator("tbody tr").first).to_contain_text("12020.2 ms20.4 ms–")
    expect(hosts.locator("polygon")).to_have_count(2)
    hosts.get_by_label("Hosts by").select_option("1")
    expect(hosts.locator("tbody th")).to_have_text(["sku of h1", "sku of h2"])
    expect(hosts.locator(".verdict")).to_contain_text(
        "Only one host has sku of h1, so the reason may be that host."
    )
    assert page.url.endswith("#host-attribute=sku")
    page.reload()
    page.locator("#hosts").scroll_into_view_if_needed()
    expect(hosts.locator("tbody th")).to_have_text(["sku of h1", "sku of h2"])


def test_hosts_seen_too_rarely_say_what_is_missing(page: Page, shop: Marts, tmp_path: Path) -> None:
    opened(page, on_hosts(shop, traces=30), tmp_path)
    page.locator("#hosts").scroll_into_view_if_needed()
    expect(page.locator("#hosts .verdict")).to_contain_text("Too few observations to compare")
    expect(page.locator("#hosts .hint")).to_have_text(
        "Too few to draw: h1 has 15 observations, 5 more needed, "
        "h2 has 15 observations, 5 more needed."
    )


def test_without_kept_traces_nothing_is_known_of_hosts(page: Page, shop_site: Path) -> None:
    page.goto((shop_site / PAGE).as_uri())
    page.locator("#hosts").scroll_into_view_if_needed()
    expect(page.locator("#hosts .empty")).to_contain_text("No trace of this endpoint is kept whole")


def test_sections_out_of_view_are_filled_before_printing(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    page.set_viewport_size({"width": 1280, "height": 200})
    opened(page, on_hosts(shop), tmp_path)
    expect(page.locator("#hosts")).to_be_empty()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#hosts polygon")).to_have_count(2)
    expect(page.locator("#errors-table tbody tr:not(.details)")).to_have_count(3)


def test_names_of_hosts_are_text(page: Page, shop: Marts, tmp_path: Path) -> None:
    names = tuple(name for name in HOSTILE if name)
    opened(page, on_hosts(shop, names, traces=200), tmp_path)
    page.locator("#hosts").scroll_into_view_if_needed()
    expect(page.locator("#hosts tbody th")).to_have_count(len(names))
    expect(page.locator("#hosts tbody th").first).to_be_visible()
    expect(page.locator("#hosts")).to_contain_text("<script>alert(1)</script>")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_section_is_wider_than_its_window(
    page: Page, shop: Marts, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    opened(page, on_hosts(shop), tmp_path)
    page.locator("#hosts").scroll_into_view_if_needed()
    expect(page.locator("#hosts polygon")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
