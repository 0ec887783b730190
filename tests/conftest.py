"""Switches and fixtures of all tests: nothing skips in CI, golden files, shared traces."""

from __future__ import annotations

import difflib
import os
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
# Their fixtures serve several modules, the first those of other folders too.
pytest_plugins = ["tests.engine.cluster", "tests.report.real_sites"]
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}

hypothesis.settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile("ci")  # pytest --hypothesis-profile=explore looks further


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--bless", action="store_true", help="write the golden files again")


def pytest_configure(config: pytest.Config) -> None:
    if IN_CI and config.getoption("--bless"):
        raise pytest.UsageError("--bless writes what it should check: not in CI")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests share one worker, hence one browser at a time."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if IN_CI and report.skipped:
        where = report.longrepr
        reason = where[2] if isinstance(where, tuple) else str(where)
        report.outcome = "failed"
        report.longrepr = f"nothing may skip in CI, but this did: {reason}"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of recorded traces outside the repository, from CRISP_SHARED_DATA."""
    folder = Path(os.environ.get("CRISP_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no recorded traces in {folder}: name their folder in CRISP_SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser that ``make setup-browser`` found or installed."""
    found = subprocess.run(
        [ROOT / "scripts" / "find-chromium"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip("no Chromium: run `make setup-browser`")
    return Path(found.stdout.strip())


@dataclass(frozen=True, slots=True)
class Golden:
    """Files that hold what people read, in tests/golden, one folder for each test module."""

    folder: Path
    bless: bool

    def check(self, name: str, text: str) -> None:
        """Fail unless file ``name`` holds exactly ``text``; with ``--bless`` write it instead."""
        path = self.folder / name
        if self.bless:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
            return
        shown = path.relative_to(ROOT)
        if not path.is_file():
            pytest.fail(f"{shown} is missing: pytest --bless writes it", pytrace=False)
        with path.open(encoding="utf-8", newline="") as file:
            expected = file.read()
        if expected != text:
            lines = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), str(shown), "now", lineterm=""
            )
            difference = "\n".join(list(lines)[:80]) or "only the line ends differ"
            pytest.fail(f"{difference}\npytest --bless rewrites {shown}", pytrace=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden files of the test's module: ``tests/golden/<module without test_>/``."""
    module = request.path.stem.removeprefix("test_")
    return Golden(GOLDEN / module, request.config.getoption("--bless"))
