"""Landing, lake, marts, models, scores, alerts and site in a real object store."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from crisp import schema, store
from crisp.locations import filesystem, join
from crisp.pipeline.places import Places, places
from crisp.synth import SynthOptions, parse_fault, write
from tests.running import Row, rows
from tests.servers import S3, versitygw

DAY_DATE = date(2026, 11, 20)
DAY = str(DAY_DATE)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("s3")]


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with versitygw(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    options = SynthOptions(day=DAY_DATE, traces=400, endpoints=6, services=30, seed=5, files=3)
    write(options, folder, 1)
    return folder


@pytest.fixture(scope="module")
def local(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Places:
    out = tmp_path_factory.mktemp("local")
    crisp("run", traces, "-o", out, "--date", DAY)
    return places(out)


def crisp(*arguments: object) -> str:
    """Run a command as people do."""
    done = subprocess.run(
        [sys.executable, "-m", "crisp", *map(str, arguments)],
        env=os.environ | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def landed(traces: Path, bucket: str) -> str:
    landing = join(bucket, "landing", f"date={DAY}")
    system, path = filesystem(landing)
    system.put(f"{traces}/", f"{path}/", recursive=True)
    return landing


def marts(where: Places) -> dict[str, list[Row]]:
    """The marts; of the places where traces came from the last name."""
    found = {name: rows(where.marts, name, DAY) for name in schema.MARTS if name != "runs"}
    for row in found["rejected"]:
        row["source"] = row["source"].rpartition("/")[2]
    return found


def test_everything_in_an_object_store_gives_the_same_marts(
    s3: S3, traces: Path, local: Places, tmp_path: Path
) -> None:
    bucket = s3.bucket("everything")
    landing, out = landed(traces, bucket), join(bucket, "made")
    where = places(out)
    for _ in range(2):
        crisp("analyse", landing, "-o", out, "--date", DAY)
        crisp("aggregate", out, "--date", DAY, "--refresh")
        crisp("report", out)
    assert marts(where) == marts(local)
    system, path = filesystem(out)
    left = [name.removeprefix(path) for name in system.find(path)]
    assert [name for name in left if ".staging" in name] == []
    for table in ("lake", "marts"):
        versions = {name.split("/")[3] for name in left if name.startswith(f"/{table}/date=")}
        assert len(versions) == 2, "the same content again makes no second version"
    copy = tmp_path / "copy"
    system.get(f"{path}/site/", f"{copy}/", recursive=True)
    (first,) = re.findall(r'url=([^"]+)"', (copy / "index.html").read_text(encoding="utf-8"))
    shown, there = (copy / first).parent, Path(local.site)
    assert _pages(shown) == _pages(there)


def _pages(folder: Path) -> set[str]:
    return {str(page.relative_to(folder)) for page in folder.rglob("*.html")}


def test_nights_in_an_object_store_are_judged_as_on_disk(s3: S3, tmp_path: Path) -> None:
    eve, fault = date(2026, 11, 19), parse_fault("slow:entry=0,factor=2,fraction=1")
    for number in range(15, 21):
        day = DAY_DATE.replace(day=number)
        options = SynthOptions(
            day=day, traces=150, endpoints=3, spans=8, seed=5, draw=number, clean=True
        )
        faults = (fault,) if day == DAY_DATE else ()
        write(replace(options, faults=faults), tmp_path / "in" / str(day), 1)
    bucket = s3.bucket("nights")
    here, there = str(tmp_path / "out"), join(bucket, "out")
    for out, name in ((here, "here"), (there, "there")):
        crisp("analyse", *sorted((tmp_path / "in").iterdir()), "-o", out)
        crisp("train", out, "--date", eve, "--profile", "plain")
        crisp("score", out, "--date", DAY)
        for _ in range(2):
            crisp("alert", out, "--date", DAY, "--lines", tmp_path / name)
    crisp("aggregate", there)
    crisp("report", there)
    ours, theirs = places(here), places(there)
    for root, tables in (
        ("models", ("models",)),
        ("scores", ("scores", "shifts")),
        ("alerts", ("alerts",)),
    ):
        on_disk, stored = getattr(ours, root), getattr(theirs, root)
        assert store.days(on_disk) == store.days(stored)
        for table in tables:
            assert rows(on_disk, table) == rows(stored, table) != []
    [alert] = rows(theirs.alerts, "alerts", DAY)
    assert alert["status"] == "firing"
    [told] = (tmp_path / "there").read_text(encoding="utf-8").splitlines()
    assert told == (tmp_path / "here").read_text(encoding="utf-8").rstrip("\n")
    system, path = filesystem(there)
    [outbox] = system.find(f"{path}/delivery")
    assert list(json.loads(system.cat(outbox))["acknowledged"]) == [json.loads(told)["id"]]
    left = system.find(path)
    assert [name for name in left if ".staging" in name] == []
    assert [name for name in left if name.endswith("/anomalies.html")] != []


@pytest.mark.parametrize(
    ("command", "change", "told"),
    [
        ("report", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "signature"),
        ("analyse", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "signature"),
        ("report", {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "Could not connect"),
        ("report", {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "credentials"),
    ],
)
def test_a_store_that_cannot_be_reached_is_one_line(
    s3: S3, command: str, change: dict[str, str], told: str
) -> None:
    environment = os.environ | {"AWS_EC2_METADATA_DISABLED": "true"} | change
    more = ["-o", "s3://none/out"] if command == "analyse" else []
    done = subprocess.run(
        [sys.executable, "-m", "crisp", command, "s3://none/x", *more],
        env={name: value for name, value in environment.items() if value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
