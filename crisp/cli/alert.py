"""From shifts of a night to alerts, and to those who want to hear of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from crisp.cli import arguments as a
from crisp.cli import show, windows
from crisp.cli.settings import load_settings
from crisp.errors import ConfigError, DeliveryError

if TYPE_CHECKING:
    import pyarrow as pa

    from crisp.anomaly.silences import Silence
    from crisp.anomaly.sinks import Sink
    from crisp.pipeline.deliver import Round

_FIRING = 3
"""Exit code that says that alerts fire."""
_STATES = ("critical", "warning", "info", "resolved", "silenced")
_MOST = 20
"""Alerts that are listed."""


def alert(
    out: a.Made,
    *,
    date: Annotated[
        str | None,
        typer.Option(
            metavar="YYYY-MM-DD", help="This UTC day. Default: the newest that was scored."
        ),
    ] = None,
    webhook: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Send to this Alertmanager. Repeatable."),
    ] = None,
    json_webhook: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Post one plain JSON object an event to this address. Repeatable."
        ),
    ] = None,
    lines: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Append JSON lines to this file; - for all of the night on stdout. Repeatable.",
        ),
    ] = None,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Bearer token of the webhooks.")
    ] = None,
    token_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="Environment variable that holds it.")
    ] = None,
    retry_s: Annotated[
        float, typer.Option(help="Seconds for which a receiver that is away is asked again.")
    ] = 60.0,
    silences: Annotated[
        str | None,
        typer.Option(metavar="FILE.toml", help="What nobody wants to hear of, see docs/alerts.md."),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Chance of a false alert in a night without changes, over all endpoints."
            " Default: 0.01."
        ),
    ] = None,
    site_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Link the pages of endpoints of this site.")
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help=f"End with {_FIRING} when alerts fire.")
    ] = False,
    settings: a.Settings = None,
    as_json: a.Json = False,
) -> None:
    """Raise, keep up and end alerts for endpoints that changed.

    Reads OUT/scores, writes OUT/alerts: one alert an endpoint, for as long as its change lasts.
    What a receiver has acknowledged is not sent again; what it has not is sent with the next
    run. Only the newest night is sent.
    """
    from crisp import schema
    from crisp.anomaly.silences import expired
    from crisp.options import EngineOptions
    from crisp.pipeline import engines
    from crisp.pipeline.alert import alert as stage
    from crisp.pipeline.alert import newest_scored
    from crisp.pipeline.anomalies import of_night
    from crisp.pipeline.deliver import Round, deliver_night
    from crisp.pipeline.places import places

    began = time.time()
    options = a.alert_options(settings, level=level, site_url=site_url)
    found = load_settings(settings)["alert"]
    silent = _silences(silences or found.get("silences"))
    sinks = _sinks(
        {"alertmanager": webhook, "json": json_webhook, "lines": lines},
        token_file=token_file or found.get("token_file"),
        token_env=token_env or found.get("token_env"),
        retry_s=retry_s,
    )
    to_stdout = any(sink.target == "-" for sink in sinks)
    if as_json and to_stdout:
        raise ConfigError("--json and --lines - both write to stdout")
    for sink in sinks:
        sink.token()  # one that cannot be read is wrong use: said before anything is written
    where = places(out)
    day = str(windows.parse_day(date)) if date is not None else newest_scored(where.scores)
    with engines.engine(out, EngineOptions()) as made:
        night = stage(where, day, made, options, silences=silent)
    for warning in (*night.warnings, *expired(silent, day)):
        show.remark(warning)
    seconds = round(time.time() - began, 3)
    if not (to_stdout or as_json):
        show.line(
            f"{where.alerts}: {day}: alerts firing: {night.firing:,}, silenced: {night.silenced:,},"
            f" over: {night.resolved:,}; {night.compared:,} endpoints compared, {seconds:.1f} s"
        )
        list_alerts(of_night(where.alerts, day, "alerts", schema.ALERTS))
    done = Round((), ())
    if sinks:
        done = deliver_night(
            out,
            day,
            sinks,
            site_url=options.site_url,
            trace_url=load_settings(settings)["report"].get("jaeger_url"),
            expires_hours=options.expires_hours,
            now=datetime.now(UTC),
            on_trouble=show.remark,
        )
    if as_json:
        told = [{"receiver": name, "new": at.sent, "known": at.known} for name, at in done.told]
        facts = {**asdict(night), "alerts": where.alerts, "seconds": seconds, "told": told}
        show.result(facts, "", as_json=True)
    else:
        _say_told(done, show.remark if to_stdout else show.line)
    if done.problems:
        raise DeliveryError("; ".join(done.problems))
    if exit_code and night.firing:
        raise typer.Exit(_FIRING)


def list_alerts(alerts: pa.Table) -> None:
    """A line an alert: those that fire first, the worst of them at the top."""
    rows = alerts.select(["status", "severity", "summary"]).to_pylist()
    lines = [
        (row["severity"] if row["status"] == "firing" else row["status"], row["summary"])
        for row in rows
    ]
    for state, summary in sorted(lines, key=lambda line: _STATES.index(line[0]))[:_MOST]:
        show.line(show.plain(f"  {state:<8}  {summary}"))
    if len(lines) > _MOST:
        show.line(f"  … and {len(lines) - _MOST:,} more")


def _say_told(done: Round, say: Callable[[str], None]) -> None:
    for name, at in done.told:
        if name != "-":  # who hears all of the night each time
            say(f"told {name}: {at.sent:,} new, {at.known:,} known before")


def _silences(file: str | None) -> tuple[Silence, ...]:
    from crisp.anomaly.silences import read_silences

    return read_silences(file) if file else ()


def _sinks(
    targets: Mapping[str, Sequence[str] | None],
    *,
    token_file: str | None,
    token_env: str | None,
    retry_s: float,
) -> list[Sink]:
    """Receivers by kind, in the order of kinds; tokens are for webhooks."""
    from crisp.anomaly.sinks import Sink

    return [
        Sink(
            target=target,
            kind=kind,  # type: ignore[arg-type]  # the names of kinds are written above
            retry_s=retry_s,
            token_file=None if kind == "lines" else token_file,
            token_env=None if kind == "lines" else token_env,
        )
        for kind, some in targets.items()
        for target in some or ()
    ]
