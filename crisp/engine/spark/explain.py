"""Errors of Spark that a person can put right, in one line."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
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
    "Python worker exited unexpectedly",
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
_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_STORE = re.compile(r"(?:Class|No FileSystem for scheme) \"?\S*(?:S3AFileSystem|s3a)\"?")
_LAST_LINE = re.compile(r"^((?:\w+\.)*(\w+))(?:: (.*))?$", re.MULTILINE)
_MESSAGE = re.compile(r"^Error\b|(?:Error|Exception): |Invalid ")
_KIND = re.compile(r'^(?:Exception in thread "\w+" )?(?:[\w.$]+(?:Exception|Error): )+')
"""Java's name of an error, which says nothing to a person."""
_LONGEST = 300
_NO_MEMORY = {"MemoryError", "_ArrayMemoryError", "ArrowMemoryError"}


@contextmanager
def explained() -> Iterator[None]:
    """What a person can put right becomes a `CrispError`; anything else is left as it is."""
    try:
        yield
    except Py4JNetworkError as error:
        raise CrispError("Spark's driver process ended, perhaps for want of memory") from error
    except (PySparkException, Py4JError) as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # PySpark turns it into a failed job
            raise KeyboardInterrupt from error
        found = _known(_text(error))
        if found is None:
            raise
        raise found from error


def reason(error: Exception) -> str:
    """Why Spark refuses a setting, in its own words."""
    said = error.java_exception if isinstance(error, Py4JJavaError) else error
    return _KIND.sub("", str(said).strip().splitlines()[0])


def told_by_java(said: str) -> str:
    """The messages of errors among what Java printed, without where they came from."""
    lines = [line.strip() for line in said.splitlines()]
    told = [line for line in lines if _MESSAGE.search(line)]
    plain = [line for line in lines if line and not line.startswith(("at ", "WARNING"))]
    return " ".join(_KIND.sub("", line) for line in told or plain)[:_LONGEST]


def _text(error: Exception) -> str:
    """All that Spark says of an error, causes included."""
    if isinstance(error, Py4JJavaError):
        return f"{error}\n{error.java_exception}"
    return str(error)


def _known(text: str) -> CrispError | None:
    if any(sign in text for sign in _MEMORY):
        return _out_of_memory()
    if found := _PYTHON.search(text):
        return ConfigError(f"{found[1]}: no such Python on Spark's executors (PYSPARK_PYTHON)")
    if _STORE.search(text):
        return ConfigError(
            "this Spark cannot read s3://; add the jars that scripts/setup-spark-s3 fetches"
            " (docs/spark.md)"
        )
    if any(sign in text for sign in _FILES):
        return CrispError(_first_line(text))
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
        if found[2] in _NO_MEMORY:
            return _out_of_memory()
        if found[1].startswith("botocore.") or (
            isinstance(kind, type) and issubclass(kind, OSError)
        ):
            return CrispError(f"on one of Spark's executors: {found[2]}: {found[3] or ''}")
    return None


def _first_line(text: str) -> str:
    """The first line that says something, without Spark's name for the kind of error."""
    lines = [line for line in text.splitlines() if any(sign in line for sign in _FILES)]
    line = (lines or text.splitlines())[0].strip()
    return _KIND.sub("", line)


def _out_of_memory() -> CrispError:
    return CrispError(
        "Spark ran out of memory; give it more (--spark-conf spark.executor.memory=4g,"
        " spark.driver.memory=2g, for Python spark.executor.memoryOverhead=2g) or fewer cores to a"
        " machine (spark.executor.cores=1)"
    )
