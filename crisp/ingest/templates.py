"""Make operation names with ids in them one name, and notice where that is needed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from crisp.options import Template

_VARIABLE = re.compile(
    r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|(?<![a-zA-Z])[0-9a-f]{12,}|\d+"
)
UNBOUNDED = 50
"""Names of a service that differ only in numbers and ids, from which a warning is due."""


def templater(templates: Sequence[Template]) -> Callable[[str], str]:
    """A function that applies the rules in order, each to what the one before made."""
    rules = [(re.compile(rule.pattern), rule.replacement) for rule in templates]

    def apply(operation: str) -> str:
        for pattern, replacement in rules:
            operation = pattern.sub(replacement, operation)
        return operation

    return apply


def unbounded(names: Iterable[tuple[str, str]]) -> list[str]:
    """One sentence for each group of operations that differ only in numbers and ids.

    Args:
        names: (service, operation) pairs, each once.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for service, operation in names:
        groups[service, _VARIABLE.sub("{id}", operation)].append(operation)
    return [
        f"{service}: {len(operations)} operations look like {shape!r}, for example"
        f" {min(operations)!r}; a --template rule would make them one"
        for (service, shape), operations in sorted(groups.items())
        if len(operations) >= UNBOUNDED
    ]
