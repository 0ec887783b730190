"""Find out which interface a server has."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from msgspec import Struct

from crisp.ingest.fetch.api import V1, V3, Api
from crisp.ingest.fetch.client import Client

_ABSENT = frozenset(
    [HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE, HTTPStatus.BAD_REQUEST]
)


async def choose(client: Client) -> Api:
    """The interface to use: the one that was asked for, else v1 if it can search, else v3.

    v1 comes first because it gives traces as they are stored. A Jaeger without it answers with
    its user interface or 404.

    Raises:
        FetchError: the server has neither, or refuses.
    """
    if client.options.api == "v1":
        return V1(client)
    if client.options.api == "v3":
        return V3(client)
    probe = {"service": "crisp", "start": "1", "end": "2", "limit": "1"}
    if await client.get("api/traces", probe, _is_v1, accept=_ABSENT):
        return V1(client)
    if await client.get("api/v3/services", {}, _is_v3, accept=_ABSENT):
        return V3(client)
    raise client.failure(
        "", "neither /api/traces nor /api/v3 answers as Jaeger does; is this its query service?"
    )


class _V1Reply(Struct):
    data: list[object] | None


class _V3Reply(Struct):
    """All fields of an empty message are left out, so {} is an answer too."""

    services: list[str] = []


def _is_v1(status: int, body: bytes) -> bool:
    return status == HTTPStatus.OK and _fits(body, _V1Reply)


def _is_v3(status: int, body: bytes) -> bool:
    return status == HTTPStatus.OK and _fits(body, _V3Reply)


def _fits(body: bytes, kind: type[Struct]) -> bool:
    try:
        msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
