"""HTTP GETs that are repeated while there is hope, counted, and no faster than allowed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Self, TypeVar

import httpx
import msgspec
from aiolimiter import AsyncLimiter
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_exponential,
    wait_random,
)

from crisp.errors import FetchError
from crisp.ingest.fetch.credentials import auth, clean, tls
from crisp.ingest.fetch.options import FetchOptions

_CONNECT_S = 10.0
T = TypeVar("T")
_backoff = wait_exponential(multiplier=0.2, max=15) + wait_random(0, 0.5)
_BUSY = 429
_EXCERPT = 300


@dataclass(slots=True)
class Traffic:
    """What went over the wire."""

    requests: int = 0
    retries: int = 0
    received: int = 0
    """bytes of bodies, as sent"""


class TooLargeError(Exception):
    """The reply is longer than allowed; the rest was not read."""


class HopelessError(Exception):
    """Will be as bad next time."""


class PassingError(Exception):
    """May be better next time."""

    def __init__(self, text: str, after_s: float | None = None) -> None:
        super().__init__(text)
        self.after_s = after_s


class Client:
    """Asks one Jaeger; used with ``async with``.

    Raises:
        ConfigError: a token or certificate cannot be read.
    """

    def __init__(self, options: FetchOptions, on_trouble: Callable[[str], None]) -> None:
        self.options = options
        self.traffic = Traffic()
        self._on_trouble = on_trouble
        rate = options.rate
        self._limiter = None if rate is None else AsyncLimiter(1, 1 / rate)
        self._client = httpx.AsyncClient(
            base_url=f"{options.shown}/",  # httpx logs addresses
            headers=dict(options.headers),
            auth=auth(options),
            verify=tls(options),
            timeout=httpx.Timeout(
                options.timeout_s, connect=min(_CONNECT_S, options.timeout_s), pool=None
            ),
            limits=httpx.Limits(
                max_connections=options.concurrency,
                max_keepalive_connections=options.concurrency,
            ),
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__()

    async def get(
        self,
        path: str,
        parameters: Mapping[str, str],
        read: Callable[[int, bytes], T],
        *,
        accept: frozenset[int] = frozenset(),
        most_bytes: int | None = None,
    ) -> T:
        """What ``read`` makes of the status and body of a good reply, or of one in ``accept``.

        Repeated when the server is busy, broken, silent or away, and when ``read`` raises
        `PassingError`; not when it raises `HopelessError`.

        Raises:
            FetchError: the server refuses, or hope has run out.
            TooLargeError: the body has more than ``most_bytes``.
        """

        async def once() -> T:
            if self._limiter is not None:
                await self._limiter.acquire()
            self.traffic.requests += 1
            return read(*await self._ask(path, parameters, accept, most_bytes))

        attempts = AsyncRetrying(
            stop=self._is_over,
            wait=_wait,
            retry=retry_if_exception_type(PassingError),
            before_sleep=self._note,
            reraise=True,
        )
        try:
            return await attempts(once)
        except PassingError as error:
            patience = f"{self.options.retry_s:g} s"
            if error.after_s:
                text = f"asks for a pause of {error.after_s:,.0f} s, beyond retry_s ({patience})"
            else:
                text = f"tried for {patience}"
            raise self.failure(path, f"{error}; {text}") from error
        except HopelessError as error:
            raise self.failure(path, str(error)) from error

    def failure(self, path: str, text: str) -> FetchError:
        """An error that names the place and no secret."""
        return FetchError(clean(f"{self.options.shown}/{path}: {text}", self.options))

    async def _ask(
        self,
        path: str,
        parameters: Mapping[str, str],
        accept: frozenset[int],
        most_bytes: int | None,
    ) -> tuple[int, bytes]:
        try:
            async with self._client.stream("GET", path, params=parameters) as response:
                try:
                    body = await _body(response, most_bytes)
                finally:
                    self.traffic.received += response.num_bytes_downloaded
        except httpx.TimeoutException as error:
            raise PassingError("no answer in time") from error
        except (httpx.TransportError, OSError) as error:  # anyio lets some of TLS through
            if _is_trust(error):
                raise self.failure(path, f"TLS: {error}") from error
            raise PassingError(str(error) or "the connection broke") from error
        except httpx.DecodingError as error:
            raise PassingError(f"the reply cannot be unpacked: {error}") from error
        self._check(path, response, body, accept)
        return response.status_code, body

    def _check(
        self, path: str, response: httpx.Response, body: bytes, accept: frozenset[int]
    ) -> None:
        status = response.status_code
        if status == httpx.codes.OK or status in accept:
            return
        said = _message(body)
        text = f"HTTP {status}" + (f": {said}" if said else "")
        if status == _BUSY or status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise PassingError(text, _retry_after(response.headers))
        if response.is_redirect:
            text += f" to {response.headers.get('location', 'nowhere')}, which is not followed"
        raise self.failure(path, text)

    def _is_over(self, state: RetryCallState) -> bool:
        """Patience has run out, or would while the server is left alone as it asks."""
        return (state.seconds_since_start or 0.0) + _asked_s(state) >= self.options.retry_s

    def _note(self, state: RetryCallState) -> None:
        self.traffic.retries += 1
        error = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0
        text = f"{self.options.shown}: {error}; again in {wait:.1f} s"
        self._on_trouble(clean(text, self.options))


async def _body(response: httpx.Response, most_bytes: int | None) -> bytes:
    """Unpacked; broken off where it gets too large."""
    pieces = []
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if most_bytes is not None and size > most_bytes:
            raise TooLargeError
        pieces.append(piece)
    return b"".join(pieces)


def _wait(state: RetryCallState) -> float:
    return max(_backoff(state), _asked_s(state))


def _asked_s(state: RetryCallState) -> float:
    """For how long the server wants to be left alone; 0 when it does not say."""
    error = state.outcome.exception() if state.outcome else None
    return (error.after_s or 0.0) if isinstance(error, PassingError) else 0.0


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait as the server wishes: a number of them, or a date."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def _is_trust(error: Exception) -> bool:
    """Certificates do not become better by asking again."""
    text = str(error).upper().replace("_", " ")
    return any(word in text for word in ("CERTIFICATE", "UNKNOWN CA", "WRONG VERSION NUMBER"))


class _Detail(msgspec.Struct):
    msg: str = ""
    message: str = ""


class _Refusal(msgspec.Struct):
    """How both APIs word an error."""

    errors: list[_Detail] | None = None
    error: _Detail | None = None


def _message(body: bytes) -> str:
    """What the server says is wrong: its own words, or the beginning of whatever it sent."""
    try:
        refusal = msgspec.json.decode(body, type=_Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return " ".join(body[:_EXCERPT].decode("utf-8", "replace").split())
    details = [*(refusal.errors or ()), *([refusal.error] if refusal.error else ())]
    return "; ".join(text for each in details if (text := each.msg or each.message))
