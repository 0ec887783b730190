"""A Spark session: begun here, or found where spark-submit has begun one."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from crisp.engine.spark.explain import explained, reason, told_by_java
from crisp.errors import ConfigError, CrispError

WAIT = "spark.crisp.wait"
"""Setting: seconds to wait for the first executor."""
_WAIT_S = "300"
_POLL_S, _DRIVER_AND_ONE = 0.1, 2
_CONNECT_S = 5.0
_STANDALONE_PORT = 7077
_HERE = ("local", "spark://127.", "spark://localhost", "spark://[::1]")
_LOG_LEVEL = "spark.log.level"
_SECRETS = r"(?i)secret|password|token|credential|(access|account|encryption|private)[.]?key"
"""Settings that nobody else may see, as a pattern that Python and Java read alike."""
_ENVIRONMENT = "spark.executorEnv."
_FOUND = ("spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles")
_OBJECT_STORE = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
)
_WHEN_STARTED: Mapping[str, str] = {
    "spark.app.name": "crisp",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.warehouse.dir": Path(tempfile.gettempdir()).as_uri(),  # unused, but made if missing
    "spark.redaction.regex": _SECRETS,
    WAIT: _WAIT_S,
}
_FOR_QUERIES: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "true",  # an overflow is an error and not another number
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",  # nested rows are large
}


def begin(master: str | None, conf: Mapping[str, str]) -> tuple[SparkSession, bool]:
    """A session with settings of its own, and whether its Spark was begun here.

    Raises:
        ConfigError: there is no Java, nothing answers at ``master``, Spark runs at another one in
            this process, or refuses a setting.
        CrispError: no executor came in time.
    """
    found = SparkSession.getActiveSession()
    if found is not None and master not in (None, found.sparkContext.master):
        raise ConfigError(f"Spark runs at {found.sparkContext.master} already, not at {master}")
    base = found or _started(master, conf)
    try:
        with explained():
            session = base.newSession()
            _configure(session, conf)
            _await_executor(session)
    except BaseException:
        if found is None:
            base.stop()
        raise
    return session, found is None


def _configure(session: SparkSession, conf: Mapping[str, str]) -> None:
    """More partitions than cores, so that none is large; small ones are read together."""
    partitions = max(16, 4 * session.sparkContext.defaultParallelism)
    try:
        given = {key: value for key, value in conf.items() if session.conf.isModifiable(key)}
        settings = {**_FOR_QUERIES, "spark.sql.shuffle.partitions": str(partitions), **given}
        for key, value in settings.items():
            session.conf.set(key, value)
    except (PySparkException, Py4JJavaError) as error:
        raise ConfigError(f"Spark refuses a setting: {reason(error)}") from error


def _started(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:  # spark-submit's settings lie in the Java it began
        SparkContext._ensure_initialized()  # noqa: SLF001  # there is no public way to join it
    settings = SparkConf()
    for key, value in conf.items():
        settings.set(key, value)
    if master is not None:
        settings.setMaster(master)
    if submitted:  # its Java writes to our stderr
        settings.setIfMissing(_LOG_LEVEL, "ERROR")
    settings.setIfMissing("spark.master", "local[*]")
    place = str(settings.get("spark.master"))
    _check_answers(place)
    for key, value in {**_WHEN_STARTED, **_addresses(place), **_object_store(os.environ)}.items():
        settings.setIfMissing(key, value)
    _launch_java(settings)
    known = SparkConf()  # Java has found what the patterns stand for, and takes no patterns later
    found = {name: str(known.get(name)) for name in _FOUND if known.contains(name)}
    with explained():
        settings.setAll(list(found.items()))
        try:
            session = SparkSession.builder.config(conf=settings).getOrCreate()
        except (PySparkException, Py4JJavaError) as error:
            raise ConfigError(f"Spark does not start at {place}: {reason(error)}") from error
    session.sparkContext.pythonExec = _python(settings)
    return session


def _python(settings: SparkConf) -> str:
    """The executors' Python: as configured, else the one that runs this, where it lies here."""
    named = settings.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return named or sys.executable


def _addresses(master: str) -> dict[str, str]:
    """A Spark whose parts are all on this machine needs to be reached from nowhere else."""
    if not master.startswith(_HERE):
        return {}
    return {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def _object_store(environment: Mapping[str, str]) -> dict[str, str]:
    """S3 for the executors' Java and Python, as the environment of the driver describes it."""
    given = {name: environment[name] for name in _OBJECT_STORE if environment.get(name)}
    made = {f"{_ENVIRONMENT}{name}": value for name, value in given.items()}
    if endpoint := given.get("AWS_ENDPOINT_URL_S3") or given.get("AWS_ENDPOINT_URL"):
        secure = urlsplit(endpoint).scheme == "https"
        made["spark.hadoop.fs.s3a.endpoint"] = endpoint
        made["spark.hadoop.fs.s3a.path.style.access"] = "true"
        made["spark.hadoop.fs.s3a.connection.ssl.enabled"] = str(secure).lower()
    if region := given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION"):
        made["spark.hadoop.fs.s3a.endpoint.region"] = region
    return made


def _check_answers(master: str) -> None:
    """Spark itself would try for a minute, and then say something else.

    Raises:
        ConfigError: no standalone master answers.
    """
    if not master.startswith("spark://"):
        return
    problems = []
    for address in master.removeprefix("spark://").split(","):
        place = urlsplit(f"//{address}")
        try:
            port = place.port or _STANDALONE_PORT
            socket.create_connection((place.hostname or "", port), _CONNECT_S).close()
            return
        except (OSError, ValueError) as error:
            problems.append(f"{address}: {error}")
    raise ConfigError(f"no Spark master answers at {master} ({'; '.join(problems)})")


def _launch_java(settings: SparkConf) -> None:
    """Start Java unless it runs; what it says is kept out of sight, or there would be no end of it.

    Passwords do not go with the command, which other users can see; they follow when Spark starts.

    Raises:
        ConfigError: it does not start.
    """
    running = SparkContext._gateway is not None  # noqa: SLF001  # there is no public way to ask
    if running or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    shown = SparkConf(loadDefaults=False)
    for key, value in settings.getAll():
        if not key.startswith(_ENVIRONMENT) and not re.search(_SECRETS, key):
            shown.set(key, value)
    with tempfile.TemporaryFile() as log:
        hidden = {} if settings.contains(_LOG_LEVEL) else {"stderr": log}
        try:
            gateway = launch_gateway(shown, hidden)  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001  # it takes ours
        except PySparkRuntimeError as error:
            log.seek(0)
            said = told_by_java(log.read().decode(errors="replace"))
            raise ConfigError(
                f"Spark does not start (it needs Java 17 or newer): {said or error}"
            ) from error


def _await_executor(session: SparkSession) -> None:
    """Wait until there is one, but where Spark asks for them only when there is work.

    Raises:
        CrispError: none came; Spark itself would wait for ever.
    """
    context = session.sparkContext
    conf = context.getConf()
    asked_later = (conf.get("spark.dynamicAllocation.enabled") or "").lower() == "true"
    if str(context.master).startswith("local") or asked_later:
        return
    try:
        seconds = float(conf.get(WAIT) or _WAIT_S)
    except ValueError as error:
        raise ConfigError(f"{WAIT} must be a number of seconds, not {conf.get(WAIT)!r}") from error
    deadline = time.monotonic() + seconds
    told = context._jsc.sc().statusTracker()  # noqa: SLF001  # as above
    while len(told.getExecutorInfos()) < _DRIVER_AND_ONE:
        if time.monotonic() > deadline:
            raise CrispError(
                f"no executor came within {seconds:.0f} s ({WAIT}): {context.master} is busy, or"
                " has less memory or cores than spark.executor.memory and spark.executor.cores"
                " ask for"
            )
        time.sleep(_POLL_S)
