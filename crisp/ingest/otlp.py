"""OpenTelemetry traces (OTLP JSON) as Jaeger JSON, translated as Jaeger itself does.

One pass over the resources groups the spans by trace; what comes out is what ``/api/traces``
would have said: scope, kind, status and trace state become tags, events become logs, links
become FOLLOWS_FROM references, resource attributes become tags of the process.
Both spellings of JSON are read: ids in hexadecimal or base64, enums by name or number, 64-bit
integers as text or number.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET

from crisp.ingest.otlp_documents import (
    Attribute,
    Document,
    Event,
    Link,
    Resource,
    ResourceSpans,
    Scope,
    Span,
    Status,
    Value,
)

Json = dict[str, Any]

NO_SERVICE, EMPTY_SERVICE = "missing-service-name", "empty-service-name"
"""What Jaeger calls a process that does not say who it is."""
_LARGEST_EXACT = 2**53 - 1
_SERVICE = "service.name"
_WARNINGS = "@jaeger@warnings"
_REFERENCE_TYPE = "opentracing.ref_type"
_EVENT = "event"
_KINDS = ("", "internal", "server", "client", "producer", "consumer")
_STATUSES = ("", "OK", "ERROR")
_KIND_PREFIX, _STATUS_PREFIX = "SPAN_KIND_", "STATUS_CODE_"
_BASE64 = (12, 24)
"""Letters of a span id and of a trace id in base64; in hexadecimal these are 16 and 32."""


_decoder = msgspec.json.Decoder(Document, strict=False)


def traces(text: bytes) -> list[bytes]:
    """The traces of an OTLP document as Jaeger JSON, in order of their first spans.

    Raises:
        msgspec.DecodeError: it is no JSON, or not of this form.
    """
    try:
        document = _decoder.decode(text)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    if document.result is not UNSET:
        resources = document.result.resourceSpans
    elif document.resourceSpans is not UNSET:
        resources = document.resourceSpans
    else:
        raise msgspec.ValidationError("neither result nor resourceSpans")
    return list(map(msgspec.json.encode, translate(resources or ())))


def translate(resources: Iterable[ResourceSpans]) -> Iterator[Json]:
    """Jaeger traces of the spans of all ``resources``."""
    found: dict[str, Json] = {}
    for resource in resources:
        process = _process(resource.resource)
        name = msgspec.json.encode(process)
        for scope in resource.scopeSpans or ():
            of_scope = _scope_tags(scope.scope)
            for span in scope.spans or ():
                made = _span(span, of_scope)
                trace = found.setdefault(made["traceID"], {"spans": [], "processes": {}})
                number = len(trace["processes"]) + 1
                made["processID"], _ = trace["processes"].setdefault(name, (f"p{number}", process))
                trace["spans"].append(made)
    for trace_id, trace in found.items():
        yield {
            "traceID": trace_id,
            "spans": trace["spans"],
            "processes": dict(trace["processes"].values()),
            "warnings": None,
        }


def _process(resource: Resource | None) -> Json:
    attributes = (resource.attributes if resource is not None else None) or ()
    names = [a.value for a in attributes if a.key == _SERVICE]
    service = NO_SERVICE
    if names:
        said = _plain(names[0] or Value())
        service = said if said and isinstance(said, str) else EMPTY_SERVICE
    return {
        "serviceName": service,
        "tags": [_tag(attribute) for attribute in attributes if attribute.key != _SERVICE],
    }


def _span(span: Span, of_scope: list[Json]) -> Json:
    trace_id = _hex_id(span.traceId)
    attributes = span.attributes or ()
    return {
        "traceID": trace_id,
        "spanID": _hex_id(span.spanId),
        "operationName": span.name,
        "references": _references(span, trace_id),
        "startTime": span.startTimeUnixNano // 1000,
        "duration": (span.endTimeUnixNano - span.startTimeUnixNano) // 1000,
        "tags": [
            *of_scope,
            *(_tag(attribute) for attribute in attributes if attribute.key != _WARNINGS),
            *_tags_of_fields(span),
        ],
        "logs": [_log(event) for event in span.events or ()],
        "warnings": _warnings(attributes),
    }


def _references(span: Span, trace_id: str) -> list[Json]:
    """The parent first; a link to the parent only changes what kind of reference that is."""
    made: list[Json] = []
    parent = _hex_id(span.parentSpanId)
    has_parent = bool(parent.strip("0"))
    if has_parent:
        made.append({"refType": "CHILD_OF", "traceID": trace_id, "spanID": parent})
    for link in span.links or ():
        reference = {
            "refType": _reference_type(link),
            "traceID": _hex_id(link.traceId),
            "spanID": _hex_id(link.spanId),
        }
        if has_parent and (reference["traceID"], reference["spanID"]) == (trace_id, parent):
            made[0] = reference
        else:
            made.append(reference)
    return made


def _reference_type(link: Link) -> str:
    said = {a.key: a.value.stringValue for a in link.attributes or () if a.value is not None}
    return "CHILD_OF" if said.get(_REFERENCE_TYPE) == "child_of" else "FOLLOWS_FROM"


def _tags_of_fields(span: Span) -> Iterator[Json]:
    status = span.status or Status()
    code = _enum(status.code, _STATUS_PREFIX, _STATUSES)
    texts = {
        "span.kind": _enum(span.kind, _KIND_PREFIX, _KINDS),
        "otel.status_code": code,
        "otel.status_description": status.message,
        "w3c.tracestate": span.traceState,
    }
    yield from (_text(key, value) for key, value in texts.items() if value)
    if code == "ERROR":
        yield {"key": "error", "type": "bool", "value": True}


def _enum(value: int | str, prefix: str, names: tuple[str, ...]) -> str:
    """The name among ``names`` of an enum given by number or name; empty when unknown."""
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else ""
    known = {name.upper(): name for name in names}
    return known.get(value.removeprefix(prefix), "")


def _scope_tags(scope: Scope | None) -> list[Json]:
    said = scope or Scope()
    texts = {"otel.scope.name": said.name, "otel.scope.version": said.version}
    return [_text(key, value) for key, value in texts.items() if value]


def _log(event: Event) -> Json:
    attributes = event.attributes or ()
    fields = list(map(_tag, attributes))
    if event.name and not any(attribute.key == _EVENT for attribute in attributes):
        fields.insert(0, _text(_EVENT, event.name))
    return {"timestamp": event.timeUnixNano // 1000, "fields": fields}


def _warnings(attributes: Iterable[Attribute]) -> list[str] | None:
    found = [a.value for a in attributes if a.key == _WARNINGS and a.value is not None]
    return [str(_plain(each)) for value in found for each in _elements(value)] or None


def _elements(value: Value) -> list[Value]:
    return [value] if value.arrayValue is UNSET else value.arrayValue.values


def _text(key: str, value: str) -> Json:
    return {"key": key, "type": "string", "value": value}


def _tag(attribute: Attribute) -> Json:
    key, value = attribute.key, attribute.value or Value()
    if value.boolValue is not UNSET:
        return {"key": key, "type": "bool", "value": value.boolValue}
    if value.intValue is not UNSET:
        number: int | str = value.intValue
        if abs(value.intValue) > _LARGEST_EXACT:  # JavaScript could not tell it from its neighbours
            number = str(number)
        return {"key": key, "type": "int64", "value": number}
    if value.doubleValue is not UNSET:
        return {"key": key, "type": "float64", "value": value.doubleValue}
    if value.bytesValue is not UNSET:
        return {"key": key, "type": "binary", "value": value.bytesValue}
    plain = _plain(value)
    if isinstance(plain, list | dict):
        return _text(key, msgspec.json.encode(plain, order="deterministic").decode())
    return _text(key, "" if plain is None else plain)


def _plain(value: Value) -> Any:
    """A value without its type; nested ones as lists and maps."""
    if value.arrayValue is not UNSET:
        return list(map(_plain, value.arrayValue.values))
    if value.kvlistValue is not UNSET:
        return {each.key: _plain(each.value or Value()) for each in value.kvlistValue.values}
    fields = (
        value.stringValue,
        value.boolValue,
        value.intValue,
        value.doubleValue,
        value.bytesValue,
    )
    return next((field for field in fields if field is not UNSET), None)


def _hex_id(text: str) -> str:
    """An id as Jaeger writes it: in lower case, a 64-bit trace id with 16 digits."""
    if len(text) in _BASE64:
        with suppress(binascii.Error):
            text = base64.b64decode(text, validate=True).hex()
    text = text.lower()
    return text[16:] if len(text) == 32 and text.startswith("0" * 16) else text
