"""The map step over processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from crisp.engine.duckdb import DuckDB
from crisp.errors import CrispError, InputError
from tests.engine.shards import SCHEMAS, Numbers, numbers
from tests.processes import alive, end_session, in_session, until

SHARDS = [Numbers(k, size) for k, size in enumerate([3, 50, 0, 7, 1, 20])]


def mapped(folder: Path, workers: int, shards: list[Numbers]) -> dict[str, list[tuple[int, int]]]:
    engine = DuckDB(folder, workers=workers)
    try:
        tables = engine.map(shards, numbers, SCHEMAS)
        assert set(tables) == set(SCHEMAS)
        return {
            name: sorted((row["shard"], row["value"]) for row in engine.collect(table).to_pylist())
            for name, table in tables.items()
        }
    finally:
        engine.close()


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_shard_is_mapped_once_into_its_tables(tmp_path: Path, workers: int) -> None:
    found = mapped(tmp_path, workers, SHARDS)
    expected = [(shard.number, value) for shard in SHARDS for value in range(shard.size)]
    assert found["numbers"] == sorted(expected)
    assert found["squares"] == sorted((shard, value * value) for shard, value in expected)
    assert found["nothing"] == []


@pytest.mark.parametrize("workers", [1, 3])
def test_no_shards_give_empty_tables(tmp_path: Path, workers: int) -> None:
    assert mapped(tmp_path, workers, []) == {name: [] for name in SCHEMAS}


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_goes_from_nothing_to_all(tmp_path: Path, workers: int) -> None:
    seen: list[tuple[int, int]] = []
    engine = DuckDB(tmp_path, workers=workers, on_progress=lambda d, t: seen.append((d, t)))
    engine.map(SHARDS, numbers, SCHEMAS)
    engine.close()
    assert seen[0] == (0, 81)
    assert seen[-1] == (81, 81)
    assert seen == sorted(seen)
    assert len(seen) == len(SHARDS) + 1


def test_two_maps_of_one_engine_do_not_mix(tmp_path: Path) -> None:
    engine = DuckDB(tmp_path, workers=1)
    first = engine.map([Numbers(1, 2)], numbers, SCHEMAS)
    second = engine.map([Numbers(2, 3)], numbers, SCHEMAS)
    assert engine.collect(first["numbers"]).num_rows == 2
    assert engine.collect(second["numbers"]).num_rows == 3
    engine.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_a_person_can_put_right_comes_back_as_it_is(tmp_path: Path, workers: int) -> None:
    with pytest.raises(InputError, match=r"^file\.json: cannot be read$"):
        mapped(tmp_path, workers, [*SHARDS, Numbers(9, 9, "error")])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_broken_promise_in_a_worker_crashes_the_run(tmp_path: Path, workers: int) -> None:
    with pytest.raises(ZeroDivisionError):
        mapped(tmp_path, workers, [*SHARDS, Numbers(9, 9, "bug")])


@pytest.mark.parametrize("deed", ["killed", "exit"])
def test_a_worker_that_dies_is_an_error_of_one_line(tmp_path: Path, deed: str) -> None:
    with pytest.raises(CrispError) as caught:
        mapped(tmp_path, 2, [*SHARDS, Numbers(9, 9, deed)])
    assert "\n" not in str(caught.value)
    assert "--workers" in str(caught.value)


def test_no_process_is_left_after_an_error(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    shards = [Numbers(k, 5, "error" if k == 3 else "", str(pids)) for k in range(8)]
    with pytest.raises(InputError):
        mapped(tmp_path / "scratch", 2, shards)
    assert list(pids.iterdir())
    assert not [path.name for path in pids.iterdir() if alive(int(path.name))]


MAIN = """
import signal, sys
from pathlib import Path
from crisp.engine.duckdb import DuckDB
from tests.engine.shards import SCHEMAS, Numbers, numbers
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shards = [Numbers(k, 5, "slow", sys.argv[1]) for k in range(4)]
    DuckDB(Path(sys.argv[2]), workers=2).map(shards, numbers, SCHEMAS)
"""


@pytest.mark.parametrize("whole_group", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_at_once_when_the_run_is_killed_or_interrupted(
    tmp_path: Path, how: signal.Signals, whole_group: bool
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    command = [sys.executable, "-c", MAIN, str(pids), str(tmp_path / "scratch")]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as run:
        try:
            until(lambda: len(list(pids.iterdir())) == 2)
            (os.killpg if whole_group else os.kill)(run.pid, how)
            run.wait(10)
            workers = [int(path.name) for path in pids.iterdir()]
            until(lambda: not any(map(alive, workers)))
            until(lambda: not in_session(run.pid))
        finally:
            end_session(run.pid)
