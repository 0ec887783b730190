"""Writes spans as the JSON that Jaeger's ``/api/traces`` gives.

Every site has its text prepared once, with a few holes; a span is one ``%`` formatting. That
is several times faster than building dictionaries, and the bytes are the same on every run.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from random import Random

from crisp.synth.programs import Host, Site, World

JsonValue = str | int | bool


@dataclass(frozen=True, slots=True)
class Text:
    """Formats of one site, each with the holes of `span_text`: as ever, failed, and sparse."""

    plain: str
    failed: str
    sparse: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Texts:
    """All prepared text of a world: of sites; of processes and what spans say of their host."""

    sites: tuple[Text, ...]
    processes: tuple[str, ...]
    hosts: tuple[str, ...]


def prepare(world: World) -> Texts:
    """The text of every site and host of ``world``."""
    return Texts(
        tuple(_site_text(site) for site in world.sites),
        tuple(_process(host) for host in world.hosts),
        tuple(_placed(host) for host in world.hosts),
    )


def tag(key: str, value: JsonValue) -> str:
    """One tag, compact; an integer beyond 2^53 is a string, as Jaeger's UI API gives it."""
    kind = {bool: "bool", int: "int64", str: "string"}[type(value)]
    if kind == "int64" and abs(value) > 2**53:  # type: ignore[arg-type]  # an int by its kind
        value = str(value)
    return f'{{"key":"{key}","type":"{kind}","value":{json.dumps(value)}}}'


def reference(kind: str, trace_id: str, span_id: str) -> str:
    """One reference to another span."""
    return f'{{"refType":"{kind}","traceID":"{trace_id}","spanID":"{span_id}"}}'


def document(trace_id: str, spans: list[str], processes: dict[int, str], texts: Texts) -> str:
    """One bare trace; ``processes`` names the process of each host row.

    Spans are sorted by span id: in no order of time or structure, as stores return them.
    """
    entries = ",".join(f'"{name}":{texts.processes[host]}' for host, name in processes.items())
    spans = sorted(spans)
    return (
        f'{{"traceID":"{trace_id}","spans":[{",".join(spans)}],'
        f'"processes":{{{entries}}},"warnings":null}}'
    )


def _process(host: Host) -> str:
    tags = (
        tag("hostname", host.name),
        tag("ip", host.ip),
        tag("zone", host.zone),
        tag("sku", host.sku),
        tag("version", host.version),
    )
    return f'{{"serviceName":{json.dumps(host.service)},"tags":[{",".join(tags)}]}}'


def _placed(host: Host) -> str:
    """The tags that every span has of its host."""
    return f"{tag('az', host.zone[-1])},{tag('cpu', zlib.crc32(host.sku.encode()) % 10)}"


# The holes, in this order: trace id, span id, references with their comma or nothing, start,
# duration; in the tags: tags of the host, thread, size in bytes, pod of the caller, request
# id, further tags each behind a comma; time of the log, process. ``%.0s`` swallows a value
# where a sparse span has no place for it.
_HEAD = '{"traceID":"%s","spanID":"%s","operationName":OP,%s"startTime":%d,"duration":%d,'
_HOLES = (
    "%s",
    '{"key":"tid","type":"int64","value":%d}',
    '{"key":"len","type":"int64","value":%d}',
    '{"key":"pod","type":"string","value":"%s"}',
    '{"key":"req","type":"string","value":"%s"}%s',
)
_TAIL = '"processID":"%s"}'
_NULLS = '"processID":"%s","warnings":null}'
_SKIP_TAGS = "%.0s" * 6
_SPARSE = (
    '"tags":null,' + _SKIP_TAGS + '"logs":null,%.0s' + _NULLS,
    '"tags":[],' + _SKIP_TAGS + '"logs":[],%.0s' + _NULLS,
    _SKIP_TAGS + "%.0s" + _TAIL,
    '"tags":[TAGS],"logs":null,%.0s"processID":"%s","warnings":["clock skew not adjusted"]}',
)


def _site_text(site: Site) -> Text:
    head = _HEAD.replace("OP", _plain(json.dumps(site.operation)))
    tags, wrong = _all_tags(site, failed=False), _all_tags(site, failed=True)
    return Text(
        plain=head + f'"tags":[{tags}],' + _log(_event(site)) + _TAIL,
        failed=head + f'"tags":[{wrong}],' + _log("error", "upstream timed out") + _TAIL,
        sparse=tuple(head + rest.replace("TAGS", tags) for rest in _SPARSE),
    )


def _all_tags(site: Site, failed: bool) -> str:
    """The tags as part of a format: no order is the same everywhere, as with real clients."""
    fixed = [_plain(tag(key, value)) for key, value in _tags(site, failed)]
    draw = Random(site.endpoint)
    draw.shuffle(fixed)
    for place, hole in zip(_places(len(fixed), draw), reversed(_HOLES), strict=True):
        fixed.insert(place, hole)
    return ",".join(fixed)


def _places(count: int, draw: Random) -> list[int]:
    """Where each of the holes goes between ``count`` tags, the last hole first."""
    return sorted((draw.randint(0, count) for _ in _HOLES), reverse=True)


def _plain(text: str) -> str:
    """``text`` as part of a format."""
    return text.replace("%", "%%")


def _log(event: str, message: str = "") -> str:
    fields = [tag("event", event), *([tag("message", message)] if message else [])]
    return f'"logs":[{{"timestamp":%d,"fields":[{_plain(",".join(fields))}]}}],'


def _event(site: Site) -> str:
    return {"server": "handled", "client": "read"}.get(site.kind, "done")


def _tags(site: Site, failed: bool) -> list[tuple[str, JsonValue]]:
    """Constant tags of a site: few letters each, as where every byte is paid for."""
    number = zlib.crc32(site.endpoint.encode())
    tags: list[tuple[str, JsonValue]] = [
        ("lib", site.system or "app"),
        ("line", number % 900),
        ("qos", number % 4),
        ("try", 1),
    ]
    if site.kind != "internal":
        tags.append(("span.kind", site.kind))
    tags += _system_tags(site, number, failed)
    if failed:
        tags += [("error", True), ("otel.status_code", "ERROR")]
    return tags


def _system_tags(site: Site, number: int, failed: bool) -> list[tuple[str, JsonValue]]:
    match site.system:
        case "http":
            return [("status", 503 if failed else 200)]
        case "grpc":
            return [("grpc.code", 14 if failed else 0)]
        case "postgresql":
            return [("shard", number % 16), ("rows", number % 40)]
        case "redis":
            return [("keys", 1 + number % 8)]
        case "kafka":
            return [("partition", number % 64), ("acks", 1)]
    return [("pool", number % 16), ("beta", False)]
