"""What a person is told when Spark cannot do what it should: one line, and what to change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.documents import lines, trace
from tests.engine.cluster import QUICK, Cluster, on_spark
from tests.servers import ROOT, free_port

pytestmark = on_spark


def run_alone(
    arguments: list[str], cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`crisp analyse` of one trace on Spark, in a process of its own."""
    quick = [f"--spark-conf=spark.driver.extraJavaOptions={QUICK}"]
    return subprocess.run(
        [sys.executable, "-m", "crisp", "analyse", *arguments, "--engine=spark", *quick],
        env={**os.environ, **environment},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """What it said; one line, and no traceback."""
    assert done.returncode in (1, 2), done.stderr
    assert done.stderr.startswith("crisp: ")
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture
def one_trace(tmp_path: Path) -> list[str]:
    (tmp_path / "in.json").write_bytes(lines([trace()]))
    return [str(tmp_path / "in.json"), f"--out={tmp_path / 'out'}", "--quiet"]


def test_no_java_is_said_in_one_line(one_trace: list[str], tmp_path: Path) -> None:
    (tmp_path / "no-java").mkdir()
    said = one_line(run_alone(one_trace, JAVA_HOME=str(tmp_path / "no-java")))
    assert "needs Java 17" in said


def test_no_master_is_said_in_one_line_and_at_once(one_trace: list[str]) -> None:
    place = f"spark://127.0.0.1:{free_port()}"
    said = one_line(run_alone([*one_trace, f"--master={place}"]))
    assert f"no Spark master answers at {place}" in said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("spark.executor.memory=lots", "Executor memory must be a positive number"),
        ("spark.sql.shuffle.partitions=abc", '"spark.sql.shuffle.partitions" is invalid'),
    ],
)
def test_a_wrong_setting_is_said_in_one_line(one_trace: list[str], setting: str, said: str) -> None:
    assert said in one_line(run_alone([*one_trace, "--master=local[1]", f"--spark-conf={setting}"]))


def test_a_missing_python_is_said_in_one_line(one_trace: list[str]) -> None:
    done = run_alone([*one_trace, "--master=local[1]"], PYSPARK_PYTHON="/no/python")
    assert "/no/python: no such Python on Spark's executors" in one_line(done)


def test_no_pyspark_is_said_in_one_line(one_trace: list[str], tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError('none')\n")
    said = one_line(run_alone(one_trace, PYTHONPATH=str(tmp_path)))
    assert "pip install 'crisp-cpa[spark]'" in said


def test_executors_without_crisp_are_an_error_that_says_so(
    one_trace: list[str], tmp_path: Path
) -> None:
    """Their Python runs, isolated from this one's packages but for what Spark needs."""
    python = tmp_path / "python"
    libraries = Path(pa.__file__).parent.parent
    python.write_text(
        f'#!/bin/sh\nexport PYTHONPATH={tmp_path / "lib"}\nexec {sys._base_executable} -S "$@"\n'  # type: ignore[attr-defined]
    )
    python.chmod(0o755)
    (tmp_path / "lib").mkdir()
    for name in ("pyarrow", "numpy", "numpy.libs", "pandas", "pyspark", "py4j"):
        if (libraries / name).exists():
            (tmp_path / "lib" / name).symlink_to(libraries / name)
    said = one_line(run_alone([*one_trace, "--master=local[1]"], PYSPARK_PYTHON=str(python)))
    assert "crisp" in said
    assert "install the same crisp there" in said


def test_more_memory_than_any_worker_has_is_an_error_and_no_endless_wait(
    cluster: Cluster, one_trace: list[str]
) -> None:
    asked = {"spark.executor.memory": "64g", "spark.crisp.wait": "3"}
    settings = [f"--spark-conf={key}={value}" for key, value in asked.items()]
    said = one_line(run_alone([*one_trace, f"--master={cluster.url}", *settings]))
    assert "no executor came within 3 s" in said
    assert "spark.executor.memory" in said


def test_a_run_on_spark_says_and_leaves_no_more_than_one_on_duckdb(
    one_trace: list[str], tmp_path: Path
) -> None:
    static = "--spark-conf=spark.sql.globalTempDatabase=other"  # goes with the start or not at all
    done = run_alone([*one_trace, "--master=local[1]", static], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) < 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out"]
