from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from crisp.errors import ConfigError, CrispError
from crisp.report import pages
from crisp.report.site import Site, write_site

Marts = dict[str, pa.Table]
NOON_US = 1_767_268_800_000_000

pytestmark = pytest.mark.usefixtures("stub_bundle")


def written(marts: Marts, target: Path, jaeger_url: str | None = None) -> Site:
    target.mkdir()
    return write_site(marts, target, title="Shop", generated_us=NOON_US, jaeger_url=jaeger_url)


def files(target: Path) -> dict[str, bytes]:
    found = (path for path in sorted(target.rglob("*")) if path.is_file())
    return {str(path.relative_to(target)): path.read_bytes() for path in found}


def inlined(html: str) -> str:
    """All JSON of a page as one object."""
    found = re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', html, re.S)
    assert found
    return pages.joined_json(dict(found))


def test_site_has_a_page_per_endpoint_and_counts_its_bytes(shop: Marts, tmp_path: Path) -> None:
    site = written(shop, tmp_path / "site")
    found = files(tmp_path / "site")
    assert set(found) == {
        "app.css",
        "app.js",
        "bottom-up.html",
        "bottom-up.json",
        "endpoint/shop-buy-0000000000000001.html",
        "endpoint/shop-buy-0000000000000001.json",
        "index.html",
        "index.json",
        "ledger.html",
        "ledger.json",
    }
    assert site == Site(
        index=str(tmp_path / "site" / "index.html"),
        pages=4,
        bytes=sum(len(content) for content in found.values()),
    )


def test_same_marts_in_any_row_order_give_the_same_bytes(hostile: Marts, tmp_path: Path) -> None:
    turned = {
        name: table.take(pa.array(range(table.num_rows)[::-1], pa.int64()))
        for name, table in hostile.items()
    }
    written(hostile, tmp_path / "one")
    written(turned, tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_page_and_file_beside_it_hold_the_same_json(shop: Marts, tmp_path: Path) -> None:
    written(shop, tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        if page.name == "ledger.html":
            continue
        beside = page.with_suffix(".json").read_text()
        assert inlined(page.read_text()) == beside
        assert json.loads(beside)["version"] == 1


def test_hostile_names_are_never_markup_or_paths(hostile: Marts, tmp_path: Path) -> None:
    written(hostile, tmp_path / "site")
    for name, content in files(tmp_path / "site").items():
        text = content.decode()
        assert re.fullmatch(r"(endpoint/)?[a-z0-9-]+\.[a-z]+", name)
        assert "<script>alert" not in text
        assert "<img" not in text
        if name.endswith(".html"):
            scripts = 1 + text.count('<script type="application/json" id=')
            assert text.count("<script") == text.count("</script>") == scripts
            assert 'href="javascript:' not in text


def test_every_page_names_window_policy_skew_and_ledger(shop: Marts, tmp_path: Path) -> None:
    written(shop, tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text()
        assert "2026-01-01 to 2026-01-02 (2 days)" in text
        assert "policy <b>crisp</b>" in text
        assert "skew <b>edge</b>" in text
        assert "Read 42 = analysed 40 + rejected 2" in text
        assert "2026-01-01 12:00:00 UTC" in text


def test_nothing_but_the_two_files_beside_the_page_may_load(shop: Marts, tmp_path: Path) -> None:
    written(shop, tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text()
        assert "default-src &#39;none&#39;; script-src &#39;self&#39;" in text
        assert not re.search(r'(src|href)="(https?:)?//', text)
        assert " style=" not in text


def test_pages_are_small_besides_their_data(shop: Marts, tmp_path: Path) -> None:
    written(shop, tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        data = len(page.with_suffix(".json").read_bytes()) if page.name != "ledger.html" else 0
        assert page.stat().st_size - data < 60_000


def test_empty_marts_say_what_is_missing(empty: Marts, tmp_path: Path) -> None:
    site = written(empty, tmp_path / "site")
    assert site.pages == 3
    assert "no trace was read in this window" in Path(site.index).read_text()
    assert "No run is recorded" in (tmp_path / "site" / "ledger.html").read_text()


def test_traces_are_linked_only_with_a_template(shop: Marts, tmp_path: Path) -> None:
    written(shop, tmp_path / "plain")
    ledger = (tmp_path / "plain" / "ledger.html").read_text()
    assert '<code class="trace">00000000000000ab</code>' in ledger
    written(shop, tmp_path / "linked", "https://jaeger/trace/{trace_id}?uiFind={span_id}")
    ledger = (tmp_path / "linked" / "ledger.html").read_text()
    assert 'href="https://jaeger/trace/00000000000000ab?uiFind="' in ledger


@pytest.mark.parametrize(
    "template",
    [
        "javascript:alert('{trace_id}')",
        "//jaeger/{trace_id}",
        "https://jaeger/trace/",
        "ftp://jaeger/{trace_id}",
        "http://[jaeger/{trace_id}",
    ],
)
def test_link_templates_that_are_no_web_address_are_refused(
    template: str, shop: Marts, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="jaeger_url"):
        written(shop, tmp_path / "site", template)
    assert files(tmp_path / "site") == {}


def test_missing_front_end_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pages, "_HERE", tmp_path)
    with pytest.raises(CrispError, match="make setup"):
        pages.bundle()
