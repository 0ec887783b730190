"""The arguments and options that commands share, and what they mean together."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from crisp.cli.settings import load_settings
from crisp.errors import ConfigError
from crisp.options import (
    MICROSECONDS_PER_DAY,
    AggregateOptions,
    IngestOptions,
    PathOptions,
    RunOptions,
    Template,
    path_options,
)

_SELECT, _RULES, _MACHINE = "What is read", "How paths are found", "Running"

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="TRACES",
        help="Files, folders, patterns or URLs of Jaeger JSON; .gz and .zst of it too.",
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="OUT", help="Folder for everything that is made."),
]
Made = Annotated[
    Path, typer.Argument(metavar="OUT", help="Folder that an earlier command wrote to.")
]
OneSource = Annotated[
    str, typer.Argument(metavar="TRACE", help="A file or URL of Jaeger JSON; .gz and .zst too.")
]
TraceId = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="ID", help="Only this trace of the file.", rich_help_panel=_SELECT),
]
Service = Annotated[
    Optional[str],  # noqa: UP045 (typer reads it so)
    typer.Option(help="Only entry endpoints of this service.", rich_help_panel=_SELECT),
]
Operation = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="Only entry endpoints with this operation.", rich_help_panel=_SELECT),
]
Roots = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Where analysis starts: 'entry' (default) at every root; 'endpoint' at the topmost"
        " spans of --service/--operation anywhere; 'orphans' also at spans whose parent is"
        " missing.",
        rich_help_panel=_SELECT,
    ),
]
Date = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="YYYY-MM-DD", help="Only this UTC day.", rich_help_panel=_SELECT),
]
Since = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="24h|14d", help="Only the time up to now.", rich_help_panel=_SELECT),
]
Start = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="TIME",
        help="Only from this time on (ISO 8601, UTC unless it says otherwise).",
        rich_help_panel=_SELECT,
    ),
]
End = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(metavar="TIME", help="Only before this time.", rich_help_panel=_SELECT),
]
Templates = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--template",
        metavar="REGEX=>TEXT",
        help="Rewrite operation names, as in '/user/\\d+=>/user/{id}'. Repeatable.",
        rich_help_panel=_SELECT,
    ),
]
Policy = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Rules for the path: crisp (default), paper, crisp-oss or jaeger-ui.",
        rich_help_panel=_RULES,
    ),
]
Skew = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        help="Clock correction: none (default), or edge as in Jaeger.", rich_help_panel=_RULES
    ),
]
Async = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--async",
        help="Whose work nobody waits for: reference (FOLLOWS_FROM), kind (PRODUCER to CONSUMER),"
        " both or none. Default: the policy's.",
        rich_help_panel=_RULES,
    ),
]
AllPaths = Annotated[
    Optional[bool],  # noqa: UP045
    typer.Option(
        "--all-paths",
        help="Also keep call paths that are never on the critical path.",
        rich_help_panel=_RULES,
    ),
]
Settings = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        metavar="FILE.toml",
        help="Settings from a file; what is given here as an option counts more.",
        rich_help_panel=_MACHINE,
    ),
]
Workers = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="Processes. Default: one for each core.", rich_help_panel=_MACHINE),
]
MemoryLimit = Annotated[
    str,
    typer.Option(
        help="Memory for merging; beyond it DuckDB uses the disk.", rich_help_panel=_MACHINE
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=_MACHINE)
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress bar.", rich_help_panel=_MACHINE)
]
JaegerUrl = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        metavar="URL",
        help="Link traces: an address with {trace_id}, perhaps {span_id}.",
        rich_help_panel="The site",
    ),
]
Title = Annotated[str, typer.Option(help="Heading of the site.", rich_help_panel="The site")]


def run_options(
    settings: Path | None,
    *,
    window: tuple[int | None, int | None] = (None, None),
    ingest: dict[str, Any] | None = None,
    templates: list[str] | None = None,
    path: dict[str, Any] | None = None,
) -> RunOptions:
    """Settings from the file, overruled by what was given as an option.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    sections = load_settings(settings)
    return RunOptions(
        ingest=_ingest_options(sections["ingest"] | _given(ingest), templates, window),
        path=_path_options(sections["path"] | _given(path)),
        aggregate=_aggregate_options(sections["aggregate"]),
    )


def _given(options: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (options or {}).items() if value is not None}


def _ingest_options(
    merged: dict[str, Any],
    templates: list[str] | None,
    window: tuple[int | None, int | None],
) -> IngestOptions:
    rules = [Template(**rule) for rule in merged.pop("templates", [])]
    rules += [_template(text) for text in templates or ()]
    if "attributes" in merged:
        merged["attributes"] = tuple(merged["attributes"])
    return IngestOptions(**merged, templates=tuple(rules), start_us=window[0], end_us=window[1])


def _template(text: str) -> Template:
    pattern, arrow, replacement = text.partition("=>")
    if not arrow:
        raise ConfigError(f"template {text!r} must look like REGEX=>TEXT")
    return Template(pattern, replacement)


def _path_options(merged: dict[str, Any]) -> PathOptions:
    changes = dict(merged)
    return path_options(changes.pop("policy", "crisp"), **changes)


def _aggregate_options(merged: dict[str, Any]) -> AggregateOptions:
    changes = dict(merged)
    if "edges" in changes:
        changes["edges"] = tuple(changes["edges"])
    return AggregateOptions(**changes)


def window_us(
    day: str | None, since: str | None, start: str | None, end: str | None, now: datetime
) -> tuple[int | None, int | None]:
    """Start (included) and end (excluded) of the time asked for, in microseconds since 1970.

    Raises:
        ConfigError: a time cannot be read, or more than one window is asked for.
    """
    if sum([day is not None, since is not None, start is not None or end is not None]) > 1:
        raise ConfigError("give one of --date, --since, or --start with --end")
    if day is not None:
        first = _micros(datetime.combine(parse_day(day), datetime.min.time(), UTC))
        return first, first + MICROSECONDS_PER_DAY
    if since is not None:
        return _micros(now - parse_span(since)), _micros(now)
    return _moment(start), _moment(end)


def window_days(
    day: str | None,
    since: str | None,
    start: str | None,
    end: str | None,
    now: datetime,
    length: int,
) -> tuple[str | None, str | None]:
    """First and last UTC day asked for; None means no limit. ``day`` ends ``length`` days."""
    first, last = window_us(day, since, start, end, now)
    if day is not None:
        return str(parse_day(day) - timedelta(days=length - 1)), day
    return _day(first), _day(None if last is None else last - 1)


def _day(time_us: int | None) -> str | None:
    if time_us is None:
        return None
    return str((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)).date())


def parse_day(text: str) -> date:
    """A day from YYYY-MM-DD."""
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError as error:
        raise ConfigError(f"a day looks like 2026-11-21, not {text!r}") from error


def yesterday(now: datetime) -> date:
    """The UTC day before ``now``."""
    return (now - timedelta(days=1)).date()


def parse_span(text: str) -> timedelta:
    """A length of time from 90m, 24h, 14d or 2w."""
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text)
    if not found:
        raise ConfigError(f"a length of time looks like 24h or 14d, not {text!r}")
    unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[found[2]]
    return timedelta(**{unit: int(found[1])})


def _moment(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"a time looks like 2026-11-21T06:00, not {text!r}") from error
    return _micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
