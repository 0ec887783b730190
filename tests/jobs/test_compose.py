"""docker-compose.yml without containers: every file, program and option that it names is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.composed import check_health, example, loaded
from tests.jobs.nights import program
from tests.servers import ROOT, Server, free_port

pytestmark = pytest.mark.slow

SHOP = ("frontend", "catalogue", "cart", "checkout", "payment", "inventory", "shipping", "outside")
SERVICES = (
    *("jaeger", *SHOP, "people", "folders", "s3"),
    *("spark-master", "spark-worker", "airflow", "site"),
)
ONCE = "folders"
WITHOUT_HEALTH = {ONCE, "people"}
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return loaded(tmp_path_factory.mktemp("compose"), example())


def test_services_are_known(model: dict[str, Any]) -> None:
    assert sorted(model["services"]) == sorted(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_pinned_watched_and_reached_from_this_machine_only(
    model: dict[str, Any], name: str
) -> None:
    service = model["services"][name]
    image, _, tag = service["image"].partition(":")
    assert (tag == "local") == ("build" in service), image
    assert tag == "local" or re.fullmatch(r"v?\d+\.\d+\.\d+(-\w+)?", tag)
    assert {port["host_ip"] for port in service.get("ports", [])} <= {"127.0.0.1"}
    assert service["restart"] == ("no" if name == ONCE else "unless-stopped")
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["cap_drop"] == ["ALL"]
    assert ("test" in service.get("healthcheck", {})) == (name not in WITHOUT_HEALTH)


@pytest.mark.parametrize("name", SERVICES)
def test_service_waits_for_what_it_needs(model: dict[str, Any], name: str) -> None:
    for other, how in model["services"][name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if other == ONCE else "service_healthy"
        assert how["condition"] == expected, other


def test_files_and_volumes_that_are_mounted_exist(model: dict[str, Any]) -> None:
    places = [each for name in SERVICES for each in model["services"][name].get("volumes", [])]
    files = [Path(each["source"]) for each in places if each["type"] == "bind"]
    assert sorted(file.name for file in files) == ["Caddyfile", "jaeger.yaml"]
    assert all((ROOT / "deploy" / file.name).is_file() for file in files)
    assert all(each["read_only"] for each in places if each["type"] == "bind")
    volumes = {each["source"] for each in places if each["type"] == "volume"}
    assert volumes == set(model["volumes"])


def test_images_are_built_from_files_that_are_there() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    assert {"crisp", "airflow", "shop"} <= stages
    taken = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    sources = [word for line in taken for word in shlex.split(line)[:-1]]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    kept = re.findall(r"^!(\S+)$", ignored, re.MULTILINE)
    for source in sources:
        assert any(f"{source}/".startswith(f"{name}/") for name in kept), source
    for name in kept:
        assert any(f"{source}/".startswith(f"{name}/") for source in sources), name


def test_images_of_others_are_pinned_in_the_dockerfile() -> None:
    bases = re.findall(r"^FROM (\S+:\S+)", DOCKERFILE, re.MULTILINE)
    assert len(bases) == 3
    assert all(re.fullmatch(r"\w+:\d+\.\d+[\w.-]+", base) for base in bases)


def test_stages_of_the_nightly_job_can_be_moved_to_spark_by_a_setting(tmp_path: Path) -> None:
    settings = example() | {"CRISP_SPARK_STAGES": '"analyse", "aggregate"'}
    content = loaded(tmp_path, settings)["configs"]["nightly"]["content"]
    assert tomllib.loads(content)["spark"]["stages"] == ["analyse", "aggregate"]


@pytest.mark.parametrize("name", SHOP)
def test_service_of_the_shop_starts_and_its_health_check_says_so(
    model: dict[str, Any], name: str, tmp_path: Path
) -> None:
    service, port = model["services"][name], free_port()
    shop = ROOT / ".venv-shop" / "bin" / "python"
    assert shop.is_file(), "no packages of the shop: run `make setup-shop`"
    command, environment = service["command"], {"PYTHONPATH": str(ROOT)}
    assert command[:2] == ["python", "-m"]
    words = [*command[1:], f"--port={port}", f"--data={tmp_path}"]
    server = Server(
        [shop, *words], environment, f"http://127.0.0.1:{port}/health", tmp_path / "log"
    )
    server.start()
    try:
        check_health(service, {"127.0.0.1:8000": f"127.0.0.1:{port}"})
    finally:
        server.stop()


def test_options_of_who_shops_there_are_known() -> None:
    shop = ROOT / ".venv-shop" / "bin" / "python"
    said = subprocess.run(
        [shop, "-m", "examples.shop", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "--at URL" in said
    assert "--rate RATE" in said


def test_configuration_of_the_nightly_job_is_one_that_the_dag_reads(
    model: dict[str, Any], tmp_path: Path
) -> None:
    config = tmp_path / "nightly.toml"
    config.write_text(model["configs"]["nightly"]["content"], encoding="utf-8")
    done = subprocess.run(
        [program("python"), ROOT / "jobs" / "airflow_dags" / "crisp_nightly.py"],
        env={"AIRFLOW_HOME": str(tmp_path), "CRISP_NIGHTLY": str(config)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
