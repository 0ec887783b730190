"""Work for the process pool, in a module that workers can import."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from crisp.errors import InputError

NUMBERS = pa.schema([("shard", pa.int64()), ("value", pa.int64())])
SCHEMAS = {"numbers": NUMBERS, "squares": NUMBERS, "nothing": NUMBERS}


@dataclass(frozen=True)
class Numbers:
    """Numbers to write; ``deed`` says what happens on the way."""

    number: int
    size: int
    deed: str = ""
    folder: str = ""


def batch(shard: int, values: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"shard": [shard] * len(values), "value": values}, schema=NUMBERS
    )


def numbers(shard: Numbers) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Two batches of numbers and one of squares, no ``nothing``."""
    values = list(range(shard.size))
    yield "numbers", batch(shard.number, values[::2])
    if shard.folder:
        Path(shard.folder, str(os.getpid())).touch()
    if shard.deed == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if shard.deed == "exit":
        os._exit(0)
    if shard.deed == "error":
        raise InputError("file.json: cannot be read")
    if shard.deed == "bug":
        raise ZeroDivisionError("a broken promise")
    if shard.deed == "memory":
        raise MemoryError
    if shard.deed == "slow":
        time.sleep(60)
    if shard.deed == "pause":
        time.sleep(0.5)
    yield "numbers", batch(shard.number, values[1::2])
    yield "squares", batch(shard.number, [value * value for value in values])
