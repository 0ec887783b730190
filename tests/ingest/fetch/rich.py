"""Spans that hold everything OTLP can say."""

from __future__ import annotations

from typing import Any


def rich(begin: int) -> dict[str, Any]:
    """Two traces of service ``rich`` that begin then, in nanoseconds."""
    values: dict[str, dict[str, Any]] = {
        "text": {"stringValue": "ü <b>"},
        "whole": {"intValue": "-5"},
        "large": {"intValue": "9007199254740993"},
        "real": {"doubleValue": 1.5},
        "yes": {"boolValue": True},
        "no": {"boolValue": False},
        "bytes": {"bytesValue": "AQID"},
        "list": {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}},
        "map": {"kvlistValue": {"values": [{"key": "z", "value": {"intValue": "2"}}]}},
        "empty": {"stringValue": ""},
    }
    attributes = [{"key": key, "value": value} for key, value in values.items()]
    ids = {"traceId": "0af7651916cd43dd8448eb211c80319c"}
    link = {"traceId": "0af7651916cd43dd8448eb211c80319d", "spanId": "b7ad6b7169203332"}
    child_of = {"key": "opentracing.ref_type", "value": {"stringValue": "child_of"}}
    root = ids | {
        "spanId": "b7ad6b7169203331",
        "name": "root",
        "kind": 2,
        "startTimeUnixNano": str(begin + 1500),
        "endTimeUnixNano": str(begin + 5_000_999),
        "attributes": attributes,
        "events": [
            {"timeUnixNano": str(begin + 2000), "name": "late", "attributes": attributes[:2]},
            {"timeUnixNano": str(begin + 3000), "attributes": attributes[:1]},
        ],
        "links": [link, link | {"attributes": [child_of]}],
        "status": {"code": 2, "message": "boom"},
        "traceState": "a=b",
    }
    kinds = [
        ids
        | {
            "spanId": f"00ad6b716920330{kind}",
            "parentSpanId": "b7ad6b7169203331",
            "name": f"kind {kind}",
            "kind": kind,
            "startTimeUnixNano": str(begin + 2500),
            "endTimeUnixNano": str(begin + 4_000_999),
            "status": {"code": kind % 2},
        }
        for kind in range(6)
    ]
    follows = ids | {
        "spanId": "00ad6b7169203310",
        "parentSpanId": "b7ad6b7169203331",
        "name": "follows its parent",
        "startTimeUnixNano": str(begin + 2500),
        "endTimeUnixNano": str(begin + 2500),
        "links": [ids | {"spanId": "b7ad6b7169203331"}],
    }
    short = kinds[1] | {"traceId": "0000000000000000000000000000319c", "parentSpanId": ""}
    resource = {"attributes": [_service("rich"), *attributes]}
    other = {"attributes": [_service("rich"), {"key": "host.name", "value": values["text"]}]}
    return {
        "resourceSpans": [
            {
                "resource": resource,
                "scopeSpans": [{"scope": {"name": "lib", "version": "1.2"}, "spans": [root]}],
            },
            {"resource": other, "scopeSpans": [{"spans": [*kinds, follows, short]}]},
        ]
    }


def _service(name: str) -> dict[str, Any]:
    return {"key": "service.name", "value": {"stringValue": name}}
