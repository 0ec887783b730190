"""What is known of hosts, by attribute: the mart ``hosts`` as one number for each host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crisp.report.columns import Ints, dicts, rows_of

HOST = "host"
"""The attribute that every host has: itself."""


@dataclass(frozen=True, slots=True)
class Known:
    """Some hosts, ascending, and the number of the value that each has."""

    host: Ints
    value: Ints


@dataclass(frozen=True, slots=True)
class HostValues:
    """What is known of hosts: per attribute a value, as a number."""

    attributes: list[str]
    values: list[list[str]]
    """names of the values of each attribute, ascending"""
    by_service: Sequence[Mapping[str, Known]]
    """per attribute what processes of each service said; `HOST` is the same for all of them"""

    def of(self, place: int, service: str, host: Ints) -> Ints:
        """The values of attribute ``place`` for a service on some hosts, (n,): numbers, -1 where
        it said none or several."""
        named = "" if self.attributes[place] == HOST else service
        known = self.by_service[place].get(named)
        if known is None:
            return np.full(len(host), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(known.host, host), len(known.host) - 1)
        return np.where(known.host[at] == host, known.value[at], -1)


def host_values(hosts: pa.Table, names: list[str]) -> HostValues:
    """The mart ``hosts`` for the hosts of `Kept.hosts`; the host itself is the attribute ``host``.

    A service with several values of an attribute on one host, say of versions that followed one
    another, has none there: which of them a span ran under is not known.
    """
    number = {name: place for place, name in enumerate(names)}
    said: dict[str, dict[tuple[str, int], set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, place in number.items():
        if name:
            said[HOST]["", place].add(name)
    for row in dicts(rows_of(hosts)):
        if row["host"] in number and row["attribute"] != HOST:
            said[row["attribute"]][row["service"], number[row["host"]]].add(row["value"])
    attributes = sorted(said)
    one = [
        {key: next(iter(v)) for key, v in said[name].items() if len(v) == 1} for name in attributes
    ]
    values = [sorted(set(found.values())) for found in one]
    known = [_by_service(found, names) for found, names in zip(one, values, strict=True)]
    return HostValues(attributes, values, known)


def _by_service(found: Mapping[tuple[str, int], str], values: list[str]) -> dict[str, Known]:
    code = {value: number for number, value in enumerate(values)}
    pairs: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (service, host), value in sorted(found.items()):
        pairs[service].append((host, code[value]))
    columns = {name: np.array(rows, dtype=np.int64) for name, rows in pairs.items()}
    return {name: Known(rows[:, 0], rows[:, 1]) for name, rows in columns.items()}
