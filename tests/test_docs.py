"""The documentation is true: examples run, links lead somewhere, tables are current."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from crisp.cli import app
from crisp.errors import Reject
from crisp.options import POLICIES
from scripts import data_dictionary
from tests.drawing import START_US, jaeger, us

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
DEFINITIONS = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Example:
    """A drawn trace, the segments it should give, and the ledger, if the page names one."""

    section: str
    drawing: str
    segments: list[tuple[str, int, int]]
    ledger: dict[str, dict[str, int]]


def _examples() -> list[Example]:
    found: list[Example] = []
    section = ""
    for block in re.finditer(
        r"^## (?P<section>[^\n]+)$|^```trace\n(?P<trace>.*?)^```\n\n```path\n(?P<path>.*?)^```$",
        DEFINITIONS,
        re.MULTILINE | re.DOTALL,
    ):
        if block["section"]:
            section = block["section"]
            continue
        segments, _, ledger = block["path"].partition("\n")
        found.append(Example(section, block["trace"], _segments(segments), _ledger(ledger)))
    return found


def _segments(line: str) -> list[tuple[str, int, int]]:
    return [(name, us(a), us(b)) for name, a, b in re.findall(r"(\w+)\[([\d.]+),([\d.]+)\)", line)]


def _ledger(line: str) -> dict[str, dict[str, int]]:
    entries = re.findall(r"(\w+) (\d+) spans? ([\d.]+) ms", line)
    return {name: {"spans": int(n), "amount_us": us(ms)} for name, n, ms in entries}


def test_definitions_hold_examples_of_every_rule() -> None:
    assert {example.section for example in _examples()} == {
        "Asynchronous work",
        "Clip",
        "The walk",
        "Happens before",
        "Exclusive, inclusive and self time",
    }


@pytest.mark.parametrize(
    "example", _examples(), ids=lambda example: f"{example.section}: {example.segments[0][0]}"
)
def test_example_of_the_definitions_is_what_crisp_path_prints(
    example: Example, tmp_path: Path
) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(jaeger(example.drawing)), encoding="utf-8")
    result = CliRunner().invoke(app, ["path", str(file), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [
        (segment["service"], segment["start_us"] - START_US, segment["end_us"] - START_US)
        for segment in answer["segments"]
    ] == example.segments
    assert sum(path["exclusive_us"] for path in answer["call_paths"]) == answer["latency_us"]
    assert answer["ledger"] == example.ledger


def test_data_dictionary_is_current() -> None:
    assert data_dictionary.PAGE.read_text(encoding="utf-8") == data_dictionary.render(), (
        "docs/data-dictionary.md is out of date: `make docs` writes it"
    )


def test_data_dictionary_explains_every_reject_and_column() -> None:
    page = data_dictionary.render()
    assert all(f"`{reason}`" in page for reason in Reject)
    assert "|  |" not in page, "a column has no meaning"


def test_definitions_explain_every_policy() -> None:
    assert [name for name in POLICIES if f"| `{name}`" not in DEFINITIONS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_page_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            lost.append(target)
    assert lost == []


def _anchors(page: Path) -> set[str]:
    """What the headings of a page are linked by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    folder = ROOT / "docs"
    pages = [page.relative_to(folder) for page in folder.rglob("*.md") if page.name != "index.md"]
    unlinked = [
        str(page) for page in pages if f"({page})" not in index and page.parent != Path("decisions")
    ]
    assert unlinked == []


def test_make_targets_named_in_the_pages_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
    }
    assert named - targets == set()
