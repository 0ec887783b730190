"""What is Spark's alone: how work is dealt out, what a dying worker costs, and what errors say."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from crisp import __version__, store
from crisp.engine.spark import Spark, writing
from crisp.engine.spark.deal import deal, run_task
from crisp.errors import ConfigError, CrispError, InputError
from crisp.pipeline.places import places
from tests.documents import lines, span, trace
from tests.engine.cluster import Cluster, on_spark
from tests.engine.shards import NUMBERS, SCHEMAS, Numbers, numbers
from tests.processes import end_session, in_session, until
from tests.running import digests
from tests.servers import ROOT

pytestmark = on_spark


@pytest.fixture
def spark(driver: Cluster, tmp_path: Path) -> Iterator[Spark]:
    with closing(Spark(str(tmp_path / "scratch"))) as made:
        yield made


def mapped(engine: Spark, shards: list[Numbers]) -> dict[str, list[tuple[int, int]]]:
    tables = engine.map(shards, numbers, SCHEMAS)
    return {
        name: sorted((row["shard"], row["value"]) for row in engine.collect(table).to_pylist())
        for name, table in tables.items()
    }


def expected(shards: list[Numbers]) -> list[tuple[int, int]]:
    return sorted((shard.number, value) for shard in shards for value in range(shard.size))


def loads(sizes: list[int], cores: int) -> list[int]:
    """Bytes of each task."""
    dealt = deal([Numbers(k, size) for k, size in enumerate(sizes)], cores)
    found: Counter[int] = Counter()
    for row in dealt.to_pylist():
        found[row["task"]] += row["size"]
    return [found[task] for task in sorted(found)]


@pytest.mark.parametrize(
    ("sizes", "cores", "tasks"),
    [
        pytest.param([], 2, [], id="nothing is no task"),
        pytest.param([5, 7], 2, [7, 5], id="no more tasks than shards"),
        pytest.param([1] * 60, 2, [10] * 6, id="three tasks for each core"),
        pytest.param([100, *[1] * 50], 1, [100, 25, 25], id="a large shard is a task of its own"),
        pytest.param([4, 3, 3, 2, 2, 2, 2], 1, [6, 7, 5], id="the largest first, to who has least"),
    ],
)
def test_shards_are_dealt_out_by_their_bytes(
    sizes: list[int], cores: int, tasks: list[int]
) -> None:
    assert loads(sizes, cores) == tasks


def test_many_bytes_are_more_tasks_than_cores_ask_for() -> None:
    """Executors may still be on their way when the cores are counted."""
    assert len(loads([64 << 20] * 100, 1)) == 50


def test_every_shard_is_mapped_once_into_its_tables(spark: Spark) -> None:
    shards = [Numbers(k, size) for k, size in enumerate([3, 50, 0, 7, 1, 20, 2, 2, 2, 2])]
    found = mapped(spark, shards)
    assert found["numbers"] == expected(shards)
    assert found["squares"] == [(shard, value * value) for shard, value in expected(shards)]
    assert found["nothing"] == []


def test_no_shards_give_empty_tables(spark: Spark) -> None:
    assert mapped(spark, []) == {name: [] for name in SCHEMAS}


def test_progress_goes_from_nothing_to_all(driver: Cluster, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with closing(Spark(str(tmp_path), on_progress=lambda *now: seen.append(now))) as engine:
        engine.map([Numbers(k, 10, "pause") for k in range(8)], numbers, SCHEMAS)
    assert seen[0] == (0, 80)
    assert seen[-1] == (80, 80)
    assert seen == sorted(seen)
    assert [done for done, _ in seen if 0 < done < 80]


def test_an_error_a_person_can_put_right_comes_back_as_it_is(spark: Spark) -> None:
    with pytest.raises(InputError, match=r"^file\.json: cannot be read$"):
        mapped(spark, [Numbers(1, 5), Numbers(9, 9, "error")])


def test_after_such_an_error_no_more_work_is_done(spark: Spark, tmp_path: Path) -> None:
    """A night of hours does not go on for hours to say it."""
    shards = [Numbers(0, 1000, "error"), *(Numbers(k, 9, "pause") for k in range(1, 25))]
    with pytest.raises(InputError):
        mapped(spark, shards)
    written = [path.name for path in (tmp_path / "scratch").rglob("*squares*.parquet")]
    assert len(written) < 24 / 2


@pytest.mark.parametrize("deed", ["killed", "memory"])
def test_python_without_memory_is_an_error_that_names_the_settings(spark: Spark, deed: str) -> None:
    with pytest.raises(CrispError, match=r"^[^\n]*spark\.executor\.memoryOverhead[^\n]*$"):
        mapped(spark, [Numbers(1, 5), Numbers(9, 9, deed)])


INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from crisp.engine.spark import Spark
from tests.engine.shards import SCHEMAS, Numbers, numbers
pids = Path(sys.argv[1])
def interrupt():
    while not any(pids.iterdir()):
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    engine = Spark(sys.argv[2], master="local[1]")
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        engine.map([Numbers(k, 5, "slow", str(pids)) for k in range(4)], numbers, SCHEMAS)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_ctrl_c_is_one_and_no_failed_job(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "pids"), str(tmp_path / "scratch")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "interrupted\n", done.stderr


def test_what_a_killed_task_left_is_no_part_of_a_table(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = writing.write

    def die_once(frame: DataFrame, schema: pa.Schema, target: str, order_by: list[str]) -> None:
        Path(target, ".part-0.parquet.0123").write_bytes(b"half of it")
        write(frame, schema, target, order_by)

    monkeypatch.setattr(writing, "write", die_once)
    spark.write(spark.table(batch_of(3)), str(tmp_path / "table"), ["value"])
    assert [path.name for path in (tmp_path / "table").iterdir()] == ["part-0.parquet"]


def batch_of(count: int) -> pa.Table:
    return pa.table({"shard": [0] * count, "value": range(count)}, schema=NUMBERS)


def test_a_spark_that_runs_elsewhere_is_not_taken(driver: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="already, not at spark://nowhere:7077"):
        Spark(str(tmp_path), master="spark://nowhere:7077")


def test_a_worker_killed_in_the_middle_costs_time_and_no_row(
    driver: Cluster, spark: Spark, tmp_path: Path
) -> None:
    """Its machine dies with it: what it had done is done again elsewhere, and counts once."""
    pids = tmp_path / "pids"
    pids.mkdir()
    shards = [Numbers(k, 5 + k, "pause", str(pids)) for k in range(24)]
    victim = driver.workers[1]

    def kill() -> None:
        until(lambda: len(list(pids.iterdir())) >= 2, 60)
        victim.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = mapped(spark, shards)
    finally:
        killer.join()
        victim.start()
    assert found["numbers"] == expected(shards)
    assert found["squares"] == [(shard, value * value) for shard, value in expected(shards)]
    until(lambda: driver.executors() == len(driver.workers), 60)


def command(cluster: Cluster, *arguments: str) -> list[str]:
    settings = [f"--spark-conf={key}={value}" for key, value in cluster.conf.items()]
    return [
        sys.executable,
        "-m",
        "crisp",
        *arguments,
        "--engine=spark",
        f"--master={cluster.url}",
        *settings,
    ]


def test_a_driver_killed_in_the_middle_leaves_whole_days_and_a_rerun_completes(
    cluster: Cluster, tmp_path: Path
) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    source.write_bytes(lines([trace(f"t{n}", latency=100 + n) for n in range(300)]))
    analyse = command(cluster, "analyse", str(source), f"--out={out}", "--json")
    lake = places(out).lake
    process = subprocess.Popen(analyse, cwd=ROOT, start_new_session=True, stdout=-3, stderr=-3)
    try:
        until(lambda: list(out.glob(".staging-*/tables-*/*.parquet")), 90)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        until(lambda: not in_session(process.pid))
    finally:
        end_session(process.pid)
    assert store.days(lake) == []
    done = subprocess.run(analyse, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    before = digests(lake)
    assert len(before) == 1
    subprocess.run(analyse, cwd=ROOT, capture_output=True, check=True)
    assert digests(lake) == before
    assert not list(out.rglob(".staging*"))


def test_one_huge_trace_and_one_frequent_endpoint_hold_up_nobody(
    driver: Cluster, tmp_path: Path
) -> None:
    """A trace of 200,000 spans is a task of its own, and nothing runs out of 1 GB."""
    huge = trace("huge", latency=10_000_000)
    huge["spans"] += [
        span(f"s{k}", 10 + 40 * k, 40 + 40 * k, parent="a", name=f"o{k % 50}", trace_id="huge")
        for k in range(200_000)
    ]
    (tmp_path / "huge.json").write_bytes(lines([huge]))
    small = [trace(f"t{n}", latency=1000 + n % 700) for n in range(2000)]
    for one in small[::2]:
        one["spans"][0]["operationName"] = f"GET /{int(one['traceID'][1:]) % 97}"
    for part in range(4):
        (tmp_path / f"small-{part}.jsonl").write_bytes(lines(small[part::4]))
    from tests.pipeline.test_engines_agree import check_same

    check_same([tmp_path / "huge.json", *tmp_path.glob("small-*")], tmp_path / "out")


def test_many_nested_rows_are_several_files_of_the_same_bytes_however_dealt_out(
    spark: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crisp.engine.spark.writing._NESTED_ROWS", 1000)
    kind = pa.schema([("id", pa.int64()), ("items", pa.list_(pa.struct([("a", pa.int64())])))])
    made = pa.table({"id": range(5000), "items": [[{"a": k}] for k in range(5000)]}, schema=kind)
    backwards = made.take(list(reversed(range(5000))))
    for name, table in (("one", made), ("two", backwards)):
        spark.write(spark.table(table), str(tmp_path / name), [])
    one, two = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}
        for name in ("one", "two")
    )
    assert len(one) == 5
    assert one == two
    files = [str(path) for path in (tmp_path / "one").iterdir()]
    assert sorted(pq.read_table(tmp_path / "one")["id"].to_pylist()) == list(range(5000))
    assert spark.collect(spark.read(files, kind)).num_rows == 5000


def test_a_sum_that_overflows_is_an_error_and_not_another_number(spark: Spark) -> None:
    rows = pa.table({"shard": [0, 0], "value": [2**62, 2**62]}, schema=NUMBERS)
    query = "SELECT min(shard) AS shard, sum(value) AS value FROM rows"
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        spark.collect(spark.sql(query, NUMBERS, rows=spark.table(rows)))


def test_a_query_sees_its_own_tables_alone(spark: Spark) -> None:
    rows = spark.table(pa.table({"shard": [1], "value": [2]}, schema=NUMBERS))
    spark.sql("SELECT * FROM seen", NUMBERS, seen=rows)
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        spark.sql("SELECT nope FROM seen", NUMBERS, seen=rows)
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM seen", NUMBERS)


def told(folder: Path, version: str) -> str:
    """The error of a task."""
    dealt = deal([Numbers(1, 5)], 1).to_batches()
    batches = run_task(dealt, numbers, SCHEMAS, str(folder), version, lambda _size: None)
    (row,) = [row for batch in batches for row in batch.to_pylist()]
    return str(pickle.loads(row["error"]))  # noqa: S301  # pickled here


def test_another_version_of_crisp_on_executors_is_an_error(tmp_path: Path) -> None:
    assert "0.0.0 on the driver" in told(tmp_path, "0.0.0")


def test_a_failed_task_whose_executor_dies_is_no_success_when_tried_again(tmp_path: Path) -> None:
    told(tmp_path, "0.0.0")
    assert told(tmp_path, __version__) == (
        "one of Spark's tasks failed, and its executor died; run it again"
    )
