"""Run the shop: ``python -m examples.shop --help``."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from examples.shop import load, record
from examples.shop.faults import FAULTS
from examples.shop.processes import Jaeger, ShopError, jaeger, services, wait_for

_RECORDED = 700


def main(arguments: Sequence[str] | None = None) -> None:
    """Start everything, shop, end everything."""
    asked = _arguments(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    try:
        _run(asked)
    except ShopError as error:
        sys.exit(f"shop: {error}")


def _end(number: int, _: object) -> None:
    """Leave, by way of every ``with`` that ends a process."""
    sys.exit(128 + number)


def _run(asked: argparse.Namespace) -> None:
    if asked.record and asked.otlp and not asked.jaeger:
        raise ShopError("to record from the Jaeger at --otlp, name its query API by --jaeger")
    wanted = load.Load(
        requests=asked.requests, seconds=asked.seconds, rate=asked.rate, users=asked.users
    )
    if asked.at:
        wait_for(asked.at)
        _shop(asked.at, wanted)
        return
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="shop-")))
        at = Jaeger(asked.otlp, asked.jaeger) if asked.otlp else stack.enter_context(jaeger(folder))
        urls = stack.enter_context(services(at.otlp, folder, asked.seed))
        _say_where(urls, at)
        if asked.record and at.query:
            limited = replace(wanted, requests=asked.requests or _RECORDED, seconds=None)
            names = asked.fault or list(FAULTS)
            print(record.record(urls, at.query, asked.record, limited, names))
            return
        for name in asked.fault:
            record.switch(urls, name, on=True)
        _shop(urls["frontend"], wanted)


def _shop(url: str, wanted: load.Load) -> None:
    answers = asyncio.run(load.run(url, wanted))
    print("answers:", ", ".join(f"{n} × {kind}" for kind, n in sorted(answers.items())))


def _say_where(urls: dict[str, str], at: Jaeger) -> None:
    print(f"shop      {urls['frontend']}")
    print(f"spans to  {at.otlp}/v1/traces")
    if at.query:
        print(f"traces    {at.query}/api/traces?service=frontend")
    print("faults    switched on by curl -X PUT, off by curl -X DELETE:")
    for name, fault in FAULTS.items():
        print(f"  {record.switch_url(urls, name)}  {fault.does}")
    print("Ctrl-C ends all of it", flush=True)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.shop", description=_ABOUT)
    parser.add_argument("--seconds", type=float, help="end after so long; default: on Ctrl-C")
    parser.add_argument("--requests", type=int, help="end after so many requests")
    parser.add_argument("--rate", type=float, default=12.0, help="requests a second; default 12")
    parser.add_argument("--users", type=int, default=10, help="requests at a time; default 10")
    parser.add_argument("--seed", default="shop", help="where random numbers begin")
    parser.add_argument(
        "--fault", action="append", default=[], choices=FAULTS, help="repeatable; see docs/shop.md"
    )
    parser.add_argument(
        "--at", metavar="URL", help="start nothing: shop at a frontend that runs there already"
    )
    parser.add_argument("--otlp", metavar="URL", help="OTLP/HTTP receiver of a running Jaeger")
    parser.add_argument("--jaeger", metavar="URL", help="query API of that Jaeger")
    parser.add_argument(
        "--record",
        metavar="FOLDER",
        type=Path,
        help=f"write traces of a usual while (--requests, default {_RECORDED}) and of each fault"
        " (half as many) into FOLDER, then end",
    )
    return parser.parse_args(arguments)


_ABOUT = """A small shop of real services that send their spans to Jaeger, under load.
Starts a Jaeger too unless --otlp names one. Everything runs on this machine, on loopback."""


if __name__ == "__main__":
    main()
