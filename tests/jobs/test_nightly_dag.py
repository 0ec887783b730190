"""What the nightly DAG says it is, as Airflow reads it: no task runs here."""

from __future__ import annotations

import json
import shutil
import tomllib
from typing import Any

import pytest

from crisp.schema import MARTS
from tests.jobs.asking import DESCRIBE, READ
from tests.jobs.nights import DAGS, Airflow, prepared

pytestmark = pytest.mark.slow

CASES = [
    pytest.param(
        *("2024-05-02T02:30:00+00:00", "2024-05-03T02:30:00+00:00", None, "2024-05-02"),
        id="a scheduled run works on the day its interval begins",
    ),
    pytest.param(
        *("2024-05-02T00:00:00+00:00", "2024-05-03T00:00:00+00:00", None, "2024-05-02"),
        id="an interval from midnight to midnight is its day",
    ),
    pytest.param(
        *("2024-05-03T02:30:00+00:00", "2024-05-03T02:30:00+00:00", None, "2024-05-02"),
        id="an interval of no length is the day before",
    ),
    pytest.param(
        *("2024-05-02T00:00:00+00:00", "2026-11-21T13:00:00+00:00", None, "2024-05-02"),
        id="a run started for a past day works on it",
    ),
    pytest.param(
        *("2026-11-21T13:00:00+00:00", "2026-11-21T13:00:00+00:00", None, "2026-11-20"),
        id="a run started now works on yesterday",
    ),
    pytest.param(
        *(None, "2026-11-21T00:30:00+00:00", None, "2026-11-20"),
        id="a run without logical date works on yesterday",
    ),
    pytest.param(
        *(None, "2026-11-21T01:30:00+02:00", None, "2026-11-19"),
        id="yesterday is that of UTC",
    ),
    pytest.param(
        *(None, "2026-11-21T00:30:00+00:00", "2024-02-29", "2024-02-29"),
        id="a date that is given is used",
    ),
]
STAGES = ("fetch", "analyse", "aggregate", "score", "judge", "report", "alert", "train")
NO_DATES = ["2024-5-2", "20240502", "2024-02-30", "2024-05-02; id", "$(id)", "", 20240502]


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    """The DAG with settings that a shell would choke on if they were not quoted."""
    return prepared(
        tmp_path_factory.mktemp("airflow"),
        {
            "landing": "/srv/a b/landing",
            "out": "s3://traces/out",
            "crisp": "/opt/crisp",
            "endpoints": "/etc/endpoints; rm -rf.txt",
            "settings": "settings.toml",
            "title": "Ann's $HOME",
            "jaeger_url": "http://jaeger/trace/{trace_id}",
            "webhook": "http://alerts:9093/a b",
            "retries": 3,
        },
    )


@pytest.fixture(scope="module")
def described(airflow: Airflow) -> dict[str, Any]:
    """All that Airflow knows of the DAG, and the answer to each case."""
    found: dict[str, Any] = airflow.python(DESCRIBE, [case.values[:3] for case in CASES])
    return found


def test_tasks_run_one_after_the_other_and_aggregate_names_every_mart(
    described: dict[str, Any],
) -> None:
    assert described["dag"] == {
        "errors": {},
        "dags": ["crisp_nightly"],
        "catchup": True,
        "days at once": 3,
        "tags": ["crisp"],
    }
    tasks = described["tasks"]
    assert list(tasks) == list(STAGES)
    before = [[], *([name] for name in STAGES[:-1])]
    assert [task["after"] for task in tasks.values()] == before
    at_once = {name for name, task in tasks.items() if task["at once"] is not None}
    assert at_once == {"aggregate", "report", "alert"}
    assert {tasks[name]["at once"] for name in at_once} == {1}
    assert tasks["aggregate"]["outlets"] == [f"crisp/marts/{table}" for table in MARTS]
    assert tasks["report"]["outlets"] == ["crisp/site"]
    assert tasks["score"]["outlets"] == ["crisp/scores", "crisp/shifts"]
    assert tasks["judge"]["outlets"] == ["crisp/alerts"]
    assert tasks["train"]["outlets"] == ["crisp/models"]


@pytest.mark.parametrize("stage", STAGES)
def test_task_is_tried_again_and_runs_only_after_success(
    described: dict[str, Any], stage: str
) -> None:
    task = described["tasks"][stage]
    assert task["owner"] == "crisp"
    assert task["retries"] == 3
    assert task["first wait, its growth, longest wait"] == [300, 2, 3600]
    assert task["most seconds"] == 6 * 3600
    assert not task["waits for the day before"]
    assert task["runs when"] == "all_success"


@pytest.mark.parametrize(("logical", "after", "date", "expected"), CASES)
def test_day_of_a_run(
    described: dict[str, Any], logical: str | None, after: str, date: str | None, expected: str
) -> None:
    case = next(n for n, case in enumerate(CASES) if case.values[:3] == (logical, after, date))
    assert described["days"][case] == expected


def test_schedule_begins_with_the_first_day_and_runs_after_each(described: dict[str, Any]) -> None:
    assert described["scheduled"] == [
        ["2024-05-03T02:30:00+00:00", "2024-05-02"],
        ["2024-05-04T02:30:00+00:00", "2024-05-03"],
        ["2024-05-05T02:30:00+00:00", "2024-05-04"],
    ]


@pytest.fixture(scope="module")
def triggered(airflow: Airflow) -> dict[str, tuple[str, str]]:
    """What Airflow's commands answer about a run with a date, one without, and bad dates."""
    trigger = ["dags", "trigger", "crisp_nightly", "--conf"]
    render = ["tasks", "render", "crisp_nightly"]
    commands = {
        "read": ["dags", "reserialize"],
        "dated": [*trigger, '{"date": "2024-02-29"}', "--run-id", "dated"],
        "plain": [*trigger, "{}", "--run-id", "plain"],
        "runs": ["dags", "list-runs", "crisp_nightly", "--output", "json"],
        "yesterday": [*render, "aggregate", "plain"],
        **{stage: [*render, stage, "dated"] for stage in STAGES},
        **{repr(date): [*trigger, json.dumps({"date": date})] for date in NO_DATES},
    }
    return dict(zip(commands, airflow.several(*commands.values()), strict=True))


NIGHT = "s3://traces/out --date '2024-02-29'"
COMMANDS = {
    "fetch": "fetch --jaeger http://127.0.0.1:1 --date '2024-02-29' -o '/srv/a b/landing'"
    " --endpoints '/etc/endpoints; rm -rf.txt' --settings settings.toml",
    "analyse": "analyse '/srv/a b/landing/date=2024-02-29' --date '2024-02-29'"
    " -o s3://traces/out --settings settings.toml",
    "aggregate": f"aggregate {NIGHT} --refresh --settings settings.toml",
    "score": f"score {NIGHT} --settings settings.toml",
    "judge": f"alert {NIGHT} --settings settings.toml",
    "report": "report s3://traces/out --title 'Ann'\"'\"'s $HOME'"
    " --jaeger-url 'http://jaeger/trace/{trace_id}' --settings settings.toml",
    "alert": f"alert {NIGHT} --webhook 'http://alerts:9093/a b' --settings settings.toml",
    "train": f"train {NIGHT} --settings settings.toml",
}


@pytest.mark.parametrize("stage", STAGES)
def test_command_of_a_task_can_be_typed(triggered: dict[str, tuple[str, str]], stage: str) -> None:
    error, said = triggered[stage]
    assert error == ""
    assert f"/opt/crisp {COMMANDS[stage]}\n" in said


def test_run_that_is_started_without_a_date_works_on_yesterday(
    airflow: Airflow, triggered: dict[str, tuple[str, str]]
) -> None:
    runs = json.loads(triggered["runs"][1])
    after = next(run["run_after"] for run in runs if run["run_id"] == "plain")
    yesterday = airflow.python(DESCRIBE, [[None, after, None]])["days"][0]
    assert f"--date '{yesterday}'" in triggered["yesterday"][1]


@pytest.mark.parametrize("date", NO_DATES)
def test_date_that_is_none_is_refused(
    triggered: dict[str, tuple[str, str]], date: str | int
) -> None:
    error, _ = triggered[repr(date)]
    assert "Invalid input for param date" in error


BAD = {
    "": "first_day is missing; jaeger is missing; landing is missing; out is missing",
    "jager = 'x'": "jager is unknown",
    "retries = '3'": "retries is no int",
    "anomalies = 'yes'": "anomalies is no bool",
    "[spark]\nstages = ['report']": "spark.stages: 'report' is none of aggregate, analyse,"
    " fetch, score, train",
    "[spark]\nmaster = 'x'": "spark.master is unknown",
}


@pytest.fixture(scope="module")
def read(airflow: Airflow, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the DAG beside its shipped configuration says to all of `BAD`."""
    folder = tmp_path_factory.mktemp("read")
    for name in ("crisp_nightly.py", "crisp_nightly.toml"):
        shutil.copy(DAGS / name, folder)
    files = [folder / f"{number}.toml" for number in range(len(BAD))]
    for file, text in zip(files, BAD, strict=True):
        file.write_text(text, encoding="utf-8")
    unnamed = Airflow(airflow.home, {"CRISP_NIGHTLY": ""})
    found: dict[str, Any] = unnamed.python(READ, [str(file) for file in files], str(folder))
    return found


@pytest.mark.parametrize("text", BAD)
def test_configuration_names_all_that_is_wrong_with_it(read: dict[str, Any], text: str) -> None:
    assert BAD[text] in read["problems"][list(BAD).index(text)]


def test_shipped_configuration_is_read_and_its_values_are_the_usual_ones(
    read: dict[str, Any],
) -> None:
    usual = read["usual"]
    shipped = tomllib.loads((DAGS / "crisp_nightly.toml").read_text(encoding="utf-8"))
    assert set(shipped) == set(usual)
    changed = {name for name in usual if shipped[name] != usual[name]}
    assert changed == {"jaeger", "landing", "out", "first_day"}


def test_alerts_are_sent_only_to_a_webhook_and_anomalies_can_be_left_out(
    read: dict[str, Any],
) -> None:
    assert read["tasks"]["usual"] == [name for name in STAGES if name != "alert"]
    assert read["tasks"]["without anomalies"] == ["fetch", "analyse", "aggregate", "report"]


def test_without_stages_on_spark_its_operator_is_not_imported(read: dict[str, Any]) -> None:
    assert not read["Spark's operator"]
