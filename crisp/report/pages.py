"""Templates to text: what all pages share, the data in them, and the rules for what may load."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pyarrow as pa
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from crisp import units
from crisp.errors import ConfigError, CrispError
from crisp.report import charts, model_latency, model_strip
from crisp.report.columns import dicts, rows_of
from crisp.report.model import Entry, Run, entries_of, run_of

_HERE = Path(__file__).parent
_BUNDLE = ("app.css", "app.js")


def _csp(script: str, style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {script}",
            f"style-src {style}",
            "img-src 'self' data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


CSP = _csp("'self'", "'self'")
"""Only the two files beside the page may load; nothing inline runs and nothing is fetched."""


@dataclass(frozen=True, slots=True)
class Inlined:
    """The front end as text for a page that stands alone: no other script or style may run."""

    script: Markup
    style: Markup
    csp: str


def inlined(files: Mapping[str, bytes]) -> Inlined:
    """The files of `bundle` as they may stand inside a page."""
    script, style = files["app.js"].decode(), files["app.css"].decode()
    for text, end in ((script, "</script"), (style, "</style")):
        if end in text.lower():  # esbuild writes such text as <\/script
            raise ValueError(f"the front end holds {end!r}, which would end its element")
    csp = _csp(_hash(script), _hash(style))
    return Inlined(Markup(script), Markup(style), csp)  # noqa: S704  # made by our own build


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


NAV = (("index", "Fleet"), ("bottom-up", "Bottom-up"), ("ledger", "Ledger"))
"""The pages that every site has: name and label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Everything that is the same on all pages."""

    title: str
    generated_us: int
    jaeger_url: str | None
    run: Run
    entries: tuple[Entry, ...]
    nav: tuple[tuple[str, str], ...] = NAV
    """pages that all others link to: name and label"""
    alone: Inlined | None = None
    """set for one page that has no other beside it"""

    def render(self, template: str, data: Mapping[str, str], *, beside: str, **shown: Any) -> str:
        """The page as text; ``data`` is JSON from `json_text` by element id, ``beside`` a file
        that holds the same."""
        # json_text leaves no "<", so the JSON cannot end its script element.
        texts = {name: Markup(text) for name, text in data.items()}  # noqa: S704
        page = _environment().get_template(f"{template}.html.jinja")
        csp = self.alone.csp if self.alone else CSP
        return page.render(site=self, csp=csp, data=texts, beside=beside, **shown)


def pages_of(
    runs: pa.Table,
    ledgers: pa.Table,
    *,
    title: str,
    generated_us: int,
    jaeger_url: str | None,
    **more: Any,
) -> Pages:
    """What all pages say about these runs; ``more`` are further fields of `Pages`.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
    """
    check_jaeger_url(jaeger_url)
    return Pages(
        title=title,
        generated_us=generated_us,
        jaeger_url=jaeger_url,
        run=run_of(runs),
        entries=entries_of(dicts(rows_of(ledgers))),
        **more,
    )


def forward(to: str) -> str:
    """A page that sends its reader on to another one at once."""
    return _environment().get_template("forward.html.jinja").render(csp=CSP, to=to)


def json_text(data: Mapping[str, Any] | str) -> str:
    """JSON that may stand inside a script element: ``<`` is written as an escape."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")


def joined_json(texts: Mapping[str, str]) -> str:
    """One object of JSON: the fields of ``data``, and every other text as a field of its name."""
    parts = [f"{json_text(name)}:{text}" for name, text in texts.items() if name != "data"]
    body = [text for text in (texts.get("data", "{}")[1:-1], *parts) if text]
    return "{" + ",".join(body) + "}"


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
        auto_reload=False,  # else every part of every page asks the disk
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
    environment.globals.update(latency_width=model_latency.WIDTH)
    environment.globals.update(
        strip_width=model_strip.WIDTH,
        strip_height=model_strip.HEIGHT,
        night_width=model_strip.WIDTH_OF_NIGHT,
    )
    return environment
