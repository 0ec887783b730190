"""The arguments and options that commands share, and what they mean together."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from crisp.cli.settings import load_owners, load_settings
from crisp.errors import ConfigError
from crisp.options import (
    MEMORY_LIMIT,
    AggregateOptions,
    AlertOptions,
    EngineOptions,
    IngestOptions,
    PathOptions,
    ReportOptions,
    RunOptions,
    Template,
    TrainOptions,
    path_options,
)

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="TRACES",
        help="Files, folders, patterns or URLs of Jaeger JSON; .gz and .zst of it too.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out", "-o", metavar="OUT", help="Folder or URL (s3://…) for everything that is made."
    ),
]
Made = Annotated[
    str, typer.Argument(metavar="OUT", help="Folder or URL that an earlier command wrote to.")
]
OneSource = Annotated[
    str, typer.Argument(metavar="TRACE", help="A file or URL of Jaeger JSON; .gz and .zst too.")
]
TraceId = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Only this trace of the file."),
]
Service = Annotated[
    str | None,
    typer.Option(help="Only entry endpoints of this service."),
]
Operation = Annotated[
    str | None,
    typer.Option(help="Only entry endpoints with this operation."),
]
Roots = Annotated[
    str | None,
    typer.Option(
        help="Where analysis starts: 'entry' (default) at every root; 'endpoint' at the topmost"
        " spans of --service/--operation anywhere; 'orphans' also at spans whose parent is"
        " missing.",
    ),
]
Date = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="Only this UTC day."),
]
WindowEnd = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="The 14 days that end with this UTC day."),
]
Night = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="This UTC day. Default: the newest there is."),
]
WindowShown = Annotated[
    str | None,
    typer.Option(metavar="YYYY-MM-DD", help="The window that ends with this UTC day."),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="24h|14d", help="Only the time up to now."),
]
Start = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Only from this time on (ISO 8601, UTC unless it says otherwise).",
    ),
]
End = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only before this time."),
]
Templates = Annotated[
    list[str] | None,
    typer.Option(
        "--template",
        metavar="REGEX=>TEXT",
        help="Rewrite operation names, as in '/user/\\d+=>/user/{id}'. Repeatable.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        help="Rules for the path: crisp (default), paper, crisp-oss or jaeger-ui.",
    ),
]
Skew = Annotated[
    str | None,
    typer.Option(help="Clock correction: none (default), or edge as in Jaeger."),
]
Async = Annotated[
    str | None,
    typer.Option(
        "--async",
        help="Whose work nobody waits for: reference (FOLLOWS_FROM), kind (PRODUCER to CONSUMER),"
        " both or none. Default: the policy's.",
    ),
]
AllPaths = Annotated[
    bool | None,
    typer.Option(
        "--all-paths",
        help="Also keep call paths that are never on the critical path.",
    ),
]
Settings = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Settings from a file (docs/settings.md); what is given here counts more.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Processes. Default: one for each core."),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help=f"Memory for merging; beyond it DuckDB uses the disk. Default: {MEMORY_LIMIT}.",
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine", help="Where work runs: duckdb (default; this machine), or spark (a cluster)."
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark's master, as spark://HOST:7077. Default: what spark-submit says, or else all"
        " cores of this machine.",
    ),
]
SparkConf = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A Spark setting. Repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
JaegerUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Link traces: an address with {trace_id}, perhaps {span_id}.",
    ),
]
Title = Annotated[str | None, typer.Option(help="Heading of the site. Default: crisp.")]
Owners = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help='Who owns which services: lines like "checkout*" = "shop"; the first that fits.',
    ),
]


def run_options(
    settings: Path | None,
    *,
    window: tuple[int | None, int | None] = (None, None),
    ingest: dict[str, Any] | None = None,
    templates: list[str] | None = None,
    path: dict[str, Any] | None = None,
    report: ReportOptions | None = None,
) -> RunOptions:
    """Settings from the file, overruled by what was given as an option.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    sections = load_settings(settings)
    return RunOptions(
        ingest=_ingest_options(sections["ingest"] | given(ingest), templates, window),
        path=_path_options(sections["path"] | given(path)),
        aggregate=_aggregate_options(sections["aggregate"]),
        report=report or ReportOptions(),
    )


def report_options(
    settings: Path | None,
    *,
    title: str | None,
    jaeger_url: str | None,
    owners: Path | None = None,
    with_owners: bool = True,
) -> ReportOptions:
    """What the pages say, from the file and the options.

    Raises:
        ConfigError: a setting is unknown, or the file of owners cannot be read.
    """
    found = load_settings(settings)["report"] | given({"title": title, "jaeger_url": jaeger_url})
    named = found.pop("owners", None)
    file = owners or (named and Path(named))
    return ReportOptions(**found, owners=load_owners(file) if file and with_owners else {})


def train_options(settings: Path | None, **options: Any) -> TrainOptions:
    """How models are made, from the file and the options.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    return TrainOptions(**load_settings(settings)["train"] | given(options))


def alert_options(settings: Path | None, **options: Any) -> AlertOptions:
    """Which changes are alerts, from the file and the options.

    Raises:
        ConfigError: a setting is unknown or out of range.
    """
    names = {each.name for each in fields(AlertOptions)}
    found = load_settings(settings)["alert"]
    return AlertOptions(**{k: v for k, v in found.items() if k in names} | given(options))


def engine_options(
    settings: Path | None,
    *,
    engine: str | None,
    master: str | None,
    conf: list[str] | None,
    workers: int | None,
    memory_limit: str | None,
) -> EngineOptions:
    """Where work runs, from the file and the options.

    Raises:
        ConfigError: a setting is unknown, or has no effect on the engine chosen.
    """
    section = load_settings(settings)["engine"]
    merged = section | given(
        {"name": engine, "master": master, "workers": workers, "memory_limit": memory_limit}
    )
    merged["conf"] = section.get("conf", {}) | dict(map(_spark_setting, conf or ()))
    return EngineOptions(**merged)


def _spark_setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"a Spark setting looks like KEY=VALUE, not {text!r}")
    return key, value


def given(options: dict[str, Any] | None) -> dict[str, Any]:
    """The options that were named; a setting of the file counts where none was."""
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
