"""The committed recording: small, whole, and what docs/shop.md says of it."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.examples.conftest import RECORDING, Phases
from tests.examples.evidence import ADD, CHECKOUT, FAULTS, HOME, PRODUCT, SEARCH, SIGNS, Sign, trees
from tests.servers import ROOT

LARGEST_BYTES = 2_000_000


def test_the_recording_is_small_and_holds_every_fault(recorded: Phases) -> None:
    assert set(recorded) == {"normal", *FAULTS}
    assert sum(phase.file.stat().st_size for phase in recorded.values()) <= LARGEST_BYTES


@pytest.mark.parametrize("name", ["normal", *FAULTS])
def test_every_trace_of_the_recording_is_analysed(recorded: Phases, name: str) -> None:
    phase = recorded[name]
    assert phase.mapped.reasons == []
    assert phase.mapped.traces == [trace["traceID"] for trace in phase.traces]
    for entry in (HOME, SEARCH, PRODUCT, ADD, CHECKOUT):
        assert len(trees(phase.mapped, entry)) >= 20, entry


def test_phases_share_no_trace_and_follow_each_other(recorded: Phases) -> None:
    spans = [
        [tree["start_us"] for tree in recorded[name].mapped.tables["traces"]]
        for name in ("normal", *FAULTS)
    ]
    for earlier, later in itertools.pairwise(spans):
        assert earlier == sorted(earlier)
        assert max(earlier) < min(later)


def test_the_readme_of_the_recording_counts_right(recorded: Phases) -> None:
    text = (RECORDING / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z-]+)\.jsonl\.zst \|[^|]+\| (\d+) \| (\d+) \|", text, re.MULTILINE)
    counted = [
        (name, str(len(phase.traces)), str(sum(len(t["spans"]) for t in phase.traces)))
        for name, phase in recorded.items()
    ]
    assert sorted(rows) == sorted(counted)


def test_the_recording_names_neither_machine_nor_path(recorded: Phases) -> None:
    hosts = {"web-1", "app-1", "app-2", "app-3", "app-4", "app-5", "worker-1"}
    addresses = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
    telling = re.compile(r"site-packages|/home/|/root/|/tmp/|\.py\b|stacktrace|process\.|os\.")
    for phase in recorded.values():
        for trace in phase.traces:
            tags = [tag for part in trace["processes"].values() for tag in part["tags"]]
            assert {tag["value"] for tag in tags if tag["key"] == "host.name"} <= hosts
            spans = [tag for span in trace["spans"] for tag in span["tags"]]
            logs = [field for s in trace["spans"] for log in s["logs"] for field in log["fields"]]
            for tag in (*tags, *spans, *logs):
                text = f"{tag['key']} {tag['value']}"
                assert set(addresses.findall(text)) <= {"127.0.0.1"}, text
                assert not telling.search(text), text


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: f"{sign.fault}: {sign.entry} {sign.what}")
def test_the_page_shows_what_crisp_finds_in_the_recording(recorded: Phases, sign: Sign) -> None:
    page = (ROOT / "docs" / "shop.md").read_text(encoding="utf-8")
    row = sign.row(recorded["normal"], recorded[sign.fault])
    assert row in page.splitlines(), f"docs/shop.md should say:\n{row}"
    assert sign.is_seen(recorded["normal"], recorded[sign.fault])


def test_the_page_shows_nothing_else(recorded: Phases) -> None:
    page = (ROOT / "docs" / "shop.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^\| `[a-z-]+` \| `", page, re.MULTILINE)) == len(SIGNS)
