"""The settings file: TOML with a section for each part, listed in `SECTIONS`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from crisp.errors import ConfigError

_Kind = tuple[str, Callable[[Any], bool]]
"""What a value must be, in words, and whether one is."""


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _is_rule(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"pattern", "replacement"}
        and all(isinstance(text, str) for text in value.values())
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


_TEXT: _Kind = ("a text", lambda value: isinstance(value, str))
_WHOLE: _Kind = ("a whole number", _is_whole)
_NUMBER: _Kind = ("a number", _is_number)
_TRUTH: _Kind = ("true or false", lambda value: isinstance(value, bool))
_SECRET = (("fetch", "headers"), ("fetch", "jaeger"), ("engine", "conf"))
"""Settings whose values are not repeated in messages."""
SECTIONS: Mapping[str, Mapping[str, _Kind]] = {
    "ingest": {
        "roots": _TEXT,
        "service": _TEXT,
        "operation": _TEXT,
        "templates": ("a list of {pattern = TEXT, replacement = TEXT}", _list_of(_is_rule)),
        "attributes": ("a list of texts", _list_of(_TEXT[1])),
        "max_spans": _WHOLE,
    },
    "path": {
        "policy": _TEXT,
        "async_rule": _TEXT,
        "skew": _TEXT,
        "skew_limit_us": _WHOLE,
        "overlap_us": _WHOLE,
        "overlap_ratio": _NUMBER,
        "all_paths": _TRUTH,
    },
    "fetch": {
        "jaeger": _TEXT,
        "api": _TEXT,
        "limit": _WHOLE,
        "concurrency": _WHOLE,
        "rate": _NUMBER,
        "sample": _WHOLE,
        "timeout_s": _NUMBER,
        "retry_s": _NUMBER,
        "reply_mb": _WHOLE,
        "token_file": _TEXT,
        "token_env": _TEXT,
        "ca_file": _TEXT,
        "cert_file": _TEXT,
        "key_file": _TEXT,
        "headers": ("a section of texts", _is_texts),
    },
    "engine": {
        "name": _TEXT,
        "workers": _WHOLE,
        "memory_limit": _TEXT,
        "master": _TEXT,
        "conf": ("a section of texts", _is_texts),
    },
    "aggregate": {
        "edges": ("a list of numbers", _list_of(_is_number)),
        "exemplars": _WHOLE,
        "kept": _WHOLE,
    },
    "report": {"title": _TEXT, "jaeger_url": _TEXT, "owners": _TEXT},
    "train": {
        "profile": _TEXT,
        "features": _TEXT,
        "charge_callee": _TRUTH,
        "flow": _TEXT,
        "flow_length": _WHOLE,
        "least": _WHOLE,
        "least_traces": _WHOLE,
        "most_traces": _WHOLE,
        "reference": _WHOLE,
        "alpha": _NUMBER,
        "drift": _NUMBER,
        "most_days": _WHOLE,
        "seed": _WHOLE,
        "device": _TEXT,
    },
    "alert": {
        "level": _NUMBER,
        "least_change": _NUMBER,
        "least_traces": _WHOLE,
        "least_days": _WHOLE,
        "becomes_normal_days": _WHOLE,
        "expires_hours": _NUMBER,
        "site_url": _TEXT,
        "silences": _TEXT,
        "token_file": _TEXT,
        "token_env": _TEXT,
    },
}


def load_settings(path: Path | None) -> dict[str, dict[str, Any]]:
    """The sections of a settings file; empty ones when there is no file.

    Raises:
        ConfigError: it cannot be read, names what does not exist, or gives a setting a value of
            the wrong type; all such names at once.
    """
    sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    if path is None:
        return sections
    found = _read(path)
    problems = sorted(_problems(found))
    if problems:
        raise ConfigError(f"{path}: " + "; ".join(problems))
    return sections | found


def load_owners(path: Path) -> dict[str, str]:
    """Owners by pattern of services, in the order of the file: lines of ``"checkout*" = "shop"``.

    Raises:
        ConfigError: it cannot be read, or says something else.
    """
    found = _read(path)
    if not _is_texts(found):
        wrong = sorted(name for name, value in found.items() if not isinstance(value, str))
        raise ConfigError(f'{path}: lines look like "checkout*" = "shop"; {wrong[0]!r} does not')
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def _problems(found: Mapping[str, Any]) -> Iterator[str]:
    for section, settings in found.items():
        known = SECTIONS.get(section)
        if known is None:
            yield f"unknown section {section}"
        elif not isinstance(settings, dict):
            yield f"{section} must be a section, not {settings!r}"
        else:
            for name, value in settings.items():
                if name not in known:
                    yield f"unknown setting {section}.{name}"
                elif not known[name][1](value):
                    wrong = "" if (section, name) in _SECRET else f", not {value!r}"
                    yield f"{section}.{name} must be {known[name][0]}{wrong}"
