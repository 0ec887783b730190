"""The project as a package: versions, locks, imports, and what a wheel holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import crisp

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _pins(name: str) -> dict[str, set[str]]:
    """Versions by package in a requirements file."""
    pins: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([a-z0-9-]+)==([^\s;]+)", line):
            pins.setdefault(found[1], set()).add(found[2])
    return pins


def test_version_has_one_source() -> None:
    assert metadata.version("crisp-cpa") == crisp.__version__
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {crisp.__version__}" in changelog


def test_locked_requirements_hold_every_dependency() -> None:
    wanted = {re.match(r"[a-z0-9-]+", name)[0] for name in PROJECT["dependencies"]}  # type: ignore[index]  # all match
    tools = {re.match(r"[a-z0-9-]+", n)[0] for n in PROJECT["optional-dependencies"]["dev"]}  # type: ignore[index]
    assert wanted - set(_pins("runtime")) == set()
    assert wanted | tools <= set(_pins("dev"))
    assert {"editables", "hatchling"} <= set(_pins("build"))


def test_locked_requirements_agree_with_each_other() -> None:
    dev = _pins("dev")
    for name in ("runtime", "build"):
        for package, versions in _pins(name).items():
            assert versions == dev.get(package, versions), package


def _tracked_text() -> list[Path]:
    kept = ["*.md", "*.toml", "*.py", "Makefile", ".ci/run", ".gitignore"]
    folders = ["requirements/*", "scripts/*", "docs/**/*.md"]
    web = ["crisp/report/web/*", "crisp/report/web/.npmrc"]
    found = [path for pattern in kept + folders + web for path in ROOT.glob(pattern)]
    return sorted(path for path in found if path.is_file())


def test_no_file_names_a_package_index() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "registry." + "npmjs", "--index" + "-url")
    named = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in _tracked_text()
        for host in hosts
        if host in path.read_text(encoding="utf-8", errors="replace").replace("(extra-)?index", "")
    ]
    assert named == []


def test_help_imports_nothing_heavy() -> None:
    heavy = ["airflow", "networkx", "pandas", "pyspark", "sklearn", "torch"]
    script = f"""
import sys
from crisp.cli import app
try:
    app(["--help"], prog_name="crisp")
except SystemExit as stop:
    assert not stop.code, stop.code
sys.exit(" ".join(sorted(set({heavy}) & set(sys.modules))) or 0)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "analyse" in result.stdout


def _build(target: str, project: Path, out: Path, **environment: str) -> tuple[int, str]:
    result = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", out],
        cwd=project,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


def _small_copy(target: Path) -> Path:
    """The files that the build needs, with an empty package and no bundle."""
    (target / "crisp").mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "crisp/__init__.py"):
        (target / name).write_bytes((ROOT / name).read_bytes())
    return target


def test_wheel_holds_the_bundle_and_no_front_end_source(tmp_path: Path) -> None:
    status, output = _build("wheel", ROOT, tmp_path, PATH=str(tmp_path))  # where npm is not
    assert status == 0, output
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert any(re.fullmatch(r"crisp/report/static/.+\.js", name) for name in names)
    assert [name for name in names if "/web/" in name or "node_modules" in name] == []
    assert any(name.endswith(".sql") for name in names)
    assert any(re.fullmatch(r"crisp/recording/.+\.jsonl\.zst", name) for name in names)


def test_build_without_bundle_and_npm_says_what_to_do(tmp_path: Path) -> None:
    project = _small_copy(tmp_path / "project")
    status, output = _build("wheel", project, tmp_path / "dist", PATH=str(tmp_path))
    assert status != 0
    assert "apt-get install nodejs npm" in output


def test_editable_install_needs_no_bundle(tmp_path: Path) -> None:
    project = _small_copy(tmp_path / "project")
    status, output = _build("wheel:editable", project, tmp_path / "dist", PATH=str(tmp_path))
    assert status == 0, output


def _run_script(name: str, tools: dict[str, str], folder: Path) -> tuple[int, str]:
    """Exit status and stderr of a script on a machine that has nothing but ``tools``."""
    for tool, path in tools.items():
        (folder / tool).symlink_to(path)
    result = subprocess.run(
        [ROOT / "scripts" / name],
        env={"PATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stderr


def _coreutils(*names: str) -> dict[str, str]:
    return {name: shutil.which(name) or name for name in ("bash", *names)}


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        pytest.param({}, "Python 3.11 or newer", id="nothing installed"),
        pytest.param(
            {"python3": sys.executable}, "Node.js 20.19 or newer; npm", id="only Python installed"
        ),
    ],
)
def test_setup_says_on_one_line_what_is_missing(
    tools: dict[str, str], expected: str, tmp_path: Path
) -> None:
    status, message = _run_script("check-tools", _coreutils("cut", "sed") | tools, tmp_path)
    assert status == 1
    assert expected in message
    assert "sudo apt-get install" in message
    assert message.count("\n") == 1


def test_browser_setup_says_what_to_do_where_it_cannot_install(tmp_path: Path) -> None:
    status, message = _run_script("setup-browser", _coreutils("dirname", "grep"), tmp_path)
    assert status == 1
    assert "apt-get not found" in message
    assert "CRISP_CHROMIUM" in message
    assert message.count("\n") == 1
