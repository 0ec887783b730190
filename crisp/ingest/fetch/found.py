"""One trace as it came, and the little that a fetch must know of it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import msgspec
from msgspec import Struct

from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.windows import Window

KEY_BYTES = 16


class _Span(Struct, gc=False):
    traceID: str = ""
    operationName: str = ""
    startTime: int = 0
    duration: int = 0
    processID: str | None = None


class _Process(Struct, gc=False):
    serviceName: str = ""


class _Trace(Struct, gc=False):
    traceID: str | None = None
    spans: list[_Span] | None = None
    processes: dict[str, _Process | None] | None = None


_decoder = msgspec.json.Decoder(_Trace, strict=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A trace document in one line."""

    key: bytes
    """what tells traces apart, 16 bytes: the trace id, or a hash where there is none"""
    line: bytes
    matches: tuple[tuple[int, int], ...]
    """start and duration (µs) of the spans that were asked for, as far as they can be told"""

    @property
    def latency_us(self) -> int:
        """Duration of the longest span that was asked for; 0 when there is none."""
        return max((duration for _, duration in self.matches), default=0)

    def starts_in(self, window: Window) -> bool:
        """A span that was asked for starts then; what cannot be told is believed."""
        return not self.matches or any(
            window.start_us <= start < window.end_us for start, _ in self.matches
        )


def read_found(text: bytes, endpoint: Endpoint) -> Found:
    """A trace document that a search for ``endpoint`` gave; broken ones are kept as they are."""
    line = msgspec.json.format(text, indent=-1) if b"\n" in text else text
    try:
        trace = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Found(_hash(line), line, ())
    spans = trace.spans or ()
    trace_id = trace.traceID or next((span.traceID for span in spans if span.traceID), "")
    return Found(trace_key(trace_id) if trace_id else _hash(line), line, _matches(trace, endpoint))


def _matches(trace: _Trace, endpoint: Endpoint) -> tuple[tuple[int, int], ...]:
    own = {
        name
        for name, process in (trace.processes or {}).items()
        if process is not None and process.serviceName == endpoint.service
    }
    return tuple(
        (span.startTime, span.duration)
        for span in trace.spans or ()
        if span.processID in own and endpoint.operation in ("", span.operationName)
    )


def trace_key(trace_id: str) -> bytes:
    """16 bytes for a trace id, equal for ids that only differ in leading zeros or case."""
    if len(trace_id) <= 2 * KEY_BYTES and trace_id.isalnum():
        try:
            return int(trace_id, 16).to_bytes(KEY_BYTES, "big")
        except ValueError:
            pass
    return _hash(trace_id.encode())


def _hash(text: bytes) -> bytes:
    return blake2b(text, digest_size=KEY_BYTES).digest()
