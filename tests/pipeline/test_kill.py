"""`crisp run` killed at any moment leaves the last good state, and no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from crisp import store
from crisp.pipeline.places import Places, places
from crisp.pipeline.publish import load_marts
from crisp.synth import SynthOptions, write
from tests.processes import end_session, in_session, until
from tests.running import digests, table

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kill")]
DAY = "2026-11-20"
KILLS = 8


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two versions of one day, about 40 MB each, several shards."""
    found = {}
    for seed, name in enumerate(("old", "new")):
        folder = tmp_path_factory.mktemp(name) / "traces"
        options = SynthOptions(
            day=date.fromisoformat(DAY), traces=1000, endpoints=4, spans=45, seed=seed, files=12
        )
        write(options, folder, 1)
        found[name] = folder
    return found


def start(source: Path, out: Path) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).with_name("crisp")), "run", str(source), "-o", str(out)]
    return subprocess.Popen(
        [*command, "--workers", "2", "--json"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(source: Path, out: Path) -> tuple[dict[str, Any], float]:
    began = time.monotonic()
    with start(source, out) as process:
        text, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return json.loads(text), time.monotonic() - began


def state(where: Places) -> tuple[object, object, object]:
    """What readers see of lake, marts and site; every part is whole."""
    for day in store.days(where.lake):
        assert (
            table(where.lake, "traces", day).num_rows == store.run_record(where.lake, day)["trees"]
        )
        assert table(where.lake, "call_paths", day).num_rows
    for day in store.days(where.marts):
        assert load_marts(where.marts, day)["fleet"].num_rows
    site = None
    pages = Path(where.site)
    if pages.exists():
        index = (pages / "index.html").read_text(encoding="utf-8")
        assert index.rstrip().endswith("</html>")
        site = sorted(path.name for path in pages.rglob("*.html"))
    return _current(where.lake), _current(where.marts), site


def _current(root: str) -> dict[str, str]:
    pointers = Path(root).glob("date=*/CURRENT")
    return {path.parent.name: json.loads(path.read_text())["version"] for path in pointers}


def test_a_run_killed_at_any_moment_leaves_the_last_good_state(
    tmp_path: Path, traces: dict[str, Path]
) -> None:
    good: dict[str, tuple[object, object, object]] = {}
    seconds = 0.0
    for name, source in traces.items():
        summary, seconds = finish(source, tmp_path / name)
        assert summary["read"] == summary["analysed"] + summary["rejected"] == 1000
        good[name] = state(places(tmp_path / name))
    assert good["old"] != good["new"]
    out = tmp_path / "out"
    finish(traces["old"], out)
    where = places(out)
    assert state(where) == good["old"]
    seen = []
    for number in range(KILLS):
        with start(traces["new"], out) as process:
            try:
                time.sleep(seconds * (number + 0.5) / KILLS)
                os.kill(process.pid, signal.SIGKILL)
                process.wait(10)
                until(lambda session=process.pid: not in_session(session))  # type: ignore[misc]
            finally:
                end_session(process.pid)
        found = state(where)
        for part, old, new in zip(found, good["old"], good["new"], strict=True):
            assert part in (old, new)
        seen.append(found)
        if found != good["old"]:
            finish(traces["old"], out)
            assert state(where) == good["old"]
    assert seen.count(good["old"]) >= 2
    finish(traces["new"], out)
    assert state(where) == good["new"]
    assert digests(where.lake) == digests(places(tmp_path / "new").lake)
    assert digests(where.marts) == digests(places(tmp_path / "new").marts)
    left = [path.name for path in out.rglob("*") if path.name.startswith(".staging")]
    assert left == []


def test_a_first_run_killed_at_any_moment_leaves_nothing_or_a_whole_state(
    tmp_path: Path, traces: dict[str, Path]
) -> None:
    _, seconds = finish(traces["old"], tmp_path / "good")
    good = state(places(tmp_path / "good"))
    for number in range(3):
        out = tmp_path / str(number)
        with start(traces["old"], out) as process:
            try:
                time.sleep(seconds * (number + 0.7) / 3)
                os.kill(process.pid, signal.SIGKILL)
                process.wait(10)
                until(lambda session=process.pid: not in_session(session))  # type: ignore[misc]
            finally:
                end_session(process.pid)
        for part, whole in zip(state(places(out)), good, strict=True):
            assert part in ({}, None, whole)
    finish(traces["old"], out)
    assert state(places(out)) == good


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_told_to_stop_stops_and_leaves_no_process(
    tmp_path: Path, traces: dict[str, Path], how: signal.Signals
) -> None:
    out = tmp_path / "out"
    with start(traces["old"], out) as process:
        try:
            until(lambda: len(_workers(process.pid)) == 2)
            os.kill(process.pid, signal.SIGSTOP)  # or it might be done before it is told
            time.sleep(0.3)  # Python itself is not quiet when interrupted while it starts
            os.killpg(process.pid, how)
            os.kill(process.pid, signal.SIGCONT)
            _, errors = process.communicate(timeout=10)
            until(lambda: not in_session(process.pid))
        finally:
            end_session(process.pid)
    assert "Traceback" not in errors
    assert process.returncode in (130, 143, -how)
    assert state(places(out)) == ({}, {}, None)


def test_a_worker_that_is_killed_fails_the_run_with_one_line(
    tmp_path: Path, traces: dict[str, Path]
) -> None:
    out = tmp_path / "out"
    with start(traces["old"], out) as process:
        try:
            until(lambda: _workers(process.pid))
            os.kill(_workers(process.pid)[0], signal.SIGKILL)
            _, errors = process.communicate(timeout=20)
            until(lambda: not in_session(process.pid))
        finally:
            end_session(process.pid)
    assert process.returncode == 1
    assert errors.startswith("crisp: ")
    assert errors.count("\n") == 1
    assert "--workers" in errors
    assert not [path.name for path in out.rglob(".staging*")]


def _workers(session: int) -> list[int]:
    """Processes whose parent is not the run itself: the fork server's children."""
    found = []
    for pid in in_session(session):
        try:
            parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if session not in (parent, pid):
            found.append(pid)
    return found
