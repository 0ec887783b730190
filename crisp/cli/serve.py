"""Show a site to a browser."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from crisp.cli import show


def serve(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What a run wrote, or the site in it.")
    ],
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")
    ] = 8000,
) -> None:
    """Serve a site until Ctrl-C.

    For a look from this machine. Any web server can serve the folder too, and browsers open
    its index.html without one.
    """
    from crisp.report.serving import address, find_site, server

    site = find_site(folder)
    with server(site, host, port) as listening, suppress(KeyboardInterrupt):
        show.line(f"{site} at {address(listening)}  Ctrl-C ends it")
        listening.serve_forever()
