"""The parts of OTLP JSON that are read, as its protocol buffers define them.

Numbers of 64 bits may be text, enums names or numbers.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType


class Value(Struct, gc=False):
    """Any value: the one field that is set says of which type."""

    stringValue: str | UnsetType = UNSET
    boolValue: bool | UnsetType = UNSET
    intValue: int | UnsetType = UNSET
    doubleValue: float | UnsetType = UNSET
    bytesValue: str | UnsetType = UNSET
    arrayValue: Values | UnsetType = UNSET
    kvlistValue: Attributes | UnsetType = UNSET


class Values(Struct, gc=False):
    """A list of values."""

    values: list[Value] = []


class Attribute(Struct, gc=False):
    """A key with a value."""

    key: str
    value: Value | None = None


class Attributes(Struct, gc=False):
    """A map of values."""

    values: list[Attribute] = []


class Event(Struct, gc=False):
    """Something that happened within a span."""

    timeUnixNano: int = 0
    name: str = ""
    attributes: list[Attribute] | None = None


class Link(Struct, gc=False):
    """Another span that this one has to do with."""

    traceId: str = ""
    spanId: str = ""
    attributes: list[Attribute] | None = None


class Status(Struct, gc=False):
    """How a span ended."""

    code: int | str = 0
    message: str = ""


class Span(Struct, gc=False):
    """One timed operation; times in nanoseconds."""

    traceId: str
    spanId: str
    name: str = ""
    startTimeUnixNano: int = 0
    endTimeUnixNano: int = 0
    parentSpanId: str = ""
    kind: int | str = 0
    traceState: str = ""
    attributes: list[Attribute] | None = None
    events: list[Event] | None = None
    links: list[Link] | None = None
    status: Status | None = None


class Scope(Struct, gc=False):
    """The library that made spans."""

    name: str = ""
    version: str = ""


class ScopeSpans(Struct, gc=False):
    """Spans of one library."""

    scope: Scope | None = None
    spans: list[Span] | None = None


class Resource(Struct, gc=False):
    """A process."""

    attributes: list[Attribute] | None = None


class ResourceSpans(Struct, gc=False):
    """Spans of one process."""

    resource: Resource | None = None
    scopeSpans: list[ScopeSpans] | None = None


class TracesData(Struct, gc=False):
    """Spans of any number of traces, in no order."""

    resourceSpans: list[ResourceSpans] | None = None


class Document(Struct, gc=False):
    """Bare, or as ``/api/v3/traces`` wraps it."""

    result: TracesData | UnsetType = UNSET
    resourceSpans: list[ResourceSpans] | UnsetType | None = UNSET
