from __future__ import annotations

import gzip
import hashlib
import json
from datetime import date
from pathlib import Path

import pytest
import zstandard

from crisp.errors import ConfigError
from crisp.synth import SynthOptions, generate, parse_fault, write
from crisp.synth.options import Layout
from crisp.synth.world import make_world

DAY = date(2026, 3, 9)
SMALL = SynthOptions(day=DAY, traces=40, endpoints=4, spans=12, files=4)


def _bytes(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    assert list(generate(SMALL)) == list(generate(SMALL))
    other = SynthOptions(day=DAY, traces=40, endpoints=4, spans=12, files=4, seed=1)
    assert not set(generate(SMALL)) & set(generate(other))


def test_another_draw_gives_other_traces_of_the_same_system() -> None:
    other = SynthOptions(day=DAY, traces=40, endpoints=4, spans=12, files=4, draw=1)
    ours, theirs = list(generate(SMALL)), list(generate(other))
    assert theirs == list(generate(other))
    assert not {json.loads(line)["traceID"] for line in ours} & {
        json.loads(line)["traceID"] for line in theirs
    }
    assert make_world(SMALL) == make_world(other)


def test_files_do_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    one = write(SMALL, tmp_path / "one")
    two = write(SMALL, tmp_path / "two", workers=2)
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")
    assert (one.traces, one.spans, one.bytes) == (two.traces, two.spans, two.bytes)


def test_lines_are_the_generated_traces_and_the_summary_counts_them(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    done = write(SMALL, tmp_path, on_progress=lambda traces, total: heard.append((traces, total)))
    lines = b"".join(p.read_bytes() for p in sorted(tmp_path.glob("*.jsonl"))).splitlines()
    assert lines == list(generate(SMALL))
    assert done.files == 4
    assert done.traces == 40
    assert done.bytes == sum(len(line) + 1 for line in lines)
    assert done.spans == sum(len(json.loads(line)["spans"]) for line in lines)
    assert heard == [(10, 40), (20, 40), (30, 40), (40, 40)]


def test_compressed_files_hold_the_same_lines(tmp_path: Path) -> None:
    expected = b"".join(line + b"\n" for line in generate(SMALL))
    layouts: tuple[Layout, ...] = ("jsonl.gz", "jsonl.zst")
    for layout in layouts:
        options = SynthOptions(
            day=DAY,
            traces=40,
            endpoints=4,
            spans=12,
            layout=layout,
        )
        write(options, tmp_path / layout)
        (path,) = (tmp_path / layout).glob("traces-*")
        raw = path.read_bytes()
        if layout == "jsonl.gz":
            assert gzip.decompress(raw) == expected
        else:
            assert zstandard.ZstdDecompressor().decompressobj().decompress(raw) == expected


def test_a_file_for_each_trace_is_what_the_api_answers(tmp_path: Path) -> None:
    options = SynthOptions(day=DAY, traces=5, endpoints=2, spans=6, layout="files")
    done = write(options, tmp_path)
    files = sorted(tmp_path.glob("trace-*.json"))
    assert done.files == len(files) == 5
    envelope = json.loads(files[0].read_bytes())
    assert list(envelope) == ["data", "total", "limit", "offset", "errors"]
    assert envelope["data"] == [json.loads(next(generate(options)))]


def test_spans_have_the_fields_and_about_the_size_of_production() -> None:
    lines = list(generate(SynthOptions(day=DAY, traces=400)))
    traces = [json.loads(line) for line in lines]
    spans = [span for trace in traces for span in trace["spans"]]
    assert 850 < sum(map(len, lines)) / len(spans) < 950
    tags = [[tag["key"] for tag in span["tags"]] for span in spans if span.get("tags")]
    assert all(12 <= len(keys) <= 16 for keys in tags)
    assert sum(len(span.get("logs") or ()) for span in spans) > 0.98 * len(spans)
    # no reader may count on the place of a tag
    assert len({keys.index("span.kind") for keys in tags if "span.kind" in keys}) >= 12
    assert sum(map(len, lines)) / len(lines) == pytest.approx(92_000, rel=0.1)
    for trace in traces[:50]:
        for span in trace["spans"]:
            assert span["traceID"] == trace["traceID"]
            assert span["processID"] in trace["processes"]
            assert int(span["startTime"]) > 0
            assert int(span["duration"]) >= 0


def test_starts_rise_and_fall_on_the_day() -> None:
    midnight = 1_773_014_400_000_000  # 2026-03-09T00:00:00Z
    options = SynthOptions(day=DAY, traces=200, endpoints=3, spans=5, clean=True)
    starts = [
        min(span["startTime"] for span in json.loads(line)["spans"]) for line in generate(options)
    ]
    assert starts == sorted(starts)
    assert midnight <= starts[0]
    assert starts[-1] < midnight + 86_400_000_000
    assert starts[-1] - starts[0] > 0.95 * 86_400_000_000


def test_the_truth_file_names_seed_options_entries_and_faults(tmp_path: Path) -> None:
    fault = parse_fault("slow:entry=0,factor=3,fraction=0.5")
    options = SynthOptions(day=DAY, traces=60, endpoints=2, spans=20, seed=9, faults=(fault,))
    done = write(options, tmp_path)
    truth = json.loads(done.truth.read_text())
    assert truth["seed"] == 9
    assert truth["options"]["day"] == "2026-03-09"
    assert sum(entry["traces"] for entry in truth["entries"]) == 60
    (planted,) = truth["faults"]
    assert planted["kind"] == "slow"
    assert planted["paths"][0][0] == planted["endpoint"] == truth["entries"][0]["endpoint"]


def test_a_second_run_replaces_the_first_but_never_anything_else(tmp_path: Path) -> None:
    write(SMALL, tmp_path)
    fewer = SynthOptions(day=DAY, traces=10, endpoints=4, spans=12)
    write(fewer, tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["_truth.json", "traces-00000.jsonl"]
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(ConfigError, match="not empty"):
        write(fewer, tmp_path)
    assert (tmp_path / "mine.txt").exists()
    with pytest.raises(ConfigError, match="is a file"):
        write(fewer, tmp_path / "mine.txt")
