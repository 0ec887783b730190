"""The stages from the command line: what is selected, counted, replaced and left alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crisp import store
from tests.cli.conftest import Crisp
from tests.documents import DAY, SECOND_DAY, lines, trace, traces
from tests.running import digests, rows

KEYS = {
    "read", "analysed", "rejected", "filtered", "endpoints", "trees", "spans", "bytes", "days",
    "reasons", "warnings", "seconds",
}  # fmt: skip


def test_a_run_tells_what_it_read_and_which_page_to_open(
    crisp: Crisp, source: Path, out: Path
) -> None:
    result = crisp("run", source, "-o", out)
    assert result.code == 0
    first, reject, last = result.out.splitlines()
    assert first.startswith("41 traces read = 40 analysed + 1 rejected; 1 endpoints, 120 spans")
    assert reject == "  rejected: 1 × not-json"
    assert last == f"open {out}/site/index.html"
    assert (out / "site" / "index.html").is_file()


def test_the_summary_as_json_is_one_object_that_adds_up(
    crisp: Crisp, source: Path, out: Path
) -> None:
    result = crisp("run", source, "-o", out, "--json")
    found = result.json
    assert set(found) == KEYS | {"site"}
    assert result.out.count("\n") == 1
    assert found["read"] == found["analysed"] + found["rejected"] == 41
    assert found["reasons"] == {"not-json": 1}
    assert found["days"] == ["2023-11-15", "2023-11-16"]
    assert (found["trees"], found["spans"], found["endpoints"]) == (40, 120, 1)
    assert found["bytes"] == pytest.approx(source.stat().st_size, abs=50)
    assert set(crisp("analyse", source, "-o", out, "--json").json) == KEYS | {"lake"}


def test_stages_one_by_one_give_what_a_run_gives(crisp: Crisp, source: Path, out: Path) -> None:
    assert crisp("run", source, "-o", out).code == 0
    apart = out.parent / "apart"
    assert crisp("analyse", source, "-o", apart).code == 0
    made = crisp("aggregate", apart, "--json").json
    assert made["days"] == ["2023-11-15", "2023-11-16"]
    shown = crisp("report", apart, "--json").json
    assert Path(shown["site"]).is_file()
    assert shown["pages"] > 0
    assert digests(apart / "lake") == digests(out / "lake")
    assert digests(apart / "marts") == digests(out / "marts")


@pytest.mark.parametrize(
    ("options", "analysed", "filtered"),
    [
        (["--date", "2023-11-15"], 30, 10),
        (["--date", "2023-11-16"], 10, 30),
        (["--start", "2023-11-16"], 10, 30),
        (["--end", "2023-11-16"], 30, 10),
        (["--start", "2023-11-15T00:00:00.005", "--end", "2023-11-15T00:00:00.010"], 5, 35),
        (["--start", "2023-11-15T02:00+02:00"], 40, 0),
        (["--start", "2023-11-16T00:00:00.00005Z"], 5, 35),
        (["--service", "shop"], 40, 0),
        (["--operation", "GET /"], 40, 0),
        (["--service", "shop", "--operation", "GET /"], 40, 0),
        (["--roots", "endpoint", "--service", "store"], 40, 0),
        (["--roots", "endpoint", "--operation", "pay", "--date", "2023-11-16"], 10, 30),
        (["--roots", "orphans"], 40, 0),
        (["--policy", "paper"], 40, 0),
        (["--policy", "jaeger-ui", "--skew", "edge", "--async", "none"], 40, 0),
    ],
)
def test_selections_choose_trees_and_count_the_rest(
    crisp: Crisp, source: Path, out: Path, options: list[str], analysed: int, filtered: int
) -> None:
    found = crisp("run", source, "-o", out, "--json", *options).json
    assert (found["analysed"], found["filtered"]) == (analysed, filtered)
    assert found["read"] == analysed + 1


def test_since_counts_back_from_now(crisp: Crisp, tmp_path: Path, out: Path) -> None:
    now = datetime.now(UTC)
    made = []
    for hours in (1, 30, 100):
        one = trace(f"t{hours}")
        moved = int((now - timedelta(hours=hours)).timestamp() * 1_000_000) - DAY
        for span in one["spans"]:
            span["startTime"] += moved
        made.append(one)
    path = tmp_path / "recent.json"
    path.write_bytes(lines(made))
    for since, count in (("90m", 1), ("2d", 2), ("1w", 3)):
        assert crisp("run", path, "-o", out, "--json", "--since", since).json["analysed"] == count


def test_an_interior_endpoint_may_be_the_root(crisp: Crisp, source: Path, out: Path) -> None:
    crisp("run", source, "-o", out, "--roots", "endpoint", "--operation", "find")
    trees = rows(out / "lake", "traces")
    assert {tree["root_kind"] for tree in trees} == {"endpoint"}
    assert {tree["root_span_id"] for tree in trees} == {"b"}


def test_templates_join_operations_and_their_lack_is_told(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    made = traces(60)
    for number, one in enumerate(made):
        one["spans"][0]["operationName"] = f"/user/{number}"
    path = tmp_path / "ids.json"
    path.write_bytes(lines(made))
    result = crisp("run", path, "-o", out)
    assert result.err.startswith("warning: ")
    assert "/user/" in result.err
    assert "--template" in result.err
    rule = r"/user/\d+=>/user/{id}"
    found = crisp("run", path, "-o", out, "--json", "--template", rule).json
    assert (found["endpoints"], found["warnings"]) == (1, [])
    assert "/user/{id}" in {row["operation"] for row in rows(out / "lake", "endpoint_names")}


def test_settings_are_read_from_a_file_and_options_count_more(
    crisp: Crisp, source: Path, tmp_path: Path, out: Path
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(
        """
        [ingest]
        operation = "GET /"
        templates = [{pattern = "pay", replacement = "buy"}]
        [path]
        policy = "paper"
        overlap_us = 7
        all_paths = true
        [aggregate]
        edges = [0, 50, 100]
        exemplars = 1
        """
    )
    assert crisp("run", source, "-o", out, "--settings", settings, "--skew", "edge").code == 0
    record = store.run_record(out / "lake", "2023-11-15")
    assert record["policy"] == "paper"
    options = json.loads(record["options"])
    assert options["path"]["overlap_us"] == 7
    assert options["path"]["overlap_ratio"] == 1.0
    assert options["path"]["skew"] == "edge"
    assert "buy" in {row["operation"] for row in rows(out / "lake", "endpoint_names")}
    assert all(tree["all_paths"] for tree in rows(out / "lake", "traces"))
    assert {row["band"] for row in rows(out / "marts", "bands")} == {0, 1}
    assert {row["place"] for row in rows(out / "marts", "exemplars")} == {1}
    crisp("run", source, "-o", out, "--settings", settings, "--policy", "crisp-oss")
    assert store.run_record(out / "lake", "2023-11-15")["policy"] == "crisp-oss"


def test_a_day_run_again_replaces_that_day_and_nothing_else(
    crisp: Crisp, source: Path, tmp_path: Path, out: Path
) -> None:
    crisp("analyse", source, "-o", out)
    before = digests(out / "lake")
    other = {
        path: path.read_bytes()
        for path in (out / "lake" / "date=2023-11-15").rglob("*")
        if path.is_file()
    }
    changed = tmp_path / "changed.json"
    changed.write_bytes(lines([trace("new", day=SECOND_DAY)]))
    assert crisp("analyse", changed, "-o", out, "--date", "2023-11-16").code == 0
    after = digests(out / "lake")
    assert after["2023-11-15"] == before["2023-11-15"]
    assert after["2023-11-16"] != before["2023-11-16"]
    assert all(path.read_bytes() == content for path, content in other.items())
    assert [row["trace_id"] for row in rows(out / "lake", "traces", "2023-11-16")] == ["new"]
    assert crisp("analyse", source, "-o", out).code == 0
    assert digests(out / "lake") == before


def test_a_window_ends_with_its_day_and_holds_fourteen(
    crisp: Crisp, tmp_path: Path, out: Path
) -> None:
    step = SECOND_DAY - DAY
    made = [trace(f"d{n:02d}", day=DAY + n * step) for n in range(20)]
    path = tmp_path / "days.json"
    path.write_bytes(lines(made))
    crisp("analyse", path, "-o", out)
    assert len(crisp("aggregate", out, "--json").json["days"]) == 20
    assert sum(row["traces"] for row in rows(out / "marts", "fleet")) == 20
    found = crisp("aggregate", out, "--json", "--date", "2023-11-30").json["days"]
    assert (found[0], found[-1], len(found)) == ("2023-11-17", "2023-11-30", 14)
    found = crisp("aggregate", out, "--json", "--start", "2023-11-20", "--end", "2023-11-22").json
    assert found["days"] == ["2023-11-20", "2023-11-21"]
    assert store.days(out / "marts") == ["2023-11-21", "2023-11-30", "2023-12-04"]
    assert {row["day"] for row in rows(out / "marts", "daily", "2023-11-21")} == {
        "2023-11-20",
        "2023-11-21",
    }
    none = crisp("aggregate", out, "--start", "2025-01-01")
    assert none.code == 1
    assert "2023-11-15 to 2023-12-04" in none.err
    assert crisp("report", out, "--date", "2023-11-30").code == 0
    gone = crisp("report", out, "--date", "2023-11-29")
    assert gone.code == 1
    assert "2023-11-30" in gone.err
    only = crisp("run", path, "-o", out, "--json", "--date", "2023-12-04").json
    assert only["days"] == ["2023-12-04"]
    assert sum(row["traces"] for row in rows(out / "marts", "fleet", "2023-12-04")) == 14


def test_a_lake_of_another_version_is_refused_by_name(
    crisp: Crisp, source: Path, out: Path
) -> None:
    crisp("run", source, "-o", out)
    pointer = out / "lake" / "date=2023-11-15" / "CURRENT"
    pointer.write_text(json.dumps(json.loads(pointer.read_text()) | {"schema": 99}))
    result = crisp("aggregate", out)
    assert result.code == 1
    assert "date=2023-11-15" in result.err
    assert "99" in result.err
    assert "crisp analyse" in result.err


def test_several_sources_and_a_folder_given_twice_are_read_once(
    crisp: Crisp, source: Path, tmp_path: Path, out: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "more.json").write_bytes(lines([trace("more")]))
    found = crisp("run", source, folder, f"{folder}/", folder / "*.json", "-o", out, "--json").json
    assert (found["read"], found["analysed"]) == (42, 41)


def test_a_trace_in_two_files_counts_once(
    crisp: Crisp, source: Path, tmp_path: Path, out: Path
) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(source.read_bytes())
    found = crisp("run", source, copy, "-o", out, "--json").json
    assert (found["read"], found["analysed"], found["rejected"]) == (82, 40, 42)
    assert found["reasons"] == {"duplicate-trace": 40, "not-json": 2}


def test_synth_makes_what_the_main_job_reads(crisp: Crisp, tmp_path: Path) -> None:
    target = tmp_path / "made"
    made = crisp(
        "synth", target, "--traces", "20", "--spans", "10", "--endpoints", "2", "--json",
        "--date", "2026-11-20", "--workers", "1", "--layout", "jsonl.zst",
    ).json  # fmt: skip
    assert made["traces"] == 20
    assert Path(made["truth"]).is_file()
    found = crisp("run", target, "-o", tmp_path / "out", "--json").json
    assert found["read"] == 20
    assert "2026-11-20" in found["days"]


def test_the_demo_shows_recorded_traces_and_where_to_look_first(crisp: Crisp, out: Path) -> None:
    result = crisp("demo", "-o", out, "--workers", "1")
    assert result.code == 0
    first, *hints, last = result.out.splitlines()
    assert " traces read = " in first
    assert "frontend::GET /product/{id}" in " ".join(hints)
    page = Path(last.removeprefix("open "))
    assert page.is_absolute()
    assert page.is_file()
    assert list(page.parent.glob("endpoint/frontend-get-product-id-*.html"))
    found = crisp("demo", "-o", out, "--workers", "1", "--json").json
    assert found["read"] == found["analysed"] > 1000


def test_the_first_look_of_the_demo_is_worth_it(crisp: Crisp, out: Path) -> None:
    """The call that the hint asks for fills the slowest bands and is hardly seen in the fastest."""
    crisp("demo", "-o", out, "--workers", "1", "--json")
    names = {row["endpoint_id"]: row["operation"] for row in rows(out / "marts", "endpoint_names")}
    ends = {row["path_id"]: names[row["endpoint_id"]] for row in rows(out / "marts", "call_paths")}
    [page] = [number for number, name in names.items() if name == "GET /product/{id}"]
    latency = {
        row["band"]: row["latency_us"]
        for row in rows(out / "marts", "bands")
        if row["endpoint_id"] == page
    }
    held = dict.fromkeys(latency, 0)
    for row in rows(out / "marts", "cct"):
        if row["endpoint_id"] == page and ends[row["path_id"]] == "SELECT stock":
            held[row["band"]] += row["exclusive_us"]
    shares = [held[band] / latency[band] for band in sorted(latency)]
    assert shares[0] < 0.1
    assert min(shares[2:]) > 0.4
