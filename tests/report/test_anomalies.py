"""View models of a night of the shop: the numbers are worked out in anomaly_tables.py."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crisp.report.anomalies import Anomalies
from crisp.report.model_alerts import alerts_of, open_words
from crisp.report.model_anomalies import AnomaliesPage, anomalies_page
from crisp.report.model_fleet import endpoints_of, fleet_data, names_of
from crisp.report.model_judged import judged_of
from crisp.report.model_requests import requests_data
from crisp.report.paths import CallPaths
from crisp.report.site import write_site
from tests.conftest import Golden
from tests.report.anomaly_tables import (
    DAY,
    DB_READ,
    NEVER_SEEN,
    SUMMARY,
    alert,
    bad_night,
    model,
    night,
    past,
    score,
    shift,
)
from tests.report.shop_changes import with_changes

Marts = dict[str, pa.Table]
LEAST = "These are the least normal of them. How their chances were made: conformal, 1,200 traces."
BEYOND = "what each call took beyond what is expected of it."


def page_of(marts: Marts, anomalies: Anomalies) -> AnomaliesPage:
    endpoints = endpoints_of(marts["fleet"], names_of(marts["endpoint_names"]))
    return anomalies_page(anomalies, endpoints, marts)


def paths_of(marts: Marts) -> CallPaths:
    return CallPaths(marts["call_paths"], names_of(marts["endpoint_names"]))


def test_abnormal_traces_come_first_then_small_p_then_large_changes() -> None:
    scores = (
        score(1, abnormal=False, p=0.2),
        score(2, abnormal=False, p=None),
        score(3, p=0.001, latency_us=30_000),
        score(4, p=0.001, latency_us=5_000),
        score(5, p=0.0005),
        score(7, p=0.001, latency_us=30_000),
    )
    found = night(scores=scores[::-1]).trimmed().scores
    # beyond: 10 ms for 3 and 7, -15 ms for 4
    assert found["tree_id"].to_pylist() == [5, 4, 3, 7, 1, 2]


def test_every_endpoint_keeps_twenty_traces_and_all_that_changed() -> None:
    scores = [score(n, endpoint_id=n % 2) for n in range(60)]
    shifts = [shift(path_id=n, change_us=float(n), changed=n < 30) for n in range(60)]
    few = night(scores=tuple(scores), shifts=tuple(shifts)).trimmed()
    assert np.bincount(few.scores["endpoint_id"].to_numpy()).tolist() == [20, 20]
    assert few.shifts["path_id"].to_pylist() == [*range(29, -1, -1), *range(59, 51, -1)]


def test_a_call_has_one_row_unless_more_of_it_changed() -> None:
    shifts = (
        shift(path_id=1, test="presence", p=0.5, changed=False),
        shift(path_id=1, test="time", p=0.5, changed=False),
        shift(path_id=2, test="error", p=0.1, changed=False),
        shift(path_id=2, test="time", p=0.2, changed=False),
        shift(path_id=3, test="time"),
        shift(path_id=3, test="error", change_us=0.0),
        shift(path_id=3, test="presence", changed=False),
        shift(path_id=0, test="latency", change_us=90_000.0),
    )
    few = night(shifts=shifts[::-1]).trimmed().shifts
    found = list(zip(few["path_id"].to_pylist(), few["test"].to_pylist(), strict=True))
    assert found == [(3, "time"), (3, "error"), (0, "latency"), (1, "time"), (2, "error")]


def test_the_endpoint_as_a_whole_is_kept_also_when_it_is_the_smallest_change() -> None:
    shifts = [shift(path_id=n, change_us=float(n), changed=False) for n in range(20)]
    assert 0 in night(shifts=tuple(shifts)).trimmed().shifts["path_id"].to_pylist()


def test_a_night_without_rows_stays_without() -> None:
    few = night().trimmed()
    assert (few.scores.num_rows, few.shifts.num_rows) == (0, 0)


def test_an_alert_says_size_paths_and_chance_in_words(shop: Marts) -> None:
    (found,) = page_of(shop, bad_night()).alerts
    assert (found.before, found.today, found.change, found.ratio) == (
        *("17.5 ms", "59.5 ms", "+42.0 ms", "+240.0 %"),
    )
    assert found.lasting == "2 nights"
    read, failed, gone = found.changes
    assert read.call is not None
    assert (read.call.service, read.call.operation, read.call.above) == (
        "db",
        "read",
        ("buy", "get"),
    )
    assert (read.before, read.today, read.change) == ("10.0 ms", "50.0 ms", "+40.0 ms")
    assert (read.test, read.chance, read.label) == (
        *("time on the path", "1 in 10 million", "\u25b2 +40.0 ms"),
    )
    assert failed.call is None
    assert (failed.before, failed.today, failed.change) == ("5.0 %", "25.0 %", "\u2013")
    assert failed.label == "\u25c6 5.0 % \u2192 25.0 %"
    assert gone.call is not None
    assert (gone.call.operation, gone.call.above) == ("shop::buy > <b>gone</b>", ())
    assert (gone.label, gone.chance) == ("\u25bc \u22121.50 ms", "1 in 250")
    assert [(e.trace_id, e.words) for e in found.exemplars] == [
        ("00000000000000ab", "90.0 ms, of it 80.0 ms on the path")
    ]


def test_a_deep_call_is_named_with_the_three_nearest_above(shop: Marts) -> None:
    deep = shop["call_paths"].to_pylist()
    deep += [
        {"path_id": 20 + i, "parent_id": DB_READ if i == 0 else 19 + i, "depth": 4 + i}
        | {"endpoint_id": 4}
        for i in range(2)
    ]
    marts = shop | {"call_paths": pa.Table.from_pylist(deep, schema=shop["call_paths"].schema)}
    (change,) = page_of(marts, night(alerts=(alert(paths=[shift(path_id=21)]),))).alerts[0].changes
    assert change.call is not None
    assert (change.call.above, change.call.deeper) == (("get", "read", "quote"), True)


def test_the_strip_tells_quiet_nights_from_missing_ones(shop: Marts) -> None:
    (found,) = page_of(shop, bad_night()).alerts
    assert [(n.date[5:], n.status, n.height) for n in found.strip.nights] == [
        *((f"12-{day}", "unknown", 2) for day in range(20, 24)),
        ("12-24", "firing", 17),
        ("12-25", "resolved", 2),
        *((f"12-{day}", "quiet", 2) for day in range(26, 32)),
        ("01-01", "firing", 17),
        ("01-02", "firing", 17),
    ]
    assert found.strip.words == (
        "fired in 3 of the last 14 nights: 2025-12-24, 2026-01-01, 2026-01-02; "
        "4 of them were not compared"
    )


def test_a_silenced_night_is_as_high_as_it_was_severe(shop: Marts) -> None:
    history = (past("2026-01-01", "silenced", "warning"),)
    anomalies = night(alerts=(alert(severity="info"),), history=history)
    (found,) = page_of(shop, anomalies).alerts
    assert [(n.status, n.height) for n in found.strip.nights[-2:]] == [
        ("silenced", 12),
        ("firing", 7),
    ]


@pytest.mark.parametrize(
    ("since", "compare"),
    [
        pytest.param("2026-01-02", "day:2026-01-01:2026-01-02", id="the eve of the change"),
        pytest.param("2026-01-01", None, id="no day before the change in the window"),
    ],
)
def test_days_are_compared_where_the_page_has_both(
    shop: Marts, since: str, compare: str | None
) -> None:
    (found,) = page_of(with_changes(shop), night(alerts=(alert(since=since),))).alerts
    assert found.compare == compare


def test_alerts_come_by_status_severity_and_size(shop: Marts) -> None:
    rows = (
        alert(alert_id="over", status="resolved", ended="back to before"),
        alert(alert_id="hushed", status="silenced", silence="known"),
        alert(alert_id="small", severity="warning", change_us=-5.0),
        alert(alert_id="large", severity="warning", change_us=-50.0),
        alert(alert_id="worst"),
        alert(alert_id="odd", severity="new word"),
    )
    found = page_of(shop, night(alerts=rows)).alerts
    assert [row.alert_id for row in found] == ["worst", "large", "small", "odd", "hushed", "over"]


def test_latency_of_nothing_before_has_no_ratio(shop: Marts) -> None:
    (found,) = page_of(shop, night(alerts=(alert(before_us=0.0, paths=[]),))).alerts
    assert (found.ratio, found.ratio_value, found.changes) == ("\u2013", None, ())


def test_an_endpoint_that_is_not_in_the_window_has_an_alert_without_page(shop: Marts) -> None:
    (found,) = page_of(shop, night(alerts=(alert(endpoint_id=77),))).alerts
    assert (found.page, found.operation) == (None, "buy")


def test_contributions_add_up_to_what_a_request_took_beyond(shop: Marts) -> None:
    data = requests_data([score(1), score(2, contributions=[], unseen=[])], paths_of(shop))
    requests, given = data["requests"], data["contributions"]
    assert (requests["first"], requests["unseen_first"]) == ([0, 2, 2], [0, 1, 1])
    assert requests["change_us"] == [70_000, 70_000]
    assert sum(given["change_us"]) + requests["other_us"][0] == requests["change_us"][0]
    names = [data["names"][data["paths"]["name"][row]] for row in given["path"]]
    assert names == [("db", "read"), ("cart", "get")]
    assert data["paths"]["parent"] == [-1, 0, 1]
    assert data["unseen"] == [-1]


@pytest.mark.parametrize(
    ("p", "words", "number"),
    [
        (1 / 1_201, "1 in 1,200", 1 / 1_201),
        (None, "cannot be said", None),
        (float("nan"), "cannot be said", None),
    ],
)
def test_what_cannot_be_said_is_said(
    shop: Marts, p: float | None, words: str, number: float | None
) -> None:
    requests = requests_data([score(p=p)], paths_of(shop))["requests"]
    assert (requests["chance"], requests["p"]) == ([words], [number])


def test_the_night_counts_endpoints_and_not_calls(shop: Marts) -> None:
    others = (shift(endpoint_id=2, changed=False), shift(endpoint_id=3, changed=False))
    anomalies = night(shifts=(shift(), shift(path_id=12), *others), alerts=(alert(),))
    found = page_of(shop, anomalies).night
    assert (found.changed, found.compared, found.firing, found.level) == (1, 3, 1, "1 in 100")
    assert found.headline == "1 of 3 endpoints compared changed on the night of 2026-01-02."


@pytest.mark.parametrize(
    ("shifts", "headline"),
    [
        ((), "No endpoint could be compared on the night of 2026-01-02."),
        (
            (shift(changed=False),),
            "None of 1 endpoint compared changed on the night of 2026-01-02.",
        ),
    ],
)
def test_a_quiet_night_says_so(shop: Marts, shifts: Any, headline: str) -> None:
    assert page_of(shop, night(shifts=shifts)).night.headline == headline


def test_only_abnormal_requests_are_listed_those_with_the_smallest_p_first(shop: Marts) -> None:
    scores = (score(1, p=None), score(2, p=0.001), score(3, p=0.0001), score(4, abnormal=False))
    data = page_of(shop, night(scores=scores)).parts["requests"]
    assert [int(trace, 16) for trace in data["requests"]["trace_id"]] == [3, 2, 1]
    assert data["entries"]["operation"] == ["buy"] * 3


@pytest.mark.parametrize(
    ("changes", "missing", "note"),
    [
        ({}, 5, "15 traces on 2026-01-02: 5 more needed"),
        ({"traces": 1}, 19, "1 trace on 2026-01-02: 19 more needed"),
        ({"traces": 20}, 0, "nothing of the days before to compare it with"),
        ({"endpoint_id": 2}, 20, "no trace on 2026-01-02"),
        ({"day": "2026-01-03"}, 0, "these days do not hold 2026-01-02"),
    ],
)
def test_an_endpoint_that_is_too_thin_says_what_is_missing(
    shop: Marts, changes: dict[str, Any], missing: int, note: str
) -> None:
    row = shop["daily"].to_pylist()[0] | changes
    daily = pa.Table.from_pylist([row], schema=shop["daily"].schema)
    endpoints = endpoints_of(shop["fleet"], {})
    (found,) = judged_of(endpoints, night(), daily)
    assert (found.compared, found.missing, found.note) == (0, missing, note)
    thin = page_of(shop | {"daily": daily}, night()).night.thin
    assert (thin.endpoints, [row.note for row in thin.named]) == (1, [note])


def test_a_model_says_what_so_many_traces_can_tell(shop: Marts) -> None:
    (found,) = judged_of(endpoints_of(shop["fleet"], {}), bad_night(), shop["daily"])
    assert found.note == "300 traces compared with 2,000 of days before"
    assert (found.smallest, found.false_positive_rate) == ("1 in 250", 0.004)
    assert found.network == "trained on from the one before, days to 2025-12-31"


def test_without_calibration_no_chance_can_be_told(shop: Marts) -> None:
    models = (model(calibration_rows=0, candidates=[], trained="none", trained_day=""),)
    (found,) = judged_of(endpoints_of(shop["fleet"], {}), night(models=models), shop["daily"])
    assert (found.smallest, found.false_positive_rate, found.network) == (
        *("cannot be said", None, "none"),
    )


def test_an_endpoint_without_a_model_is_null_in_every_column(shop: Marts) -> None:
    data = page_of(shop, night()).parts["judged"]
    assert (data["serves"], data["reason"], data["drift"], data["first"]) == (
        *([None], [None], [None], [0, 0]),
    )


@pytest.mark.parametrize(
    ("changes", "tells"),
    [
        ({"calibration_rows": 998}, False),
        ({"calibration_rows": 999}, True),
        ({"calibration_rows": 250, "profile": "paper"}, True),  # a density has no floor
    ],
)
def test_999_traces_have_to_calibrate_a_model_for_1_in_1000(
    shop: Marts, changes: dict[str, Any], tells: bool
) -> None:
    quiet = page_of(shop, night(models=(model(**changes),)))
    assert (quiet.night.telling, quiet.night.models) == (int(tells), 1)
    assert quiet.parts["judged"]["abnormal"] == [0 if tells else None]
    by_a_new_path = page_of(shop, night(models=(model(**changes),), scores=(score(1),)))
    assert by_a_new_path.parts["judged"]["abnormal"] == [1]


def test_endpoints_with_something_to_see_are_judged_first(shop: Marts) -> None:
    # 1 has no model, 2 is compared and quiet, 3 has abnormal requests, 4 changed, 5 has a model
    # only, 6 changed too
    fleet = [shop["fleet"].to_pylist()[0] | {"endpoint_id": i} for i in range(1, 7)]
    marts = shop | {"fleet": pa.Table.from_pylist(fleet, schema=shop["fleet"].schema)}
    made = [model(endpoint_id=i, serves=f"s{i}", candidates=None) for i in range(2, 7)]
    made[3]["candidates"] = model()["candidates"]  # of 5
    anomalies = night(
        shifts=(
            shift(endpoint_id=2, changed=False),
            shift(endpoint_id=4),
            shift(endpoint_id=4, path_id=12),
            shift(endpoint_id=6),
        ),
        scores=(score(1, endpoint_id=3), score(2, endpoint_id=3), score(3, endpoint_id=4)),
        models=tuple(made),
    )
    order = [e.endpoint_id for e in endpoints_of(marts["fleet"], {})]
    changed = [i for i in order if i in {4, 6}]
    found = page_of(marts, anomalies).parts["judged"]
    served = [None if i == 1 else f"s{i}" for i in (*changed, 3, 2, 5, 1)]
    assert found["serves"] == served
    assert found["rank"] == [0, 0, 1, 2, 3, 4]
    assert found["changed"] == [{4: 2, 6: 1}[i] for i in changed] + [0] * 4
    assert found["abnormal"] == [{4: 1, 6: None}[i] for i in changed] + [2, None, None, None]
    assert found["first"] == [0, 0, 0, 0, 0, 2, 2]


def section_of(marts: Marts, anomalies: Anomalies) -> Any:
    found = page_of(marts, anomalies).endpoints
    (endpoint,) = endpoints_of(marts["fleet"], names_of(marts["endpoint_names"]))
    paths = paths_of(marts)
    cct = marts["cct"]
    tree = paths.tree(cct["path_id"].to_numpy(), cct["exclusive_us"].to_numpy())
    return found.marks(endpoint, tree, paths)


def test_calls_that_changed_are_marked_once(shop: Marts) -> None:
    # db::read is row 2 of the tree and in alert and shifts; cart::get, row 1, is no change
    found = section_of(shop, bad_night())
    assert found.marks == {
        "path": [2],
        "label": ["\u25b2 +40.0 ms"],
        "note": ["time on the path: 10.0 ms before, 50.0 ms now; 1 in 10 million by chance"],
    }
    assert (found.section.changed, len(found.section.changes)) == (2, 3)


def test_calls_of_an_alert_that_is_over_are_not_marked(shop: Marts) -> None:
    found = section_of(shop, night(alerts=(alert(status="resolved"),)))
    assert found.marks["path"] == []


@pytest.mark.parametrize(
    ("scores", "listed", "words"),
    [
        ((), 0, f"No request of {DAY} was scored: a model of the days before is needed."),
        (
            tuple(score(n, abnormal=False) for n in range(9)),
            5,
            f"No request of {DAY} was abnormal. {LEAST}",
        ),
        (
            (score(1), score(2, abnormal=False)),
            1,
            f"The most abnormal request of {DAY}: {BEYOND}",
        ),
    ],
)
def test_the_page_of_an_endpoint_says_what_its_requests_are(
    shop: Marts, scores: Any, listed: int, words: str
) -> None:
    found = section_of(shop, night(scores=scores))
    if not scores:
        judged = section_of(shop, night(models=(model(calibration_rows=999),))).section
        assert judged.requests == f"No request of {DAY} was abnormal, or nearly so."
    assert len(found.requests["requests"]["trace_id"]) == found.section.listed == listed
    assert found.section.requests == words


@pytest.mark.parametrize(
    ("scores", "after"),
    [((), "."), ((score(1, abnormal=False, p_how=""),), ". These are the least normal of them.")],
)
def test_the_page_of_an_endpoint_says_when_too_few_traces_calibrate_it(
    shop: Marts, scores: Any, after: str
) -> None:
    found = section_of(shop, night(scores=scores, models=(model(),))).section
    assert found.requests == (
        f"No request of {DAY} was abnormal, and none could be by its chance: "
        f"250 requests calibrate it, it takes 999{after}"
    )


def test_the_fleet_names_open_alerts_only(shop: Marts) -> None:
    endpoints = endpoints_of(shop["fleet"], names_of(shop["endpoint_names"]))

    def columns(**changes: Any) -> dict[str, Any]:
        anomalies = night(alerts=(alert(**changes),))
        found = alerts_of(anomalies, endpoints, paths_of(shop), shop["groups"])
        data = fleet_data(endpoints, shop["daily"], alerts=open_words(found))
        return dict(data["endpoints"])

    assert columns()["alert"] == ["critical"]
    assert columns()["alert_note"] == [f"{SUMMARY} (2 nights)"]
    assert columns(status="silenced", silence="known")["alert"] == ["silenced"]
    assert "alert" not in columns(status="resolved")
    assert columns(endpoint_id=5)["alert"] == [""]


def test_a_forest_holds_what_the_table_knows_parents_first(shop: Marts) -> None:
    wanted = np.array([DB_READ, NEVER_SEEN, 14, DB_READ], dtype=np.int64)
    found = paths_of(shop).forest(wanted)
    assert found.path_ids == [11, 12, 14, DB_READ]
    assert found.parent == [-1, 0, 0, 1]
    assert paths_of(shop).forest(np.array([NEVER_SEEN], dtype=np.int64)).path_ids == []


@pytest.mark.usefixtures("stub_bundle")
def test_data_of_the_page_as_other_tools_read_it(
    shop: Marts, tmp_path: Path, golden: Golden
) -> None:
    site = write_site(
        with_changes(shop), tmp_path, title="Shop", generated_us=0, anomalies=bad_night()
    )
    assert site.pages == 5
    assert site.bytes == sum(path.stat().st_size for path in tmp_path.rglob("*.*"))
    data = json.loads((tmp_path / "anomalies.json").read_text("utf-8"))
    golden.check("anomalies.json", json.dumps(data, indent=1, sort_keys=True) + "\n")
    page = next(tmp_path.glob("endpoint/*.json"))
    found = {name: json.loads(page.read_text("utf-8"))[name] for name in ("marks", "requests")}
    golden.check("endpoint.json", json.dumps(found, indent=1, sort_keys=True) + "\n")


@pytest.mark.usefixtures("stub_bundle")
def test_same_night_in_any_row_order_gives_the_same_bytes(shop: Marts, tmp_path: Path) -> None:
    one = bad_night()
    tables = {
        name: table.take(pa.array(range(table.num_rows)[::-1], pa.int64()))
        for name in ("alerts", "shifts", "scores", "models", "history")
        for table in [getattr(one, name)]
    }
    for name, found in (("one", one), ("two", dataclasses.replace(one, **tables))):
        (tmp_path / name).mkdir()
        write_site(shop, tmp_path / name, title="Shop", generated_us=0, anomalies=found)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*"))
    assert len(files) == 12
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.usefixtures("stub_bundle")
def test_without_a_night_no_page_speaks_of_anomalies(shop: Marts, tmp_path: Path) -> None:
    write_site(shop, tmp_path, title="Shop", generated_us=0)
    assert not list(tmp_path.glob("anomalies*"))
    for path in tmp_path.rglob("*.html"):
        assert "nomal" not in path.read_text("utf-8")
    assert "marks" not in json.loads(next(tmp_path.glob("endpoint/*.json")).read_text("utf-8"))
