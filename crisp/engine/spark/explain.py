"""Errors of Spark that a person can put right, in one line."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]  # it ships none
from pyspark.errors import PySparkException

from crisp.errors import ConfigError, CrispError

_MEMORY = (
    "java.lang.OutOfMemoryError",
    "SparkOutOfMemoryError",
    "UNABLE_TO_ACQUIRE_MEMORY",
    "Not enough memory to build and broadcast",
    "exit code 137",
    "exit status 137",
    "exit code 52",
)
_FILES = (
    "FileNotFoundException",
    "PATH_NOT_FOUND",
    "FAILED_READ_FILE",
    "CANNOT_READ_FILE_FOOTER",
    "is not a Parquet file",
    "AccessDeniedException",
    "NoSuchBucket",
)
_STORE = re.compile(r"(?:Class|No FileSystem for scheme) \"?\S*(?:S3AFileSystem|s3a)\"?")
_LAST_LINE = re.compile(r"^((?:\w+\.)*(\w+)): (.*)$", re.MULTILINE)


@contextmanager
def explained() -> Iterator[None]:
    """What a person can put right becomes a `CrispError`; anything else is left as it is."""
    try:
        yield
    except Py4JNetworkError as error:
        raise CrispError("Spark's driver process ended, perhaps for want of memory") from error
    except (PySparkException, Py4JError) as error:
        found = _known(_text(error))
        if found is None:
            raise
        raise found from error


def _text(error: Exception) -> str:
    """All that Spark says of an error, causes included."""
    if isinstance(error, Py4JJavaError):
        return f"{error}\n{error.java_exception}"
    return str(error)


def _known(text: str) -> CrispError | None:
    if any(sign in text for sign in _MEMORY):
        return CrispError(
            "Spark ran out of memory; give it more (--spark-conf spark.executor.memory=4g,"
            " spark.driver.memory=2g) or fewer cores to a machine (spark.executor.cores=1)"
        )
    if _STORE.search(text):
        return ConfigError(
            "this Spark cannot read s3://; add the jars that scripts/setup-spark-s3 fetches"
            " (docs/spark.md)"
        )
    if any(sign in text for sign in _FILES):
        return CrispError(first_line(text))
    return _raised_by_python(text)


def _raised_by_python(text: str) -> CrispError | None:
    """Of a trace of the executors' Python: what it lacks, or the file it cannot read."""
    if "Traceback (most recent call last)" not in text:
        return None
    for found in _LAST_LINE.finditer(text):
        kind = getattr(builtins, found[2], None)
        if found[2] == "ModuleNotFoundError":
            return ConfigError(
                f"{found[3]} on Spark's executors: install the same crisp there, or name a Python"
                " that has it in PYSPARK_PYTHON (docs/spark.md)"
            )
        if isinstance(kind, type) and issubclass(kind, OSError | MemoryError):
            return CrispError(f"on one of Spark's executors: {found[2]}: {found[3]}")
    return None


def first_line(text: str) -> str:
    """The first line that says something, without Spark's name for the kind of error."""
    lines = [line for line in text.splitlines() if any(sign in line for sign in _FILES)]
    line = (lines or text.splitlines())[0].strip()
    return re.sub(r"^(?:[\w.$]+Exception: )+", "", line)
