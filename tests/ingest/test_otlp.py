"""OTLP JSON becomes Jaeger JSON, as Jaeger translates it (values worked out by hand)."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from crisp.ingest import otlp

Json = dict[str, Any]
TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"


def _document(*spans: Json, scope: Json | None = None, resource: Json | None = None) -> Json:
    named = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {
        "resourceSpans": [
            {
                "resource": named if resource is None else resource,
                "scopeSpans": [{"scope": scope or {}, "spans": list(spans)}],
            }
        ]
    }


def _span(**fields: Any) -> Json:
    return {"traceId": TRACE, "spanId": SPAN, "name": "op"} | fields


def _traces(document: Json) -> list[Json]:
    return [json.loads(text) for text in otlp.traces(json.dumps(document).encode())]


def _one(**fields: Any) -> Json:
    (trace,) = _traces(_document(_span(**fields)))
    (span,) = trace["spans"]
    return dict(span)


def _attributes(key: str, value: Json) -> Json:
    return {"attributes": [{"key": key, "value": value}]}


def _list(*values: Json) -> Json:
    return {"arrayValue": {"values": list(values)}}


def _map(**values: Json) -> Json:
    return {"kvlistValue": {"values": [{"key": k, "value": v} for k, v in values.items()]}}


def _tags(span: Json) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def test_a_span_becomes_a_span() -> None:
    (trace,) = _traces(
        _document(
            _span(
                parentSpanId=PARENT,
                startTimeUnixNano="1700006400000001500",
                endTimeUnixNano="1700006400005000999",
            ),
            scope={"name": "lib", "version": "1.2"},
        )
    )
    assert trace == {
        "traceID": TRACE,
        "spans": [
            {
                "traceID": TRACE,
                "spanID": SPAN,
                "operationName": "op",
                "references": [{"refType": "CHILD_OF", "traceID": TRACE, "spanID": PARENT}],
                "startTime": 1_700_006_400_000_001,
                "duration": 4999,  # 4,999,499 ns
                "tags": [
                    {"key": "otel.scope.name", "type": "string", "value": "lib"},
                    {"key": "otel.scope.version", "type": "string", "value": "1.2"},
                ],
                "logs": [],
                "processID": "p1",
                "warnings": None,
            }
        ],
        "processes": {"p1": {"serviceName": "shop", "tags": []}},
        "warnings": None,
    }


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ({"stringValue": "x"}, "string", "x"),
        ({"stringValue": ""}, "string", ""),
        ({}, "string", ""),
        ({"boolValue": False}, "bool", False),
        ({"intValue": "-7"}, "int64", -7),
        ({"intValue": 7}, "int64", 7),
        ({"intValue": "9007199254740991"}, "int64", 9007199254740991),
        ({"intValue": "9007199254740992"}, "int64", "9007199254740992"),
        ({"doubleValue": 0.5}, "float64", 0.5),
        ({"bytesValue": "AQID"}, "binary", "AQID"),
        (_list({"stringValue": "a"}, {"intValue": "1"}), "string", '["a",1]'),
        ({"arrayValue": {}}, "string", "[]"),
        (_map(b={}, a={"boolValue": True}), "string", '{"a":true,"b":null}'),
    ],
)
def test_a_value_keeps_its_type(value: Json, kind: str, expected: object) -> None:
    span = _one(attributes=[{"key": "k", "value": value}])
    assert span["tags"] == [{"key": "k", "type": kind, "value": expected}]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (0, None),
        (1, "internal"),
        (2, "server"),
        (3, "client"),
        (4, "producer"),
        (5, "consumer"),
        (9, None),
        ("SPAN_KIND_SERVER", "server"),
        ("SPAN_KIND_UNSPECIFIED", None),
    ],
)
def test_the_kind_becomes_a_tag(kind: int | str, name: str | None) -> None:
    assert _tags(_one(kind=kind)).get("span.kind") == name


@pytest.mark.parametrize(
    ("status", "tags"),
    [
        ({}, {}),
        ({"code": 0}, {}),
        ({"code": 1}, {"otel.status_code": "OK"}),
        (
            {"code": "STATUS_CODE_ERROR", "message": "boom"},
            {"otel.status_code": "ERROR", "error": True, "otel.status_description": "boom"},
        ),
        ({"code": 2}, {"otel.status_code": "ERROR", "error": True}),
    ],
)
def test_the_status_becomes_tags(status: Json, tags: Json) -> None:
    assert _tags(_one(status=status)) == tags


def test_events_become_logs() -> None:
    named = {"timeUnixNano": "1700006400000002999", "name": "retry"}
    attribute = {"key": "n", "value": {"intValue": 1}}
    own = {"key": "event", "value": {"stringValue": "other"}}
    span = _one(events=[named | {"attributes": [attribute]}, {"name": "x", "attributes": [own]}])
    assert span["logs"] == [
        {
            "timestamp": 1_700_006_400_000_002,
            "fields": [
                {"key": "event", "type": "string", "value": "retry"},
                {"key": "n", "type": "int64", "value": 1},
            ],
        },
        {"timestamp": 0, "fields": [{"key": "event", "type": "string", "value": "other"}]},
    ]


def test_links_become_references_after_the_parent() -> None:
    child_of = {"key": "opentracing.ref_type", "value": {"stringValue": "child_of"}}
    links = [
        {"traceId": "1" * 32, "spanId": "2" * 16},
        {"traceId": "1" * 32, "spanId": "3" * 16, "attributes": [child_of]},
    ]
    references = _one(parentSpanId=PARENT, links=links)["references"]
    assert [(r["refType"], r["spanID"]) for r in references] == [
        ("CHILD_OF", PARENT),
        ("FOLLOWS_FROM", "2" * 16),
        ("CHILD_OF", "3" * 16),
    ]


def test_a_link_to_the_parent_only_says_how_it_follows() -> None:
    link = {"traceId": TRACE, "spanId": PARENT}
    assert _one(parentSpanId=PARENT, links=[link])["references"] == [
        {"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": PARENT}
    ]


@pytest.mark.parametrize("parent", ["", "0" * 16, base64.b64encode(bytes(8)).decode()])
def test_no_parent_is_no_reference(parent: str) -> None:
    assert (
        _one(parentSpanId=parent, links=[{"traceId": TRACE, "spanId": parent}])["references"][1:]
        == []
    )
    assert _one(parentSpanId=parent)["references"] == []


def test_ids_may_be_base64_or_in_capitals() -> None:
    ids = {
        "traceId": base64.b64encode(bytes.fromhex(TRACE)).decode(),
        "spanId": base64.b64encode(bytes.fromhex(SPAN)).decode(),
        "parentSpanId": PARENT.upper(),
    }
    span = _one(**ids)
    assert (span["traceID"], span["spanID"]) == (TRACE, SPAN)
    assert span["references"][0]["spanID"] == PARENT


def test_a_short_trace_id_has_sixteen_digits() -> None:
    assert _one(traceId="0" * 28 + "319c")["traceID"] == "000000000000319c"


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ({}, "missing-service-name"),
        (_attributes("host.name", {"stringValue": "h"}), "missing-service-name"),
        (_attributes("service.name", {"stringValue": ""}), "empty-service-name"),
        (_attributes("service.name", {"intValue": 1}), "empty-service-name"),
    ],
)
def test_a_process_without_a_name_gets_one(resource: Json, name: str) -> None:
    (trace,) = _traces(_document(_span(), resource=resource))
    assert trace["processes"]["p1"]["serviceName"] == name


def test_resources_become_processes_and_spans_find_their_traces() -> None:
    shop, store = _document(_span()), _document(_span(spanId="1" * 16), _span(traceId="2" * 32))
    host = {"key": "host.name", "value": {"stringValue": "h1"}}
    store["resourceSpans"][0]["resource"]["attributes"].append(host)
    both = {"resourceSpans": [*shop["resourceSpans"], *store["resourceSpans"]]}
    both["resourceSpans"].append(_document(_span(spanId="3" * 16))["resourceSpans"][0])
    first, second = _traces({"result": both})
    assert [span["processID"] for span in first["spans"]] == ["p1", "p2", "p1"]
    assert first["processes"]["p2"]["tags"] == [
        {"key": "host.name", "type": "string", "value": "h1"}
    ]
    assert [span["processID"] for span in second["spans"]] == ["p1"]
    assert list(second["processes"]) == ["p1"]


def test_warnings_of_jaeger_stay_warnings() -> None:
    value = {"arrayValue": {"values": [{"stringValue": "clock"}, {"stringValue": "late"}]}}
    span = _one(attributes=[{"key": "@jaeger@warnings", "value": value}])
    assert (span["warnings"], span["tags"]) == (["clock", "late"], [])


def test_trace_state_becomes_a_tag() -> None:
    assert _tags(_one(traceState="a=b")) == {"w3c.tracestate": "a=b"}


@pytest.mark.parametrize("empty", [{"resourceSpans": []}, {"result": {}}, {"resourceSpans": None}])
def test_no_spans_are_no_traces(empty: Json) -> None:
    assert _traces(empty) == []


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"{}", b'{"error":{"message":"no"}}', b'{"result":"\xff"}']
)
def test_what_is_not_otlp_is_an_error(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        otlp.traces(text)
