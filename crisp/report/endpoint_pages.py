"""Everything that the page of an entry endpoint shows, from all marts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crisp.report.columns import Grouped, dicts, group
from crisp.report.host_values import HostValues, host_values
from crisp.report.kept import kept_tables
from crisp.report.model import entries_of
from crisp.report.model_changes import changes_data
from crisp.report.model_endpoint import Marts, bands_of
from crisp.report.model_errors import errors_data, errors_of
from crisp.report.model_fleet import Endpoint, names_of
from crisp.report.model_heat import heat_data
from crisp.report.model_latency import latency_chart
from crisp.report.model_marks import EndpointAnomalies
from crisp.report.model_violins import violins_data
from crisp.report.page_files import Parts
from crisp.report.paths import CallPaths

_SEED = 0
"""Of the bootstrap: the same marts give the same intervals."""


TABLES = (
    *("bands", "cct", "path_stats", "exemplars", "call_paths", "endpoint_names", "kept"),
    *("kept_paths", "ledgers", "groups", "group_paths", "latencies", "errors", "hosts"),
)
"""Marts that the pages of endpoints are made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPage:
    """What is put into a page and shown by it."""

    data: dict[str, Any]
    parts: Parts
    shown: dict[str, Any]
    """what the template asks for"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTables:
    """The marts of the pages, grouped once for all of them."""

    trees: Marts
    ledgers: Grouped
    groups: Grouped
    group_paths: Grouped
    latencies: Grouped
    errors: Grouped
    hosts: HostValues
    anomalies: EndpointAnomalies | None
    """None where no night was ever judged"""

    def page(self, endpoint: Endpoint) -> EndpointPage:
        """The page of one endpoint."""
        number = endpoint.endpoint_id
        bands = bands_of(self.trees.bands.of(number))
        tree = self.trees.tree(endpoint)
        kept = self.trees.kept_traces(endpoint, tree, bands)
        data = self.trees.endpoint_data(endpoint, tree, bands)
        errors = self.errors.of(number)
        heat = heat_data(kept, tree, bands)
        violins = violins_data(kept, tree, self.hosts)
        changes = changes_data(
            tree,
            bands,
            data["cells"]["exclusive_us"],
            kept,
            self.groups.of(number),
            self.group_paths.of(number),
            seed=_SEED,
        )
        parts: dict[str, Any] = {}
        anomalies = None
        if self.anomalies is not None:
            found = self.anomalies.marks(endpoint, tree, self.trees.paths)
            data["marks"], parts["requests"] = found.marks, found.requests
            anomalies = found.section
        return EndpointPage(
            data=data,
            parts={
                "changes": changes,
                "heat": heat,
                "errors": errors_data(errors, tree, endpoint.latency_us),
                "violins": violins,
                **parts,
            },
            shown={
                "endpoint": endpoint,
                "bands": bands,
                "levels": tree.depth,
                "no_hosts": violins["empty"],
                "compare_kinds": len(changes["first"]) if tree.depth else 0,
                "kept": kept,
                "heat_rows": len(heat["rows"]["name"]),
                "latency": latency_chart(self.latencies.of(number), bands),
                "errors": errors_of(errors, endpoint.latency_us),
                "anomalies": anomalies,
                "own_entries": entries_of(dicts(self.ledgers.of(number))),
            },
        )


def endpoint_tables(
    marts: Mapping[str, pa.Table], anomalies: EndpointAnomalies | None = None
) -> EndpointTables:
    """The tables named by `TABLES`, grouped."""
    kept = kept_tables(marts["kept"], marts["kept_paths"])
    return EndpointTables(
        trees=Marts(
            bands=group(marts["bands"], ("band",)),
            cct=group(marts["cct"], ("band", "path_id")),
            path_stats=group(marts["path_stats"], ("path_id",)),
            exemplars=group(marts["exemplars"], ("path_id", "place", "trace_id")),
            paths=CallPaths(marts["call_paths"], names_of(marts["endpoint_names"])),
            kept=kept,
        ),
        ledgers=group(marts["ledgers"], ("entry", "example")),
        groups=group(marts["groups"]),
        group_paths=group(marts["group_paths"]),
        latencies=group(marts["latencies"]),
        errors=group(marts["errors"], ("path_id",)),
        hosts=host_values(marts["hosts"], kept.hosts),
        anomalies=anomalies,
    )
