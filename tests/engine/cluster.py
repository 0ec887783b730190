"""A Spark cluster of real processes on loopback: a master and two workers, one for all tests."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes import until
from tests.servers import ROOT, Server, free_port

WORKERS = 2
QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Java compiles for a short life: here no query runs often enough to be worth more."""


class Cluster:
    """Two machines, as far as Spark can tell; each has room for an executor of two drivers."""

    def __init__(self, folder: Path) -> None:
        port, page = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{port}"
        self._page = f"http://127.0.0.1:{page}/json/"
        place = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        self._master = _started("master.Master", place, self._page, folder / "master.log")
        self.workers = [self._worker(folder, number) for number in range(WORKERS)]

    def _worker(self, folder: Path, number: int) -> Server:
        port, page = free_port(), free_port()
        place = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)]
        size = ["--cores", "2", "--memory", "2g", "--work-dir", str(folder / f"work-{number}")]
        return _started(
            "worker.Worker",
            [*place, *size, self.url],
            f"http://127.0.0.1:{page}/json/",
            folder / f"worker-{number}.log",
        )

    @property
    def conf(self) -> dict[str, str]:
        """Settings of a driver: one executor of one core and 1 GB on each worker."""
        return {
            "spark.executor.cores": "1",
            "spark.executor.memory": "1g",
            "spark.cores.max": str(WORKERS),
            "spark.driver.memory": "1g",
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            "spark.driver.extraJavaOptions": QUICK,
            "spark.executor.extraJavaOptions": QUICK,
        }

    def start(self) -> None:
        """Start all and wait until the workers have found the master."""
        self._master.start()
        for worker in self.workers:
            worker.start()
        until(lambda: self.alive() == WORKERS, 60)

    def stop(self) -> None:
        """End all."""
        for server in (*self.workers, self._master):
            server.kill()

    def alive(self) -> int:
        """Workers that the master knows to be there."""
        return int(self._told()["aliveworkers"])

    def executors(self) -> int:
        """Cores in use, one for each executor."""
        return int(self._told()["coresused"])

    def _told(self) -> dict[str, Any]:
        with urllib.request.urlopen(self._page, timeout=5) as page:  # noqa: S310  # loopback
            found: dict[str, Any] = json.load(page)
        return found


def _started(part: str, arguments: list[str], page: str, log: Path) -> Server:
    from pyspark.find_spark_home import _find_spark_home

    command = [f"{_find_spark_home()}/bin/spark-class", f"org.apache.spark.deploy.{part}"]
    small = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK}
    return Server([*command, *arguments], small | {"SPARK_LOCAL_IP": "127.0.0.1"}, page, log)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster; tests that use it are marked `on_spark`."""
    made = Cluster(tmp_path_factory.mktemp("spark"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def driver(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with a driver in this process, which all engines made here share."""
    from crisp.engine.spark.session import begin

    session, begun = begin(cluster.url, cluster.conf)
    assert begun
    yield cluster
    session.stop()


on_spark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]
"""Marks of tests on the cluster: one pytest process has it."""
