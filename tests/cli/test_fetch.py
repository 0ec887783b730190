"""crisp fetch as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Crisp
from tests.documents import trace, traces
from tests.ingest.fetch.pulling import ids
from tests.ingest.fetch.serving import Reply, in_turn, serving, store

SHOP = store(traces(20))
DATE = ("--date", "2023-11-15")


def test_fetch_then_analyse_is_two_commands(crisp: Crisp, tmp_path: Path) -> None:
    landing = tmp_path / "landing"
    with serving(SHOP) as server:
        result = crisp("fetch", "--jaeger", server.url, *DATE, "-o", landing)
    assert result.code == 0, result.err
    assert result.out.startswith(
        f"{landing}/date=2023-11-15: 20 traces fetched, 20 on disk; 6 endpoints of 2 services, "
    )
    assert "6 requests, 0 retries, 0 splits, 20 duplicates, " in result.out
    assert result.err == ""
    lake = crisp("analyse", landing / "date=2023-11-15", *DATE, "-o", tmp_path / "out", "--json")
    assert lake.json["analysed"] == 20


def test_one_object_is_printed_for_scripts(crisp: Crisp, tmp_path: Path) -> None:
    with serving(SHOP) as server:
        result = crisp("fetch", "--jaeger", server.url, *DATE, "-o", tmp_path, "--json")
    found = result.json
    assert result.code == 0
    assert found.pop("seconds") > 0
    assert found.pop("received_bytes") > found.pop("raw_bytes") > found.pop("written_bytes") > 0
    assert found == {
        "folder": f"{tmp_path}/date=2023-11-15",
        "endpoints": 6,
        "services": 2,
        "traces": 20,
        "traces_on_disk": 20,
        "requests": 6,
        "retries": 0,
        "splits": 0,
        "duplicates": 20,
        "gaps": [],
        "unknown": [],
        "complete": True,
    }


def test_a_second_fetch_says_that_nothing_was_asked(crisp: Crisp, tmp_path: Path) -> None:
    with serving(SHOP) as server:
        command = ("fetch", "--jaeger", server.url, *DATE, "-o", tmp_path)
        crisp(*command)
        asked = len(server.requests)
        result = crisp(*command)
        assert len(server.requests) == asked
    assert result.out == (
        f"{tmp_path}/date=2023-11-15: 20 traces, complete since an earlier fetch;"
        " nothing was asked\n"
    )


def test_a_gap_is_a_warning_and_ends_with_code_1(crisp: Crisp, tmp_path: Path) -> None:
    together = [trace(f"{n + 1:x}", start=5_000_123) for n in range(3)]
    command = ("-o", tmp_path, *DATE, "--service", "shop", "--operation", "pay", "--limit", "2")
    with serving(store(together)) as server:
        result = crisp("fetch", "--jaeger", server.url, *command)
        again = crisp("fetch", "--jaeger", server.url, *command, "--json")
    assert (result.code, again.code) == (1, 1)
    assert "2 traces fetched" in result.out
    gap = "gap: shop::pay from 2023-11-15T00:00:05+00:00 to 2023-11-15T00:00:05.001000+00:00: 2"
    assert gap in result.err
    assert "more traces than --limit 2 lets through in 1 windows of 1 ms" in result.err
    assert again.json["gaps"] == [
        {
            "endpoint": "shop::pay",
            "start": "2023-11-15T00:00:05+00:00",
            "end": "2023-11-15T00:00:05.001000+00:00",
            "limit": 2,
        }
    ]


def test_endpoints_come_from_a_file(crisp: Crisp, tmp_path: Path) -> None:
    file = tmp_path / "endpoints"
    file.write_text("store::find\nbasket::add\n")
    with serving(SHOP) as server:
        command = ("fetch", "--jaeger", server.url, *DATE, "-o", tmp_path / "landing")
        result = crisp(*command, "--endpoints", file)
    assert result.code == 0
    assert "warning: the server does not know 'basket'" in result.err
    assert "1 endpoints of 1 services" in result.out


def test_settings_come_from_a_file_and_options_count_more(crisp: Crisp, tmp_path: Path) -> None:
    with serving(SHOP) as server:
        settings = tmp_path / "crisp.toml"
        settings.write_text(
            f'[fetch]\njaeger = "{server.url}"\napi = "v1"\nlimit = 7\nrate = 100.0\n'
            'headers = { X-Scope-OrgID = "team" }\n'
        )
        command = ("fetch", "--settings", settings, *DATE, "--service", "shop")
        crisp(*command, "-o", tmp_path / "one")
        assert {request.query.get("limit") for request in server.requests} == {None, "7"}
        assert server.requests[0].headers["X-Scope-OrgID"] == "team"
        crisp(*command, "-o", tmp_path / "two", "--limit", "9")
        assert server.requests[-1].query["limit"] == "9"
    assert ids(tmp_path / "one") == ids(tmp_path / "two") == list(range(20))


def test_trouble_is_one_line_on_stderr_unless_quiet(crisp: Crisp, tmp_path: Path) -> None:
    for quiet in ((), ("-q",)):
        with serving(in_turn(Reply(503, b"starting"), Reply(503, b"up"), SHOP)) as server:
            words = ("--jaeger", server.url, "--api", "v1", "-o", tmp_path / str(len(quiet)))
            result = crisp("fetch", *words, *DATE, *quiet)
        lines = result.err.splitlines()
        assert len(lines) == (0 if quiet else 1)
        assert all(f"crisp: {server.url}: HTTP 503: starting; again in" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "which Jaeger? Give --jaeger URL"),
        (("--jaeger", "localhost:16686"), "jaeger must be an address such as http://"),
        (("--jaeger", "http://:pw-secret@/"), "jaeger must be an address such as http://"),
        (("--jaeger", "http://x/?token=pw-secret"), "an address without ? and #"),
        (("--jaeger", "http://x", "--operation", "a"), "--operation needs --service"),
        (
            ("--jaeger", "http://x", "--service", "a", "--endpoints", "f"),
            "give --service or --endpoints, not both",
        ),
        (("--jaeger", "http://x", "--api", "v2"), "api must be one of auto, v1, v3, not 'v2'"),
        (
            ("--jaeger", "http://x", "--limit", "0", "--rate", "0"),
            "limit must be at least 1, not 0; rate must be more than 0, not 0",
        ),
        (("--jaeger", "http://x", "--master", "local"), "--master and --spark-conf need --engine"),
        (("--jaeger", "http://x", "--date", "2999-01-01"), "2999-01-01 has not begun"),
        (("--jaeger", "http://x", "--date", "yesterday"), "a day looks like 2026-11-21"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(
    words: tuple[str, ...], said: str, crisp: Crisp, tmp_path: Path
) -> None:
    result = crisp("fetch", *DATE, "-o", tmp_path / "landing", *words)
    assert result.code == 2
    assert said in result.err
    assert "pw-secret" not in result.err


def test_wrong_settings_are_named_without_secrets(crisp: Crisp, tmp_path: Path) -> None:
    settings = tmp_path / "crisp.toml"
    settings.write_text('[fetch]\nlimit = "x"\nheaders = ["pw-secret"]\njaeger = 3\n')
    result = crisp("fetch", "--settings", settings, *DATE, "-o", tmp_path)
    assert result.code == 2
    assert "fetch.limit must be a whole number, not 'x'" in result.err
    assert "fetch.headers must be a section of texts" in result.err
    assert "pw-secret" not in result.err


def test_another_jaeger_for_the_same_day_is_refused(crisp: Crisp, tmp_path: Path) -> None:
    with serving(SHOP) as server:
        crisp("fetch", "--jaeger", server.url, *DATE, "-o", tmp_path)
        result = crisp("fetch", "--jaeger", "http://me:pw@other:1/", *DATE, "-o", tmp_path)
    assert result.code == 2
    assert f"was fetched with Jaeger {server.url}, not http://other:1; --refetch" in result.err


def test_the_books_hold_no_secret(crisp: Crisp, tmp_path: Path) -> None:
    with serving(SHOP) as server:
        url = server.url.replace("//", "//me:pw-secret@")
        result = crisp("fetch", "--jaeger", url, *DATE, "-o", tmp_path, "--json")
    assert result.code == 0
    day = json.loads((tmp_path / "date=2023-11-15" / ".fetch" / "day.json").read_text())
    assert day["jaeger"] == server.url
    assert "pw-secret" not in result.out + result.err
