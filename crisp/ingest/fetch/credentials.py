"""How a fetch shows who it is, and how that stays out of everything it says."""

from __future__ import annotations

import os
import ssl
from collections.abc import Generator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from crisp.errors import ConfigError
from crisp.ingest.fetch.options import FetchOptions

_SHORT = 4
"""Shorter values are in every text and cannot be told from it."""


class Bearer(httpx.Auth):
    """A token for each request; from a file it is read anew, because such tokens are changed."""

    def __init__(self, options: FetchOptions) -> None:
        self._options = options

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the token to a request."""
        request.headers["Authorization"] = f"Bearer {token(self._options)}"
        yield request


def auth(options: FetchOptions) -> httpx.Auth | None:
    """What signs requests: a token, or the user and password of the address.

    Raises:
        ConfigError: there should be a token, and there is none.
    """
    if token(options):
        return Bearer(options)
    parts = urlsplit(options.jaeger)
    if parts.username is None:
        return None
    return httpx.BasicAuth(unquote(parts.username), unquote(parts.password or ""))


def token(options: FetchOptions) -> str:
    """The bearer token; empty when none is asked for.

    Raises:
        ConfigError: it cannot be read, is empty, or cannot stand in a header.
    """
    if options.token_env:
        found, where = os.environ.get(options.token_env, ""), f"${options.token_env}"
    elif options.token_file:
        found, where = _text(options.token_file), options.token_file
    else:
        return ""
    found = found.strip()
    if not found:
        raise ConfigError(f"{where}: there is no token")
    if not (found.isascii() and found.isprintable()):
        raise ConfigError(f"{where}: this is no token, it has characters that no header may have")
    return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or 'not a text'}") from error


def tls(options: FetchOptions) -> ssl.SSLContext:
    """Whom to trust, and the client certificate.

    Raises:
        ConfigError: a file is missing or is no certificate or key.
    """
    named = (options.ca_file, options.cert_file, options.key_file)
    if missing := [path for path in named if path and not Path(path).is_file()]:
        raise ConfigError("; ".join(f"{path}: no such file" for path in missing))
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
    except OSError as error:
        raise ConfigError(f"{options.ca_file}: holds no certificate") from error
    if options.cert_file:
        try:
            context.load_cert_chain(options.cert_file, options.key_file, password=_no_password)
        except OSError as error:
            both = " with ".join(filter(None, (options.cert_file, options.key_file)))
            raise ConfigError(f"{both}: no certificate with its key") from error
    return context


def _no_password() -> str:
    """Instead of a question on the terminal in the middle of the night."""
    raise ConfigError("key_file: the key is encrypted; crisp cannot ask for its password")


def clean(text: str, options: FetchOptions) -> str:
    """``text`` without anything secret, whoever wrote it."""
    parts = urlsplit(options.jaeger)
    secrets = {*options.headers.values(), token(options)}
    for part in filter(None, (parts.username, parts.password)):
        secrets |= {part, unquote(part)}
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORT:
            text = text.replace(secret, "***")
    return text
