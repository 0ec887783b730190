"""`crisp diff`: two windows of one lake or of two, a table on stderr, an exit code for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Crisp
from tests.documents import DAY, SECOND_DAY, Json, lines, span
from tests.running import digests

FIRST, SECOND = "2023-11-15", "2023-11-16"


def request(number: int, day: int, slower_us: int = 0, operation: str = "buy") -> Json:
    """A request that asks for a price and then for the stock, which takes ``slower_us`` more.

    The price takes 1,000 to 1,040 µs, the stock 500 to 518, the request itself nothing.
    """
    name = f"{operation}-{day}-{number}"
    price, stock = 1_000 + 10 * (number % 5), 500 + 3 * (number % 7) + slower_us
    made = [
        span("r", 0, price + stock, name=operation, trace_id=name),
        span("p", 0, price, parent="r", name="price", process="p2", trace_id=name),
        span("s", price, price + stock, parent="r", name="stock", process="p3", trace_id=name),
    ]
    for one in made:
        one["startTime"] += day - DAY + number
    services = {"p1": "shop", "p2": "price", "p3": "stock"}
    processes = {key: {"serviceName": name, "tags": []} for key, name in services.items()}
    return {"traceID": name, "spans": made, "processes": processes}


@pytest.fixture
def days(crisp: Crisp, tmp_path: Path) -> Path:
    """70 requests on each of two days; on the second the stock takes 300 µs longer."""
    file, out = tmp_path / "in.jsonl", tmp_path / "out"
    made = [request(n, DAY) for n in range(70)] + [request(n, SECOND_DAY, 300) for n in range(70)]
    file.write_bytes(lines(made))
    assert crisp("analyse", file, "-o", out).code == 0
    return out


def test_the_difference_is_exact_and_names_the_call(
    crisp: Crisp, days: Path, tmp_path: Path
) -> None:
    """70 is a multiple of 5 and 7: both days have the same mixture, so the difference is 300."""
    before = digests(days / "lake")
    found = crisp("diff", f"{days}@{FIRST}", f"{days}@{SECOND}", "-o", tmp_path / "d", "--json")
    assert found.code == 0
    (row,) = found.json["endpoints"]
    assert (row["service"], row["operation"]) == ("shop", "buy")
    assert row["before"]["traces"] == row["after"]["traces"] == 70
    assert row["before"]["mean_us"] == 1_020 + 509
    assert row["change_us"] == row["path_change_us"] == 300
    assert row["change_ratio"] == pytest.approx(300 / 1_529, abs=1e-6)
    assert row["path"] == ["shop::buy", "stock::stock"]
    assert row["sure"]
    assert 290 < row["low_us"] < 300 < row["high_us"] < 310
    assert (found.json["new"], found.json["gone"], found.json["failed"]) == ([], [], [])
    assert digests(days / "lake") == before
    assert not (days / "marts").exists()
    page = Path(found.json["pages"])
    assert page == tmp_path / "d" / "diff" / "index.html"
    data = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert (data["before"], data["after"]) == (FIRST, SECOND)
    (beside,) = (page.parent / "endpoint").glob("*.json")
    pair = json.loads(beside.read_text(encoding="utf-8"))["changes"]["pairs"][0]
    assert pair["changes"]["change_us"] == [300.0]
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [".lock", "diff"]


def test_the_table_is_for_people(crisp: Crisp, days: Path, tmp_path: Path) -> None:
    found = crisp("diff", f"{days}@{FIRST}", f"{days}@{SECOND}", "-o", tmp_path / "d")
    table = " ".join(found.err.split())
    assert "shop::buy 70 → 70 1.5 ms → 1.8 ms +300 µs (+19.6%)" in table
    assert "stock::stock +300 µs" in table
    assert found.out == f"1 endpoint compared; open {tmp_path}/d/diff/index.html\n"


@pytest.mark.parametrize(("limit", "code"), [("+19%", 1), ("19.5", 1), ("+20%", 0), ("300%", 0)])
def test_exit_code_1_when_an_endpoint_is_slower_by_the_limit(
    crisp: Crisp, days: Path, tmp_path: Path, limit: str, code: int
) -> None:
    """300 of 1,529 µs are 19.6 %."""
    sides = (f"{days}@{FIRST}", f"{days}@{SECOND}")
    found = crisp("diff", *sides, "-o", tmp_path / "d", "--fail-on", limit, "--json")
    assert found.code == code
    assert found.json["failed"] == ["shop::buy"] * code
    assert ("crisp: slower by" in found.err) == bool(code)


def test_faster_never_fails(crisp: Crisp, days: Path, tmp_path: Path) -> None:
    sides = (f"{days}@{SECOND}", f"{days}@{FIRST}")
    assert crisp("diff", *sides, "-o", tmp_path / "d", "--fail-on", "+1%").code == 0


def test_a_change_of_few_traces_is_no_reason_to_fail(crisp: Crisp, tmp_path: Path) -> None:
    """19 traces are thin, and two endpoints with one trace each have no interval."""
    few = [request(n, DAY) for n in range(19)] + [request(n, SECOND_DAY, 900) for n in range(19)]
    one = [request(0, DAY, 0, "sell"), request(0, SECOND_DAY, 900, "sell")]
    file, out = tmp_path / "in.jsonl", tmp_path / "out"
    file.write_bytes(lines([*few, *one]))
    crisp("analyse", file, "-o", out)
    sides = (f"{out}@{FIRST}", f"{out}@{SECOND}")
    found = crisp("diff", *sides, "-o", tmp_path / "d", "--fail-on", "+5%", "--json")
    assert found.code == 0
    by_name = {row["operation"]: row for row in found.json["endpoints"]}
    assert by_name["buy"]["change_us"] > 800
    assert not by_name["buy"]["sure"]
    assert by_name["sell"]["low_us"] is by_name["sell"]["high_us"] is None
    assert "thin" in found.err


def test_two_outputs_and_endpoints_of_one_alone(crisp: Crisp, tmp_path: Path) -> None:
    for name, made in (
        ("a", [request(n, DAY) for n in range(30)] + [request(1, DAY, 0, "old")]),
        ("b", [request(n, DAY) for n in range(30)] + [request(1, DAY, 0, "new")]),
    ):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(made))
        crisp("analyse", tmp_path / f"{name}.jsonl", "-o", tmp_path / name)
    found = crisp("diff", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "d", "--json").json
    assert (found["new"], found["gone"]) == (["shop::new"], ["shop::old"])
    (row,) = found["endpoints"]
    assert (row["change_us"], row["sure"]) == (0, False)
    data = json.loads((tmp_path / "d/diff/index.json").read_text(encoding="utf-8"))
    assert (data["before"], data["after"]) == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_a_second_comparison_takes_the_place_of_the_first(
    crisp: Crisp, days: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        crisp("diff", f"{days}@{FIRST}", f"{days}@{SECOND}", "-o", tmp_path / "d")
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [".lock", "diff"]


@pytest.mark.parametrize("what", ["folder", "lakes", "file", "link"])
def test_what_is_no_comparison_is_never_replaced(
    crisp: Crisp, days: Path, tmp_path: Path, what: str
) -> None:
    place = tmp_path / "d" / "diff"
    place.parent.mkdir()
    if what == "folder":
        place.mkdir()
        (place / "notes.txt").write_text("precious")
    elif what == "lakes":
        days.rename(place)
    elif what == "file":
        place.write_text("precious")
    else:
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    out = place if what == "lakes" else days
    before = sorted(tmp_path.rglob("*"))
    found = crisp("diff", f"{out}@{FIRST}", f"{out}@{SECOND}", "-o", place.parent)
    assert found.code == 2
    assert str(place) in found.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_comparison_that_fails_leaves_nothing(crisp: Crisp, days: Path, tmp_path: Path) -> None:
    assert crisp("diff", days, "nowhere", "-o", tmp_path / "d").code == 1
    assert not (tmp_path / "d").exists()


def test_a_folder_may_be_called_like_a_day(crisp: Crisp, days: Path, tmp_path: Path) -> None:
    named = days.rename(tmp_path / f"out@{FIRST}")
    found = crisp("diff", f"{named}@{FIRST}", f"{named}@{SECOND}", "-o", tmp_path / "d", "--json")
    assert found.json["endpoints"][0]["change_us"] == 300
    found = crisp("diff", named, named, "-o", tmp_path / "d", "--json")
    assert found.json["endpoints"][0]["before"]["traces"] == 140


def test_owners_are_not_asked_for(crisp: Crisp, days: Path, tmp_path: Path) -> None:
    (tmp_path / "crisp.toml").write_text('[report]\nowners = "not-there.toml"\n')
    sides = (f"{days}@{FIRST}", f"{days}@{SECOND}")
    assert (
        crisp("diff", *sides, "-o", tmp_path / "d", "--settings", tmp_path / "crisp.toml").code == 0
    )


def test_a_log_holds_long_names_in_one_line(crisp: Crisp, tmp_path: Path) -> None:
    name = "POST /v1/" + "very-long-segment/" * 12
    made = [request(n, day, 0, name) for n in range(30) for day in (DAY, SECOND_DAY)]
    (tmp_path / "in").write_bytes(lines(made))
    crisp("analyse", tmp_path / "in", "-o", tmp_path / "out")
    sides = (f"{tmp_path}/out@{FIRST}", f"{tmp_path}/out@{SECOND}")
    found = crisp("diff", *sides, "-o", tmp_path / "d")
    (line,) = (line for line in found.err.splitlines() if f"shop::{name}" in line)
    assert "30 → 30" in line


def test_nothing_in_common_is_no_success(crisp: Crisp, tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / "in").write_bytes(lines([request(n, DAY, 0, name) for n in range(30)]))
        crisp("analyse", tmp_path / "in", "-o", tmp_path / name)
    sides = (tmp_path / "old", tmp_path / "new")
    assert crisp("diff", *sides, "-o", tmp_path / "d").code == 0
    found = crisp("diff", *sides, "-o", tmp_path / "d", "--fail-on", "+5%")
    assert found.code == 1
    assert "no endpoint in common" in found.err


@pytest.mark.parametrize(
    ("sides", "options", "words"),
    [
        (("{out}@2023-11-15", "{out}@2024-01-01"), (), ["no day", "2024-01-01"]),
        (("{out}@2023-11-16..2023-11-15", "{out}"), (), ["lies after"]),
        (("{out}@2023-11-40", "{out}"), (), ["2023-11-40"]),
        (("nowhere", "{out}"), (), ["nowhere", "no lake"]),
        (("{out}", "{out}"), ("--fail-on", "much"), ["--fail-on", "+5%"]),
        (("{out}", "{out}"), ("--jaeger-url", "ftp://x"), ["jaeger_url"]),
    ],
)
def test_wrong_use_is_one_line(
    crisp: Crisp,
    days: Path,
    tmp_path: Path,
    sides: tuple[str, str],
    options: tuple[str, ...],
    words: list[str],
) -> None:
    named = [side.format(out=days) for side in sides]
    found = crisp("diff", *named, "-o", tmp_path / "d", *options)
    assert found.code in {1, 2}
    assert found.err.count("\n") == 1
    assert all(word in found.err for word in words)
    assert not (tmp_path / "d" / "diff").exists()
