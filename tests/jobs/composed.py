"""docker-compose.yml as docker compose reads it, and its services as processes of this machine."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.servers import ROOT, Server, binary

ONCE = "folders"
"""The service that ends when its work is done."""

FILE = ROOT / "docker-compose.yml"
_PLACE = re.compile(r"\$\{([A-Z0-9_]+)(?::([-?])([^}]*))?\}")


def example() -> dict[str, str]:
    """The settings of .env.example."""
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    found = (re.fullmatch(r"([A-Z0-9_]+)=(.*?)( +#.*)?", line) for line in lines)
    return {each[1]: each[2] for each in found if each}


def loaded(folder: Path, settings: Mapping[str, str]) -> dict[str, Any]:
    """The services, volumes and so on, with settings put in, as compose's own library has them.

    Folder and files on this machine are relative to ``folder``.
    """

    def value(place: re.Match[str]) -> str:
        name, kind, text = place.groups()
        found = settings.get(name, "")
        assert found or kind == "-", f"{name} has no value"
        return found or text

    copy = folder / "docker-compose.yml"
    copy.write_text(_PLACE.sub(value, FILE.read_text(encoding="utf-8")), encoding="utf-8")
    done = subprocess.run(
        [binary("compose-spec"), "--format", "json", copy.name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    model: dict[str, Any] = json.loads(done.stdout)
    return model


def process(
    service: Mapping[str, Any], program: Path, changes: Mapping[str, str], health: str, log: Path
) -> Server:
    """A service as a process: its arguments and environment, with texts of it changed."""
    words = [changed(word, changes) for word in service["command"]]
    environment = service.get("environment") or {}
    about = {name: changed(text, changes) for name, text in environment.items()}
    return Server([program, *words], about, health, log)


def changed(text: str, changes: Mapping[str, str]) -> str:
    """The text with each key of ``changes`` replaced by its value."""
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def check_health(service: Mapping[str, Any], changes: Mapping[str, str]) -> None:
    """Run the health check of a service here; `wget` is what images of others have."""
    kind, first, *words = [changed(word, changes) for word in service["healthcheck"]["test"]]
    assert (kind, first) in {("CMD", "python"), ("CMD", "wget")}
    found = sys.executable if first == "python" else shutil.which(first)
    if found is None:  # the same question without the program that asks it
        with urllib.request.urlopen(words[-1], timeout=5) as answer:  # noqa: S310  # loopback
            assert answer.status == 200
        return
    subprocess.run([found, *words], check=True, timeout=30)
