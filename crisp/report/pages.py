"""Templates to text: what all pages share, the data in them, and the rules for what may load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crisp.errors import ConfigError, CrispError
from crisp.report import charts, units
from crisp.report.model import Entry, Run

_HERE = Path(__file__).parent
_BUNDLE = ("app.css", "app.js")

CSP = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
"""Only the two files beside the page may load; nothing inline runs and nothing is fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Everything that is the same on all pages."""

    title: str
    generated_us: int
    jaeger_url: str | None
    run: Run
    entries: tuple[Entry, ...]

    def render(self, template: str, data: str | None, *, beside: str, **shown: Any) -> str:
        """The page as text; ``data`` is JSON from `json_text`, ``beside`` a file that holds it."""
        # json_text leaves no "<", so the JSON cannot end its script element.
        inlined = Markup(data) if data is not None else None  # noqa: S704
        page = _environment().get_template(f"{template}.html.jinja")
        return page.render(site=self, csp=CSP, data=inlined, beside=beside, **shown)


def forward(to: str) -> str:
    """A page that sends its reader on to another one at once."""
    return _environment().get_template("forward.html.jinja").render(csp=CSP, to=to)


def json_text(data: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: ``<`` is written as an escape."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def bundle() -> dict[str, bytes]:
    """The built front end by file name.

    Raises:
        CrispError: it was never built.
    """
    missing = [name for name in _BUNDLE if not (_HERE / "static" / name).is_file()]
    if missing:
        raise CrispError(
            f"the report's {' and '.join(missing)} are not built: run `make setup` (needs Node 20)"
        )
    return {name: (_HERE / "static" / name).read_bytes() for name in _BUNDLE}


def check_jaeger_url(template: str | None) -> None:
    """Refuse a link template that is not http(s) or names no trace.

    Raises:
        ConfigError: saying what is wrong with it.
    """
    if template is None:
        return
    try:
        parts = urlsplit(template)
    except ValueError as error:
        raise ConfigError(f"jaeger_url {template!r} is not a URL: {error}") from error
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"jaeger_url must start with http:// or https://, not {template!r}")
    if "{trace_id}" not in template:
        raise ConfigError(f"jaeger_url {template!r} has no {{trace_id}} to put the trace id in")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        micros=units.micros,
        count=units.count,
        share=units.share,
        size=units.size,
        moment=units.moment,
    )
    environment.globals.update(chart_width=charts.WIDTH, chart_height=charts.HEIGHT)
    return environment
