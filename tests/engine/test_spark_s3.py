"""Spark with traces, lake, marts and site in an object store: a real S3 server over a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from s3fs import S3FileSystem

from tests.documents import lines, traces
from tests.engine.cluster import Cluster, on_spark
from tests.servers import ROOT, S3, SECRET, versitygw

pytestmark = on_spark


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3]:
    with versitygw(tmp_path) as server:
        yield server


class Commands:
    """The command lines of all processes, as anybody on this machine sees them, until closed."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._over = Event()
        self._thread = Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.2):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    self.seen.add(process.read_text(encoding="utf-8", errors="replace"))

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()


def crisp(*arguments: str) -> dict[str, object]:
    """What a command printed with --json."""
    done = subprocess.run(
        [sys.executable, "-m", "crisp", *arguments, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_run_from_and_to_an_object_store(cluster: Cluster, s3: S3, tmp_path: Path) -> None:
    """The same pages as DuckDB's; secrets stand in no command that others can see."""
    bucket = s3.bucket("traces")
    storage = S3FileSystem()
    for part in range(3):
        content = lines(traces(40, first=40 * part))
        storage.pipe_file(f"traces/landing/part-{part}.jsonl", content)
    jars = subprocess.run(
        [ROOT / "scripts" / "setup-spark-s3"], capture_output=True, text=True, check=True
    ).stdout.strip()
    conf = cluster.conf | {"spark.jars": f"{jars}/*.jar"}
    on = [
        "--engine=spark",
        f"--master={cluster.url}",
        *(f"--spark-conf={k}={v}" for k, v in conf.items()),
    ]
    with closing(Commands()) as commands:
        spark = crisp("run", f"{bucket}/landing", f"--out={bucket}/spark", *on)
    assert any("spark.jars" in command for command in commands.seen)
    assert not [command for command in commands.seen if SECRET in command]
    duckdb = crisp("run", f"{bucket}/landing", f"--out={bucket}/duckdb")
    assert (spark["read"], spark["analysed"]) == (120, 120)
    assert {k: v for k, v in spark.items() if k not in {"seconds", "site"}} == {
        k: v for k, v in duckdb.items() if k not in {"seconds", "site"}
    }
    pages = [
        {path.rpartition("/")[2] for path in storage.find(f"traces/{name}/site") if "v-" in path}
        for name in ("spark", "duckdb")
    ]
    assert pages[0] == pages[1]
    assert not [path for path in storage.find("traces/spark") if ".staging" in path]
