"""Build hook: a wheel or sdist is never made without the front-end bundle, and a wheel holds the
traces that ``crisp demo`` shows.

An editable install needs no bundle to be importable and finds the traces where they are, so
there the hook does nothing; ``make setup`` builds the bundle.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WEB = "crisp/report/web"
STATIC = "crisp/report/static"
TRACES = "examples/traces"
RECORDING = "crisp/recording"
HELP = f"""the front-end bundle in {STATIC} is missing and npm was not found.
Install Node.js 20 or newer with npm, then build again
(Debian, Ubuntu: apt-get install nodejs npm)."""


class BundleHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's config is untyped
    """Adds the recording; runs ``npm ci`` and ``npm run build`` when the bundle is missing."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the bundle if need be.

        Raises:
            RuntimeError: it is missing and npm is not installed.
        """
        if version == "editable":
            return
        root = Path(self.root)
        if self.target_name == "wheel":
            build_data["force_include"][str(root / TRACES)] = RECORDING
        if any((root / STATIC).glob("*.js")):
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(HELP)
        self.app.display_info(f"building the front-end bundle in {WEB}")
        subprocess.run([npm, "ci"], cwd=root / WEB, check=True)
        subprocess.run([npm, "run", "build"], cwd=root / WEB, check=True)
