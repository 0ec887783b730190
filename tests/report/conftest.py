"""Small marts drawn as text: every number in them can be checked in the head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright

from crisp.report import site
from crisp.schema import MARTS

Marts = dict[str, pa.Table]

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "quote\"s and 'more' & co",
    "two\nlines\tand; a semicolon",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "emoji \U0001f525 [svc (",
    "javascript:alert(3)",
    "../../etc/passwd",
    "",
)
"""Names that must show as text and break nothing."""

SHOP = {
    "endpoint_names": """
        endpoint_id  service  operation
        1            shop     buy
        2            cart     get
        3            db       read
        4            price    quote
        """,
    # -9223372036854775803 is a path id that no double holds exactly
    "call_paths": """
        path_id               parent_id  depth  endpoint_id
        11                    0          1      1
        12                    11         2      2
        -9223372036854775803  12         3      3
        14                    11         2      4
        """,
    "fleet": """
        service  operation  traces  weight  errors  latency_us  top_endpoint_id  top_exclusive_us
        shop     buy        40      40      2       700000      3                400000
        """,
    "daily": """
        day         traces  p50_us  p95_us
        2026-01-02  15      12000   44000
        2026-01-01  25      10000   40000
        """,
    "bands": """
        band  lo_percentile  hi_percentile  traces  lo_us  hi_us  latency_us
        1     75             100            10      20000  60000  400000
        0     0              75             30      5000   19000  300000
        """,
    # Per request, in ms:     fast   slow    both
    #   shop::buy                2      5    2.75
    #     cart::get              3           2.25
    #       db::read             5     25      10
    #     price::quote                 10     2.5
    # mean latency              10     40    17.5
    "cct": """
        path_id               band  traces  exclusive_us  error_traces
        11                    0     30      60000         0
        12                    0     30      90000         0
        -9223372036854775803  0     30      150000        1
        11                    1     10      50000         0
        -9223372036854775803  1     10      250000        0
        14                    1     5       100000        2
        """,
    "path_stats": """
        path_id               traces  exclusive_p50_us  exclusive_p95_us  exclusive_p99_us
        11                    40      2000.4            0                 0
        -9223372036854775803  40      5000              25000             30000.6
        """,
    "exemplars": """
        path_id               place  trace_id          span_id  latency_us  exclusive_us
        -9223372036854775803  1      00000000000000ab  c1       60000       31000
        """,
    "bottom_up": """
        endpoint_id  place  service  operation  entries  traces  exclusive_us  exclusive_share
        2            2      cart     get        1        30      90000         0.128
        3            1      db       read       1        40      400000        0.571
        """,
    "histograms": """
        metric      lo    hi                   count
        spans       1     10                   10
        spans       10    100                  30
        latency_us  0     1000                 1
        latency_us  1000  4611686018427387904  39
        """,
    "ledgers": """
        entry        traces  spans  amount_us  example
        clipped_end  3       7      1500       00000000000000ab
        """,
    "latencies": """
        band  bucket  traces
        0     74      10
        0     80      20
        1     86      6
        1     95      4
        """,
    "errors": """
        path_id               traces  own  propagated  stopped  stopped_us  failed_us
        12                    1       0    1           1        7000        7000
        -9223372036854775803  1       1    0           0        0           6000
        14                    2       2    0           2        14000       30000
        """,
    "reach": """
        endpoint_id  entry_id  place  traces  exclusive_us  latency_us
        3            1         1      40      400000        700000
        2            1         1      30      90000         700000
        """,
    "rejected": """
        reason    documents  source        position  detail
        not-json  2          day/<b>.json  1024      byte-7
        """,
    "runs": """
        date        crisp_version  policy  read  analysed  rejected  filtered  options
        2026-01-01  0.1.0          crisp   27    25        2         3         {"a":{"skew":"edge"}}
        2026-01-02  0.1.0          crisp   15    15        0         0         {"a":{"skew":"edge"}}
        """,
}
"""One endpoint, shop::buy, with two bands: 30 fast and 10 slow traces."""


def drawn(name: str, text: str) -> pa.Table:
    """The mart drawn as text; ``endpoint_id`` is 1 where it is not drawn."""
    head, *lines = (line.split() for line in text.strip().splitlines())
    cells = [{"endpoint_id": "1"} | dict(zip(head, line, strict=True)) for line in lines]
    kinds = {field.name: field.type for field in MARTS[name]}
    rows = ({key: _parsed(row[key], kinds[key]) for key in row.keys() & kinds} for row in cells)
    return table(name, *rows)


def table(name: str, *rows: Mapping[str, Any]) -> pa.Table:
    """A mart with these rows; columns that are not given are 0 or ''."""
    schema = MARTS[name]
    nothing = {field.name: _nothing(field.type) for field in schema}
    return pa.Table.from_pylist([{**nothing, **row} for row in rows], schema=schema)


def _nothing(kind: pa.DataType) -> Any:
    return "" if pa.types.is_string(kind) else False if pa.types.is_boolean(kind) else 0


def _parsed(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return text
    return int(text) if pa.types.is_integer(kind) else float(text)


def hostile_marts() -> Marts:
    """Endpoints named by HOSTILE, each of them calling all: 100 µs a call, 900 µs together."""
    named = list(enumerate(HOSTILE, 100))
    calls = [(1_000 * i + j, 1_000 * i, j) for i, _ in named for j, _ in named]
    rows: dict[str, list[dict[str, Any]]] = {
        "endpoint_names": [_names(i, text) for i, text in named],
        "call_paths": [
            *({"path_id": 1_000 * i, "depth": 1, "endpoint_id": i} for i, _ in named),
            *(
                {"path_id": path, "parent_id": above, "depth": 2, "endpoint_id": callee}
                for path, above, callee in calls
            ),
        ],
        "fleet": [
            _names(i, text) | {"traces": 1, "weight": 1, "latency_us": 900, "top_endpoint_id": i}
            for i, text in named
        ],
        "bands": [
            {"endpoint_id": i, "hi_percentile": 100, "traces": 1, "latency_us": 900}
            for i, _ in named
        ],
        "cct": [
            {"endpoint_id": above // 1_000, "path_id": path, "traces": 1, "exclusive_us": 100}
            for path, above, _ in calls
        ],
        "exemplars": [
            {"endpoint_id": above // 1_000, "path_id": path, "trace_id": HOSTILE[0]}
            for path, above, _ in calls
        ],
        "bottom_up": [_names(i, text) | {"place": i} for i, text in named],
        "rejected": [
            {"reason": text, "source": text, "trace_id": text, "detail": text} for text in HOSTILE
        ],
    }
    return {name: table(name, *rows.get(name, ())) for name in MARTS}


def _names(endpoint_id: int, text: str) -> dict[str, Any]:
    return {"endpoint_id": endpoint_id, "service": text, "operation": text}


@pytest.fixture
def shop() -> Marts:
    drawings = {name: drawn(name, text) for name, text in SHOP.items()}
    return {name: schema.empty_table() for name, schema in MARTS.items()} | drawings


@pytest.fixture
def hostile() -> Marts:
    return hostile_marts()


@pytest.fixture
def empty() -> Marts:
    return {name: schema.empty_table() for name, schema in MARTS.items()}


@pytest.fixture
def stub_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write sites without a built front end."""
    monkeypatch.setattr(site, "bundle", lambda: {"app.css": b"", "app.js": b""})


@pytest.fixture
def shop_site(shop: Marts, tmp_path: Path) -> Path:
    """The site of the shop, with the built front end."""
    site.write_site(shop, tmp_path, title="Shop", generated_us=0)
    return tmp_path


QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test when it logs, throws, opens a dialog, or asks for the network."""
    complaints: list[str] = []

    def dismissed(dialog: Dialog) -> None:
        complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, reduced_motion="reduce", locale="en-US"
    )
    page = context.new_page()
    page.on("console", lambda message: complaints.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("dialog", dismissed)
    page.on("request", lambda request: complaints.extend(_outside(request.url)))
    yield page
    context.close()
    assert complaints == []


def _outside(url: str) -> list[str]:
    return [] if url.startswith(("file:", "data:")) else [f"request: {url}"]
