"""What is asked for: all of a service, or one of its operations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crisp.errors import ConfigError

_SEPARATOR = "::"


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """An operation of a service; without operation all of them."""

    service: str
    operation: str = ""

    @property
    def text(self) -> str:
        """``service::operation``, or the service alone."""
        return f"{self.service}{_SEPARATOR}{self.operation}" if self.operation else self.service


def read_endpoints(path: Path) -> list[Endpoint]:
    """The endpoints of a file, one ``service::operation`` a line, sorted, each once.

    Empty lines and those that begin with # are passed over.

    Raises:
        ConfigError: the file cannot be read, names nothing, or has lines of another form; all
            such lines are named.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    found = set()
    problems = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        service, separator, operation = (part.strip() for part in text.partition(_SEPARATOR))
        if service and separator and operation:
            found.add(Endpoint(service, operation))
        else:
            problems.append(f"line {number}: {text!r}")
    if problems:
        raise ConfigError(f"{path}: no service::operation in " + ", ".join(problems))
    if not found:
        raise ConfigError(f"{path}: names no endpoint")
    return sorted(found)
