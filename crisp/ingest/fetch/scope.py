"""Which endpoints a fetch is about, as the server knows them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from crisp.ingest.fetch.endpoints import Endpoint

if TYPE_CHECKING:  # the bookkeeping needs scopes, and not all that speaks HTTP
    from crisp.ingest.fetch.api import Api

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Task:
    """What to search for: an operation, or a service with all that it has."""

    endpoint: Endpoint
    operations: tuple[str, ...] = ()
    """of the service, when the endpoint is all of it"""


@dataclass(frozen=True, slots=True)
class Scope:
    """The endpoints asked for; None means all there are."""

    endpoints: tuple[Endpoint, ...] | None = None

    @property
    def texts(self) -> list[str]:
        """The scope in words that cannot be mistaken for each other, sorted."""
        if self.endpoints is None:
            return [EVERYTHING]
        return sorted(set(map(in_words, self.endpoints)))

    def is_within(self, texts: Sequence[str]) -> bool:
        """All of it belongs to another scope, given in words."""
        return not beyond(self.texts, texts)


def beyond(texts: Iterable[str], others: Sequence[str]) -> list[str]:
    """Those of ``texts`` that are not part of the scope ``others``, sorted, each once."""
    if EVERYTHING in others:
        return []
    return sorted(
        {text for text in texts if text not in others and text.partition("::")[0] not in others}
    )


def in_words(endpoint: Endpoint) -> str:
    """An endpoint so that it cannot be mistaken for another, or for `EVERYTHING`."""
    service = quote(endpoint.service)
    return f"{service}::{endpoint.operation}" if endpoint.operation else service


async def find_tasks(api: Api, scope: Scope, *, each: bool) -> tuple[list[Task], list[str]]:
    """What to search for, in order, and what of it the server does not know.

    A whole service is one search, which asks for each trace once however many of its
    operations that has; with ``each`` its operations are searched for one by one. An operation
    that the server does not list is searched for too: it may have forgotten the name alone.

    Raises:
        FetchError: the server refuses, or is away for too long.
    """
    known = set(await api.services())
    if scope.endpoints is None:
        asked = [Endpoint(service) for service in known if service]
    else:
        asked = [endpoint for endpoint in scope.endpoints if endpoint.service in known]
    services = sorted({endpoint.service for endpoint in asked})
    found = await asyncio.gather(*map(api.operations, services))
    operations = {
        service: tuple(sorted({name for name in names if name}))
        for service, names in zip(services, found, strict=True)
    }
    tasks = []
    for endpoint in sorted(set(asked)):
        if endpoint.operation:
            tasks.append(Task(endpoint))
        elif each:
            names = operations[endpoint.service]
            tasks += [Task(Endpoint(endpoint.service, name)) for name in names]
        else:
            tasks.append(Task(endpoint, operations[endpoint.service]))
    unknown = {e.service for e in scope.endpoints or ()} - known
    unknown |= {e.text for e in asked if e.operation not in ("", *operations[e.service])}
    return tasks, sorted(unknown)
