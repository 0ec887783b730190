"""Real Airflow in its own environment, and days of traces in a real Jaeger for it to work on."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from tests.processes import end_session, until

ROOT = Path(__file__).parent.parent.parent
DAGS = ROOT / "jobs" / "airflow_dags"
CRISP = Path(sys.executable).with_name("crisp")
DAYS = ["2024-05-02", "2024-05-03", "2024-05-04"]
MIDNIGHT_NS = 1_714_608_000_000_000_000
"""2024-05-02 00:00 UTC."""
_DAY_NS = 86_400 * 10**9
TRACES = 150
"""Of each day."""
SERVICES = ("shop", "stock", "pay")


def program(name: str) -> Path:
    """A program of Airflow's environment."""
    found = ROOT / ".venv-airflow" / "bin" / name
    if not found.is_file():
        pytest.fail("no Airflow: run `make setup-airflow`", pytrace=False)
    return found


def _toml(value: object) -> str:
    """A value as TOML writes it: as JSON does, but for objects."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{name}" = {_toml(each)}' for name, each in value.items()) + "}"
    return json.dumps(value)


_SEVERAL = """
import contextlib, io, json, sys
from airflow.cli import cli_parser
answers = []
for words in json.loads(sys.argv[1]):
    error, said = "", io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            asked = cli_parser.get_parser().parse_args(words)
            asked.func(asked)
        except (Exception, SystemExit) as raised:
            error = f"{type(raised).__name__}: {raised}"
    answers.append([error, said.getvalue()])
print(json.dumps(answers))
"""


@dataclass(frozen=True, slots=True)
class Airflow:
    """A home of Airflow with a database of its own, and one configuration of the nightly DAG."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.home / "crisp_nightly.toml"

    def configure(
        self, first_day: str, lines: Mapping[str, object], spark: Mapping[str, object]
    ) -> None:
        """Write the configuration of the DAG."""
        self.home.mkdir(parents=True, exist_ok=True)
        text = [f"{name} = {_toml(value)}" for name, value in lines.items()]
        text += [f"first_day = {first_day}", "[spark]"]
        text += [f"{name} = {_toml(value)}" for name, value in spark.items()]
        self.config.write_text("\n".join(text), encoding="utf-8")

    def variables(self) -> dict[str, str]:
        """What processes of this Airflow need to know."""
        airflow = {
            "CORE__DAGS_FOLDER": str(DAGS),
            "CORE__LOAD_EXAMPLES": "False",
            "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.home}/airflow.db?timeout=60",
            "CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "LOGGING__LOGGING_LEVEL": "INFO",
        }
        named = {f"AIRFLOW__{name}": value for name, value in airflow.items()}
        home = {"AIRFLOW_HOME": str(self.home), "CRISP_NIGHTLY": str(self.config)}
        path = f"{program('airflow').parent}{os.pathsep}{os.environ['PATH']}"
        return os.environ | home | named | {"PATH": path} | self.environment

    def start(self, *words: str, output: int | IO[str]) -> subprocess.Popen[str]:
        """A command of Airflow, running in a session of its own; stdout and stderr are one."""
        return subprocess.Popen(
            [program("airflow"), *words],
            env=self.variables(),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str) -> str:
        """A command of Airflow that must succeed; what it says."""
        status, said = self.finish(*words)
        assert status == 0, said[-4000:]
        return said

    def finish(self, *words: str) -> tuple[int, str]:
        """Exit status of a command of Airflow, and what it says."""
        with self.start(*words, output=subprocess.PIPE) as running:
            try:
                said, _ = running.communicate(timeout=240)
            except subprocess.TimeoutExpired as late:
                said = (late.output or b"").decode(errors="replace")
                pytest.fail(f"{late}:\n{said[-8000:]}", pytrace=False)
            finally:
                end_session(running.pid)
        return running.returncode, said

    def night(self, day: str) -> str:
        """Run all tasks for a day."""
        return self.run("dags", "test", "crisp_nightly", day)

    def several(self, *commands: Sequence[str]) -> list[tuple[str, str]]:
        """Error of each command, empty when there is none, and what it says; in one process."""
        return [tuple(each) for each in self.python(_SEVERAL, commands)]

    def python(self, script: str, *values: object) -> Any:
        """What a script prints as JSON on its last line, in Airflow's Python.

        It finds ``values`` in sys.argv, as JSON.
        """
        done = subprocess.run(
            [program("python"), "-c", script, *map(json.dumps, values)],
            env=self.variables(),
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])


def prepared(
    home: Path,
    lines: Mapping[str, object],
    *,
    first_day: str = DAYS[0],
    spark: Mapping[str, object] | None = None,
) -> Airflow:
    """An Airflow with a database; settings that are not given suit a test without servers."""
    usual: dict[str, object] = {
        "jaeger": "http://127.0.0.1:1",
        "landing": str(home / "landing"),
        "out": str(home / "out"),
        "crisp": str(CRISP),
        "retries": 0,
    }
    made = Airflow(home)
    made.configure(first_day, usual | dict(lines), spark or {})
    made.run("db", "migrate")
    return made


def post_days(otlp: str, url: str, days: Sequence[str] = DAYS) -> None:
    """Put traces of each day into a Jaeger: an entry of one service calls another, then a third.

    They go to ``otlp``. Returns when the query API at ``url`` answers with all of them.
    """
    for day in days:
        start = MIDNIGHT_NS + DAYS.index(day) * _DAY_NS
        spans = [_trace(DAYS.index(day) * TRACES + n, start) for n in range(TRACES)]
        for service in SERVICES:
            _post(otlp, service, [each[service] for each in spans])
    until(lambda: all(_spans(url, day) == TRACES * len(SERVICES) for day in days))


def _spans(url: str, day: str) -> int:
    """Spans that a Jaeger knows of a day."""
    start_us = (MIDNIGHT_NS + DAYS.index(day) * _DAY_NS) // 1000
    window = f"start={start_us}&end={start_us + _DAY_NS // 1000}&limit={2 * TRACES}"
    asked = f"{url}/api/traces?service={SERVICES[0]}&{window}"
    with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310  # loopback
        return sum(len(trace["spans"]) for trace in json.load(answer)["data"])


def _trace(number: int, midnight_ns: int) -> dict[str, dict[str, Any]]:
    start = midnight_ns + 3_600 * 10**9 + number * 10**9
    third = (900 + number) * 1_000_000
    return {
        "shop": _span(number, 1, None, "GET /", start, start + 3 * third),
        "stock": _span(number, 2, 1, "find", start + 1_000_000, start + third),
        "pay": _span(number, 3, 1, "charge", start + third, start + 2 * third),
    }


def _span(
    trace: int, span: int, parent: int | None, name: str, start: int, end: int
) -> dict[str, Any]:
    above = {} if parent is None else {"parentSpanId": f"{trace + 1:08x}{parent:08x}"}
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{trace + 1:08x}{span:08x}",
        "name": name,
        "kind": 2,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        **above,
    }


def _post(otlp: str, service: str, spans: list[dict[str, Any]]) -> None:
    name = {"key": "service.name", "value": {"stringValue": service}}
    resource = {"resource": {"attributes": [name]}, "scopeSpans": [{"spans": spans}]}
    request = urllib.request.Request(  # noqa: S310  # loopback
        f"{otlp}/v1/traces",
        json.dumps({"resourceSpans": [resource]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310  # the same
        assert json.load(answer) == {"partialSuccess": {}}


def digests(folder: Path, but: str = "") -> dict[str, str]:
    """Hash of every file under a folder, by its path; not of those named ``but``."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != but
    }
