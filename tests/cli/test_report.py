"""`crisp report`: settings, one endpoint in one file, and the change since the window before."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import fsspec
import pytest

from tests.cli.conftest import Crisp
from tests.documents import DAY, SECOND_DAY, Json, lines, trace


def day_of(day: int, latency: int, operations: tuple[str, ...] = ("GET /",)) -> list[Json]:
    """Thirty traces of each operation, all of one latency."""
    made = []
    for operation in operations:
        for n in range(30):
            one = trace(f"{day}-{operation}-{n}", latency=latency, day=day)
            one["spans"][0]["operationName"] = operation
            made.append(one)
    return made


@pytest.fixture
def made(crisp: Crisp, tmp_path: Path) -> Path:
    """Marts of one day with two endpoints of the service shop."""
    file, out = tmp_path / "in.jsonl", tmp_path / "out"
    file.write_bytes(lines(day_of(DAY, 1_000, ("GET /", "GET /cart"))))
    for command in (("analyse", file, "-o", out), ("aggregate", out)):
        assert crisp(*command).code == 0
    return out


def data_of(page: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    return found


def test_settings_and_options_say_what_the_pages_say(
    crisp: Crisp, made: Path, tmp_path: Path
) -> None:
    (tmp_path / "owners.toml").write_text('"sto*" = "team-store"\n"s*" = "team-shop"\n')
    settings = tmp_path / "crisp.toml"
    settings.write_text(
        f'[report]\ntitle = "Ours"\njaeger_url = "http://j/trace/{{trace_id}}"\n'
        f'owners = "{tmp_path}/owners.toml"\n'
    )
    assert crisp("report", made, "--settings", settings).code == 0
    index = made / "site" / "index.html"
    text = index.read_text(encoding="utf-8")
    assert "· Ours</title>" in text
    assert "http://j/trace/{trace_id}" in text
    assert data_of(index)["endpoints"]["owner"] == ["team-shop", "team-shop"]
    assert crisp("report", made, "--settings", settings, "--title", "Other").code == 0
    assert "· Other</title>" in index.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [('"a" = 1\n', ["'a'", "does not"]), ("a b c", ["owners.toml"]), (None, ["No such file"])],
)
def test_a_wrong_file_of_owners_is_one_line(
    crisp: Crisp, made: Path, tmp_path: Path, text: str | None, words: list[str]
) -> None:
    file = tmp_path / "owners.toml"
    if text is not None:
        file.write_text(text)
    found = crisp("report", made, "--owners", file)
    assert found.code == 2
    assert found.err.count("\n") == 1
    assert all(word in found.err for word in ["owners.toml", *words])
    assert not (made / "site").exists()


def test_one_endpoint_in_one_file_needs_no_other(crisp: Crisp, made: Path, tmp_path: Path) -> None:
    file = tmp_path / "mail" / "cart.html"
    found = crisp("report", made, "--operation", "GET /cart", "--single-file", file)
    assert (found.code, found.out) == (0, f"open {file}\n")
    assert [path.name for path in file.parent.iterdir()] == ["cart.html"]
    assert not (made / "site").exists()
    text = file.read_text(encoding="utf-8")
    assert "app.js" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text.split("<script>")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert "unsafe" not in policy[1]
    assert "sha256-" in policy[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--single-file", "{file}"), ["choose one", "shop::GET /, shop::GET /cart"]),
        (("--single-file", "{file}", "--service", "x"), ["no endpoint", "shop::GET /"]),
        (("--service", "shop"), ["--single-file"]),
        (("--single-file", "{file}", "--date", "2020-01-01"), ["2020-01-01"]),
    ],
)
def test_wrong_choice_of_an_endpoint_is_one_line(
    crisp: Crisp, made: Path, tmp_path: Path, options: tuple[str, ...], words: list[str]
) -> None:
    file = tmp_path / "one.html"
    found = crisp("report", made, *(each.format(file=file) for each in options))
    assert found.code in {1, 2}
    assert found.err.count("\n") == 1
    assert all(word in found.err for word in words)
    assert not file.exists()
    assert not (made / "site").exists()


def test_the_change_is_against_the_window_before(crisp: Crisp, tmp_path: Path) -> None:
    """Windows of a day each; the second is a quarter slower."""
    out = tmp_path / "out"
    for name, made in (("a", day_of(DAY, 1_000)), ("b", day_of(SECOND_DAY, 1_250))):
        (tmp_path / name).write_bytes(lines(made))
        assert crisp("run", tmp_path / name, "-o", out).code == 0
    changes = data_of(out / "site" / "index.html")["endpoints"]["change_ratio"]
    assert changes == [pytest.approx(0.25)]
    assert crisp("report", out, "--date", "2023-11-15").code == 0
    assert "change_ratio" not in data_of(out / "site" / "index.html")["endpoints"]


def test_an_earlier_window_that_is_damaged_is_left_out(crisp: Crisp, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name, made in (("a", day_of(DAY, 1_000)), ("b", day_of(SECOND_DAY, 1_250))):
        (tmp_path / name).write_bytes(lines(made))
        assert crisp("run", tmp_path / name, "-o", out).code == 0
    (earlier,) = (out / "marts").glob("date=2023-11-15/*/fleet/*.parquet")
    earlier.write_bytes(b"junk")
    assert crisp("report", out).code == 0
    assert "change_ratio" not in data_of(out / "site" / "index.html")["endpoints"]


def test_one_file_is_no_folder(crisp: Crisp, made: Path, tmp_path: Path) -> None:
    options = ("--operation", "GET /cart", "--single-file")
    found = crisp("report", made, *options, tmp_path)
    assert found.code == 2
    assert "is a folder" in found.err
    long = tmp_path / ("x" * 240 + ".html")
    assert crisp("report", made, *options, long).code == 0
    assert long.is_file()


def test_one_file_may_lie_at_a_url(crisp: Crisp, made: Path) -> None:
    options = ("--operation", "GET /cart", "--single-file")
    assert crisp("report", made, *options, "memory://mail/cart.html").code == 0
    assert fsspec.filesystem("memory").cat_file("/mail/cart.html").startswith(b"<!doctype html>")


def test_marts_without_a_table_say_what_to_do(crisp: Crisp, made: Path) -> None:
    (kept,) = (made / "marts").glob("date=*/*/kept")
    shutil.rmtree(kept)
    found = crisp("report", made)
    assert found.code == 1
    assert "kept" in found.err
    assert "crisp aggregate" in found.err
    assert found.err.count("\n") == 1
