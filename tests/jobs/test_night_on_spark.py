"""A night whose stages run on a Spark cluster, as docker-compose.yml starts and names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from crisp.schema import MARTS
from tests.jobs.composed import changed, check_health, example, loaded, process
from tests.jobs.nights import DAYS, TRACES, Airflow, prepared
from tests.running import rows
from tests.servers import ROOT, Jaeger, free_port

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master and two workers."""

    model: dict[str, Any]
    changes: dict[str, str]
    """from names and ports between containers to those here"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("spark")
    model = loaded(folder, example())
    page = free_port()
    changes = {"spark-master": "127.0.0.1", "7077": str(free_port()), "8080": str(page)}
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    with ExitStack() as stack:
        for number, name in enumerate(("spark-master", "spark-worker", "spark-worker")):
            service = dict(model["services"][name])
            program, *service["command"] = service["command"]
            service["environment"] = service["environment"] | here
            about = changes | {"8081": str(free_port()), "/tmp/work": f"{folder}/work-{number}"}  # noqa: S108  # of the container
            port = page if number == 0 else about["8081"]
            server = process(
                service,
                BIN / program,
                about,
                f"http://127.0.0.1:{port}/json/",
                folder / f"{number}.log",
            )
            stack.callback(server.kill)
            server.start()
            check_health(service, about)
        yield Cluster(model, changes)


@pytest.fixture(scope="module")
def night(cluster: Cluster, traced: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """An Airflow after a night on the cluster."""
    settings = tomllib.loads(cluster.model["configs"]["nightly"]["content"])["spark"]
    small = {"spark.executor.memory": "1g", "spark.executor.cores": "1", "spark.cores.max": "2"}
    spark = settings | {
        "stages": ["analyse"],  # each stage costs a start of Java
        "submit": str(BIN / "spark-submit"),
        "python": sys.executable,
        "drivers": str(ROOT / "jobs" / "spark"),
        "conf": settings["conf"] | small | {"spark.driver.host": "127.0.0.1"},
    }
    home = tmp_path_factory.mktemp("airflow")
    airflow = prepared(home, {"jaeger": traced.url, "title": "On Spark"}, spark=spark)
    connection = cluster.model["services"]["airflow"]["environment"]["AIRFLOW_CONN_SPARK_DEFAULT"]
    airflow.environment["AIRFLOW_CONN_SPARK_DEFAULT"] = changed(connection, cluster.changes)
    airflow.environment["SPARK_LOCAL_IP"] = "127.0.0.1"
    (home / "said").write_text(airflow.night(DAYS[0]), encoding="utf-8")
    return airflow


@pytest.mark.parametrize("mart", [name for name in MARTS if name != "runs"])
def test_mart_is_the_same_as_on_one_machine(night: Airflow, by_hand: Path, mart: str) -> None:
    found, expected = (
        sorted(json.dumps(row, default=str) for row in rows(str(out), mart, DAYS[0]))
        for out in (night.home / "out" / "marts", by_hand / "marts")
    )
    assert found == expected


def test_night_on_a_cluster_ends_with_a_site(night: Airflow) -> None:
    assert "On Spark" in (night.home / "out" / "site" / "index.html").read_text(encoding="utf-8")


def test_stage_was_given_to_the_cluster_and_the_others_were_not(night: Airflow) -> None:
    said = (night.home / "said").read_text(encoding="utf-8")
    submitted = [line for line in said.splitlines() if "Spark-Submit cmd:" in line]
    assert len(submitted) == 1
    assert "--master spark://127.0.0.1:" in submitted[0]
    assert f"{ROOT}/jobs/spark/analyse.py {night.home}/landing/date={DAYS[0]}" in submitted[0]
    assert f"{TRACES} analysed" in said
    for stage in ("fetch", "aggregate", "report"):
        assert f"crisp {stage} " in said


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("fetch", ["--jaeger", "http://127.0.0.1:1", "--date", DAYS[0], "-o", "landing"]),
        ("analyse", ["landing/date=" + DAYS[0], "--date", DAYS[0], "-o", "out"]),
        ("aggregate", ["out", "--date", DAYS[0], "--refresh"]),
    ],
)
def test_options_of_every_stage_are_those_of_its_spark_program(
    stage: str, words: list[str], tmp_path: Path, by_hand: Path
) -> None:
    (tmp_path / "landing").symlink_to(by_hand.parent / "landing")
    (tmp_path / "out").symlink_to(by_hand)
    driver, nobody = ROOT / "jobs" / "spark" / f"{stage}.py", "spark://127.0.0.1:1"
    done = subprocess.run(
        [sys.executable, driver, *words, "--master", nobody],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"no Spark master answers at {nobody}" in done.stderr
