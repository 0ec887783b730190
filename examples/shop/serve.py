"""One service as a process: ``python -m examples.shop.serve catalogue --port 8000``."""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

from examples.shop import plan, telemetry
from examples.shop.faults import Faults
from examples.shop.orders_queue import Queue
from examples.shop.pace import Pace
from examples.shop.peers import Peers
from examples.shop.service import UNTRACED, Parts, application, span_details


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until a signal ends the process."""
    asked = _arguments(arguments)
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http"  # names of attributes, the newer ones
    urls = plan.addresses() | dict(peer.split("=", 1) for peer in asked.peer)
    faults = Faults(asked.service)
    traced = plan.SERVICES[asked.service].traced
    provider = (
        telemetry.start(asked.service, asked.otlp, lambda: faults.on("clock-offset"))
        if traced
        else None
    )
    tracer = trace.get_tracer("shop")
    parts = Parts(
        name=asked.service,
        tracer=tracer,
        faults=faults,
        pace=Pace(f"{asked.seed}:{asked.service}"),
        peers=Peers(urls),
        queue=Queue(urls["outside"], tracer),
        folder=asked.data,
    )
    service = importlib.import_module(f"examples.shop.{asked.service}").service(parts)
    app = application(service, parts)
    served = (
        OpenTelemetryMiddleware(
            app,
            excluded_urls=UNTRACED,
            default_span_details=span_details(service.routes),
            exclude_spans=["receive", "send"],
        )
        if traced
        else app
    )
    uvicorn.run(
        served,
        host=asked.host,
        port=asked.port,
        log_level="warning",
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,  # clients let go after 5 s: who ends first must not be chance
    )
    if provider is not None:
        provider.shutdown()


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.shop.serve", description=__doc__)
    parser.add_argument("service", choices=plan.SERVICES)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=plan.PORT)
    parser.add_argument("--otlp", default="http://127.0.0.1:4318", help="OTLP/HTTP receiver")
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()), help="folder of the database"
    )
    parser.add_argument("--seed", default="shop", help="where random numbers begin")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=URL",
        help=f"where a service is; default: http://NAME:{plan.PORT}",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
