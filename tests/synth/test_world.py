from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from crisp.synth import Fault, SynthOptions, parse_fault
from crisp.synth.faults import plant
from crisp.synth.programs import Node, calls_of
from crisp.synth.world import make_world

DAY = date(2026, 3, 9)
FAULTS = [parse_fault(kind) for kind in ("slow", "serialise", "retry-storm", "cold-cache")]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_the_busiest_entry_has_a_place_for_every_fault(fault: Fault) -> None:
    for seed in range(8):
        world = make_world(SynthOptions(day=DAY, seed=seed))
        assert plant(fault, world.entries[0]).paths


@pytest.mark.parametrize(("endpoints", "spans"), [(1, 30), (2, 100), (20, 100), (60, 400)])
def test_expected_spans_per_trace_are_near_the_asked_mean(endpoints: int, spans: float) -> None:
    world = make_world(SynthOptions(day=DAY, endpoints=endpoints, spans=spans, seed=3))
    assert len({entry.endpoint for entry in world.entries}) == endpoints
    assert sum(world.traffic) == pytest.approx(1)
    assert list(world.traffic) == sorted(world.traffic, reverse=True)
    mean = sum(e.spans * t for e, t in zip(world.entries, world.traffic, strict=True))
    assert mean == pytest.approx(spans, rel=0.1)


def _endpoints(node: Node) -> set[str]:
    return {node.endpoint}.union(*(_endpoints(call) for call in calls_of(node)))


def test_interior_endpoints_are_called_by_many_entries() -> None:
    world = make_world(SynthOptions(day=DAY, endpoints=40))
    callers = Counter(name for entry in world.entries for name in _endpoints(entry))
    assert max(callers.values()) >= 8
    assert sum(count > 1 for count in callers.values()) >= 50


def test_every_site_has_hosts_of_its_service() -> None:
    world = make_world(SynthOptions(day=DAY, services=30))
    for site, hosts in zip(world.sites, world.hosts_of, strict=True):
        assert hosts
        assert {world.hosts[host].service for host in hosts} == {site.service}
    assert len({host.service for host in world.hosts}) == 30
    assert len({host.name for host in world.hosts}) == len(world.hosts)
