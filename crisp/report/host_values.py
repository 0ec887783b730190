"""What is known of hosts, by attribute: the mart ``hosts`` as one number for each host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crisp.report.columns import Ints, dicts, rows_of

HOST = "host"
"""The attribute that every host has: itself."""


@dataclass(frozen=True, slots=True)
class HostValues:
    """What is known of hosts: per attribute a value, as a number, for each host."""

    attributes: list[str]
    values: list[list[str]]
    """names of the values of each attribute, ascending"""
    of_host: list[Ints]
    """per attribute, for each host the number of its value; -1 where it has none or several"""


def host_values(hosts: pa.Table, names: list[str]) -> HostValues:
    """The mart ``hosts`` for the hosts of `Kept.hosts`; the host itself is the attribute ``host``.

    A host with several values of an attribute, a name that was given again, has none: which of
    them a span ran under is not known.
    """
    number = {name: place for place, name in enumerate(names)}
    found: dict[str, dict[int, set[str]]] = {HOST: {i: {h} for h, i in number.items() if h}}
    for row in dicts(rows_of(hosts)):
        if row["host"] in number and row["attribute"] != HOST:
            of_host = found.setdefault(row["attribute"], {})
            of_host.setdefault(number[row["host"]], set()).add(row["value"])
    attributes = sorted(found)
    values, codes = [], []
    for attribute in attributes:
        known = {host: next(iter(v)) for host, v in found[attribute].items() if len(v) == 1}
        distinct = sorted(set(known.values()))
        place = {value: code for code, value in enumerate(distinct)}
        code = np.full(len(names), -1, dtype=np.int64)
        for host, value in known.items():
            code[host] = place[value]
        values.append(distinct)
        codes.append(code)
    return HostValues(attributes, values, codes)
