"""What people do not want to hear of for a while: a TOML file of patterns with an end."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from crisp.errors import ConfigError
from crisp.locations import Location, filesystem, is_url, plain

_PATTERNS = ("service", "operation", "path")
_KEYS = (*_PATTERNS, "until", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Changes that are no alerts until a day; patterns as in a shell: ``*``, ``?``, ``[ab]``."""

    service: str = "*"
    operation: str = "*"
    path: str | None = None
    """Endpoint ``service::operation`` at the end of a changed call path, or all of the path with
    ``" > "`` between its endpoints; None: whatever changed"""
    until: str
    """UTC day on which it no longer holds"""
    reason: str

    def fits(self, service: str, operation: str, path: Sequence[str] | None, day: str) -> bool:
        """It holds back the change of a path on a day; ``path`` names its endpoints from the root
        down, None: the endpoint itself changed."""
        return (
            day < self.until
            and fnmatchcase(service, self.service)
            and fnmatchcase(operation, self.operation)
            and (self.path is None or (path is not None and _ends(path, self.path)))
        )


def _ends(path: Sequence[str], pattern: str) -> bool:
    return fnmatchcase(" > ".join(path), pattern) or fnmatchcase(path[-1], pattern)


def read_silences(file: Location) -> tuple[Silence, ...]:
    """The silences of a TOML file: ``[[silence]]`` with at least one of ``service``, ``operation``
    and ``path``, a date ``until`` and a ``reason``.

    Raises:
        ConfigError: the file is missing or no TOML, or all that is wrong with its silences.
    """
    try:
        table = tomllib.loads(_text(file))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from error
    problems = [f"unknown key {key!r}" for key in table if key != "silence"]
    entries = table.get("silence", [])
    if not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
        problems.append("silence must be tables, each begun by a line [[silence]]")
        entries = []
    for number, entry in enumerate(entries, 1):
        problems += [f"silence {number}: {problem}" for problem in _problems(entry)]
    if problems:
        raise ConfigError(f"{file}: " + "; ".join(problems))
    return tuple(Silence(**{**entry, "until": str(entry["until"])}) for entry in entries)


def expired(silences: Sequence[Silence], day: str) -> list[str]:
    """Those that hold no longer on ``day``, in words, for a warning that they can go."""
    return [
        f"silence of {' '.join((s.service, s.operation, *filter(None, [s.path])))} has ended on"
        f" {s.until}: {s.reason}"
        for s in silences
        if day >= s.until
    ]


def _text(file: Location) -> str:
    if is_url(file):
        system, path = filesystem(file)
        found: bytes = system.cat_file(path)
        return found.decode()
    return Path(plain(file)).read_text(encoding="utf-8")


def _problems(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in entry:
        if key not in _KEYS:
            yield f"unknown key {key!r}; known: {', '.join(_KEYS)}"
    for key in _PATTERNS:
        if key in entry and not (isinstance(entry[key], str) and entry[key]):
            yield f"{key} must be a text, not {entry[key]!r}"
    if not any(key in entry for key in _PATTERNS):
        yield "name a service, an operation or a path"
    if not _is_day(entry.get("until")):
        yield "until must be a date such as 2026-12-01"
    if not (isinstance(entry.get("reason"), str) and entry["reason"].strip()):
        yield "give a reason"


def _is_day(value: object) -> bool:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value).isoformat() == value
        except ValueError:
            return False
    return isinstance(value, date) and not isinstance(value, datetime)
