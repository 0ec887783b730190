"""One Jaeger with three days of traces, for all tests of the nightly job."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.nights import CRISP, DAYS, post_days
from tests.servers import Jaeger, jaeger


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Airflow share one worker, hence one Jaeger, and one Airflow at a time."""
    for item in items:
        if item.path.parent.name == "jobs":
            item.add_marker(pytest.mark.xdist_group("airflow"))


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jaeger]:
    """A Jaeger that holds the traces of `tests.jobs.nights.DAYS`."""
    with jaeger(tmp_path_factory.mktemp("jaeger")) as server:
        post_days(server.otlp, server.url)
        yield server


@pytest.fixture(scope="session")
def by_hand(traced: Jaeger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """OUT of the commands of a night, typed by hand for one day after the other."""
    folder = tmp_path_factory.mktemp("by-hand")
    landing, out = folder / "landing", folder / "out"
    for day in DAYS:
        for words in (
            ["fetch", "--jaeger", traced.url, "--date", day, "-o", str(landing)],
            ["analyse", f"{landing}/date={day}", "--date", day, "-o", str(out)],
            ["aggregate", str(out), "--date", day, "--refresh"],
        ):
            subprocess.run([CRISP, *words], check=True, capture_output=True)
    return out
