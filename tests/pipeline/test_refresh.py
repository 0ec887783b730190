"""Windows follow their days: nights in any order end with the same marts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from crisp import schema, store
from crisp.errors import LakeError
from crisp.locations import Location
from crisp.options import AggregateOptions, EngineOptions, ReportOptions
from crisp.pipeline import publish as publish_stage
from crisp.pipeline import windows
from crisp.pipeline.engines import engine
from crisp.pipeline.marts import aggregate
from crisp.pipeline.places import places
from crisp.pipeline.windows import Window, merged, nightly_window, outdated, window
from crisp.store.publishing import publish
from tests.documents import DAY, SECOND_DAY, lines, trace
from tests.running import analysed, digests, rows

LENGTH = 3
DAYS = ["2023-11-15", "2023-11-16", "2023-11-17", "2023-11-18", "2023-11-19"]


def day_of(number: int, folder: Path, count: int = 3) -> Path:
    """Traces of the ``number``-th day."""
    file = folder / f"{number}.jsonl"
    day, latency = DAY + number * (SECOND_DAY - DAY), 100 * (number + 1)
    made = [trace(f"{number}-{n}", start=n, latency=latency + n, day=day) for n in range(count)]
    file.write_bytes(lines(made))
    return file


@pytest.fixture(autouse=True)
def three_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW_DAYS", LENGTH)


def night(out: Path, day: str, during: Callable[[], object] = lambda: None) -> list[str]:
    """Merge the window that ends with ``day`` and those after it that it puts out of date;
    something happens ``during`` the first of them."""
    where, happens = places(out), [during]

    def merge(shown: Window) -> dict[str, Any]:
        with engine(out, EngineOptions(workers=1)) as made:
            record = aggregate(where.lake, where.marts, shown, made, AggregateOptions())
        if happens:
            happens.pop()()
        return record

    days = merged(where.lake, nightly_window(where.lake, date.fromisoformat(day)), merge)
    later = outdated(where.lake, where.marts, days[-1])
    return [merged(where.lake, shown, merge)[-1] for shown in later]


@pytest.fixture(scope="module")
def in_order(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("in-order")
    for number, day in enumerate(DAYS[:3]):
        analysed([day_of(number, out)], out / "out")
        night(out / "out", day)
    return digests(places(out / "out").marts)


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:])
def test_a_backfill_in_any_order_ends_with_the_same_marts(
    order: tuple[int, ...], tmp_path: Path, in_order: dict[str, str]
) -> None:
    for number in order:
        analysed([day_of(number, tmp_path)], tmp_path / "out")
        night(tmp_path / "out", DAYS[number])
    assert digests(places(tmp_path / "out").marts) == in_order


def test_only_windows_that_hold_the_day_are_merged_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for number in (1, 3, 4):
        analysed([day_of(number, tmp_path)], out)
        assert night(out, DAYS[number]) == []
    analysed([day_of(2, tmp_path)], out)
    assert night(out, DAYS[2]) == [DAYS[3], DAYS[4]]
    assert night(out, DAYS[2]) == []
    analysed([day_of(0, tmp_path)], out)
    assert night(out, DAYS[0]) == [DAYS[1], DAYS[2]]
    traces = {day: rows(places(out).marts, "fleet", day)[0]["traces"] for day in DAYS}
    assert traces == {DAYS[0]: 3, DAYS[1]: 6, DAYS[2]: 9, DAYS[3]: 9, DAYS[4]: 9}


def test_a_night_sees_what_another_brought_while_it_merged(
    tmp_path: Path, in_order: dict[str, str]
) -> None:
    out = tmp_path / "out"
    for number in (0, 2):
        analysed([day_of(number, tmp_path)], out)
        if number == 0:
            night(out, DAYS[0])
    beside = places(out)

    def other_night() -> None:
        analysed([day_of(1, tmp_path)], out)
        assert store.days(beside.marts) == [DAYS[0], DAYS[2]]

    night(out, DAYS[2], during=other_night)
    night(out, DAYS[1])
    assert digests(beside.marts) == in_order


def test_a_night_without_its_day_is_refused_and_replaces_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    analysed([day_of(0, tmp_path)], out)
    night(out, DAYS[0])
    before = digests(places(out).marts)
    with pytest.raises(LakeError, match=f"no day {DAYS[1]}"):
        night(out, DAYS[1])
    assert digests(places(out).marts) == before


def test_windows_of_other_tables_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", schema.VERSION + 1)
        analysed([day_of(1, tmp_path)], out)
        night(out, DAYS[1])
    analysed([day_of(0, tmp_path)], out)
    assert night(out, DAYS[0]) == []


def test_a_window_keeps_the_files_of_a_day_that_is_replaced_while_it_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    where = places(out)
    analysed([day_of(0, tmp_path)], out)
    shown, real = window(where.lake, None, None), store.staging

    @contextmanager
    def replacing(root: Location) -> Iterator[str]:
        """Replaces the day when the merge has chosen its version and not yet read it."""
        if str(root) == where.marts:
            monkeypatch.undo()
            analysed([day_of(0, tmp_path, count=5)], out)
        with real(root) as folder:
            yield folder

    monkeypatch.setattr(store, "staging", replacing)
    with engine(out, EngineOptions(workers=1)) as made:
        aggregate(where.lake, where.marts, shown, made, AggregateOptions())
    assert rows(where.marts, "fleet", DAYS[0])[0]["traces"] == 3
    assert len(rows(where.lake, "traces")) == 5
    folders = [path for path in Path(where.lake, f"date={DAYS[0]}").iterdir() if path.is_dir()]
    assert len(folders) == 1


def test_a_site_shows_the_newest_window_though_it_came_while_another_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    where = places(out)
    analysed([day_of(0, tmp_path)], out)
    night(out, DAYS[0])

    def beside(new: Path, site: Location, forward: Callable[[str], str]) -> str:
        """Another night ends between the writing of the pages and their publication."""
        if store.days(where.marts) == [DAYS[0]]:
            analysed([day_of(1, tmp_path)], out)
            night(out, DAYS[1])
        return publish(new, site, forward)

    monkeypatch.setattr(publish_stage, "publish", beside)
    site = publish_stage.report(
        where,
        scratch=out,
        day=None,
        generated_us=0,
        options=ReportOptions(),
    )
    assert f"{DAYS[0]} to {DAYS[1]}" in Path(site.index).read_text(encoding="utf-8")
