"""Nights as Airflow runs them, against a real Jaeger: what is on disk afterwards."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from crisp import store
from crisp.schema import MARTS
from tests.jobs.composed import check_health, example, loaded
from tests.jobs.nights import DAYS, TRACES, Airflow, digests, prepared
from tests.processes import end_session, until
from tests.running import rows
from tests.servers import Jaeger, free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_nights(traced: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> tuple[Airflow, str]:
    """An Airflow after a night for each of the first two days, and what the second one said."""
    home = tmp_path_factory.mktemp("nights")
    airflow = prepared(home, {"jaeger": traced.url, "title": "Two nights"})
    airflow.night(DAYS[0])
    return airflow, airflow.night(DAYS[1])


def test_night_ends_with_a_site_of_the_days_so_far(two_nights: tuple[Airflow, str]) -> None:
    out = two_nights[0].home / "out"
    assert "Two nights" in (out / "site" / "index.html").read_text(encoding="utf-8")
    for last, days in ((DAYS[0], DAYS[:1]), (DAYS[1], DAYS[:2])):
        daily = rows(str(out / "marts"), "daily", last)
        assert {row["day"]: row["traces"] for row in daily} == dict.fromkeys(days, TRACES)


def test_night_is_judged_by_what_was_learnt_the_night_before(
    two_nights: tuple[Airflow, str],
) -> None:
    out = two_nights[0].home / "out"
    judged = {night: store.run_record(out / "scores", night)["model_day"] for night in DAYS[:2]}
    assert judged == {DAYS[0]: None, DAYS[1]: DAYS[0]}
    assert {row["model"].split()[1] for row in rows(out / "scores", "scores")} == {DAYS[0]}
    assert store.days(out / "models") == store.days(out / "alerts") == DAYS[:2]
    assert (out / "site" / "anomalies.html").is_file()


def test_log_of_a_night_tells_commands_and_summaries(two_nights: tuple[Airflow, str]) -> None:
    airflow, said = two_nights
    fetched, analysed = f"{airflow.home}/landing/date={DAYS[1]}", f"{TRACES} analysed"
    assert f"crisp analyse '{fetched}' --date '{DAYS[1]}' -o {airflow.home}/out" in said
    assert analysed in said
    assert f"2 days, {DAYS[0]} to {DAYS[1]}" in said
    assert f"open {airflow.home}/out/site/index.html" in said


def test_night_that_is_run_again_changes_only_the_records_of_the_run(
    two_nights: tuple[Airflow, str],
) -> None:
    airflow, _ = two_nights
    marts = airflow.home / "out" / "marts"
    before = digests(marts, but="run.json")
    airflow.night(DAYS[0])
    assert len(before) > 2 * len(MARTS)
    assert digests(marts, but="run.json") == before


def test_night_that_fails_leaves_site_and_marts_as_they_are(
    two_nights: tuple[Airflow, str],
) -> None:
    airflow, _ = two_nights
    kept = [airflow.home / "out" / name for name in ("site", "marts")]
    before = [digests(folder) for folder in kept]
    status, said = airflow.finish("dags", "test", "crisp_nightly", "2024-05-20")  # a silent day
    assert status != 0
    assert "crisp analyse" in said
    assert "crisp aggregate" not in said
    assert [digests(folder) for folder in kept] == before


@contextmanager
def standing(airflow: Airflow) -> Iterator[None]:
    """Airflow with scheduler and workers, as it runs every day."""
    port = free_port()
    airflow.environment.update(
        AIRFLOW__API__HOST="127.0.0.1",
        AIRFLOW__API__PORT=str(port),
        AIRFLOW__API__WORKERS="1",
        AIRFLOW__API__BASE_URL=f"http://127.0.0.1:{port}",
        AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"http://127.0.0.1:{port}/execution/",
        AIRFLOW__CORE__PARALLELISM="4",
        AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT=str(free_port()),
        AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT=str(free_port()),
    )
    with (airflow.home / "standalone.log").open("w", encoding="utf-8") as log:
        running = airflow.start("standalone", output=log)
        try:
            yield
        finally:
            running.terminate()
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                pass
            finally:
                end_session(running.pid)
                running.wait()


def asked(airflow: Airflow, query: str) -> list[tuple[Any, ...]]:
    """Rows of Airflow's database; none while its tables are missing."""
    database = f"file:{airflow.home}/airflow.db?mode=ro"
    with closing(sqlite3.connect(database, uri=True, timeout=30)) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def backfilled(traced: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """An Airflow that ran three days at once, and still stands."""
    home = tmp_path_factory.mktemp("backfill")
    nothing_to_catch_up_with = "2100-01-01"
    settings = {"jaeger": traced.url, "retries": 2, "retry_minutes": 0.05, "anomalies": False}
    airflow = prepared(home, settings, first_day=nothing_to_catch_up_with)
    first, after = DAYS[0], "2024-05-05"
    backfill = ["backfill", "create", "--dag-id", "crisp_nightly", "--max-active-runs", "3"]
    answers = airflow.several(
        ["dags", "reserialize"],
        ["dags", "unpause", "--yes", "crisp_nightly"],
        [*backfill, "--from-date", first, "--to-date", after],
    )
    assert [error for error, _ in answers] == ["", "", ""], answers
    with standing(airflow):
        until(lambda: ended(airflow), 480)
        yield airflow


def ended(airflow: Airflow) -> bool:
    """All runs have come to an end."""
    states = {state for (state,) in asked(airflow, "SELECT state FROM dag_run")}
    return states <= {"success", "failed"}


def test_backfill_gives_the_marts_of_days_run_one_after_the_other(
    backfilled: Airflow, by_hand: Path
) -> None:
    runs = asked(backfilled, "SELECT state, run_type FROM dag_run")
    assert runs == [("success", "backfill")] * len(DAYS)
    found = digests(backfilled.home / "out" / "marts", but="run.json")
    assert found == digests(by_hand / "marts", but="run.json")
    assert (backfilled.home / "out" / "site" / "index.html").is_file()


def test_backfill_runs_days_at_once_but_what_they_share_one_at_a_time(backfilled: Airflow) -> None:
    times = "SELECT start_date, end_date FROM"
    runs = asked(backfilled, f"{times} dag_run")
    assert max(start for start, _ in runs) < min(end for _, end in runs)
    for stage in ("aggregate", "report"):
        tries = asked(
            backfilled, f"{times} task_instance WHERE task_id = '{stage}' ORDER BY start_date"
        )
        assert len(tries) == len(DAYS)
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(tries)), stage


def test_every_mart_and_the_site_tell_which_day_brought_them(backfilled: Airflow) -> None:
    events = asked(
        backfilled,
        "SELECT name, json_extract(asset_event.extra, '$.date') FROM asset_event"
        " JOIN asset ON asset.id = asset_id ORDER BY 1, 2",
    )
    assets = sorted([*(f"crisp/marts/{table}" for table in MARTS), "crisp/site"])
    assert events == [(asset, day) for asset in assets for day in DAYS]


def test_health_check_of_airflow_says_so(backfilled: Airflow, tmp_path: Path) -> None:
    service = loaded(tmp_path, example())["services"]["airflow"]
    port = backfilled.environment["AIRFLOW__API__PORT"]
    check_health(service, {"127.0.0.1:8080": f"127.0.0.1:{port}"})
