"""The anomalies page and the marks on other pages in Chromium, from file://."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, expect

from crisp.report.anomalies import Anomalies
from crisp.report.single import single_page
from crisp.report.site import write_site
from tests.report.anomaly_tables import alert, bad_night, model, night, past, score, shift
from tests.report.conftest import HOSTILE
from tests.report.reading import SHIFTS, frames, scrolled_through
from tests.report.shop_changes import with_changes
from tests.report.test_browser_axe import AXE, OPEN, serious

Marts = dict[str, pa.Table]
BUY = "endpoint/shop-buy-0000000000000001.html"
JAEGER = "https://jaeger.test/trace/{trace_id}?uiFind={span_id}"
CARDS = "article:visible"

pytestmark = pytest.mark.browser


def written(marts: Marts, target: Path, anomalies: Anomalies | None, **more: Any) -> Path:
    write_site(marts, target, title="Shop", generated_us=0, anomalies=anomalies, **more)
    return target / "anomalies.html"


def hostile_night() -> Anomalies:
    """Every endpoint named by HOSTILE has an alert, a model and an abnormal request, and all
    texts that an alert holds are such a name: 7 fire, 1 is silenced, 1 is over."""
    statuses = {105: "silenced", 107: "resolved"}
    severities = ("critical", "warning", "info")
    alerts = [
        alert(
            alert_id=text or "none",
            endpoint_id=i,
            service=text,
            operation=text,
            status=statuses.get(i, "firing"),
            severity=severities[i % 3],
            summary=text,
            silence=text,
            ended=text,
            nights=i,
            change_us=1_000.0 * (i - 99),
            paths=[shift(path_id=5, name=text), shift(path_id=1_001 * i, q=1e-5)],
        )
        for i, text in enumerate(HOSTILE, 100)
    ]
    named = range(100, 100 + len(HOSTILE))
    made = [{"path_id": 1_001 * i, "change_us": 70_000} for i in named]
    return night(
        alerts=tuple(alerts),
        shifts=tuple(shift(endpoint_id=i, path_id=1_001 * i) for i in named),
        scores=tuple(
            score(
                i, endpoint_id=i, contributions=[mine], other_us=0, p_how=text, trace_id=text or "t"
            )
            for i, text, mine in zip(named, HOSTILE, made, strict=True)
        ),
        models=tuple(model(endpoint_id=i, reason=text) for i, text in enumerate(HOSTILE, 100)),
        history=(past("2026-01-01"),),
    )


def hash_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.url.partition("#")[2])


@pytest.fixture
def bad(page: Page, shop: Marts, tmp_path: Path) -> Page:
    """The anomalies page of a bad night of the shop."""
    path = written(with_changes(shop), tmp_path, bad_night(), jaeger_url=JAEGER)
    page.goto(path.as_uri())
    return page


def test_an_alert_can_be_read_without_opening_anything(bad: Page) -> None:
    expect(bad.locator(".headline")).to_have_text(
        "1 of 1 endpoint compared changed on the night of 2026-01-02."
    )
    card = bad.locator(CARDS)
    expect(card.locator(".badge")).to_have_text("critical")
    expect(card.locator(".summary")).to_contain_text("takes 42 ms more per request")
    expect(card.locator(".facts dd").nth(0)).to_have_text("17.5 ms \u2192 59.5 ms")
    expect(card.locator(".facts dd").nth(1)).to_have_text("+42.0 ms \u00b7 +240.0 %")
    expect(card.locator(".facts dd").nth(2)).to_contain_text("2026-01-01 \u00b7 2 nights")
    rows = card.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("td.number")).to_have_text(
        ["+40.0 ms", "10.0 ms", "50.0 ms", "1 in 10 million"]
    )
    expect(rows.nth(0).locator("td").first).to_contain_text("below buy \u203a get")
    expect(card.get_by_role("img")).to_have_accessible_name(
        re.compile("^fired in 3 of the last 14 nights: 2025-12-24, ")
    )
    expect(card.locator("a.trace")).to_have_attribute(
        "href", "https://jaeger.test/trace/00000000000000ab?uiFind=c1"
    )
    expect(card.locator("h3 a")).to_have_attribute("href", BUY)


def test_an_abnormal_request_opens_into_times_that_add_up(bad: Page) -> None:
    rows = bad.locator("#requests-table > table > tbody > tr:not(.details)")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("90.0 ms20.0 ms+70.0 ms")
    expect(rows.nth(0)).to_contain_text("1 in 1,200")
    expect(rows.nth(2)).to_contain_text("cannot be said")
    rows.nth(0).get_by_role("button", name="Details").click()
    detail = bad.locator("#requests-table .detail")
    expect(detail.locator("td.number")).to_have_text(
        ["+65.0 ms", "+7.00 ms", "\u22122.00 ms", "+70.0 ms"]
    )
    expect(detail).to_contain_text("How it was made: conformal, 1,200 traces.")
    expect(detail).to_contain_text("Calls never seen before, which is abnormal here")
    bad.locator("#requests-table").get_by_role("button", name="Chance").click()
    expect(rows.nth(0)).to_contain_text("1 in 100")
    expect(rows.nth(2)).to_contain_text("cannot be said")


def test_the_page_says_why_a_score_serves(bad: Page) -> None:
    table = bad.locator("#judged-table")
    table.get_by_role("button", name="Details").click()
    expect(table.locator(".detail")).to_contain_text("latency found 80 % of planted changes")
    expect(table.locator(".detail tbody tr").first).to_have_text("latency serves80.0 %95.0 %0.4 %")
    for column in table.locator("thead th").all():
        assert column.get_attribute("title")


def test_alerts_are_searched_filtered_and_put_in_order(
    page: Page, hostile: Marts, tmp_path: Path
) -> None:
    page.goto(written(hostile, tmp_path, hostile_night()).as_uri())
    cards, counted = page.locator(CARDS), page.locator("#count")
    expect(cards).to_have_count(7)
    expect(counted).to_have_text("9 of 9 alerts")
    expect(page.locator("details.folded .matching")).to_have_text(["1", "1"])
    page.locator("#search").fill("[SVC (")  # the silenced one: unfolded when it is looked for
    expect(cards).to_have_count(1)
    expect(counted).to_have_text("1 of 9 alerts")
    expect(page.locator("#requests-table tbody tr:not(.details)")).to_have_count(1)
    expect(page.locator("#judged-table tbody tr:not(.details)")).to_have_count(1)
    expect(page.get_by_text("No firing alert matches.")).to_be_visible()
    page.locator("#search").fill("")
    expect(page.locator("details[data-status=silenced]")).not_to_have_attribute("open", "")
    page.locator("#severity").select_option("warning")
    expect(page.locator(f"[data-status=firing] {CARDS}")).to_have_count(3)
    page.locator("#sort").select_option("nights")
    assert hash_of(page) == {"severity": ["warning"], "sort": ["nights"]}
    page.reload()
    firing = page.locator(f"[data-status=firing] {CARDS}")
    expect(firing).to_have_count(3)
    nights = firing.locator(".facts dd:nth-child(2)").evaluate_all(
        "all => all.map(each => each.textContent.match(/(\\d+) nights/)?.[1]).filter(Boolean)"
    )
    assert nights == ["106", "103", "100"]
    page.locator("#severity").select_option("")
    page.locator("#service").select_option("javascript:alert(3)")
    expect(firing).to_have_count(1)
    page.locator("#service").select_option("")
    page.locator("#status").select_option("resolved")
    expect(page.locator("details[data-status=resolved]")).to_have_attribute("open", "")


def test_a_silenced_alert_is_seen_when_its_service_has_no_other(
    page: Page, hostile: Marts, tmp_path: Path
) -> None:
    page.goto(written(hostile, tmp_path, hostile_night()).as_uri())
    service, cards = page.locator("#service"), page.locator(CARDS)
    silenced = page.locator("details[data-status=silenced]")
    resolved = page.locator("details[data-status=resolved]")
    service.select_option("emoji \U0001f525 [svc (")
    expect(cards).to_have_count(1)
    expect(silenced.locator(CARDS)).to_have_count(1)
    expect(resolved).not_to_have_attribute("open", "")
    page.reload()
    expect(silenced).to_have_attribute("open", "")
    service.select_option("")
    expect(silenced).not_to_have_attribute("open", "")
    resolved.locator("summary").click()  # what a person opened stays open
    service.select_option("emoji \U0001f525 [svc (")
    service.select_option("")
    expect(resolved).to_have_attribute("open", "")
    expect(silenced).not_to_have_attribute("open", "")
    page.locator("#severity").select_option("critical")  # some of these fire
    expect(silenced).not_to_have_attribute("open", "")


@pytest.mark.slow
def test_names_and_sentences_of_alerts_are_text(page: Page, hostile: Marts, tmp_path: Path) -> None:
    page.goto(written(hostile, tmp_path, hostile_night()).as_uri())
    page.evaluate(OPEN)
    for text in HOSTILE:
        assert page.evaluate("text => document.body.innerText.includes(text)", text.split("\n")[0])
    assert page.locator("main script, main img").count() == 0
    hrefs = page.locator("main a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(href.startswith(("#", "endpoint/")) for href in hrefs)
    for path in sorted((tmp_path / "endpoint").glob("*.html")):
        page.goto(path.as_uri())
        page.evaluate(OPEN)
        expect(page.locator("aside.mark, #anomalies")).not_to_have_count(0)
        link = page.get_by_role("link", name="On the anomalies page")
        if link.count():
            link.click()
            expect(page.locator("#search")).not_to_have_value("")
            expect(page.locator(CARDS).first).to_be_visible()


def test_a_quiet_night_is_said_in_words(page: Page, shop: Marts, tmp_path: Path) -> None:
    page.goto(written(shop, tmp_path, night()).as_uri())
    expect(page.locator(".headline")).to_have_text(
        "No endpoint could be compared on the night of 2026-01-02."
    )
    expect(page.get_by_text("No alert is firing.")).to_be_visible()
    expect(page.locator("#requests-table .empty")).to_have_text("No request was abnormal.")
    expect(page.locator("#thin-title ~ details tbody tr")).to_have_text(
        "buy shop15 traces on 2026-01-02: 5 more needed"
    )
    page.goto((tmp_path / BUY).as_uri())
    expect(page.locator("aside.mark")).to_have_count(0)
    expect(page.locator("#anomalies")).to_contain_text("It has no model of the days before")
    expect(page.locator("#anomalies")).to_contain_text("No request of 2026-01-02 was scored")


def test_the_page_of_an_endpoint_marks_what_changed(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    written(with_changes(shop), tmp_path, bad_night())
    page.goto((tmp_path / BUY).as_uri())
    mark = page.get_by_role("complementary", name="Open alert")
    expect(mark).to_contain_text("takes 42 ms more per request")
    expect(mark).to_contain_text("(2 nights)")
    assert frames(page)[-1] == "\u25b2 db::read \u00b7 10.0 ms \u00b7 57.1 %"
    badges = page.locator("#tree .changed, #ranking .changed")
    expect(badges).to_have_text(["\u25b2 +40.0 ms", "\u25b2 +40.0 ms"])
    expect(badges.first).to_have_attribute(
        "title",
        "changed since the days before: time on the path: 10.0 ms before, 50.0 ms now; "
        "1 in 10 million by chance",
    )
    mark.get_by_role("link", name="What changed").click()
    section = page.locator("#anomalies")
    expect(section.locator("h2")).to_be_focused()
    expect(section.locator(".changes tbody tr")).to_have_count(3)
    expect(section.locator(".changes tr.none")).to_contain_text("could be chance")
    expect(section.locator("#requests-table tbody tr:not(.details)")).to_have_count(3)
    expect(section).to_contain_text("600 fitted, 250 calibrated")
    page.get_by_role("link", name="On the anomalies page").click()
    expect(page.locator("#search")).to_have_value("shop::buy")
    expect(page.locator(CARDS)).to_have_count(1)


def test_an_alert_links_to_the_days_it_compares(page: Page, shop: Marts, tmp_path: Path) -> None:
    anomalies = night(alerts=(alert(since="2026-01-02", nights=1),), shifts=(shift(),))
    page.goto(written(with_changes(shop), tmp_path, anomalies).as_uri())
    page.get_by_role("link", name="Compare the days").click()
    expect(page.locator("#compare-title")).to_be_focused()
    expect(page.locator("#compare-kind")).to_have_value("day")
    expect(page.locator("#compare-sentence")).to_contain_text("2026-01-0")
    assert "section" not in hash_of(page)


def test_the_fleet_sorts_by_open_alerts(page: Page, hostile: Marts, tmp_path: Path) -> None:
    written(hostile, tmp_path, hostile_night())
    page.goto((tmp_path / "index.html").as_uri())
    page.get_by_role("button", name="Alert").click()
    cells = page.locator("#table tbody tr td:nth-child(2)")
    # of endpoints 100 to 108 two are critical, three warnings, two for information; 107 is over
    expect(cells).to_have_text(
        [*["critical"] * 2, *["warning"] * 3, *["info"] * 2, "silenced", "\u2013"]
    )
    cells.first.locator("a").click()
    expect(page.locator(CARDS).first).to_contain_text("critical")


def test_a_single_file_has_the_mark_and_no_link_out(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    html = single_page(
        with_changes(shop),
        service="shop",
        operation=None,
        title="Shop",
        generated_us=0,
        anomalies=bad_night(),
    )
    (tmp_path / "one.html").write_text(html, "utf-8")
    page.goto((tmp_path / "one.html").as_uri())
    expect(page.locator("aside.mark a")).to_have_text(["What changed"])
    page.locator("#anomalies").scroll_into_view_if_needed()
    expect(page.locator("#requests-table tbody tr:not(.details)")).to_have_count(3)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_pages_are_scrolled(
    page: Page, hostile: Marts, shop: Marts, tmp_path: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(SHIFTS)
    for name, marts, anomalies, file in (
        ("hostile", hostile, hostile_night(), "anomalies.html"),
        ("shop", with_changes(shop), bad_night(), BUY),
        ("quiet", shop, night(), "anomalies.html"),
    ):
        (tmp_path / name).mkdir()
        written(marts, tmp_path / name, anomalies)
        page.goto((tmp_path / name / file).as_uri())
        scrolled_through(page)
        shifts = page.evaluate("window.shifts")
        assert sum(shift for shift, _ in shifts) < 0.02, (name, shifts)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_no_page_has_a_serious_violation(
    browser: Browser, hostile: Marts, shop: Marts, tmp_path: Path
) -> None:
    context = browser.new_context(bypass_csp=True, reduced_motion="reduce", locale="en-US")
    context.add_init_script(AXE.read_text("utf-8"))
    page = context.new_page()
    (tmp_path / "hostile").mkdir()
    (tmp_path / "shop").mkdir()
    pages = [written(hostile, tmp_path / "hostile", hostile_night(), jaeger_url=JAEGER)]
    pages.append(tmp_path / "hostile" / "index.html")
    written(with_changes(shop), tmp_path / "shop", bad_night())
    pages.append(tmp_path / "shop" / BUY)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate(OPEN)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for scheme in schemes:
                page.emulate_media(color_scheme=scheme)
                assert serious(page) == [], (path, width, scheme)
    context.close()


def test_paper_cuts_nothing_off(page: Page, hostile: Marts, tmp_path: Path) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})
    page.goto(written(hostile, tmp_path, hostile_night()).as_uri())
    wide = """() => [...document.querySelectorAll('main table')]
      .filter(each => each.getBoundingClientRect().right > document.body.offsetWidth + 1)
      .map(each => each.textContent.slice(0, 80))"""
    assert page.evaluate(wide) == []
