"""The services of docker-compose.yml side by side as processes, from Jaeger to a page."""

from __future__ import annotations

import json
import re
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.composed import ONCE, changed, check_health, example, loaded, process
from tests.jobs.nights import DAYS, SERVICES, Airflow, post_days, prepared
from tests.servers import ROOT, Jaeger, binary, free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return loaded(tmp_path_factory.mktemp("compose"), example())


@pytest.fixture(scope="module")
def rehearsal(
    model: dict[str, Any], traced: Jaeger, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Airflow, str, dict[str, str]]]:
    """Object store, web server and nightly job as in docker-compose.yml, side by side.

    An Airflow, the address of the site, and how addresses and paths were changed.
    """
    folder, services = tmp_path_factory.mktemp("rehearsal"), model["services"]
    s3, site = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    changes = {
        "http://jaeger:16686": traced.url,
        "s3:7070": s3,
        "127.0.0.1:7070": s3,
        "127.0.0.1:8080": site,
        ":7070": s3,
        "/data/": f"{folder}/",
        "/srv/": f"{folder}/",
    }
    for made in services[ONCE]["command"]:
        if made.startswith("/data/"):
            Path(changed(made, changes)).mkdir()
    store = process(
        services["s3"],
        binary("versitygw"),
        changes,
        health=f"http://{s3}/health",
        log=folder / "s3",
    )
    caddy = {**services["site"], "command": ["run", "--config", str(ROOT / "deploy" / "Caddyfile")]}
    caddy["environment"] = {**caddy["environment"], "SITE_ADDRESS": f"http://{site}"}
    web = process(
        caddy, binary("caddy"), changes, health=f"http://{site}/health", log=folder / "caddy"
    )
    config = tomllib.loads(changed(model["configs"]["nightly"]["content"], changes))
    chosen = {name: config[name] for name in ("jaeger", "landing", "out", "title", "jaeger_url")}
    airflow = prepared(folder / "airflow", chosen)
    asked = services["airflow"]["environment"]
    airflow.environment.update(
        {name: changed(text, changes) for name, text in asked.items() if name.startswith("AWS_")}
    )
    with ExitStack() as stack:
        for server in (store, web):
            server.start()
            stack.callback(server.stop)
        yield airflow, f"http://{site}", changes


def test_web_server_says_where_the_site_comes_from_until_there_is_one(
    rehearsal: tuple[Airflow, str, dict[str, str]],
) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        urllib.request.urlopen(rehearsal[1], timeout=5)  # noqa: S310  # loopback
    assert "docs/compose.md" in refused.value.read().decode()
    refused.value.close()


def test_health_checks_of_object_store_and_web_server_say_so(
    model: dict[str, Any], rehearsal: tuple[Airflow, str, dict[str, str]]
) -> None:
    for name in ("s3", "site"):
        check_health(model["services"][name], rehearsal[2])


def test_night_into_the_object_store_is_what_the_web_server_shows(
    rehearsal: tuple[Airflow, str, dict[str, str]],
) -> None:
    airflow, site, _ = rehearsal
    airflow.night(DAYS[0])
    with urllib.request.urlopen(site, timeout=5) as answer:  # noqa: S310  # loopback
        sends_on = re.search(r'url=([^"]+)"', answer.read().decode())
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert sends_on
    with urllib.request.urlopen(f"{site}/{sends_on[1]}", timeout=5) as page:  # noqa: S310  # same
        assert "Example shop" in page.read().decode()


def test_jaeger_answers_by_both_interfaces_and_archives(
    model: dict[str, Any], tmp_path: Path
) -> None:
    service = model["services"]["jaeger"]
    at = {port: f"127.0.0.1:{free_port()}" for port in ("16686", "16685", "4318", "13133")}
    changes = {f"0.0.0.0:{port}": here for port, here in at.items()} | {
        "/etc/jaeger": str(ROOT / "deploy"),
        "/tmp/jaeger": str(tmp_path / "data"),  # noqa: S108  # of the container
        "336h": "87600h",  # the traces of the tests are old
    }
    health, url = f"http://{at['13133']}/status", f"http://{at['16686']}"
    server = process(service, binary("jaeger"), changes, health, tmp_path / "log")
    server.start()
    try:
        check_health(service, {"127.0.0.1:13133": at["13133"]})
        post_days(f"http://{at['4318']}", url, DAYS[:1])
        trace = f"{1:032x}"
        assert not asked(f"{url}/api/archive/{trace}", "POST")["errors"]  # 500 without an archive
        assert len(asked(f"{url}/api/traces/{trace}")["data"][0]["spans"]) == len(SERVICES)
        assert set(asked(f"{url}/api/v3/services")["services"]) >= set(SERVICES)
    finally:
        server.stop()


def asked(url: str, method: str = "GET") -> Any:
    """What a server answers."""
    request = urllib.request.Request(url, method=method)  # noqa: S310  # loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # the same
        return json.load(answer)
