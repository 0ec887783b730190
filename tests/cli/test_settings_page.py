"""The page on settings names what there is, and its example is one that crisp reads."""

from __future__ import annotations

import re
from pathlib import Path

from crisp.cli.arguments import run_options
from crisp.cli.settings import SECTIONS
from crisp.options import RunOptions

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_example_is_read_and_shows_the_defaults(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    (tmp_path / "crisp.toml").write_text(example[1], encoding="utf-8")
    options, default = run_options(tmp_path / "crisp.toml"), RunOptions()
    assert (options.path, options.aggregate) == (default.path, default.aggregate)
    assert options.ingest.max_spans == default.ingest.max_spans
    assert options.ingest.templates[0].pattern == r"/user/\d+"


def test_every_setting_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [
        name
        for keys in SECTIONS.values()
        for name in keys
        if not re.search(rf"^(# )?{name} = ", text, re.MULTILINE)
    ]
    assert missing == []
