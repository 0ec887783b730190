"""Decode Jaeger JSON into the few fields that are used.

Decoding is strict first, because strict is fast; a document that fails is read again
tolerantly (numbers as strings, integral floats) before it is given up with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from crisp.errors import Reject
from crisp.options import LARGEST_DURATION_US, LARGEST_TIME_US

_NO_TAGS = Raw(b"null")
Time = Annotated[int, Meta(ge=0, le=LARGEST_TIME_US)]
Duration = Annotated[int, Meta(ge=0, le=LARGEST_DURATION_US)]


class Reference(Struct, gc=False):
    """A link to another span."""

    refType: str = "CHILD_OF"
    traceID: str | None = ""
    spanID: str | None = ""


class Tag(Struct, gc=False):
    """A key with any value."""

    key: str
    value: object = None


class Span(Struct, gc=False):
    """One timed operation; times in microseconds."""

    spanID: str
    operationName: str
    startTime: Time
    duration: Duration
    processID: str | None = None
    references: list[Reference] | None = None
    tags: Raw = _NO_TAGS
    """not decoded: most tags of most spans are never looked at"""
    parentSpanID: str | None = None


class Process(Struct, gc=False):
    """What emitted a span: a service on a host."""

    serviceName: str
    tags: Raw = _NO_TAGS


class Trace(Struct, gc=False):
    """One trace as `/api/traces` returns it."""

    spans: list[Span] | None
    traceID: str | None = None
    processes: dict[str, Process | None] | None = None


class Document(Struct, gc=False):
    """A bare trace or an envelope of traces; one decoder for both."""

    spans: list[Span] | UnsetType | None = UNSET
    traceID: str | None = None
    processes: dict[str, Process | None] | None = None
    data: list[Trace] | UnsetType | None = UNSET


class _Parts(Struct, gc=False):
    """A document with its traces still undecoded."""

    spans: Raw | UnsetType = UNSET
    data: list[Raw] | UnsetType | None = UNSET


class _Identity(Struct, gc=False):
    traceID: str = ""


@dataclass(frozen=True, slots=True)
class Bad:
    """Why a document is not a trace."""

    reason: Reject
    detail: str
    trace_id: str = ""


_document = msgspec.json.Decoder(Document)
_traces = msgspec.json.Decoder(list[Trace])
_parts = msgspec.json.Decoder(_Parts)
_list = msgspec.json.Decoder(list[Raw])
_trace = msgspec.json.Decoder(Trace)
_tolerant = msgspec.json.Decoder(Trace, strict=False)
_tags = msgspec.json.Decoder(list[Tag] | None)
_identity = msgspec.json.Decoder(_Identity)
_anything = msgspec.json.Decoder(Raw)

LARGE = 32 << 20
"""Bytes from which the traces of a document are decoded one by one, to save memory."""


def decode(text: bytes | memoryview) -> list[Trace | Bad]:
    """The traces of one JSON document: a bare trace, an envelope, or a list.

    Never raises on bad input: what cannot be read comes back as `Bad`, beside the good.
    """
    if len(text) < LARGE:
        try:
            if text[:1] == b"[":
                return list(_traces.decode(text))
            document = _document.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        else:
            return _traces_of(document)
    return _decode_apart(bytes(text).lstrip())


def is_complete(text: bytes) -> bool:
    """``text`` is one JSON object or array."""
    if text.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        _anything.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _traces_of(document: Document) -> list[Trace | Bad]:
    if document.spans is not UNSET:
        return [Trace(document.spans, document.traceID, document.processes)]
    if document.data is UNSET or document.data is None:
        return [Bad(Reject.NOT_A_TRACE, "neither spans nor data", document.traceID or "")]
    return list(document.data)


def _decode_apart(text: bytes) -> list[Trace | Bad]:
    """Each trace of the document on its own, so that a bad one costs only itself."""
    try:
        if text[:1] == b"[":
            elements = _list.decode(text)
        else:
            parts = _parts.decode(text)
            if parts.spans is not UNSET:
                return [_decode_one(text)]
            if parts.data is UNSET or parts.data is None:
                return [Bad(Reject.NOT_A_TRACE, "neither spans nor data", _trace_id(text))]
            elements = parts.data
    except msgspec.ValidationError as error:
        return [Bad(Reject.NOT_A_TRACE, str(error))]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        cut = "truncated" in str(error)
        return [Bad(Reject.TRUNCATED if cut else Reject.NOT_JSON, str(error))]
    except RecursionError:
        return [Bad(Reject.NOT_JSON, "nested too deeply")]
    return [_decode_one(bytes(element)) for element in elements]


def _decode_one(text: bytes) -> Trace | Bad:
    try:
        try:
            return _trace.decode(text)
        except msgspec.ValidationError:
            return _tolerant.decode(text)
    except msgspec.ValidationError as error:
        return _explain(error, text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Bad(Reject.NOT_JSON, str(error), _trace_id(text))
    except RecursionError:
        return Bad(Reject.NOT_JSON, "nested too deeply", _trace_id(text))


def _explain(error: msgspec.ValidationError, text: bytes) -> Bad:
    message = str(error)
    if "missing required field `spans`" in message or (
        "Expected `object`" in message.split(" - ", maxsplit=1)[0] and "$." not in message
    ):
        reason = Reject.NOT_A_TRACE
    elif message.endswith((".startTime`", ".duration`")) and (
        "`int`" in message and ("<=" in message or ">=" in message)
    ):
        reason = Reject.BAD_TIME
    else:
        reason = Reject.WRONG_TYPE
    return Bad(reason, message, _trace_id(text))


def _trace_id(text: bytes) -> str:
    try:
        return _identity.decode(text).traceID
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return ""


def tag_values(tags: Raw | bytes) -> dict[str, Any]:
    """First value of each key; nothing when the tags are not a list of keys and values."""
    values: dict[str, Any] = {}
    try:
        decoded = _tags.decode(tags)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return values
    for tag in decoded or ():
        values.setdefault(tag.key, tag.value)
    return values
