"""HTTP posts that are repeated while there is hope."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential

from crisp.anomaly.sinks import Post, RefusedError, Sink
from crisp.errors import DeliveryError

_CONNECT_S = 5.0
_EXCERPT = 80
"""Characters of what a receiver says that are repeated."""
_SHORT = 4
"""Shorter secrets are in every text and cannot be told from it."""
_backoff = wait_exponential(multiplier=0.2, max=15)
_OF_THE_BODY = frozenset({400, 409, 413, 415, 422})
"""What says that this body was bad, and nothing of others."""


class PassingError(Exception):
    """May be better next time."""

    def __init__(self, text: str, after_s: float = 0.0) -> None:
        super().__init__(text)
        self.after_s = after_s


@contextmanager
def posting(sink: Sink, on_trouble: Callable[[str], None]) -> Iterator[Post]:
    """What posts JSON to a sink, over one connection as far as that lasts.

    A receiver that is away, busy (429, after what it asks for in ``Retry-After``) or broken
    (5xx) is asked again for ``retry_s``. Redirects are not followed.

    Raises:
        ConfigError: the token cannot be read.
    """
    token = sink.token()
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    patience = httpx.Timeout(sink.timeout_s, connect=min(sink.timeout_s, _CONNECT_S))
    secrets = [*([token] if token else ()), *_userinfo(sink)]

    def note(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0
        on_trouble(f"{sink.shown}: {error}; again in {wait:.1f} s")

    def over(state: RetryCallState) -> bool:
        return (state.seconds_since_start or 0.0) + _asked_s(state) >= sink.retry_s

    with httpx.Client(headers=headers, timeout=patience, auth=_auth(sink, token)) as client:

        def post(body: object, event_id: str | None = None) -> None:
            content = json.dumps(body, sort_keys=True, ensure_ascii=False, allow_nan=False)
            extra = {"Idempotency-Key": event_id} if event_id else {}
            attempts = Retrying(
                stop=over,
                wait=lambda state: max(_backoff(state), _asked_s(state)),
                retry=retry_if_exception_type(PassingError),
                before_sleep=note,
                reraise=True,
            )
            try:
                attempts(_post, client, sink.url, content.encode(), extra, secrets)
            except PassingError as error:
                raise DeliveryError(f"{error}, for {sink.retry_s:g} s") from None

        yield post


def _post(
    client: httpx.Client, url: str, content: bytes, headers: dict[str, str], secrets: Sequence[str]
) -> None:
    try:
        response = client.post(url, content=content, headers=headers)
    except httpx.TimeoutException as error:
        raise PassingError("no answer in time") from error
    except (httpx.TransportError, OSError) as error:
        raise PassingError(_clean(str(error), secrets) or "the connection broke") from error
    except httpx.DecodingError as error:
        raise PassingError("the reply cannot be unpacked") from error
    status = response.status_code
    if response.is_success:
        return
    said = " ".join(_clean(response.text, secrets).split())  # before a secret is cut in two
    if response.is_redirect:
        said = "redirects are not followed"
    elif len(said) > _EXCERPT:
        said = f"{said[: _EXCERPT - 1]}…"
    text = f"HTTP {status}" + (f": {said}" if said else "")
    if status in {408, 429} or status >= 500:
        raise PassingError(text, _retry_after(response.headers))
    raise RefusedError(text) if status in _OF_THE_BODY else DeliveryError(text)


def _auth(sink: Sink, token: str | None) -> httpx.Auth | None:
    found = _userinfo(sink)
    return httpx.BasicAuth(found[0], found[1]) if found and token is None else None


def _userinfo(sink: Sink) -> list[str]:
    parts = urlsplit(sink.target)
    if parts.username is None:
        return []
    return [unquote(parts.username), unquote(parts.password or "")]


def _asked_s(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return error.after_s if isinstance(error, PassingError) else 0.0


def _retry_after(headers: httpx.Headers) -> float:
    """Seconds to wait as the receiver wishes: a number of them, or a date; 0 for none."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _clean(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        if len(secret) >= _SHORT:
            text = text.replace(secret, "***")
    return text
