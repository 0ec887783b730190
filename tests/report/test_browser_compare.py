"""The section «Compare» in Chromium: what it says, and what each of its controls does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect

from crisp.report.site import write_site
from crisp.units import micros
from tests.report.conftest import HOSTILE, table
from tests.report.shop_changes import with_changes

Marts = dict[str, pa.Table]

pytestmark = pytest.mark.browser


def opened(page: Page, marts: Marts, folder: Path, at: str = "") -> Page:
    """The section of shop::buy, scrolled to."""
    write_site(marts, folder, title="Shop", generated_us=0)
    page.goto((folder / "endpoint" / "shop-buy-0000000000000001.html").as_uri() + at)
    page.locator("#compare").scroll_into_view_if_needed()
    page.locator("#compare-flame g.frame").first.wait_for()
    return page


@pytest.fixture
def compare(page: Page, shop: Marts, tmp_path: Path) -> Page:
    return opened(page, with_changes(shop), tmp_path)


def colours(page: Page) -> dict[str, str]:
    """Colour of the frames that are drawn, by the name of the call."""
    found = page.locator("#compare-flame g.frame").evaluate_all(
        """all => all.filter(g => g.getBoundingClientRect().width > 0)
          .map(g => [g.getAttribute('name').split(' · ')[0],
                     g.querySelector('rect').getAttribute('fill')])"""
    )
    return {name: colour.removeprefix("var(--change-").removesuffix(")") for name, colour in found}


def rows(page: Page) -> list[list[str]]:
    """Operation and all numbers of the rows of the table."""
    found: list[list[str]] = page.locator("#compare-table tbody tr:not(.details)").evaluate_all(
        """all => all.map(row => [row.querySelector('bdi').textContent,
          ...[...row.querySelectorAll('td.number')].map(cell => cell.innerText)])"""
    )
    return found


def ends(page: Page, call: str | None = None) -> str:
    """The interval of the first pair, or of one call in it, as its JSON has it: "1.5 to 2.5 ms".

    Whether these are the right numbers is the business of test_model_changes.py.
    """
    file = Path(unquote(urlsplit(page.url).path)).with_suffix(".json")
    data = json.loads(file.read_text(encoding="utf-8"))
    pair = data["changes"]["pairs"][0]
    low, high = pair["low_us"], pair["high_us"]
    if call is not None:
        found = pair["changes"]
        names = [data["names"][data["paths"]["name"][path]][1] for path in found["path"]]
        low, high = (found[end][names.index(call)] for end in ("low_us", "high_us"))
    return f"{micros(low).removesuffix(' ms')} to {micros(high)}"


def hash_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.url.partition("#")[2])


def test_sentence_says_what_changed_and_why(compare: Page) -> None:
    expect(compare.locator("#compare-sentence")).to_have_text(
        f"P75–P100 is 30.0 ms slower than P0–P75 on average ({ends(compare)})."
        " db::read explains 20.0 ms of it."
    )
    expect(compare.locator("#compare-caution")).to_have_text(
        "P75–P100 is thin: it has 10 traces, 10 more are needed for 20."
    )


def test_table_has_the_surest_changes_first_with_intervals(compare: Page) -> None:
    assert rows(compare) == [
        ["read", "5.00 ms", "25.0 ms", "+20.0 ms (20.0 to 20.0 ms)", "+12.5 points"],
        ["get", "3.00 ms", "0 µs", "−3.00 ms (−3.00 to −3.00 ms)", "−30.0 points"],
        ["buy", "2.00 ms", "5.00 ms", "+3.00 ms (3.00 to 3.00 ms)", "−7.5 points"],
        ["quote", "0 µs", "10.0 ms", f"+10.0 ms ({ends(compare, 'quote')})", "+25.0 points"],
    ]


def test_frames_are_coloured_by_their_own_change(compare: Page) -> None:
    # Of the mean latency of A, 10 ms, the changes are 200, -30, 30 and 100 %; full colour is 250 %.
    assert colours(compare) == {
        "shop::buy": "more-1",
        "cart::get": "less-1",
        "db::read": "more-4",
        "price::quote": "more-2",
    }
    expect(compare.locator("#compare-legend")).to_contain_text(
        "The strongest colours stand for 250 % of the mean latency of A, 25.0 ms, or more."
    )


def test_swap_turns_everything_round_and_stands_in_the_address(compare: Page) -> None:
    compare.get_by_role("button", name="Swap A and B").click()
    expect(compare.locator("#compare-sentence")).to_contain_text(
        f"P0–P75 is 30.0 ms faster than P75–P100 on average ({ends(compare)})."
        " db::read explains 20.0 ms"
    )
    assert rows(compare)[0] == [
        "read",
        "25.0 ms",
        "5.00 ms",
        "−20.0 ms (−20.0 to −20.0 ms)",
        "−12.5 points",
    ]
    assert hash_of(compare) == {"compare": ["band:P75–P100:P0–P75"]}
    compare.reload()
    expect(compare.locator("#compare-a")).to_have_value("1")
    compare.get_by_role("button", name="Swap A and B").click()
    assert hash_of(compare) == {}


def test_share_compares_parts_of_the_latency(compare: Page) -> None:
    compare.get_by_label("Compare by").select_option("share")
    assert rows(compare)[0][:3] == ["read", "50.0 %", "62.5 %"]
    assert rows(compare)[0][3].startswith("+12.5 points (")
    assert hash_of(compare) == {"compare-by": ["share"]}


def test_noise_is_grey_and_called_noise(page: Page, shop: Marts, tmp_path: Path) -> None:
    compare = opened(page, with_changes(shop), tmp_path)
    compare.get_by_label("Groups").select_option("day")
    expect(compare.locator("#compare-sentence")).to_contain_text(
        "could be noise: the true change lies somewhere from"
    )
    marks = compare.locator("#compare-table tbody tr:not(.details)", has_text="could be noise")
    expect(marks.first).to_be_visible()
    doubtful = {row.split("\n")[0] for row in marks.locator("bdi:first-of-type").all_inner_texts()}
    assert doubtful
    for name, colour in colours(compare).items():
        if name.split("::")[1] in doubtful:
            assert colour == "none", name
    assert hash_of(compare) == {"compare": ["day:2026-01-01:2026-01-02"]}


def test_calls_of_one_side_only_are_listed_and_shown(compare: Page) -> None:
    new, gone = compare.locator("#compare-one-sided > div").all()
    expect(new.locator("h3")).to_have_text("New: only in B, P75–P100 (1)")
    expect(new.locator("li")).to_have_text(["quoteprice 10.0 ms"])
    expect(gone).to_contain_text("None")


def test_row_shows_its_frame_also_when_that_needs_the_other_width(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    compare = opened(page, with_changes(shop), tmp_path, "#compare=day:2026-01-01:2026-01-02")
    row = compare.locator("#compare-table tbody tr", has_text="quote").first
    row.get_by_role("button", name="Details").press("Enter")
    compare.get_by_role("button", name="Show in flame graph").press("Enter")
    expect(compare.get_by_label("Frames as wide as in")).to_have_value("a")
    assert hash_of(compare)["compare-width"] == ["a"]
    reset = compare.locator("#compare-reset")
    expect(reset).to_be_enabled()
    reset.click()
    expect(reset).to_be_disabled()


def test_focus_goes_with_what_is_shown_in_the_flame_graph(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    compare = opened(page, with_changes(shop), tmp_path, "#compare=day:2026-01-01:2026-01-02")
    gone = compare.locator("#compare-one-sided > div").nth(1)
    gone.get_by_role("button").first.press("Enter")
    expect(compare.get_by_label("Frames as wide as in")).to_have_value("a")
    expect(compare.locator("#compare-title")).to_be_focused()
    compare.get_by_role("button", name="Details").first.press("Enter")
    compare.get_by_role("button", name="Show in flame graph").press("Enter")
    expect(compare.locator("#compare-title")).to_be_focused()


def test_zoom_stands_in_the_address_and_back_undoes_it(compare: Page) -> None:
    compare.locator("#compare-by").select_option("share")
    compare.locator('#compare-flame g.frame[name^="cart::get"]').click()
    zoomed = {"compare-by": ["share"], "compare-path": ["000000000000000c"]}
    assert hash_of(compare) == zoomed
    compare.reload()
    compare.locator("#compare").scroll_into_view_if_needed()
    reset = compare.locator("#compare-reset")
    expect(reset).to_be_enabled()
    assert set(colours(compare)) == {"shop::buy", "cart::get", "db::read"}
    compare.go_back()
    expect(reset).to_be_disabled()
    assert len(colours(compare)) == 4
    assert hash_of(compare) == {"compare-by": ["share"]}


def test_order_stands_in_the_address_and_a_third_click_undoes_it(compare: Page) -> None:
    surest = rows(compare)
    change = compare.locator("#compare-table").get_by_role("button", name="Change")
    change.click()
    change.click()
    assert [row[0] for row in rows(compare)] == ["get", "buy", "quote", "read"]
    assert hash_of(compare) == {"compare-sort": ["change"]}
    compare.reload()
    compare.locator("#compare").scroll_into_view_if_needed()
    head = compare.locator("#compare-table th", has_text="Change")
    expect(head).to_have_attribute("aria-sort", "ascending")
    change.press("Enter")
    assert rows(compare) == surest
    assert hash_of(compare) == {}
    expect(head).not_to_have_attribute("aria-sort", re.compile(""))
    expect(change).to_be_focused()


def test_back_leaves_open_rows_and_the_order_as_they_are(compare: Page) -> None:
    changes = compare.locator("#compare-table")
    changes.get_by_role("button", name="Change").click()
    changes.get_by_role("button", name="Details").first.click()
    compare.locator('#flame g.frame[name^="cart::get"]').click()
    opened_row = changes.locator("tr.details").first.element_handle()
    compare.go_back()
    expect(compare.locator("#trail")).to_have_text("whole request")
    assert opened_row.is_visible()  # the very same element
    assert hash_of(compare) == {"compare-sort": ["-change"]}
    compare.get_by_role("button", name="Swap A and B").click()
    expect(changes.locator(".detail")).to_have_count(1)
    expect(changes.locator("[aria-sort=descending]")).to_contain_text("Change")


def test_tooltip_names_both_sides_and_how_sure(compare: Page) -> None:
    frame = compare.locator('#compare-flame g.frame[name^="price::quote"]')
    frame.scroll_into_view_if_needed()
    # scrolling hides the tooltip, and tells so only with the next picture
    compare.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    frame.hover()
    tip = compare.get_by_role("tooltip").filter(visible=True)
    expect(tip).to_contain_text("itself in A, P0–P75" + "0 µs")
    expect(tip).to_contain_text("itself in B, P75–P100" + "10.0 ms")
    expect(tip).to_contain_text(f"+10.0 ms ({ends(compare, 'quote')})")
    expect(tip).to_contain_text("clear: the interval leaves 0 out")


def test_address_of_nonsense_shows_the_first_pair(page: Page, shop: Marts, tmp_path: Path) -> None:
    marts = with_changes(shop)
    compare = opened(page, marts, tmp_path, "#compare=band:P0–P75:P0–P75&compare-by=x")
    expect(compare.locator("#compare-sentence")).to_contain_text("30.0 ms slower")


def test_without_kept_traces_it_says_that_nothing_is_sure(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    nothing = {name: shop[name].slice(0, 0) for name in ("kept", "kept_paths")}
    compare = opened(page, shop | nothing, tmp_path)
    expect(compare.locator("#compare-sentence")).to_contain_text("too few traces are kept to say")
    expect(compare.locator("#compare-caution")).to_contain_text("Fewer than 2 traces")
    assert set(colours(compare).values()) == {"none"}


def test_one_group_alone_is_not_compared(page: Page, shop: Marts, tmp_path: Path) -> None:
    marts = with_changes(shop)
    one = {
        name: marts[name].filter(pa.compute.equal(marts[name]["band"], 0))
        for name in ("bands", "cct")
    }
    none = {
        name: marts[name].slice(0, 0)
        for name in ("groups", "group_paths", "kept", "kept_paths", "errors")
    }
    write_site(marts | one | none, tmp_path, title="Shop", generated_us=0)
    page.goto((tmp_path / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    page.locator("#compare").scroll_into_view_if_needed()
    expect(page.locator("#compare")).to_contain_text("There are no two groups of traces to compare")


def test_narrow_screen_has_no_sideways_scroll(compare: Page) -> None:
    compare.set_viewport_size({"width": 390, "height": 800})
    assert compare.evaluate("document.documentElement.scrollWidth") <= 390
    change = compare.locator("#compare-table th", has_text="Change").bounding_box()
    assert change is not None
    assert change["x"] + change["width"] <= 390


def test_printing_shows_the_section_though_it_was_never_seen(
    page: Page, shop: Marts, tmp_path: Path
) -> None:
    write_site(with_changes(shop), tmp_path, title="Shop", generated_us=0)
    page.goto((tmp_path / "endpoint" / "shop-buy-0000000000000001.html").as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#compare-table tbody tr:not(.details)")).to_have_count(4)


def test_hostile_names_and_versions_show_as_text(page: Page, shop: Marts, tmp_path: Path) -> None:
    names = [
        {"endpoint_id": number, "service": HOSTILE[number], "operation": HOSTILE[number - 1]}
        for number in (1, 2, 3, 4)
    ]
    marts = with_changes(shop) | {"endpoint_names": table("endpoint_names", *names)}
    versions = HOSTILE[1], HOSTILE[4]
    for mart in ("groups", "group_paths"):
        days = marts[mart].to_pylist()
        label = {"2026-01-01": versions[0], "2026-01-02": versions[1]}
        rows = [{**row, "kind": "version", "label": label[row["label"]]} for row in days]
        marts[mart] = table(mart, *rows)
    compare = opened(page, marts, tmp_path)
    compare.get_by_label("Groups").select_option("version")
    assert set(compare.locator("#compare-a option").all_text_contents()) == set(versions)
    expect(compare.locator("#compare-table")).to_contain_text(HOSTILE[0])
    compare.locator("#compare-flame g.frame").first.hover()
    compare.reload()
    expect(compare.locator("#compare-kind")).to_have_value("version")
    assert compare.locator("main img").count() == 0
