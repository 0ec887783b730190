"""The command line: each command reads its arguments, calls one function, says what it did."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from crisp import __version__
from crisp.cli import show
from crisp.cli.alert import alert
from crisp.cli.anomaly import score, train
from crisp.cli.diff import diff
from crisp.cli.examples import demo, synth
from crisp.cli.fetch import fetch
from crisp.cli.serve import serve
from crisp.cli.single import path
from crisp.cli.stages import aggregate, analyse, report, run
from crisp.errors import ConfigError, CrispError
from crisp.locations import foreign_errors

app = typer.Typer(
    name="crisp",
    help="Find out why requests were slow: critical paths of microservice traces, merged.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 fine, 1 failed, 2 wrong use; 3 alerts fire, when asked for.",
)


def main() -> None:
    """Run the command line; what a person can put right becomes one line on stderr."""
    try:
        app()
    except ConfigError as error:
        _fail(error, 2)
    except CrispError as error:
        _fail(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a target that is a file or may not be written
        where = f"{error.filename}: " if error.filename else ""
        _fail(CrispError(f"{where}{error.strerror or error}"), 1)
    except foreign_errors() as error:  # an object store that is not there or lets nobody in
        _fail(CrispError(str(error)), 1)


def _fail(error: CrispError, code: int) -> None:
    text = " ".join(str(error).split())
    typer.echo(f"crisp: {show.plain(text)}", err=True)
    sys.exit(code)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"crisp {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


for command in (
    *(run, fetch, analyse, aggregate, report, diff),
    *(train, score, alert),
    *(serve, path, synth, demo),
):
    app.command()(command)
