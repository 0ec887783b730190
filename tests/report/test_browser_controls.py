"""Every control of a site of recorded traces in Chromium, against the JSON beside the page."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from crisp.units import count, micros, share, signed
from tests.report.reading import column, frames, heat_heads, opened, part, scrolled_through
from tests.report.real_sites import RealSites

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_search_tells_the_share_of_all_that_lies_below(page: Page, real_sites: RealSites) -> None:
    path = real_sites.product()
    data = part(path)
    opened(page, path)
    page.locator("#search").fill("catalogue::GET")
    parent, own = data["paths"]["parent"], data["cells"]["exclusive_us"]
    matches = ["catalogue::GET" in "::".join(data["names"][name]) for name in data["paths"]["name"]]
    below = list(matches)
    for row, above in enumerate(parent):
        below[row] = below[row] or (above >= 0 and below[above])
    total = sum(map(sum, own))
    found = sum(time for band in own for time, inside in zip(band, below, strict=True) if inside)
    requests = sum(band["traces"] for band in data["bands"])
    assert sum(matches) == 2
    expect(page.locator("#matched")).to_have_text(
        f"{share(found / total)} matched: {micros(found / requests)} in 2 call paths"
    )
    expect(page.locator("#tree tr.match")).to_have_count(2)


def test_ranking_sorts_by_each_of_its_numbers(page: Page, real_sites: RealSites) -> None:
    path = real_sites.product()
    stats = part(path)["stats"]
    opened(page, path, "#ranking")
    rows = page.locator("#ranking tbody tr:not(.details)")
    for title, field, place in (("P95", "p95", 3), ("P99", "p99", 4)):
        page.locator("#ranking").get_by_role("button", name=title).click()
        slowest = sorted(stats[f"exclusive_{field}_us"], reverse=True)[: rows.count()]
        assert column(rows, place) == [micros(value) for value in slowest]


def test_bands_zoom_and_back(page: Page, real_sites: RealSites) -> None:
    opened(page, real_sites.product())
    everything = frames(page)
    page.get_by_role("button", name="Only P95\u2013P99").click()
    slow = frames(page)
    assert slow != everything
    page.locator('#flame g.frame[name^="inventory::GET"]').click()
    zoomed = frames(page)
    assert len(zoomed) == 2
    assert zoomed[0].startswith("inventory::GET /stock/{id} · ")
    expect(page.locator("#trail")).to_contain_text("GET /stock/{id}")
    page.get_by_role("button", name="Reset zoom").click()
    assert frames(page) == slow
    page.go_back()
    assert frames(page) == zoomed
    page.go_back()
    assert frames(page) == slow


def test_compare_swaps_and_compares_by_share(page: Page, real_sites: RealSites) -> None:
    opened(page, real_sites.product(), "#compare")
    sentence = page.locator("#compare-sentence")
    # the shop's slow query is what makes its slow requests slow, see docs/shop.md
    expect(sentence).to_contain_text("inventory::SELECT stock explains")
    times = re.compile(r"(\S+) is (\S+ \S+) (slower|faster) than (\S+) on average")
    before = times.match(sentence.inner_text())
    assert before
    page.get_by_role("button", name="Swap A and B").click()
    expect(sentence).to_contain_text("faster")
    after = times.match(sentence.inner_text())
    assert after
    assert after.groups() == (before[4], before[2], "faster", before[1])
    rows = page.locator("#compare-table tbody tr:not(.details)")
    assert all(text.endswith(("µs", "ms")) for text in column(rows, 0))
    page.get_by_label("Compare by").select_option("share")
    assert all(text.endswith("%") for text in column(rows, 0))


def test_heat_map_sorts_searches_and_opens_traces(page: Page, real_sites: RealSites) -> None:
    path = real_sites.product()
    heat = part(path, "heat")
    page.context.route("https://jaeger.test/**", lambda route: route.fulfill(body="a trace"))
    opened(page, path, "#heat-section")
    for field in ("p50", "p95", "p99"):
        page.locator("#heat-sort").select_option(field)
        values = sorted(heat["rows"][f"exclusive_{field}_us"], reverse=True)
        assert [value for _, value in heat_heads(page)] == [micros(value) for value in values]
    page.locator("#heat-search").fill("SELECT stock")
    assert len(heat_heads(page)) == 1
    grid, now = page.locator(".heat-scroll"), page.locator("#heat-now")
    grid.focus()
    page.keyboard.press("Control+Home")  # the header of the row
    page.keyboard.press("ArrowRight")
    trace, span = heat["traces"]["trace_id"], heat["traces"]["span_id"]
    slowest = micros(heat["traces"]["latency_us"][0])
    expect(now).to_contain_text(f"of {slowest}")
    page.keyboard.press("ArrowRight")
    with page.context.expect_page() as entered:
        page.keyboard.press("Enter")
    assert entered.value.url == f"https://jaeger.test/trace/{trace[1]}?uiFind={span[1]}"
    entered.value.close()
    box, head = grid.bounding_box(), page.locator(".heat-corner").bounding_box()
    assert box
    assert head
    with page.context.expect_page() as clicked:
        page.mouse.click(box["x"] + head["width"] + 3, box["y"] + 44 + 11)
    assert clicked.value.url == f"https://jaeger.test/trace/{trace[0]}?uiFind={span[0]}"


def test_hosts_are_compared_by_what_is_chosen(page: Page, real_sites: RealSites) -> None:
    path = real_sites.largest()
    endpoints = part(path, "violins")["endpoints"]
    opened(page, path, "#hosts")
    chooser = page.get_by_label("Hosts by")
    for number, endpoint in enumerate(endpoints[:3]):
        page.locator("#hosts").get_by_label("Call").select_option(str(number))
        expect(chooser.locator("option")).to_have_count(len(endpoint["attributes"]))
        for at, attribute in enumerate(endpoint["attributes"]):
            chooser.select_option(str(at))
            values = attribute["values"]
            rows = page.locator("#hosts tbody tr")
            expect(rows.locator("th")).to_have_text([value["value"] for value in values])
            median = rows.locator("td.number").nth(2)
            if values:
                expect(median).to_have_text(micros(values[0]["p50_us"]))


def everything_shown(page: Page) -> dict[str, Any]:
    """What a reader sees in the sections that have a view of their own."""
    scrolled_through(page)
    texts = [
        *("#chosen", "#matched", "#trail", "#tree", "#compare-sentence", "#compare-table"),
        *("#heat-count", "#ranking", "#hosts"),
    ]
    return {
        "frames": frames(page),
        "changes": frames(page, "#compare-flame"),
        "heat": heat_heads(page),
        **{place: page.locator(place).inner_text() for place in texts},
    }


def test_a_link_shows_somebody_else_the_same(page: Page, real_sites: RealSites) -> None:
    path = real_sites.largest()
    opened(page, path)
    first = everything_shown(page)
    page.get_by_role("button", name="Only P99\u2013P100").click()
    page.locator("#flame g.frame").nth(1).click()
    page.locator("#search").fill("get")
    page.locator("#heat-sort").select_option("p99")
    page.locator("#heat-metric").select_option("inclusive")
    page.locator(".heat-head").nth(2).click()
    page.get_by_role("button", name="Swap A and B").click()
    page.get_by_label("Compare by").select_option("share")
    page.locator("#hosts").get_by_label("Call").select_option("1")
    mine = everything_shown(page)
    assert all(mine[place] != first[place] for place in mine)
    other = page.context.new_page()
    other.set_viewport_size({"width": 1280, "height": 900})
    other.goto(page.url)
    assert everything_shown(other) == mine


def test_fleet_searches_and_sorts_and_a_link_keeps_it(page: Page, real_sites: RealSites) -> None:
    path = real_sites.pages()["fleet"]
    fleet = part(path)["endpoints"]
    opened(page, path)
    page.locator("#search").fill("gateway")
    named = [
        at
        for at, pair in enumerate(zip(fleet["service"], fleet["operation"], strict=True))
        if "gateway" in "::".join(pair)
    ]
    assert 1 < len(named) < len(fleet["id"])
    expect(page.locator("#count")).to_contain_text(
        f"{count(len(named))} of {count(len(fleet['id']))} endpoints"
    )
    page.get_by_role("button", name="P95").click()
    rows = page.locator("#table tbody tr")
    slowest = sorted((fleet["p95_us"][at] for at in named), reverse=True)[: rows.count()]
    assert column(rows, 3) == [micros(value) for value in slowest]
    other = page.context.new_page()
    other.goto(page.url)
    assert other.locator("#table").inner_text() == page.locator("#table").inner_text()


def test_bottom_up_sorts_by_time_with_calls_below(page: Page, real_sites: RealSites) -> None:
    path = real_sites.pages()["bottom-up"]
    apis = part(path)["apis"]
    opened(page, path)
    page.get_by_role("button", name="With calls below").click()
    rows = page.locator("#table tbody tr:not(.details)")
    first = max(apis["inclusive_share"])
    expect(rows.first).to_contain_text(share(first))
    assert rows.count() > 20


def test_alerts_and_requests_are_searched_together(page: Page, real_sites: RealSites) -> None:
    path = real_sites.pages()["anomalies"]
    alerts, entries = part(path)["alerts"], part(path, "requests")["entries"]
    assert {alert["service"]: alert["status"] for alert in alerts} == {
        "payment-gateway": "firing",
        "order-gateway": "silenced",
    }
    opened(page, path)
    cards = page.locator("article:visible")
    expect(cards).to_have_count(1)  # the silenced one is folded up
    expect(cards.locator(".summary")).to_have_text(alerts[0]["summary"])
    expect(cards.locator("tbody tr")).to_have_count(len(alerts[0]["paths"]))
    first = next(row["change_us"] for row in alerts[0]["paths"] if row["test"] == "time")
    assert column(cards.locator("tbody tr"), 0)[0] == signed(first)
    page.locator("#service").select_option("order-gateway")
    page.locator("#status").select_option("silenced")  # which unfolds it
    expect(cards).to_have_count(1)
    expect(cards.locator(".why")).to_have_text("Silenced: the new index is being built")
    expect(page.locator("#count")).to_have_text("1 of 2 alerts")
    listed = page.locator("#requests-table > table > tbody > tr:not(.details)")
    mine = entries["service"].count("order-gateway")
    assert 0 < mine < len(entries["service"])
    expect(listed).to_have_count(min(10, mine))
    page.locator("#service").select_option("")
    page.locator("#status").select_option("")
    page.locator("#search").fill("no such name")
    expect(cards).to_have_count(0)
    expect(listed).to_have_count(0)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#search")).to_have_value("no such name")
    expect(other.locator("article:visible")).to_have_count(0)


def test_abnormal_requests_sort_open_and_lead_to_their_traces(
    page: Page, real_sites: RealSites
) -> None:
    path = real_sites.pages()["anomalies"]
    data = part(path, "requests")
    requests = data["requests"]
    page.context.route("https://jaeger.test/**", lambda route: route.fulfill(body="a trace"))
    opened(page, path, "#requests-table")
    rows = page.locator("#requests-table > table > tbody > tr:not(.details)")
    sort = page.locator("#requests-table").get_by_role("button", name="Latency")
    sort.press("Enter")
    expect(page.locator("#requests-table [aria-sort=descending]")).to_have_count(1)
    order = sorted(range(len(requests["trace_id"])), key=lambda at: -requests["latency_us"][at])
    slowest = [micros(requests["latency_us"][at]) for at in order[: rows.count()]]
    assert column(rows, 0) == slowest
    rows.first.get_by_role("button", name="Details").press("Enter")
    detail = page.locator("#requests-table .detail")
    numbers = detail.locator("td.number").all_inner_texts()
    at = order[0]
    begin, end = requests["first"][at], requests["first"][at + 1]
    parts = data["contributions"]["change_us"][begin:end]
    assert sum(parts) + requests["other_us"][at] == requests["change_us"][at]
    assert numbers == [*map(signed, (*parts, requests["other_us"][at], requests["change_us"][at]))]
    with page.context.expect_page() as followed:
        rows.first.locator("a.trace").press("Enter")
    trace, span = requests["trace_id"][at], requests["root_span_id"][at]
    assert followed.value.url == f"https://jaeger.test/trace/{trace}?uiFind={span}"


def test_an_alert_is_reached_and_followed_by_keyboard(page: Page, real_sites: RealSites) -> None:
    """From the fleet to the alert, to the days it compares, and back to the anomalies page."""
    alert = part(real_sites.pages()["anomalies"])["alerts"][0]
    opened(page, real_sites.pages()["fleet with alerts"])
    page.locator("#table").get_by_role("link", name=alert["severity"]).press("Enter")
    card = page.locator("article:visible")
    expect(card.locator(".summary")).to_have_text(alert["summary"])
    card.get_by_role("link", name="Compare the days").press("Enter")
    expect(page.locator("#compare-title")).to_be_focused()
    expect(page.locator("#compare-sentence")).to_contain_text("2026-11-05")
    expect(page.locator("#compare-sentence")).to_contain_text("slower")
    mark = page.get_by_role("complementary", name="Open alert")
    mark.get_by_role("link", name="What changed").press("Enter")
    expect(page.locator("#anomalies-title")).to_be_focused()
    mark.get_by_role("link", name="On the anomalies page").press("Enter")
    expect(page.locator("article:visible")).to_have_count(1)
