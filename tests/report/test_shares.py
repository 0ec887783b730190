"""Pages of many endpoints, by several processes: the same bytes, and no silence when one dies."""

from __future__ import annotations

import threading
import time
from datetime import date
from multiprocessing import resource_tracker
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from crisp.errors import CrispError
from crisp.pipeline.publish import load_marts
from crisp.report import shares
from crisp.report.site import write_site
from crisp.synth import SynthOptions, write
from tests.report.anomaly_tables import alert, model, night, score, shift
from tests.running import aggregated, analysed

DAY = date(2022, 1, 1)


@pytest.fixture(scope="module")
def marts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    """The marts of 600 traces with errors, hosts and clock offsets."""
    folder = tmp_path_factory.mktemp("shares")
    write(SynthOptions(day=DAY, traces=600, endpoints=8, spans=30), folder / "in")
    analysed([folder / "in"], folder)
    return load_marts(aggregated(folder), str(DAY))


def written(marts: dict[str, pa.Table], target: Path) -> dict[str, bytes]:
    target.mkdir(parents=True)
    numbers = marts["fleet"]["endpoint_id"].to_pylist()
    anomalies = night(
        alerts=tuple(alert(endpoint_id=number, alert_id=str(number)) for number in numbers[:3]),
        shifts=tuple(shift(endpoint_id=number) for number in numbers),
        scores=tuple(score(endpoint_id=number) for number in numbers),
        models=tuple(model(endpoint_id=number) for number in numbers[2:]),
    )
    write_site(marts, target, title="Shares", generated_us=0, anomalies=anomalies)
    assert not list(target.parent.glob("shares-*"))
    files = (path for path in target.rglob("*") if path.is_file())
    return {str(path.relative_to(target)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes_as_one(
    marts: dict[str, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "_ENOUGH", 10**9)
    one = written(marts, tmp_path / "one" / "site")
    monkeypatch.setattr(shares, "_ENOUGH", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    two = written(marts, tmp_path / "two" / "site")
    assert len(one) > 20
    assert one == two


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error(
    marts: dict[str, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "_ENOUGH", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    mine = psutil.Process()
    resource_tracker.ensure_running()  # it stays, whatever becomes of the others
    before = set(mine.children())

    def kill_first() -> None:
        for _ in range(2_000):
            for child in set(mine.children()) - before:
                if "multiprocessing.spawn" in " ".join(child.cmdline()):
                    child.kill()
                    return
            time.sleep(0.005)

    killer = threading.Thread(target=kill_first)
    killer.start()
    with pytest.raises(CrispError, match="died"):
        written(marts, tmp_path / "site")
    killer.join()
    assert not list(tmp_path.glob("shares-*"))
    assert not [child for child in set(mine.children()) - before if child.is_running()]
