"""What `crisp diff` prints: a table on stderr, a record for scripts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crisp.cli.show import duration, plain

if TYPE_CHECKING:
    from crisp.report.diff_site import DiffSite
    from crisp.report.model_diff import Changed

_ROWS, _NAMED, _LONG = 20, 5, 2_000


def table(found: DiffSite) -> None:
    """The largest changes, sure ones first, on stderr."""
    # A log is searched, not looked at: lines there are as long as what they say.
    console = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else _LONG)
    if found.changed:
        console.print(_table(found.changed[:_ROWS]))
    if len(found.changed) > _ROWS:
        console.print(f"and {counted(len(found.changed) - _ROWS)} more")
    for word, names in (("new", found.new), ("gone", found.gone)):
        if names:
            console.print(Text(f"{word}: {_listed(names)}"))


def _table(rows: Sequence[Changed]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("endpoint", overflow="fold")
    for heading in ("traces", "mean", "change", "95 % interval"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("call that changed most surely", overflow="fold")
    for row in rows:
        shown.add_row(
            Text(plain(_name(row))),
            f"{row.before.traces:,} → {row.after.traces:,}",
            f"{duration(round(row.before.mean_us))} → {duration(round(row.after.mean_us))}",
            _change(row),
            _interval(row),
            Text(_call(row)),
        )
    return shown


def _change(row: Changed) -> str:
    if row.ratio is None:
        return _signed(row.change_us)
    sign = "\u2212" if row.ratio < 0 else "+"
    return f"{_signed(row.change_us)} ({sign}{abs(row.ratio):.1%})"


def _interval(row: Changed) -> str:
    if row.low_us is None or row.high_us is None:
        return "too few traces"
    text = f"{_signed(row.low_us)} to {_signed(row.high_us)}"
    if row.missing:
        return f"{text}, thin"
    return text if row.is_sure else f"{text}, could be noise"


def _call(row: Changed) -> str:
    if not row.path:
        return ""
    doubt = "" if row.path_is_sure else ", could be noise"
    return plain(f"{row.path[-1]} {_signed(row.path_us)}{doubt}")


def _signed(us: float) -> str:
    return ("\u2212" if us < 0 else "+") + duration(round(abs(us)))


def counted(endpoints: int) -> str:
    """So many endpoints, in words."""
    return f"{endpoints:,} {'endpoint' if endpoints == 1 else 'endpoints'}"


def record(found: DiffSite, failed: Sequence[Changed], seconds: float) -> dict[str, Any]:
    """One object: all endpoints with their changes, times in microseconds."""
    return {
        "pages": found.index,
        "endpoints": [
            {
                "service": row.after.service,
                "operation": row.after.operation,
                "before": _side(row.before),
                "after": _side(row.after),
                "change_us": round(row.change_us, 1),
                "change_ratio": None if row.ratio is None else round(row.ratio, 6),
                "low_us": _rounded(row.low_us),
                "high_us": _rounded(row.high_us),
                "sure": row.is_sure,
                "path": list(row.path),
                "path_change_us": round(row.path_us, 1),
                "path_sure": row.path_is_sure,
            }
            for row in found.changed
        ],
        "new": list(found.new),
        "gone": list(found.gone),
        "failed": [_name(row) for row in failed],
        "seconds": seconds,
    }


def refused(failed: Sequence[Changed], limit: str | None) -> None:
    """Why the exit code is 1."""
    names = _listed([_name(row) for row in failed])
    typer.echo(f"crisp: slower by {limit} or more: {names}", err=True)


def _side(endpoint: Any) -> dict[str, Any]:
    return {
        "traces": endpoint.traces,
        "mean_us": round(endpoint.mean_us, 1),
        **{name: round(getattr(endpoint, name), 1) for name in ("p50_us", "p95_us", "p99_us")},
    }


def _rounded(us: float | None) -> float | None:
    return None if us is None else round(us, 1)


def _name(row: Changed) -> str:
    return f"{row.after.service}::{row.after.operation}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return plain(", ".join(names[:_NAMED]) + more)
