"""A sample weighs each trace alike, whatever its latency."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crisp.errors import ConfigError
from crisp.ingest.fetch import books
from crisp.ingest.fetch.places import place
from crisp.ingest.fetch.sample import _bounds, _shares
from tests.documents import trace
from tests.ingest.fetch.pulling import ids, landed, pulled
from tests.ingest.fetch.serving import serving, store

ONE = "shop::GET /"


def _records(landing: Path) -> list[books.Record]:
    where = place(landing / "date=2023-11-15")
    return list(books.read_records(where, where.names()).values())


def _many(latencies: list[int]) -> list[dict[str, object]]:
    return [trace(f"{n + 1:x}", start=n * 1000, latency=us) for n, us in enumerate(latencies)]


def _latencies(landing: Path) -> list[int]:
    return sorted(document["spans"][0]["duration"] for document in landed(landing))


def test_a_few_traces_are_all_taken(tmp_path: Path) -> None:
    with serving(store(_many([100, 200, 300]))) as server:
        result = pulled(server.url, tmp_path, ONE, sample=5)
        assert len(server.searches()) == 1
    assert (result.traces, result.complete) == (3, True)
    strata = _records(tmp_path)[0].sampled[0].strata
    assert sum(s.taken for s in strata) == sum(s.population or 0 for s in strata) == 3


def test_what_one_reply_holds_is_sampled_from_it(tmp_path: Path) -> None:
    with serving(store(_many(list(range(1000, 1200))))) as server:
        pulled(server.url, tmp_path, ONE, sample=20)
        assert len(server.searches()) == 1
    tenths = [(latency - 1000) // 20 for latency in _latencies(tmp_path)]
    assert tenths == sorted([*range(10)] * 2), "two of each tenth"
    strata = _records(tmp_path)[0].sampled[0].strata
    assert strata[0] == books.Stratum(0, 1019, 0.1, 20, 2)
    assert strata[9] == books.Stratum(1180, None, 0.1, 20, 2)


def test_more_than_one_reply_holds_is_asked_for_by_latency(tmp_path: Path) -> None:
    latencies = list(range(1000, 1200))
    random.Random(3).shuffle(latencies)
    with serving(store(_many(latencies))) as server:
        pulled(server.url, tmp_path, ONE, sample=20, limit=50)
        assert len(server.searches()) == 11
    assert len(_latencies(tmp_path)) == 20
    strata = _records(tmp_path)[0].sampled[0].strata
    assert [s.taken for s in strata] == [2] * 10
    assert all(s.population is not None for s in strata), "each has fewer than 50"
    assert sum(s.population or 0 for s in strata) == 200
    within = [
        sum(s.shortest_us <= latency <= (s.longest_us or 10**9) for latency in _latencies(tmp_path))
        for s in strata
    ]
    assert within == [2] * 10


def test_a_sample_does_not_depend_on_the_order_of_things(tmp_path: Path) -> None:
    documents = _many(list(range(1000, 1200)))
    for name, answer in (("one", store(documents)), ("two", store(documents[::-1]))):
        with serving(answer) as server:
            pulled(server.url, tmp_path / name, ONE, sample=20)
    assert ids(tmp_path / "one") == ids(tmp_path / "two")


def test_a_reply_too_large_for_memory_is_asked_for_with_half_as_many(tmp_path: Path) -> None:
    large = _many([1000] * 6)
    for document in large:
        spans: Any = document["spans"]
        spans[0]["tags"] = [{"key": "k", "type": "string", "value": "x" * 300_000}]
    with serving(store(large)) as server:
        pulled(server.url, tmp_path, ONE, sample=2, limit=8, reply_mb=1)
        limits = [r.query["limit"] for r in server.requests if r.path == "/api/traces"]
    assert limits == ["8", "4", "2", "8", "4", "2"], "the newest, then those of the one stratum"
    assert len(ids(tmp_path)) == 2
    stratum = _records(tmp_path)[0].sampled[0].strata[0]
    assert (stratum.population, stratum.taken) == (None, 2), "there may be more"


def test_each_operation_is_sampled_on_its_own(tmp_path: Path) -> None:
    with serving(store(_many(list(range(1000, 1050))))) as server:
        result = pulled(server.url, tmp_path, sample=10)
    assert result.endpoints == 6, "three operations of two services"
    sampled = [s for record in _records(tmp_path) for s in record.sampled]
    assert sorted((s.service, s.operation, sum(x.taken for x in s.strata)) for s in sampled) == [
        ("shop", "GET /", 10),
        ("shop", "find", 0),
        ("shop", "pay", 10),
        ("store", "GET /", 0),
        ("store", "find", 10),
        ("store", "pay", 0),
    ]


def test_a_day_that_is_not_over_cannot_be_sampled(tmp_path: Path) -> None:
    noon = datetime(2023, 11, 15, 12, tzinfo=UTC)
    with pytest.raises(ConfigError, match="is not over, so no sample"):
        pulled("http://localhost:1", tmp_path, sample=3, now=noon)


latencies = st.lists(st.integers(0, 50), min_size=1, max_size=60).map(sorted)


@given(latencies, st.integers(1, 10))
def test_strata_hold_every_latency_once(values: list[int], count: int) -> None:
    bounds = _bounds(values, count)
    assert 1 <= len(bounds) <= count
    for value in range(52):
        assert sum(low <= value and (high is None or value <= high) for low, high in bounds) == 1


@given(st.lists(st.integers(0, 30), min_size=1, max_size=10), st.integers(1, 200))
def test_shares_add_up_and_stay_within_one_of_the_true_ones(sizes: list[int], wanted: int) -> None:
    if not sum(sizes):
        return
    shares = _shares(sizes, wanted)
    assert sum(shares) == wanted
    for size, share in zip(sizes, shares, strict=True):
        assert abs(share - wanted * size / sum(sizes)) < 1
