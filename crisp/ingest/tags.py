"""What a span's tags say, found without decoding the ones that say nothing.

A trace carries a dozen tags a span and at most three of them decide something here, so the
text is searched first. Whatever the search does not settle is decoded and looked at properly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Raw

from crisp.forest import Kind
from crisp.ingest.jaeger import tag_values
from crisp.options import SMALLEST_PROBABILITY

_KIND_KEY = b'"span.kind"'
_USUAL = re.compile(
    rb'"span\.kind"\s*,\s*"type"\s*:\s*"string"\s*,\s*"value"\s*:\s*"([A-Za-z]+)"\s*'
)
_KINDS = {kind.name.lower(): int(kind) for kind in Kind}
_KINDS |= {f"span_kind_{name}": value for name, value in list(_KINDS.items())}
_UNKNOWN = -1
_TRUE = ("true", "1")
_FAILED = ("ERROR", "STATUS_CODE_ERROR", "2")


def kinds(tags: Sequence[Raw]) -> list[int]:
    """`Kind` of each span by its tags; `Kind.INTERNAL` where they do not say.

    The tag is nearly always written in one of a few ways, key first. What stands between the
    key and the end of the tag is looked up; only what is not known is taken apart.
    """
    known = _ways_to_write.get
    found = [
        known(text[place : text.find(b"}", place)], _UNKNOWN)
        if (place := text.find(_KIND_KEY)) >= 0
        else 0
        for text in map(bytes, tags)
    ]
    if _UNKNOWN in found:
        found = [
            _learn(bytes(one)) if kind == _UNKNOWN else kind
            for one, kind in zip(tags, found, strict=True)
        ]
    return found


_ways_to_write: dict[bytes, int] = {}
_WAYS = 1000


def _learn(text: bytes) -> int:
    """The kind in a way of writing that is not known yet, or not safe to know."""
    place = text.find(_KIND_KEY)
    written = text[place : text.find(b"}", place)]
    usual = _USUAL.fullmatch(written)
    if usual is None:
        return _KINDS.get(str(tag_values(text).get("span.kind", "")).lower(), 0)
    kind = _KINDS.get(usual[1].decode().lower(), 0)
    if len(_ways_to_write) < _WAYS:
        _ways_to_write[written] = kind
    return kind


def failed(tags: Sequence[Raw]) -> list[bool]:
    """Whether each span says that it failed: tag ``error``, or OpenTelemetry status ERROR."""
    return [
        (text.find(b'"error"') >= 0 or text.find(b'"otel.status_code"') >= 0) and _failed(text)
        for text in map(bytes, tags)
    ]


def _failed(text: bytes) -> bool:
    values = tag_values(text)
    if str(values.get("error", "")).lower() in _TRUE:
        return True
    return str(values.get("otel.status_code", "")) in _FAILED


def weight(tags: Raw) -> float:
    """Requests a sampled span stands for: 1 / probability; 1 when that is not known."""
    values = tag_values(tags)
    if values.get("sampler.type") != "probabilistic":
        return 1.0
    try:
        probability = float(values["sampler.param"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 1.0
    return 1.0 / probability if SMALLEST_PROBABILITY <= probability <= 1 else 1.0
