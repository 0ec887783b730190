"""Where events go: Alertmanager, any other address that takes JSON, a file, or the terminal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol, get_args
from urllib.parse import urlsplit, urlunsplit

from crisp.errors import ConfigError
from crisp.locations import is_url, plain

Kind = Literal["alertmanager", "json", "lines"]
_API = "/api/v2/alerts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """One receiver. Its address may be a secret, and is never written or shown whole."""

    target: str
    """an http or https URL, a file of JSON lines, or ``-`` for standard output"""
    kind: Kind
    token_file: str | None = None
    """file with the bearer token of a URL, read anew for each run"""
    token_env: str | None = None
    """… or the environment variable that holds it"""
    timeout_s: float = 10.0
    """for one answer"""
    retry_s: float = 60.0
    """for how long a receiver that is away or busy is asked again"""

    def __post_init__(self) -> None:
        problems = []
        if self.kind not in get_args(Kind):
            problems.append(f"kind must be one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        elif self.kind == "lines":
            if is_url(self.target):
                problems.append("lines go to a file of this machine or to -")
            if self.token_file or self.token_env:
                problems.append("only a webhook takes a token")
        elif not _is_http(self.target):
            problems.append("a webhook must be an http:// or https:// URL with a host")
        if self.token_file and self.token_env:
            problems.append("give token_file or token_env, not both")
        if not self.timeout_s > 0:
            problems.append(f"timeout_s must be above 0, not {self.timeout_s:g}")
        if not self.retry_s >= 0:
            problems.append(f"retry_s must be at least 0, not {self.retry_s:g}")
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def url(self) -> str:
        """Where to post, without user and password; Alertmanager's API where it is one."""
        parts = urlsplit(self.target)
        path = parts.path
        if self.kind == "alertmanager" and not path.endswith(_API):
            path = path.rstrip("/") + _API
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, path, parts.query, ""))

    @property
    def shown(self) -> str:
        """The sink in messages: of a URL only the host, for paths may be secrets too."""
        if self.kind == "lines":
            return self.target
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def key(self) -> str:
        """Names the sink among others without telling its address."""
        where = str(Path(plain(self.target)).resolve()) if self.kind == "lines" else self.url
        return f"{self.kind}-{blake2b(where.encode(), digest_size=8).hexdigest()}"

    def token(self) -> str | None:
        """The bearer token, None for none.

        Raises:
            ConfigError: it cannot be read, is empty, or cannot stand in a header.
        """
        if self.token_env:
            found, where = os.environ.get(self.token_env, ""), f"${self.token_env}"
        elif self.token_file:
            where = self.token_file
            try:
                found = Path(where).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                words = getattr(error, "strerror", None) or "not a text"
                raise ConfigError(f"{where}: {words}") from error
        else:
            return None
        found = found.strip()
        if not found or not (found.isascii() and found.isprintable()):
            raise ConfigError(f"{where}: there is no token that a header may have")
        return found


def _is_http(target: str) -> bool:
    try:
        parts = urlsplit(target)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class RefusedError(Exception):
    """The receiver will never take what it was sent, though it may take something else."""


class Post(Protocol):
    """Sends JSON to a sink and returns when it was taken."""

    def __call__(self, body: object, event_id: str | None = None) -> None:
        """Raises `RefusedError` for this body, `DeliveryError` when no other would fare better."""
        ...
