"""Every kind of page as assistive technology finds it: no serious violation that axe knows of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import ROOT
from tests.report.real_sites import KINDS, RealSites

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AXE = ROOT / "crisp" / "report" / "web" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return {
    checked: found.passes.map(rule => rule.id),
    violations: found.violations.map(rule => [
      rule.impact, rule.id, rule.help, rule.nodes.map(node => node.target.join(' ')).slice(0, 5),
    ]),
  };
}"""
# All that is folded up: notes with numbers, and the details of the first row of every table.
OPEN = """() => {
  dispatchEvent(new Event('beforeprint'));  // fills the sections that were not seen yet
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const table of document.querySelectorAll('main table'))
    table.querySelector('button.opener[aria-expanded=false]')?.click();
}"""


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Where axe may be loaded: the pages themselves allow no script but their own."""
    made = browser.new_context(bypass_csp=True, reduced_motion="reduce", locale="en-US")
    made.add_init_script(AXE.read_text("utf-8"))
    yield made
    made.close()


@pytest.fixture
def checked(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


def serious(page: Page) -> list[Any]:
    found = page.evaluate(RUN)
    assert {"document-title", "html-has-lang", "color-contrast"} <= set(found["checked"])
    return [rule for rule in found["violations"] if rule[0] in {"serious", "critical"}]


@pytest.mark.parametrize("kind", KINDS)
def test_page_has_no_serious_violation(checked: Page, real_sites: RealSites, kind: str) -> None:
    checked.goto(real_sites.pages()[kind].as_uri())
    checked.evaluate(OPEN)
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for width in (1280, 390):
        checked.set_viewport_size({"width": width, "height": 900})
        for scheme in schemes:
            checked.emulate_media(color_scheme=scheme)
            assert serious(checked) == [], (width, scheme)


def test_zoomed_searched_and_pointed_at_page_has_none(checked: Page, real_sites: RealSites) -> None:
    checked.set_viewport_size({"width": 1280, "height": 900})
    checked.goto(real_sites.product().as_uri())
    checked.evaluate(OPEN)
    checked.locator("#search").fill("GET")
    checked.get_by_role("button", name="Only P99\u2013P100").click()
    checked.locator('#flame g.frame[name^="inventory::GET"]').click()
    checked.locator(".heat-scroll").focus()
    checked.keyboard.press("ArrowRight")
    checked.locator("#compare-flame g.frame").first.hover()
    assert serious(checked) == []


def test_an_unreadable_text_would_be_found(checked: Page, real_sites: RealSites) -> None:
    checked.goto(real_sites.pages()["ledger"].as_uri())
    checked.evaluate("() => { document.querySelector('.lead').style.color = '#ddd'; }")
    checked.emulate_media(color_scheme="light")
    assert [rule[1] for rule in serious(checked)] == ["color-contrast"]
