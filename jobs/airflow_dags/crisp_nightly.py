"""Every night: fetch a day of traces, analyse it, merge the last 14 days, judge the day by those
before, write the site, send alerts, and learn from the day for the next one.

Each task runs one command that can be typed by hand; its log shows the command and what it says.
A day can be run again at any time and in any order with others. When a task fails, the site of
the night before stays as it is. What runs where stands in `crisp_nightly.toml` beside this file,
or in the file that the environment variable `CRISP_NIGHTLY` names; see `docs/nightly.md`.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, BaseOperator, CronDataIntervalTimetable, Param, chain

if TYPE_CHECKING:
    from airflow.sdk.types import DagRunProtocol

DAY = "{{ day(dag_run, params) }}"
MARTS = (
    *("fleet", "daily", "bands", "cct", "path_stats", "exemplars", "bottom_up", "histograms"),
    *("ledgers", "rejected", "latencies", "groups", "group_paths", "kept", "kept_paths"),
    *("errors", "reach", "hosts", "call_paths", "endpoint_names", "runs"),
)
OUTLETS = {
    "aggregate": [Asset(f"crisp/marts/{table}") for table in MARTS],
    "score": [Asset("crisp/scores"), Asset("crisp/shifts")],
    "judge": [Asset("crisp/alerts")],
    "report": [Asset("crisp/site")],
    "train": [Asset("crisp/models")],
}
ONE_AT_A_TIME = {"aggregate", "report", "alert"}
"""They write what all days share; the other tasks write their own day only."""
RUNNABLE = {"fetch", "analyse", "aggregate", "score", "train"}
"""Stages that can run on a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """How stages run on a cluster."""

    stages: list[str] = field(default_factory=list)
    """which of `RUNNABLE` do; the rest run on Airflow's worker"""
    connection: str = "spark_default"
    """Airflow's connection that names the master"""
    submit: str = "spark-submit"
    """the program, on PATH or with its path"""
    drivers: str = "/opt/crisp/jobs/spark"
    """folder of this repository's Spark programs"""
    python: str = "python3"
    """where crisp is installed, on the worker and on every machine of the cluster"""
    conf: dict[str, Any] = field(default_factory=dict)
    """settings of Spark"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nightly:
    """What a night does, and where."""

    jaeger: str
    """address of Jaeger's query service"""
    landing: str
    """folder or URL for fetched traces"""
    out: str
    """folder or URL for lake, marts and site"""
    first_day: date
    """the day to catch up from"""
    crisp: str = "crisp"
    """the program, on PATH or with its path"""
    endpoints: str = ""
    """file of endpoints to fetch; all when empty"""
    settings: str = ""
    """settings file of crisp, for all stages"""
    title: str = "crisp"
    """heading of the site"""
    jaeger_url: str = ""
    """address of a trace in Jaeger, with {trace_id}; no links when empty"""
    anomalies: bool = True
    """score, judge and train too"""
    webhook: str = ""
    """address of Alertmanager, or of another receiver; alerts are only shown when empty"""
    cron: str = "30 2 * * *"
    """when a night begins, UTC; late spans should have arrived by then"""
    days_at_once: int = 3
    """when catching up"""
    retries: int = 3
    """of each task"""
    retry_minutes: float = 5.0
    """before the first of them; each further one waits twice as long, at most an hour"""
    timeout_hours: float = 6.0
    """after which a task is ended"""
    spark: Spark = field(default_factory=Spark)


def read(path: Path) -> Nightly:
    """The configuration in a file.

    Raises:
        ValueError: naming every line of it that is unknown, missing or of a wrong type.
    """
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    spark = found.pop("spark", {})
    problems = [*_problems(Nightly, found, ""), *_problems(Spark, spark, "spark.")]
    problems += [
        f"spark.stages: {stage!r} is none of {', '.join(sorted(RUNNABLE))}"
        for stage in spark.get("stages", [])
        if stage not in RUNNABLE
    ]
    if problems:
        raise ValueError(f"{path}: {'; '.join(problems)}")
    return Nightly(**found, spark=Spark(**spark))


def _problems(kind: type, found: Mapping[str, Any], prefix: str) -> list[str]:
    types = {each.name: str(each.type).partition("[")[0] for each in fields(kind)}
    needed = {"jaeger", "landing", "out", "first_day"} & set(types)
    also = {"float": ("int", "float")}
    return [
        *(f"{prefix}{name} is unknown" for name in found if name not in types),
        *(f"{prefix}{name} is missing" for name in sorted(needed - set(found))),
        *(
            f"{prefix}{name} is no {types[name]}"
            for name, value in found.items()
            if name in types and type(value).__name__ not in also.get(types[name], (types[name],))
        ),
    ]


def day(dag_run: DagRunProtocol, params: Mapping[str, Any]) -> str:
    """The UTC day that a run works on, as YYYY-MM-DD: parameter `date`, or the run's own day.

    Its own day is that of the logical date. For a scheduled run and a backfill that is where the
    data interval begins: the run from D 02:30 to D+1 02:30 starts when D is over and works on D.
    A run that somebody starts may carry this very moment as its logical date, and one started by
    an asset has none: then it is yesterday, since today is not over.
    """
    if params["date"] is not None:
        return date.fromisoformat(params["date"]).isoformat()
    yesterday: date = dag_run.run_after.astimezone(UTC).date() - timedelta(days=1)
    if dag_run.logical_date is None:
        return yesterday.isoformat()
    own: date = dag_run.logical_date.astimezone(UTC).date()
    return min(own, yesterday).isoformat()


def commands(at: Nightly) -> dict[str, list[str]]:
    """The command of crisp of each task, in the order in which tasks run.

    Judging and sending are one command, once without a receiver: the page that an alert links to
    is written between them.
    """
    settings = _option("--settings", at.settings)
    fetched = f"{at.landing.rstrip('/')}/date={DAY}"
    endpoints = _option("--endpoints", at.endpoints)
    links = _option("--jaeger-url", at.jaeger_url)
    night = [at.out, "--date", DAY]
    asked = ["--jaeger", at.jaeger, "--date", DAY, "-o", at.landing]
    found = {
        "fetch": ["fetch", *asked, *endpoints, *settings],
        "analyse": ["analyse", fetched, "--date", DAY, "-o", at.out, *settings],
        "aggregate": ["aggregate", *night, "--refresh", *settings],
        "score": ["score", *night, *settings],
        "judge": ["alert", *night, *settings],
        "report": ["report", at.out, "--title", at.title, *links, *settings],
        "alert": ["alert", *night, *_option("--webhook", at.webhook), *settings],
        "train": ["train", *night, *settings],
    }
    left_out = set() if at.anomalies else {"score", "judge", "alert", "train"}
    return {
        name: words
        for name, words in found.items()
        if name not in left_out and (name != "alert" or at.webhook)
    }


def _option(name: str, value: str) -> list[str]:
    return [name, value] if value else []


def task(at: Nightly, name: str, command: list[str]) -> BaseOperator:
    """The task that runs a command, on this machine or on the cluster."""
    stage, *words = command
    about: dict[str, Any] = {
        "task_id": name,
        "outlets": OUTLETS.get(name, []),
        "post_execute": _date_events,
        "max_active_tis_per_dag": 1 if name in ONE_AT_A_TIME else None,
    }
    if name not in at.spark.stages:
        line = shlex.join([at.crisp, *command])
        return BashOperator(bash_command=line, skip_on_exit_code=None, **about)
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    return SparkSubmitOperator(
        application=f"{at.spark.drivers.rstrip('/')}/{stage}.py",
        application_args=words,
        name=f"crisp {stage} {DAY}",
        conn_id=at.spark.connection,
        spark_binary=at.spark.submit,
        conf={"spark.log.level": "WARN"} | at.spark.conf,  # or the summary is lost among the rest
        env_vars={"PYSPARK_PYTHON": at.spark.python},
        **about,
    )


def _date_events(context: Mapping[str, Any], _result: object = None) -> None:
    """Tell whoever waits for a mart or the site which day brought it."""
    for asset in context["task"].outlets:
        worked_on = day(context["dag_run"], context["params"])
        context["outlet_events"][asset].extra = {"date": worked_on}


def nightly(at: Nightly) -> DAG:
    """The DAG of a configuration."""
    with DAG(
        "crisp_nightly",
        description="From the traces of a day to the site",
        doc_md=__doc__,
        schedule=CronDataIntervalTimetable(at.cron, timezone="UTC"),
        start_date=datetime.combine(at.first_day, time(), UTC),
        catchup=True,
        max_active_runs=at.days_at_once,
        tags=["crisp"],
        params={
            "date": Param(
                None,
                type=["null", "string"],
                format="date",
                pattern=r"^\d{4}-\d{2}-\d{2}$",
                description="UTC day to work on; empty: the day of the run",
            )
        },
        user_defined_macros={"day": day},
        default_args={
            "owner": "crisp",
            "retries": at.retries,
            "retry_delay": timedelta(minutes=at.retry_minutes),
            "retry_exponential_backoff": 2.0,
            "max_retry_delay": timedelta(hours=1),
            "execution_timeout": timedelta(hours=at.timeout_hours),
        },
    ) as made:
        chain(*(task(at, name, command) for name, command in commands(at).items()))
    return made


_BESIDE = Path(__file__).with_suffix(".toml")
dag = nightly(read(Path(os.environ.get("CRISP_NIGHTLY") or _BESIDE)))
