"""What is asked of a Jaeger, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

from crisp.errors import ConfigError

Api = Literal["auto", "v1", "v3"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOptions:
    """How traces are pulled. Whatever may be secret stays out of ``repr``."""

    jaeger: str = field(repr=False)
    """Address of the query service; a user and password in it are used, never shown."""
    api: Api = "auto"
    """v1 (``/api/traces``), v3 (``/api/v3/traces``), or what the server has."""
    limit: int = 500
    """Traces asked for at once. A reply as long as this halves its window."""
    concurrency: int = 4
    """Requests under way at the same time."""
    rate: float | None = None
    """Most requests a second."""
    sample: int | None = None
    """Most traces of each endpoint, stratified by latency; None takes all."""
    timeout_s: float = 60.0
    """Longest silence of the server within one request."""
    retry_s: float = 120.0
    """A request that fails for a passing reason is repeated for this long."""
    reply_mb: int = 64
    """A larger reply halves its window as well, so memory has a bound."""
    token_file: str | None = None
    """File with a bearer token, read anew for each request."""
    token_env: str | None = None
    """Environment variable with a bearer token."""
    ca_file: str | None = None
    """Certificates to trust instead of the system's."""
    cert_file: str | None = None
    """Client certificate (mTLS)."""
    key_file: str | None = None
    """Its key, when that is not in the same file."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with each request, as ``X-Scope-OrgID``."""

    def __post_init__(self) -> None:
        problems = [*_address_problems(self.jaeger)]
        if self.api not in get_args(Api):
            problems.append(f"api must be one of {', '.join(get_args(Api))}, not {self.api!r}")
        problems += [
            f"{name} must be at least 1, not {value}"
            for name in ("limit", "concurrency", "sample", "reply_mb")
            if (value := getattr(self, name)) is not None and value < 1
        ]
        problems += [
            f"{name} must be more than 0, not {value}"
            for name in ("rate", "timeout_s", "retry_s")
            if (value := getattr(self, name)) is not None and not 0 < value < float("inf")
        ]
        problems += [
            f"headers.{name} has characters that no header may have"
            for name, value in self.headers.items()
            if not (name + value).isascii() or not (name + value).isprintable()
        ]
        if self.token_file and self.token_env:
            problems.append("give token_file or token_env, not both")
        if self.key_file and not self.cert_file:
            problems.append("key_file needs cert_file")
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def shown(self) -> str:
        """The address without user and password."""
        return shown(self.jaeger)


def _address_problems(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        return ["jaeger must be an address such as http://localhost:16686"]
    if not good:
        return ["jaeger must be an address such as http://localhost:16686"]
    if parts.query or parts.fragment:
        return ["jaeger must be an address without ? and #"]
    return []


def shown(url: str) -> str:
    """An address as it may be written down: without user and password, in one spelling."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    path = parts.path.rstrip("/")
    return SplitResult(parts.scheme, host + port, path, "", "").geturl()
