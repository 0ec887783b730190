"""Train, score and alert, from the lake to alerts: what they write, again, and on both engines."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from crisp import store
from crisp.anomaly.model import fit_models
from crisp.engine import Engine
from crisp.errors import LakeError
from crisp.options import AlertOptions, EngineOptions, TrainOptions
from crisp.pipeline.alert import AlertedNight, alert, days_left_out
from crisp.pipeline.engines import engine
from crisp.pipeline.places import Places, places
from crisp.pipeline.score import ScoredNight, callers, score
from crisp.pipeline.train import Trained, train
from crisp.pipeline.windows import nightly_window
from crisp.synth import SynthOptions, parse_fault, write
from crisp.synth.plan import plan
from tests.anomaly.drawn import drawn
from tests.engine.cluster import Cluster
from tests.running import Row, analysed, digests, rows

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("anomaly-stages")]

PLAIN = TrainOptions(profile="plain")
OPTIONS = AlertOptions(least_days=3)
DUCKDB = EngineOptions(workers=2)
FAULT = "slow:entry=0,factor=1.5,fraction=1"
FAULTY = 5
"""Day of the month on which the fault is there."""


@dataclass(frozen=True, slots=True)
class Nights:
    """Stages of one output folder on one engine."""

    out: Path
    options: EngineOptions = DUCKDB

    @property
    def where(self) -> Places:
        return places(self.out)

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        with engine(self.out, self.options) as made:
            yield made

    def train(self, day: int, options: TrainOptions = PLAIN) -> Trained:
        shown = nightly_window(self.where.lake, november(day))
        left_out = days_left_out(self.where.alerts, shown, OPTIONS)
        where = self.where
        with self.engine() as made:
            return train(where.lake, where.models, shown, made, options, left_out=left_out)

    def score(self, day: int, model_day: int | None = None) -> ScoredNight:
        of = str(november(model_day)) if model_day else None
        where, options = self.where, OPTIONS
        with self.engine() as made:
            return score(
                *(where.lake, where.models, where.scores, str(november(day)), made, options),
                model_day=of,
            )

    def alert(self, day: int) -> AlertedNight:
        with self.engine() as made:
            return alert(self.where, str(november(day)), made, OPTIONS, silences=())

    def alerts(self, day: int) -> list[Row]:
        return rows(self.where.alerts, "alerts", str(november(day)))


def november(day: int) -> date:
    return date(2026, 11, day)


def synthetic(day: int) -> SynthOptions:
    faults = (parse_fault(FAULT),) if day == FAULTY else ()
    return SynthOptions(
        day=november(day), traces=1200, endpoints=5, spans=20, seed=3, draw=day, faults=faults
    )


def lake_of_a_week(folder: Path, days: range) -> Path:
    for day in days:
        write(synthetic(day), folder / f"in-{day}", 2)
    analysed([folder / f"in-{day}" for day in days], folder / "out", workers=2)
    return folder / "out"


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Six days; trained to the 4th, and the 5th, with the fault, scored and alerted."""
    made = Nights(lake_of_a_week(tmp_path_factory.mktemp("nights"), range(1, 7)))
    made.train(4)
    made.score(5)
    made.alert(5)
    return made


def test_every_endpoint_of_the_window_has_a_model_and_every_trace_counts(nights: Nights) -> None:
    lake = [
        row for day in range(1, 5) for row in rows(nights.where.lake, "traces", str(november(day)))
    ]
    models = rows(nights.where.models, "models", str(november(4)))
    counts: dict[int, int] = {}
    for tree in lake:
        counts[tree["endpoint_id"]] = counts.get(tree["endpoint_id"], 0) + 1
    assert {row["endpoint_id"]: row["traces"] for row in models} == counts
    for row in models:
        assert (row["first_day"], row["last_day"]) == (str(november(1)), str(november(4)))
        assert row["fit_rows"] + row["gate_rows"] + row["calibration_rows"] == row["traces"]
        assert row["serves"] in {"latency", "excess", "pattern", "pca", "isolation"}
        assert row["reason"]


def test_every_trace_with_a_model_is_scored_and_changes_add_up(nights: Nights) -> None:
    day = str(november(5))
    known = {row["endpoint_id"] for row in rows(nights.where.models, "models", str(november(4)))}
    trees = {
        row["tree_id"]: row
        for row in rows(nights.where.lake, "traces", day)
        if row["endpoint_id"] in known
    }
    scores = rows(nights.where.scores, "scores", day)
    assert sorted(row["tree_id"] for row in scores) == sorted(trees)
    for row in scores:
        tree = trees[row["tree_id"]]
        assert row["latency_us"] == tree["latency_us"]
        changes = sum(each["change_us"] for each in row["contributions"]) + row["other_us"]
        assert changes == row["latency_us"] - row["expected_us"]
        assert (row["p"] is None) or 0 < row["p"] <= 1


def test_traces_that_too_few_calibrate_to_be_abnormal_are_counted(
    nights: Nights, tmp_path: Path
) -> None:
    copied = Nights(Path(shutil.copytree(nights.out, tmp_path / "out")))
    copied.train(4, replace(PLAIN, alpha=0.005))
    night = copied.score(5)
    models = rows(copied.where.models, "models", str(november(4)))
    few = {row["endpoint_id"] for row in models if row["calibration_rows"] < 199}  # 1 / 200
    scored = [row["endpoint_id"] for row in rows(copied.where.scores, "scores", str(november(5)))]
    assert night.calibration_needed == 199
    assert night.unsaid == sum(endpoint in few for endpoint in scored)
    assert night.endpoints_unsaid == len(few & set(scored))
    assert 0 < night.unsaid < night.traces


def test_changes_of_paths_add_up_to_the_change_of_mean_latency(nights: Nights) -> None:
    by_endpoint: dict[int, dict[int, float]] = {}
    latency: dict[int, float] = {}
    for row in rows(nights.where.scores, "shifts", str(november(5))):
        if row["test"] == "latency":
            latency[row["endpoint_id"]] = row["change_us"]
        elif row["path_id"]:
            by_endpoint.setdefault(row["endpoint_id"], {})[row["path_id"]] = row["change_us"]
    assert latency
    for endpoint, changes in by_endpoint.items():
        assert sum(changes.values()) == pytest.approx(latency[endpoint], abs=0.01)


def test_the_slow_path_is_the_one_alert_and_named_first(nights: Nights) -> None:
    [planted] = plan(synthetic(FAULTY)).faults
    [one] = nights.alerts(5)
    assert f"{one['service']}::{one['operation']}" == planted.paths[0][0]
    assert (one["status"], one["since"], one["nights"]) == ("firing", str(november(5)), 1)
    assert one["paths"][0]["name"] == " > ".join(planted.paths[0])
    assert one["change_us"] == pytest.approx(one["latency_us"] - one["before_us"])
    assert {each["trace_id"] for each in one["exemplars"]} <= {
        row["trace_id"] for row in rows(nights.where.lake, "traces", str(november(5)))
    }


def test_running_a_night_again_changes_no_byte(nights: Nights) -> None:
    roots = (nights.where.models, nights.where.scores, nights.where.alerts)
    before = [digests(root) for root in roots]
    nights.train(4)
    nights.score(5)
    nights.alert(5)
    assert [digests(root) for root in roots] == before


def test_alert_is_over_when_the_fault_is_and_its_day_was_not_learnt(nights: Nights) -> None:
    """The 5th is left out for the endpoint that had an alert, and for no other."""
    trained = nights.train(5)
    [open_] = nights.alerts(5)
    models = {row["endpoint_id"]: row for row in rows(nights.where.models, "models", trained.day)}
    per_day: dict[int, dict[int, int]] = {}
    for day in range(1, 6):
        for tree in rows(nights.where.lake, "traces", str(november(day))):
            counts = per_day.setdefault(tree["endpoint_id"], {})
            counts[day] = counts.get(day, 0) + 1
    for endpoint, counts in per_day.items():
        left_out = {5} if endpoint == open_["endpoint_id"] else set()
        expected = sum(count for day, count in counts.items() if day not in left_out)
        assert models[endpoint]["traces"] == expected
    assert nights.score(6).model_day == str(november(5))
    night = nights.alert(6)
    assert (night.firing, night.resolved) == (0, 1)
    [over] = nights.alerts(6)
    assert over["alert_id"] == open_["alert_id"]
    assert (over["status"], over["ended"]) == ("resolved", "back to before")


def test_first_night_judges_nothing_and_says_so(tmp_path: Path) -> None:
    write(SynthOptions(day=november(1), traces=50, endpoints=2, spans=8), tmp_path / "in", 1)
    analysed([tmp_path / "in"], tmp_path / "out")
    first = Nights(tmp_path / "out")
    assert first.score(1) == ScoredNight(
        day="2026-11-01",
        model_day=None,
        endpoints=0,
        unjudged=0,
        traces=0,
        abnormal=0,
        unsaid=0,
        endpoints_unsaid=0,
        calibration_needed=0,
        changed=0,
    )
    night = first.alert(1)
    assert (night.compared, night.firing, night.resolved) == (0, 0, 0)


def test_what_is_missing_is_named(nights: Nights, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"no models of 2026-11-01; there are 2026-11-04"):
        nights.score(5, model_day=1)
    with pytest.raises(LakeError, match=r"no day 2026-11-09"):
        nights.score(9)
    with pytest.raises(LakeError, match=r"2026-11-03 has not been scored; run crisp score first"):
        nights.alert(3)


def test_models_of_a_day_can_be_asked_for(nights: Nights) -> None:
    assert nights.score(3, model_day=4).model_day == str(november(4))


def test_damaged_models_are_named_and_the_next_training_begins_anew(
    nights: Nights, tmp_path: Path
) -> None:
    copied = Nights(Path(shutil.copytree(nights.out, tmp_path / "out")))
    models = Path(copied.where.models)
    [file] = models.glob("date=2026-11-04/*/models/*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    with pytest.raises(LakeError, match=r"\.parquet: damaged .*; make its day again"):
        copied.score(5)
    assert copied.train(5).endpoints == nights.train(5).endpoints
    file.unlink()
    with pytest.raises(LakeError, match=r"models of 2026-11-04 0 are there; run crisp train"):
        copied.score(5, model_day=4)
    file.write_bytes(whole)
    (models / "date=2026-11-04" / "CURRENT").write_text("", encoding="utf-8")
    with pytest.raises(LakeError, match=r"CURRENT: damaged; make the day again"):
        copied.score(5, model_day=4)
    copied.train(4)
    assert copied.score(5, model_day=4) == nights.score(5, model_day=4)


def test_day_that_was_analysed_again_has_to_be_scored_again(nights: Nights, tmp_path: Path) -> None:
    copied = Nights(Path(shutil.copytree(nights.out, tmp_path / "out")))
    assert copied.alert(5).warnings == ()
    fewer = replace(synthetic(5), traces=600)
    write(fewer, tmp_path / "in", 1)
    analysed([tmp_path / "in"], copied.out, workers=2)
    [warning] = copied.alert(5).warnings
    assert warning == "2026-11-05 was analysed again since it was scored; run crisp score again"


def test_rare_paths_are_folded_alike_on_both_sides_whatever_the_day_knows() -> None:
    """Path 10 + i, below path 2, is in one reference trace only; the day knows no such path."""
    rare: list[dict[int, int]] = [{1: 100, 2: 50, 10 + i: 5} for i in range(300)]
    above = {1: 0, 2: 1} | {10 + i: 2 for i in range(300)}
    paths = np.array(sorted(above))
    known = (paths, np.array([above[path] for path in paths.tolist()]))
    [model] = fit_models(
        [drawn(rare)], PLAIN, parents=known, days=("2026-11-01", "2026-11-04"), before={}
    )
    today = drawn([{1: 100, 2: 50}] * 100)
    of_day = (np.array([1, 2]), np.array([0, 1]))
    assert callers(model, today, of_day) == above


@pytest.mark.xdist_group("spark")
def test_spark_makes_the_same_models_scores_and_shifts(driver: Cluster, tmp_path: Path) -> None:
    ours = Nights(lake_of_a_week(tmp_path / "ours", range(4, 6)))
    theirs = Nights(lake_of_a_week(tmp_path / "theirs", range(4, 6)), EngineOptions(name="spark"))
    assert ours.train(4) == theirs.train(4)
    assert ours.score(5) == theirs.score(5)
    for root, name, key in (
        ("models", "models", ("endpoint_id",)),
        ("scores", "scores", ("endpoint_id", "tree_id")),
        ("scores", "shifts", ("endpoint_id", "path_id", "test")),
    ):
        found = [
            sorted(rows(getattr(each.where, root), name), key=lambda row: [row[k] for k in key])
            for each in (ours, theirs)
        ]
        assert found[0] == found[1]
    assert store.days(ours.where.models) == store.days(theirs.where.models) == ["2026-11-04"]
