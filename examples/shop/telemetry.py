"""Tracing of one service: who it is, where its spans go, and by which clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from examples.shop.faults import CLOCK_OFFSET_NS, MARK
from examples.shop.plan import SERVICES


class OffsetClock(SpanExporter):
    """Exports what a host would whose clock runs ahead: every time stamp is ``offset`` later."""

    def __init__(self, exporter: SpanExporter, offset_ns: Callable[[], int]) -> None:
        self._exporter, self._offset_ns = exporter, offset_ns

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export spans as that host would have stamped them."""
        offset = self._offset_ns()
        return self._exporter.export([_moved(s, offset) for s in spans] if offset else spans)

    def shutdown(self) -> None:
        """Shut the exporter behind down."""
        self._exporter.shutdown()


def _moved(span: ReadableSpan, offset_ns: int) -> ReadableSpan:
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={**(span.attributes or {}), MARK: "clock-offset"},
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=(span.start_time or 0) + offset_ns,
        end_time=(span.end_time or 0) + offset_ns,
        instrumentation_scope=span.instrumentation_scope,
    )


def start(service: str, otlp: str, clock_is_off: Callable[[], bool]) -> TracerProvider:
    """Trace this process as ``service``; spans go to the OTLP/HTTP receiver at ``otlp``.

    The resource is written out here: nothing in it tells on which machine the shop ran.
    """
    about = SERVICES[service]
    resource = Resource(
        {
            "service.name": service,
            "service.version": about.version,
            "service.namespace": "shop",
            "host.name": about.host,
            "cloud.availability_zone": about.zone,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
        }
    )
    provider = TracerProvider(resource=resource)
    exporter = OffsetClock(
        OTLPSpanExporter(endpoint=f"{otlp.rstrip('/')}/v1/traces", timeout=10),
        lambda: CLOCK_OFFSET_NS if clock_is_off() else 0,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=300))
    trace.set_tracer_provider(provider)
    return provider
