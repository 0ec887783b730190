"""The two query interfaces of Jaeger, seen alike.

v1 is what the user interface of all releases to v2.20 speaks; v3 is its successor, and answers
in OTLP. Neither has pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Literal, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct

from crisp.ingest import otlp
from crisp.ingest.fetch.client import Client, HopelessError, PassingError
from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.windows import Window

T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search. Its window includes both ends, as all stores of Jaeger take it."""

    endpoint: Endpoint
    window: Window
    limit: int
    shortest_us: int = 0
    """Least duration of the span; 0 means any."""
    longest_us: int = 0
    """Greatest duration of the span; 0 means any."""


class Api(Protocol):
    """What a fetch asks of a trace store."""

    name: Literal["v1", "v3"]
    silent_limit: int | None
    """What the server takes for the limit should it not know the name of that parameter."""

    async def services(self) -> list[str]:
        """All services."""
        ...

    async def operations(self, service: str) -> list[str]:
        """All operations of a service."""
        ...

    async def search(self, query: Query, most_bytes: int | None) -> list[bytes]:
        """Jaeger JSON of the traces with a span that matches, at most as many as the limit.

        Raises:
            TooLargeError: the reply has more than ``most_bytes``.
        """
        ...


class _Operation(Struct, gc=False):
    name: str


class _V1Names(Struct):
    data: list[str] | None


class _V1Operations(Struct):
    data: list[_Operation] | None


class _V1Traces(Struct):
    data: list[Raw] | None
    errors: list[Raw] | None = None


class V1:
    """``/api/traces``: times in microseconds, replies in Jaeger JSON."""

    name: Literal["v1", "v3"] = "v1"
    silent_limit: int | None = None

    def __init__(self, client: Client) -> None:
        self._client = client

    async def services(self) -> list[str]:
        """See `Api.services`."""
        reply = await self._client.get("api/services", {}, lambda _, b: _decode(b, _V1Names))
        return reply.data or []

    async def operations(self, service: str) -> list[str]:
        """See `Api.operations`."""
        reply = await self._client.get(
            "api/operations", {"service": service}, lambda _, b: _decode(b, _V1Operations)
        )
        return [operation.name for operation in reply.data or ()]

    async def search(self, query: Query, most_bytes: int | None) -> list[bytes]:
        """See `Api.search`."""
        parameters = {
            "service": query.endpoint.service,
            "operation": query.endpoint.operation,
            "start": str(query.window.start_us),
            "end": str(query.window.end_us),
            "limit": str(query.limit),
            "minDuration": _duration(query.shortest_us),
            "maxDuration": _duration(query.longest_us),
            "raw": "true",  # as stored: clocks are not adjusted, nothing is sorted
        }
        return await self._client.get(
            "api/traces", _given(parameters), _read_v1, most_bytes=most_bytes
        )


def _read_v1(_status: int, body: bytes) -> list[bytes]:
    reply = _decode(body, _V1Traces)
    if reply.errors:
        raise PassingError(f"the server reports {bytes(reply.errors[0])[:200].decode()}")
    return [bytes(trace) for trace in reply.data or ()]


class _V3Names(Struct):
    services: list[str] | None = None


class _V3Operations(Struct):
    operations: list[_Operation] | None = None


class V3:
    """``/api/v3/traces``: times as RFC 3339, replies in OTLP JSON, 404 when nothing matches.

    Jaeger reads parameters in snake case, its documents name them in camel case, and it passes
    over what it does not know: so both are sent.
    """

    name: Literal["v1", "v3"] = "v3"
    silent_limit: int | None = 100

    def __init__(self, client: Client) -> None:
        self._client = client

    async def services(self) -> list[str]:
        """See `Api.services`."""
        reply = await self._client.get("api/v3/services", {}, lambda _, b: _decode(b, _V3Names))
        return reply.services or []

    async def operations(self, service: str) -> list[str]:
        """See `Api.operations`."""
        reply = await self._client.get(
            "api/v3/operations", {"service": service}, lambda _, b: _decode(b, _V3Operations)
        )
        return [operation.name for operation in reply.operations or ()]

    async def search(self, query: Query, most_bytes: int | None) -> list[bytes]:
        """See `Api.search`."""
        values = {
            ("service_name",): query.endpoint.service,
            ("operation_name",): query.endpoint.operation,
            ("start_time_min",): _moment(query.window.start_us),
            ("start_time_max",): _moment(query.window.end_us),
            ("num_traces", "search_depth"): str(query.limit),
            ("duration_min",): _duration(query.shortest_us),
            ("duration_max",): _duration(query.longest_us),
            ("raw_traces",): "true",
        }
        parameters = {
            f"query.{name}": value
            for names, value in values.items()
            for snake in names
            for name in (snake, _camel(snake))
        }
        return await self._client.get(
            "api/v3/traces",
            _given(parameters),
            _read_v3,
            accept=frozenset([HTTPStatus.NOT_FOUND]),
            most_bytes=most_bytes,
        )


def _read_v3(status: int, body: bytes) -> list[bytes]:
    if status == HTTPStatus.NOT_FOUND:
        said = _decode(body, _NotFound).error
        if said.http_code != HTTPStatus.NOT_FOUND:
            raise PassingError(f"HTTP 404 that says {said.http_code}: {said.message}")
        return []
    try:
        return otlp.traces(body)
    except msgspec.DecodeError as error:
        raise _broken(body, error) from error


class _Said(Struct, rename="camel"):
    http_code: int
    message: str


class _NotFound(Struct):
    """How Jaeger says that nothing matches; a gateway that knows no way says it differently."""

    error: _Said


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _broken(body, error) from error


def _broken(body: bytes, error: Exception) -> Exception:
    if body.lstrip()[:1] == b"<":
        return HopelessError("a web page, not JSON; is this the query service of Jaeger?")
    return PassingError(f"the reply is broken: {error}")


def _given(parameters: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in parameters.items() if value}


def _moment(time_us: int) -> str:
    moment = _EPOCH + timedelta(microseconds=time_us)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _duration(length_us: int) -> str:
    return f"{length_us}us" if length_us else ""


def _camel(snake: str) -> str:
    first, *others = snake.split("_")
    return first + "".join(map(str.title, others))
