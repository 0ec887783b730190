"""`make up` with a docker that is missing, broken, or fine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.jobs.composed import example
from tests.servers import ROOT

SUCCEEDS = 'case "$*" in "compose port"*) echo 127.0.0.1:1 ;; esac'


@pytest.mark.parametrize(
    ("docker", "expected"),
    [
        pytest.param(None, "missing: docker.", id="no docker"),
        pytest.param("exit 1", "missing: docker compose 2.24", id="no compose"),
        pytest.param('[ "$1" = compose ]', "docker does not answer", id="docker does not answer"),
    ],
)
def test_up_says_on_one_line_what_is_missing(
    docker: str | None, expected: str, tmp_path: Path
) -> None:
    done = up(tmp_path, docker)
    assert done.returncode == 1
    assert done.stderr.startswith(f"up: {expected}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / ".env").exists()


def test_up_writes_settings_once_with_a_secret_of_their_own(tmp_path: Path) -> None:
    done = up(tmp_path, SUCCEEDS)
    assert done.returncode == 0, done.stderr
    assert "site     http://127.0.0.1:1" in done.stdout
    written = tmp_path / ".env"
    first = written.read_text(encoding="utf-8")
    assert written.stat().st_mode & 0o777 == 0o600
    assert re.search(r"^S3_SECRET_KEY=[0-9a-f]{32}$", first, re.MULTILINE)
    assert re.search(r"^CRISP_FIRST_DAY=\d{4}-\d{2}-\d{2}( |$)", first, re.MULTILINE)
    names = re.compile(r"^[A-Z0-9_]+=", re.MULTILINE)
    assert names.findall(first) == [f"{name}=" for name in example()]
    assert up(tmp_path, SUCCEEDS).returncode == 0
    assert written.read_text(encoding="utf-8") == first


def up(folder: Path, docker: str | None) -> subprocess.CompletedProcess[str]:
    """Run deploy/up in a folder where ``docker`` is a script, or is not there."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (folder / "deploy").mkdir(exist_ok=True)
    shutil.copy(ROOT / "deploy" / "up", folder / "deploy")
    shutil.copy(ROOT / ".env.example", folder)
    for tool in ("bash", "cat", "date", "dirname", "env", "mv", "od", "sed", "tr"):
        if not (tools / tool).exists():
            (tools / tool).symlink_to(shutil.which(tool) or tool)
    if docker is not None:
        (tools / "docker").write_text(f"#!{tools}/bash\n{docker}\n", encoding="utf-8")
        (tools / "docker").chmod(0o755)
    return subprocess.run(
        [folder / "deploy" / "up"],
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
