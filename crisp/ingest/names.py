"""Names as small integers: services, endpoints, hosts and clocks."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from crisp.ingest.jaeger import Process, tag_values
from crisp.ingest.templates import templater
from crisp.options import CLOCK_TAGS, HOST_TAGS, IngestOptions
from crisp.stable import text_id


def _numbers() -> array[int]:
    """64-bit integers that grow, and become an array of numpy's by one copy: every batch of a
    shard needs them, and a system whose operations hold ids has very many."""
    return array("q")


class Names:
    """Interned services, endpoints, hosts and clocks; grows for the life of a shard."""

    def __init__(self, options: IngestOptions) -> None:
        self._template: Callable[[str], str] = templater(options.templates)
        self._attributes = frozenset(options.attributes)
        self.endpoints: list[tuple[str, str]] = []
        self.endpoint_ids = _numbers()
        self.endpoint_services = _numbers()
        self.hosts: list[str] = [""]
        self.attributes: dict[int, set[tuple[str, str, str]]] = {}
        """(service, attribute, value) seen with each host"""
        self.hosts_of = _numbers()
        """index of the host of each process"""
        self.clocks_of = _numbers()
        self._services: dict[str, int] = {}
        self._operations: dict[str, dict[str, int]] = {}
        self._by_name: dict[tuple[str, str], int] = {}
        self._hosts: dict[str, int] = {"": 0}
        self._clocks: dict[str, int] = {"": 0}
        self._processes: dict[tuple[str, bytes], tuple[dict[str, int], int, str]] = {}

    def process(self, process: Process) -> tuple[dict[str, int], int, str]:
        """Operations known of the service, index of the process, name of the service."""
        key = (process.serviceName, bytes(process.tags))
        known = self._processes.get(key)
        if known is None:
            known = self._processes[key] = self._new_process(process)
        return known

    def _new_process(self, process: Process) -> tuple[dict[str, int], int, str]:
        tags = tag_values(process.tags)
        host = _first_text(tags, HOST_TAGS)
        clock = _first_text(tags, CLOCK_TAGS)
        if host not in self._hosts:
            self._hosts[host] = len(self.hosts)
            self.hosts.append(host)
        for attribute, value in tags.items() if host else ():
            if attribute in self._attributes and value not in (None, ""):
                seen = self.attributes.setdefault(self._hosts[host], set())
                seen.add((process.serviceName, attribute, str(value)))
        self.hosts_of.append(self._hosts[host])
        self.clocks_of.append(self._clocks.setdefault(clock, len(self._clocks)))
        operations = self._operations.setdefault(process.serviceName, {})
        return operations, len(self.hosts_of) - 1, process.serviceName

    def endpoint(self, service: str, operation: str) -> int:
        """Index of an endpoint, new or known; the operation is templated first."""
        name = (service, self._template(operation))
        index = self._by_name.get(name)
        if index is None:
            index = self._by_name[name] = len(self.endpoints)
            self.endpoints.append(name)
            self.endpoint_ids.append(text_id(*name))
            self.endpoint_services.append(self._services.setdefault(service, len(self._services)))
        self._operations[service][operation] = index
        return index


def _first_text(tags: dict[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = tags.get(key)
        if value not in (None, ""):
            return str(value[0] if isinstance(value, list) and value else value)
    return ""
