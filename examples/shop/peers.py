"""Calls to other services over HTTP, traced, with the context in W3C headers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor, RequestInfo
from opentelemetry.trace import Span


class PeerError(Exception):
    """Another service did not do its part, also when asked again."""

    def __init__(self, service: str, status: int) -> None:
        super().__init__(f"{service} answered {status}")
        self.service, self.status = service, status


class Peers:
    """The services that a service knows."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self._urls = urls
        self._client = httpx.AsyncClient(timeout=10)
        HTTPXClientInstrumentor.instrument_client(self._client, request_hook=_name)

    async def call(
        self,
        method: str,
        service: str,
        template: str,
        *,
        attempts: int = 1,
        json: object = None,
        **values: str | int,
    ) -> Any:
        """What a service answers to ``method`` on the path that ``template`` and values make.

        A 5xx is asked again after a growing pause, ``attempts`` times in all.

        Raises:
            PeerError: the last answer was no success.
        """
        url = self._urls[service] + template.format(**values)
        for attempt in range(attempts):
            if attempt:
                await asyncio.sleep(0.01 * 2**attempt)
            about = {"template": template, "resend": attempt}
            answer = await self._client.request(method, url, json=json, extensions=about)
            if answer.status_code < 500:
                break
        if answer.is_error:
            raise PeerError(service, answer.status_code)
        return answer.json() if answer.content else None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


async def _name(span: Span, request: RequestInfo) -> None:
    """Name the span by the template, not by the method alone."""
    about = request.extensions or {}
    template = str(about.get("template", "")).partition("?")[0]
    span.update_name(f"{request.method.decode()} {template}")
    span.set_attribute("url.template", template)
    if about.get("resend"):
        span.set_attribute("http.request.resend_count", about["resend"])
