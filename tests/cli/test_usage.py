"""Help, exit codes, and errors of one line that say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from crisp import __version__
from crisp.cli import app
from tests.cli.conftest import Crisp
from tests.documents import lines, trace

GROUP = typer.main.get_command(app)
SCRIPT = Path(sys.executable).with_name("crisp")
COMMANDS = sorted(GROUP.commands)  # type: ignore[attr-defined]  # a group has commands


def test_the_commands_are_those_that_are_promised() -> None:
    assert {
        "run",
        "fetch",
        "analyse",
        "aggregate",
        "report",
        "serve",
        "path",
        "synth",
        "demo",
    } <= set(COMMANDS)


def test_help_lists_every_command(crisp: Crisp) -> None:
    result = crisp("--help")
    assert result.code == 0
    for name in COMMANDS:
        assert f"  {name} " in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_mentions_every_option(crisp: Crisp, command: str) -> None:
    result = crisp(command, "--help")
    assert result.code == 0
    parameters = GROUP.commands[command].params  # type: ignore[attr-defined]
    for parameter in parameters:
        for name in [*parameter.opts, *parameter.secondary_opts]:
            assert name in result.out or parameter.param_type_name == "argument", name
    described = " ".join((GROUP.commands[command].help or "").split())  # type: ignore[attr-defined]
    assert described in " ".join(result.out.split())


def test_version_is_printed(crisp: Crisp) -> None:
    result = crisp("--version")
    assert (result.code, result.out) == (0, f"crisp {__version__}\n")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = "import sys; import crisp.cli; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("torch", "pyspark", "pandas", "duckdb", "pyarrow", "numpy", "jinja2"):
        assert f"'{heavy}'" not in done.stdout, heavy


WRONG = {
    "unknown command": ["walk"],
    "unknown option": ["run", "x", "-o", "out", "--fast"],
    "no sources": ["run", "-o", "out"],
    "no target": ["run", "x"],
    "unknown policy": ["run", "SOURCE", "-o", "out", "--policy", "best"],
    "unknown skew": ["run", "SOURCE", "-o", "out", "--skew", "fleet"],
    "unknown roots": ["run", "SOURCE", "-o", "out", "--roots", "all"],
    "unknown async": ["run", "SOURCE", "-o", "out", "--async", "never"],
    "endpoint without a name": ["run", "SOURCE", "-o", "out", "--roots", "endpoint"],
    "no day": ["run", "SOURCE", "-o", "out", "--date", "yesterday"],
    "no such day": ["run", "SOURCE", "-o", "out", "--date", "2026-02-30"],
    "no length of time": ["run", "SOURCE", "-o", "out", "--since", "fortnight"],
    "no time": ["run", "SOURCE", "-o", "out", "--start", "noon"],
    "two windows": ["run", "SOURCE", "-o", "out", "--date", "2026-01-01", "--since", "1d"],
    "end before start": [
        "run", "SOURCE", "-o", "out", "--start", "2026-01-02", "--end", "2026-01-01",
    ],
    "template without arrow": ["run", "SOURCE", "-o", "out", "--template", "/user/1"],
    "template that is no pattern": ["run", "SOURCE", "-o", "out", "--template", "(=>x"],
    "template with a missing group": ["run", "SOURCE", "-o", "out", "--template", "a=>\\2"],
    "no workers": ["run", "SOURCE", "-o", "out", "--workers", "0"],
    "workers that are no number": ["run", "SOURCE", "-o", "out", "--workers", "many"],
    "no memory": ["run", "SOURCE", "-o", "out", "--memory-limit", "lots"],
    "missing settings": ["run", "SOURCE", "-o", "out", "--settings", "missing.toml"],
    "path with a bad policy": ["path", "SOURCE", "--policy", "best"],
    "report of no day": ["report", "out", "--date", "today"],
    "synth of nothing": ["synth", "out", "--traces", "0"],
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_exits_2_and_says_what_is_wrong(
    crisp: Crisp, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = crisp(*[str(source) if word == "SOURCE" else word for word in WRONG[what]])
    assert result.code == 2
    assert result.out == ""
    assert result.err.strip()
    assert "Traceback" not in result.err
    assert not (tmp_path / "out" / "lake").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[path]\nspeed = 1\n[paths]\n", ["path.speed", "paths"]),
        ("path = 3\n", ["path"]),
        ("[path]\noverlap_ratio = 7\n", ["overlap_ratio", "7"]),
        ("[path]\noverlap_ratio = 'much'\n", ["settings.toml"]),
        ("[aggregate]\nedges = [0, 90]\n", ["0", "90"]),
        ("[aggregate]\nedges = 5\n", ["settings.toml"]),
        ("[aggregate]\nexemplars = 0\n", ["exemplars"]),
        ("[ingest]\nmax_spans = 0\n", ["max_spans"]),
        ("[ingest]\nmax_spans = 'all'\n", ["settings.toml"]),
        ("[ingest]\ntemplates = [{pattern = 'a'}]\n", ["settings.toml"]),
        ("[ingest]\ntemplates = ['a']\n", ["settings.toml"]),
        ("[ingest]\nservice = 3\n", ["service"]),
        ("[path]\npolicy = []\n", ["policy"]),
        ("[path]\nskew = 1\n", ["skew"]),
        ("[path]\nall_paths = 'yes'\n", ["all_paths"]),
        ("[path\n", ["settings.toml"]),
        ("\xff", ["settings.toml"]),
    ],
)
def test_bad_settings_exit_2_and_are_named(
    crisp: Crisp, source: Path, tmp_path: Path, text: str, told: list[str]
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_bytes(text.encode("latin-1"))
    result = crisp("run", source, "-o", tmp_path / "out", "--settings", settings)
    assert result.code == 2
    assert result.err.startswith("crisp: ")
    assert result.err.count("\n") == 1
    for word in told:
        assert word in result.err


def failing(tmp_path: Path) -> dict[str, tuple[list[object], list[str]]]:
    """Commands that cannot do what they are asked, and what they have to say."""
    good = tmp_path / "good.json"
    good.write_bytes(lines([trace()]))
    empty = tmp_path / "empty.json"
    empty.touch()
    (tmp_path / "nothing").mkdir()
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"not json")
    out = tmp_path / "out"
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder is needed")
    return {
        "missing": (["run", tmp_path / "no.json", "-o", out], ["no.json"]),
        "missing beside good": (["run", good, tmp_path / "no.json", "-o", out], ["no.json"]),
        "no match": (["run", f"{tmp_path}/*.zst", "-o", out], ["*.zst"]),
        "empty folder": (["analyse", tmp_path / "nothing", "-o", out], ["nothing"]),
        "empty file": (["run", empty, "-o", out], ["empty.json", "no traces"]),
        "no trace": (["run", broken, "-o", out], ["broken.json", "not-json"]),
        "outside the window": (
            ["run", good, "-o", out, "--date", "2020-01-01"],
            ["good.json", "selection"],
        ),
        "unknown address": (["run", "nosuch://x", "-o", out], ["nosuch://x"]),
        "target is a file": (["run", good, "-o", blocked], ["blocked"]),
        "no lake": (["aggregate", out], ["lake", "crisp analyse"]),
        "no marts": (["report", out], ["marts", "crisp aggregate"]),
        "path of nothing": (["path", tmp_path / "no.json"], ["no.json"]),
        "path of a folder": (["path", tmp_path / "nothing"], ["nothing"]),
        "path of no trace": (["path", broken], ["broken.json"]),
        "path of another trace": (["path", good, "--trace-id", "x9"], ["good.json", "x9"]),
        "path of another service": (["path", good, "--service", "x9"], ["good.json", "selection"]),
    }


FAILING = [
    "missing", "missing beside good", "no match", "empty folder", "empty file", "no trace",
    "outside the window", "unknown address", "target is a file", "no lake", "no marts",
    "path of nothing", "path of a folder", "path of no trace", "path of another trace",
    "path of another service",
]  # fmt: skip


@pytest.mark.parametrize("what", FAILING)
def test_a_failure_exits_1_with_one_line_that_names_the_file(
    crisp: Crisp, tmp_path: Path, what: str
) -> None:
    command, told = failing(tmp_path)[what]
    result = crisp(*command)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("crisp: ")
    assert result.err.count("\n") == 1
    for word in told:
        assert word in result.err


def test_a_failed_run_leaves_what_was_there(crisp: Crisp, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert crisp("run", source, "-o", out, "-q").code == 0
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    (tmp_path / "broken.json").write_bytes(b"{")
    assert crisp("run", tmp_path / "broken.json", "-o", out).code == 1
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_reader_that_goes_away_is_no_error_of_ours(source: Path) -> None:
    command: list[str | Path] = [SCRIPT, "path", source, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_no_progress_bar_where_stderr_is_no_terminal(source: Path, tmp_path: Path) -> None:
    command: list[str | Path] = [SCRIPT, "run", source, "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout


def test_a_progress_bar_where_stderr_is_a_terminal(source: Path, tmp_path: Path) -> None:
    import pty

    command: list[str | Path] = [SCRIPT, "run", source, "-o", tmp_path / "out"]
    extras: tuple[tuple[list[str], bool], ...] = (([], True), (["-q"], False), (["--json"], False))
    for extra, shown in extras:
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*command, *extra],
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"TERM": "xterm"},
        ) as process:
            os.close(theirs)
            text = b""
            try:
                while piece := os.read(ours, 4096):
                    text += piece
            except OSError:  # how a terminal says that nobody writes to it any more
                pass
            os.close(ours)
        assert process.returncode == 0
        assert (b"analysing" in text) is shown
