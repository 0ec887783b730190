"""`crisp train`, `crisp score` and `crisp alert` as people type them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from crisp.pipeline.places import places
from crisp.synth import SynthOptions, parse_fault, write
from tests.running import analysed, rows

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("anomaly-commands")]
DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]


def crisp(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crisp", *map(str, words)],
        env=os.environ | {"PYTHONWARNINGS": "error"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def said(*words: object, **environment: str) -> str:
    done = crisp(*words, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of one endpoint, on the third of which a call is slow."""
    folder = tmp_path_factory.mktemp("commands")
    for draw, day in enumerate(DAYS):
        slow = parse_fault("slow:factor=3,fraction=1")
        options = SynthOptions(
            day=date.fromisoformat(day),
            traces=400,
            endpoints=1,
            spans=12,
            clean=True,
            draw=draw,
            faults=(slow,) if draw == 2 else (),
        )
        write(options, folder / day, 2)
    analysed([folder / day for day in DAYS], folder / "out", workers=2)
    (folder / "crisp.toml").write_text("[alert]\nleast_days = 2\n", encoding="utf-8")
    return folder / "out"


@pytest.fixture(scope="module")
def trained(out: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        said("train", out, "--date", DAYS[1], "--profile", "plain", "--json")
    )
    return found


@pytest.fixture(scope="module")
def scored(out: Path, trained: dict[str, object]) -> str:
    return said("score", out, "--settings", out.with_name("crisp.toml"))


def test_train_says_what_serves(out: Path, trained: dict[str, object]) -> None:
    assert (trained["day"], trained["models"]) == (DAYS[1], places(out).models)
    models = rows(places(out).models, "models")
    assert trained["endpoints"] == len(models)
    assert trained["traces"] == sum(row["traces"] for row in models)
    assert trained["trained"] == {"none": len(models)}


def test_score_takes_the_newest_day_and_the_models_before_it(out: Path, scored: str) -> None:
    assert f"{DAYS[2]} judged by the models to {DAYS[1]}" in scored
    assert "changed: 1," in scored
    # a quarter of 800 traces calibrates the one endpoint
    few = "of 1 endpoints could not be by their p-value, which takes 999 calibration traces)"
    assert few in scored


def test_alert_is_written_as_lines_and_told_by_the_exit_code(out: Path, scored: str) -> None:
    done = crisp("alert", out, "--lines", "-", "--exit-code")
    assert (done.returncode, done.stderr) == (3, "")
    [event] = [json.loads(line) for line in done.stdout.splitlines()]
    assert (event["status"], event["since"], event["page"]) == ("firing", DAYS[2], "")


def test_file_hears_of_an_alert_once(out: Path, scored: str, tmp_path: Path) -> None:
    lines = tmp_path / "alerts.jsonl"
    for counts in ("1 new, 0 known before", "0 new, 1 known before"):
        site = ("--site-url", "https://crisp.example/")
        text, alert, told = said("alert", out, "--lines", lines, *site).splitlines()
        assert "alerts firing: 1, silenced: 0, over: 0" in text
        assert " more per request (" in alert
        assert told == f"told {lines}: {counts}"
    facts = json.loads(said("alert", out, "--lines", lines, "--json"))
    assert facts["told"] == [{"receiver": str(lines), "new": 0, "known": 1}]
    [event] = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    assert event["page"].startswith("https://crisp.example/endpoint/")


def test_silenced_alert_is_written_and_sent_to_nobody(
    out: Path, scored: str, tmp_path: Path
) -> None:
    silences, lines = tmp_path / "silences.toml", tmp_path / "alerts.jsonl"
    silences.write_text(
        '[[silence]]\nservice = "*"\nuntil = 2026-12-01\nreason = "a release"\n'
        '[[silence]]\nservice = "old"\nuntil = 2026-01-01\nreason = "long ago"\n',
        encoding="utf-8",
    )
    done = crisp("alert", out, "--silences", silences, "--lines", lines, "--exit-code")
    assert done.returncode == 0
    assert "alerts firing: 0, silenced: 1, over: 0" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "long ago" in done.stderr
    assert not lines.exists()
    [alert] = rows(places(out).alerts, "alerts", DAYS[2])
    assert (alert["status"], alert["silence"]) == ("silenced", "a release")


def test_receiver_that_is_away_is_an_error_that_keeps_the_alert(out: Path, scored: str) -> None:
    done = crisp("alert", out, "--webhook", "http://127.0.0.1:9/secret", "--retry-s", "0.5")
    assert done.returncode == 1
    assert "1 of 1 new events wait for the next run" in done.stderr
    assert "secret" not in done.stderr


def test_damaged_notes_of_a_receiver_are_one_line(out: Path, scored: str, tmp_path: Path) -> None:
    lines = tmp_path / "alerts.jsonl"
    said("alert", out, "--lines", lines)
    notes = max((out / "delivery").glob("lines-*.json"), key=lambda file: file.stat().st_mtime_ns)
    notes.write_text("{", encoding="utf-8")
    done = crisp("alert", out, "--lines", lines)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert f"{notes}: damaged; remove it" in done.stderr
    notes.unlink()
    assert f"told {lines}: 1 new" in said("alert", out, "--lines", lines)


HIDDEN = """
from importlib.machinery import PathFinder

found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "torch" else found(name, *rest)
"""
"""What Python runs first, to find no torch."""
WRONG = {
    ("train", "--alpha", "2"): "alpha must be in (0, 0.1], not 2.0",
    ("train", "--profile", "deep"): "profile must be one of hurdle, paper, plain, not 'deep'",
    ("train", "--flow", "x", "--flow-length", "0"): "flow must be one of",
    ("train", "--features", "stv"): "run crisp analyse --all-paths",
    ("train", "--date", "2026-11-09"): "no day 2026-11-09",
    ("score", "--models", "2026-10-01"): "no models of 2026-10-01; there are 2026-11-02",
    ("score", "--date", "yesterday"): "yesterday",
    ("alert", "--level", "0"): "level must be in (0, 0.5], not 0.0",
    ("alert", "--webhook", "ftp://x"): "a webhook must be an http:// or https:// URL with a host",
    ("alert", "--lines", "x", "--retry-s", "-1"): "retry_s must be at least 0, not -1",
    ("alert", "--webhook", "http://x", "--token-env", "NO_TOKEN"): "$NO_TOKEN: there is no token",
    ("alert", "--date", "2026-11-01"): "2026-11-01 has not been scored",
    ("alert", "--silences", "nowhere.toml"): "nowhere.toml: No such file",
    ("alert", "--lines", "-", "--json"): "both write to stdout",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_use_is_one_line(out: Path, scored: str, words: tuple[str, ...]) -> None:
    done = crisp(words[0], out, *words[1:])
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert WRONG[words] in done.stderr


def test_without_torch_scores_are_plain_and_a_network_that_is_asked_for_is_refused(
    out: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    environment = {"PYTHONPATH": str(tmp_path)}
    day = ("--date", DAYS[0])
    found = json.loads(said("train", out, *day, "--json", **environment))
    assert set(found["trained"]) == {"none"}
    done = crisp("train", out, *day, "--profile", "hurdle", **environment)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'crisp-cpa[torch]'" in done.stderr


def test_with_torch_networks_are_trained_by_default(out: Path) -> None:
    found = json.loads(said("train", out, "--date", DAYS[0], "--json"))
    assert found["trained"]["cold"] == 1
    model = next(row for row in rows(places(out).models, "models", DAYS[0]) if row["trained_day"])
    assert (model["profile"], model["trained_day"]) == ("hurdle", DAYS[0])
    assert "vae" in {candidate["score"] for candidate in model["candidates"]}
