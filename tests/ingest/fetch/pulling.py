"""Run fetches in this process, and read what they leave."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import zstandard

from crisp.ingest.fetch.endpoints import Endpoint
from crisp.ingest.fetch.options import FetchOptions
from crisp.ingest.fetch.scope import Scope
from crisp.pipeline.fetch import Fetched, fetch
from tests.documents import DAY as DAY_US

DAY = date(2023, 11, 15)
"""The day of `tests.documents`."""
DAY_END_US = DAY_US + 86_400_000_000


def pulled(
    url: str,
    landing: Path | str,
    *endpoints: str,
    day: date = DAY,
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC),
    refetch: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_trouble: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Fetched:
    """Fetch a day; ``endpoints`` as service or service::operation."""
    parts = [text.partition("::") for text in endpoints]
    scope = Scope(tuple(Endpoint(p[0], p[2]) for p in parts) if parts else None)
    chosen: dict[str, Any] = {"retry_s": 20, "api": "v1"} | options
    return fetch(
        landing,
        day,
        FetchOptions(jaeger=url, **chosen),
        scope,
        now=now,
        refetch=refetch,
        on_progress=on_progress,
        on_trouble=on_trouble,
    )


def parts(landing: Path) -> list[Path]:
    """The files of traces, in order."""
    return sorted(landing.glob("date=*/service=*/part-*.jsonl.zst"))


def read_part(path: Path) -> list[dict[str, Any]]:
    """The documents of a file."""
    with path.open("rb") as packed:
        reader = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return [json.loads(line) for line in io.BufferedReader(reader)]


def landed(landing: Path) -> list[dict[str, Any]]:
    """All documents of a landing area, by trace id."""
    found = [document for path in parts(landing) for document in read_part(path)]
    return sorted(found, key=lambda document: str(document["traceID"]))


def ids(landing: Path) -> list[int]:
    """The trace ids, in order, repeated ones repeated."""
    return sorted(int(document["traceID"], 16) for document in landed(landing))


def books(landing: Path) -> bytes:
    """All that the bookkeeping says."""
    return b"".join(p.read_bytes() for p in sorted(landing.rglob(".fetch/*")) if p.is_file())
