"""What commands print: progress and remarks on stderr, results on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

_CONTROL = {code: f"\\x{code:02x}" for code in [*range(32), 127, *range(0x80, 0xA0)]}
_DIRECTION = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROL |= {code: f"\\u{code:04x}" for code in _DIRECTION}

_DEEPEST = 60
"""Levels of a tree that a terminal has room for."""


@contextmanager
def progress(
    what: str, *, quiet: bool, unit: str = "bytes"
) -> Iterator[Callable[[int, int], None]]:
    """A bar with rate and time left; nothing when stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TransferSpeedColumn() if unit == "bytes" else MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def summary(result: dict[str, Any], *, as_json: bool) -> None:
    """One JSON object, or a few lines a person reads; warnings go to stderr."""
    if as_json:
        typer.echo(json.dumps(result))
        return
    typer.echo(
        f"{result['read']:,} traces read = {result['analysed']:,} analysed"
        f" + {result['rejected']:,} rejected; {result['endpoints']:,} endpoints,"
        f" {result['spans']:,} spans, {result['seconds']:.1f} s"
    )
    if result["filtered"]:
        typer.echo(f"{result['filtered']:,} more traces lie outside the selection")
    for reason, count in result["reasons"].items():
        typer.echo(f"  rejected: {count:,} × {reason}")
    for warning in result["warnings"]:
        typer.echo(f"warning: {plain(warning)}", err=True)


def result(record: dict[str, Any], text: str, *, as_json: bool) -> None:
    """A result for scripts, or the same for people."""
    typer.echo(json.dumps(record) if as_json else text)


def remark(text: str) -> None:
    """A line on stderr, beside the result."""
    typer.echo(f"crisp: {plain(text)}", err=True)


def line(text: str) -> None:
    """One line of result."""
    typer.echo(text)


def tree_path(facts: dict[str, Any], nodes: list[Any]) -> None:
    """One critical path: its call paths as a tree, its segments in time, its ledger."""
    console = Console(highlight=False, soft_wrap=True)
    latency = facts["latency_us"]
    console.print(
        f"[bold]{_safe(facts['endpoint'])}[/]  {duration(latency)}  trace"
        f" {_safe(facts['trace_id'])}  root {_safe(facts['root_span_id'])}  policy"
        f" {facts['policy']}"
    )
    console.print(_tree(nodes, latency))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("start", "length"):
        table.add_column(heading, justify="right")
    table.add_column("held by", overflow="fold")
    table.add_column("span", overflow="fold")
    begin = facts["segments"][0]["start_us"] if facts["segments"] else 0
    for segment in facts["segments"]:
        name = f"{segment['service']}::{segment['operation']}"
        table.add_row(
            duration(segment["start_us"] - begin),
            duration(segment["end_us"] - segment["start_us"]),
            Text(plain(name)),
            Text(plain(segment["span_id"])),
        )
    console.print(table)
    for entry, what in facts["ledger"].items():
        console.print(f"{entry}: {what['spans']} spans, {duration(what['amount_us'])}")
    if not facts["ledger"]:
        console.print("nothing was clipped, dropped or pruned")


def _tree(nodes: list[Any], latency: int) -> Tree:
    """Call paths with inclusive and exclusive time; nodes come parents first."""
    branches: list[Tree] = []
    root = None
    deeper = 0
    for node in nodes:
        if node.depth >= _DEEPEST:
            deeper += 1
            continue
        share = f"{100 * node.inclusive_us / latency:.1f} %" if latency else "–"
        times = f" × {node.spans}" if node.spans > 1 else ""
        label = Text(f"{plain(node.name)}{times}  ")
        label.append(f"{duration(node.inclusive_us)} ({share})", style="bold")
        label.append(f", itself {duration(node.exclusive_us)}")
        del branches[node.depth :]
        branch = branches[-1].add(label) if branches else Tree(label)
        root = root or branch
        branches.append(branch)
    if root is not None and deeper:
        root.add(Text(f"{deeper:,} calls deeper than {_DEEPEST} levels are not drawn"))
    return root or Tree("empty")


def duration(us: int) -> str:
    """A length of time with a unit a person reads: 850 µs, 12.3 ms, 1.20 s."""
    if us < 1000:
        return f"{us} µs"
    if us < 1_000_000:
        return f"{us / 1000:.1f} ms" if us < 100_000 else f"{us / 1000:.0f} ms"
    return f"{us / 1_000_000:,.2f} s"


def plain(text: str) -> str:
    """Text without characters that move the cursor or hide what follows."""
    return text.translate(_CONTROL)


def _safe(text: str) -> str:
    return escape(plain(text))
