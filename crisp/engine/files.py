"""One Parquet file, at a path or a URL, that is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from crisp.locations import filesystem, is_url

_FLUSH = 64 << 20
"""Bytes of Arrow rows held before they are written."""

SCRATCH = {"compression": "lz4", "use_dictionary": False, "write_statistics": False}
"""Files that are read once and soon: quickly written."""
LASTING = {"compression": "zstd", "store_schema": False}
"""Files that stay: small, and with statistics that let readers pass over what they need not."""


class ParquetFile:
    """Takes batches and writes them in large row groups.

    The file appears in one step when the block around it ends well: on disk by renaming, in an
    object store by one upload. So several processes may write the same rows to the same place,
    as Spark's retries do, and a reader never sees part of a file.
    """

    def __init__(self, place: str, schema: pa.Schema, options: dict[str, Any]) -> None:
        self.place = place
        self._schema, self._options = schema, options
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0
        self._aside = _aside(place)
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch; write when there are enough of them."""
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _FLUSH:
            self._flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._flush()
            if self._writer is not None:
                self._writer.close()
            if kind is None:
                self._publish()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._aside)  # noqa: PTH108  # text, as everywhere here

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._aside, self._schema, **self._options)
        self._writer.write_table(pa.Table.from_batches(self._batches, self._schema))
        self._batches, self._bytes = [], 0

    def _publish(self) -> None:
        if is_url(self.place):
            system, path = filesystem(self.place)
            system.put_file(self._aside, path)
        else:
            os.replace(self._aside, self.place)  # noqa: PTH105  # likewise


def _aside(place: str) -> str:
    """A name of its own: on the same disk for a path, in the temporary folder for a URL."""
    folder, _, name = place.rpartition("/")
    return os.path.join(  # noqa: PTH118  # likewise
        tempfile.gettempdir() if is_url(place) else folder, f".{name}.{uuid4().hex}"
    )
