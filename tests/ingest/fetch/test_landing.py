"""What a fetch leaves on disk, and what the next one makes of it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO

import pytest

from crisp.errors import ConfigError, FetchError
from crisp.ingest.fetch import parts
from crisp.ingest.fetch.books import unfinished
from crisp.ingest.fetch.places import _Folder
from tests.documents import DAY as DAY_US
from tests.documents import trace, traces
from tests.ingest.fetch.pulling import DAY_END_US, ids, landed, pulled, read_part
from tests.ingest.fetch.pulling import parts as part_files
from tests.ingest.fetch.serving import serving, store

HUNDRED = traces(100)
FOLDER = "date=2023-11-15"
WINDOW = (DAY_US + 5_000_000, DAY_US + 5_001_000)


def _snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in folder.rglob("*")
        if p.is_file() and p.name != ".lock"
    }


def test_a_trace_is_one_line_just_as_the_server_gave_it(tmp_path: Path) -> None:
    one = trace("00000000000000000000000000000abc")
    one["spans"][0] |= {"warnings": ["clock"], "logs": [{"timestamp": DAY_US, "fields": []}]}
    one["spans"][1]["tags"] = [{"key": "ключ", "type": "int64", "value": "9007199254740993"}]
    with serving(store([one])) as server:
        pulled(server.url, tmp_path, concurrency=1)
    assert landed(tmp_path) == [one]
    assert [p.parent.name for p in part_files(tmp_path)] == ["service=shop"], "asked for first"


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("a/b", "service=a%2Fb"),
        ("..", "service=.."),
        ("ü 100%", "service=%C3%BC%20100%25"),
        ("x" * 300, f"service={'x' * 180}~"),
    ],
)
def test_a_service_with_any_name_has_a_folder(name: str, folder: str, tmp_path: Path) -> None:
    one = trace("1")
    one["processes"]["p1"]["serviceName"] = name
    with serving(store([one], [name])) as server:
        pulled(server.url, tmp_path)
    (part,) = part_files(tmp_path)
    assert part.parent.name.startswith(folder)
    assert landed(tmp_path) == [one]


def test_a_day_that_is_complete_is_not_asked_for_again(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        first = pulled(server.url, tmp_path, limit=30)
        before = _snapshot(tmp_path)
        asked = len(server.requests)
        again = pulled(server.url + "/", tmp_path, limit=500)
        one = pulled(server.url, tmp_path, "shop::GET /", "store")
        assert len(server.requests) == asked
    assert (first.traces, first.traces_on_disk, first.complete) == (100, 100, True)
    for later in (again, one):
        assert (later.traces, later.traces_on_disk, later.complete) == (0, 100, True)
    assert _snapshot(tmp_path) == before, "not a byte is written"


def test_more_endpoints_add_to_the_day(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "store::find")
        asked = len(server.requests)
        result = pulled(server.url, tmp_path)
        assert {(s, e - b) for s, b, e in server.searches()[1:]} == {
            ("shop", 86_400_000_000),
            ("store", 86_400_000_000),
        }
        assert len(server.requests) == asked + 5
    assert (result.traces, result.duplicates) == (0, 200)
    assert ids(tmp_path) == list(range(100))


def test_the_day_includes_its_first_moment_and_not_its_last(tmp_path: Path) -> None:
    moments = [DAY_US - 1, DAY_US, DAY_END_US - 1, DAY_END_US]
    documents = []
    for number, moment in enumerate(moments):
        one = trace(f"{number:x}", start=moment - DAY_US)
        one["spans"] = one["spans"][:1]
        documents.append(one)
    with serving(store(documents)) as server:
        result = pulled(server.url, tmp_path)
    assert ids(tmp_path) == [1, 2]
    assert result.traces == 2


def test_a_trace_over_midnight_belongs_to_both_days(tmp_path: Path) -> None:
    over = trace("a", start=86_400_000_000 - 10, latency=1000)
    with serving(store([over])) as server:
        pulled(server.url, tmp_path)
        pulled(server.url, tmp_path, day=date(2023, 11, 16))
    assert ids(tmp_path) == [0xA, 0xA]
    assert len({p.parents[1] for p in part_files(tmp_path)}) == 2


def test_a_day_that_is_not_over_is_fetched_so_far_and_later_the_rest(tmp_path: Path) -> None:
    late = [trace("abc", start=50_000_000_000)]
    noon = datetime(2023, 11, 15, 12, tzinfo=UTC)
    with serving(store(HUNDRED)) as server:
        first = pulled(server.url, tmp_path, now=noon)
        assert {end for _, _, end in server.searches()} == {DAY_US + 43_200_000_000}
    with serving(store([*HUNDRED, *late])) as server:
        text = (tmp_path / FOLDER / ".fetch" / "day.json").read_text()
        _move(tmp_path, text, server.url)
        second = pulled(server.url, tmp_path)
        assert {start for _, start, _ in server.searches()} == {DAY_US + 43_200_000_000}
    assert (first.complete, second.complete) == (False, True)
    assert second.traces == 1


def _move(landing: Path, text: str, url: str) -> None:
    """The same Jaeger at another address."""
    day = json.loads(text) | {"jaeger": url}
    (landing / FOLDER / ".fetch" / "day.json").write_text(json.dumps(day))


def test_a_day_that_has_not_begun_cannot_be_fetched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="2023-11-15 has not begun"):
        pulled("http://localhost:1", tmp_path, now=datetime(2023, 11, 15, tzinfo=UTC))


def test_traces_of_another_jaeger_or_sample_are_not_mixed_in(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path)
        before = _snapshot(tmp_path)
        with pytest.raises(ConfigError, match=f"with Jaeger {server.url}, not http://other;"):
            pulled("http://other", tmp_path)
        with pytest.raises(ConfigError, match="with sample none, not 5; --refetch"):
            pulled(server.url, tmp_path, sample=5)
    assert _snapshot(tmp_path) == before


def test_files_that_a_fetch_did_not_write_are_left_alone(tmp_path: Path) -> None:
    own = tmp_path / FOLDER / "service=shop" / "mine.json"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    for refetch in (False, True):
        with pytest.raises(ConfigError, match="holds files that crisp fetch did not write"):
            pulled("http://other", tmp_path, refetch=refetch)
    assert own.read_text() == "{}"


def test_a_refetch_replaces_the_day_when_it_is_complete(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path)
    before = _snapshot(tmp_path / FOLDER)
    with pytest.raises(FetchError, match="tried for"):
        pulled(server.url, tmp_path, refetch=True, retry_s=0.2)
    assert _snapshot(tmp_path / FOLDER) == before
    with serving(store(traces(30, first=90))) as server:
        result = pulled(server.url, tmp_path, refetch=True)
    assert (result.traces, result.traces_on_disk) == (30, 30)
    assert result.folder == str(tmp_path / FOLDER)
    assert ids(tmp_path) == list(range(90, 120))
    assert [p.name for p in tmp_path.iterdir()] == [FOLDER]


def test_a_gap_is_reported_kept_and_filled_by_a_greater_limit(tmp_path: Path) -> None:
    together = [trace(f"{n + 0x1000:x}", start=5_000_123) for n in range(12)]
    with serving(store([*HUNDRED, *together])) as server:
        first = pulled(server.url, tmp_path, "shop", limit=10)
        again = pulled(server.url, tmp_path, "shop", limit=10)
        asked = len(server.searches())
        filled = pulled(server.url, tmp_path, "shop", limit=13)
        assert [w[1:] for w in server.searches()[asked:]] == [
            (DAY_US + 5_000_000, DAY_US + 5_001_000)
        ]
    gap = first.gaps[0]
    assert {g.operation for g in first.gaps} == {"GET /", "pay"}, "each of them is in all twelve"
    assert (gap.start_us, gap.end_us, gap.limit) == (*WINDOW, 10)
    assert again.gaps == first.gaps
    assert again.requests == 0
    assert (filled.gaps, filled.traces) == ([], 2)
    assert ids(tmp_path) == [*range(100), *range(0x1000, 0x100C)]


def test_a_full_millisecond_of_a_service_is_asked_for_by_operation(tmp_path: Path) -> None:
    together = [trace(f"{n + 1:x}", start=5_000_123) for n in range(12)]
    for n, each in enumerate(together):
        each["spans"] = each["spans"][:1]
        each["spans"][0]["operationName"] = ("GET /", "find", "pay")[n % 3]
    with serving(store(together)) as server:
        result = pulled(server.url, tmp_path, "shop", limit=6)
    assert result.gaps == []
    assert len(ids(tmp_path)) == 12


def test_parts_end_after_some_bytes_and_frames_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "FRAME", 5000)
    monkeypatch.setattr(parts, "PART", 2000)
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "shop", limit=20, concurrency=1)
    files = part_files(tmp_path)
    assert len(files) > 2
    assert sum(len(read_part(file)) for file in files) == 100
    assert files[0].read_bytes().count(b"\x28\xb5\x2f\xfd") > 1


def test_parts_end_after_some_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "OPEN_S", 0.2)
    monkeypatch.setattr("crisp.ingest.fetch.pull._TICK_S", 0.05)
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "shop", limit=20, rate=10, concurrency=1)
    assert len(part_files(tmp_path)) > 2
    assert ids(tmp_path) == list(range(100))


def test_what_a_killed_fetch_left_behind_goes(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path)
        day = tmp_path / FOLDER
        kept = sorted(p.name for p in part_files(tmp_path))
        stray = day / "service=shop" / "part-0123456789abcdef.jsonl.zst"
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"half")
        (day / ".fetch" / ".open-x").write_bytes(b"half")
        pulled(server.url, tmp_path)
    assert sorted(p.name for p in part_files(tmp_path)) == kept
    assert not (day / ".fetch" / ".open-x").exists()


def test_a_part_that_was_removed_is_fetched_again(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "shop")
        part_files(tmp_path)[0].unlink()
        result = pulled(server.url, tmp_path, "shop", "store")
    assert result.traces == 100
    assert ids(tmp_path) == list(range(100))


def test_a_part_that_was_removed_is_missed_by_every_service_that_found_its_traces(
    tmp_path: Path,
) -> None:
    """Each trace is filed once: those of store lie in the part of shop."""
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, concurrency=1)
        (part,) = part_files(tmp_path)
        part.unlink()
        assert pulled(server.url, tmp_path, "store").traces == 100
        assert unfinished(tmp_path / FOLDER), "shop is not asked yet"
        result = pulled(server.url, tmp_path)
    assert (result.traces, result.complete) == (0, True)
    assert not unfinished(tmp_path / FOLDER)
    assert ids(tmp_path) == list(range(100))


def test_a_day_is_unfinished_until_all_that_was_asked_for_is_there(tmp_path: Path) -> None:
    def dies(done: int, total: int) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / FOLDER
    together = [trace(f"{n + 0x1000:x}", start=5_000_123) for n in range(12)]
    (tmp_path / "file").write_text("{}")
    assert not unfinished(folder), "nobody has fetched anything"
    assert not unfinished(tmp_path / "file")
    with serving(store([*HUNDRED, *together])) as server:
        pulled(server.url, tmp_path, "shop", now=datetime(2023, 11, 15, 12, tzinfo=UTC))
        assert unfinished(folder), "the day was not over"
        pulled(server.url, tmp_path, "shop")
        assert not unfinished(folder)
        with pytest.raises(KeyboardInterrupt):
            pulled(server.url, tmp_path, on_progress=dies)
        assert unfinished(folder), "more was asked for"
        pulled(server.url, tmp_path)
        assert not unfinished(folder)
        assert pulled(server.url, tmp_path, "shop::pay", limit=10).gaps == []
        assert pulled(server.url, tmp_path / "two", "shop", limit=10).gaps
        assert unfinished(tmp_path / "two" / FOLDER)


def test_broken_bookkeeping_is_an_error(tmp_path: Path) -> None:
    with serving(store(HUNDRED)) as server:
        pulled(server.url, tmp_path, "shop")
        (tmp_path / FOLDER / ".fetch" / "day.json").write_text("{")
        with pytest.raises(FetchError, match=r"day\.json: the bookkeeping is broken"):
            pulled(server.url, tmp_path, "shop")


def test_one_fetch_at_a_time_writes_to_a_day(tmp_path: Path) -> None:
    code = (
        "import sys; from crisp.ingest.fetch.places import place\n"
        "with place(sys.argv[1]).locked(): print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / FOLDER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(FetchError, match="another fetch is at work there"):
            pulled("http://localhost:1", tmp_path)


def test_a_part_that_cannot_be_written_ends_the_fetch_and_nothing_counts_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, also when it is noticed while requests go on."""

    def full(folder: _Folder, file: IO[bytes], name: str) -> None:
        if name.startswith("service="):
            raise OSError(errno.ENOSPC, "No space left on device", name)
        real(folder, file, name)

    real = _Folder.move_in
    monkeypatch.setattr(parts, "OPEN_S", 0.1)
    monkeypatch.setattr("crisp.ingest.fetch.pull._TICK_S", 0.02)
    with serving(store(HUNDRED)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(_Folder, "move_in", full)
            with pytest.raises(OSError, match="No space left"):
                pulled(server.url, tmp_path, "shop", limit=10, rate=20, concurrency=1)
        assert part_files(tmp_path) == []
        asked = len(server.searches())
        result = pulled(server.url, tmp_path, "shop", limit=10, concurrency=1)
        assert asked < len(server.searches()) - asked, "it ended in the middle"
    assert result.complete
    assert ids(tmp_path) == list(range(100))
