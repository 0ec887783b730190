"""Writes a planned day to files, spread over processes, each file aside and then renamed."""

from __future__ import annotations

import gzip
import json
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import zstandard

from crisp.errors import ConfigError
from crisp.synth.options import SynthOptions
from crisp.synth.plan import DAY_US, Plan, plan, trace_id, trace_json

TRUTH = "_truth.json"  # readers of data folders pass over names with an underscore
_GENERATOR = "crisp synth"
_FILE_BYTES = 64_000_000
_SPAN_BYTES = 930
_FILES_PER_TASK = 500

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written: ``bytes`` counts the JSON before compression."""

    traces: int
    spans: int
    bytes: int
    files: int
    truth: Path


@dataclass(frozen=True, slots=True)
class _Task:
    """Traces [first, end) of the day; ``number`` names the file where one file takes them all."""

    number: int
    first: int
    end: int


def generate(options: SynthOptions) -> Iterator[bytes]:
    """All traces in the order of their start, each one bare JSON object without line break.

    Same options, same bytes. Raises: ConfigError when a fault has no place.
    """
    planned = plan(options)
    return (trace_json(planned, index)[0] for index in range(options.traces))


def write(
    options: SynthOptions, target: Path, workers: int = 1, on_progress: Progress | None = None
) -> Written:
    """Write the day and its `_truth.json` into the folder ``target``.

    ``on_progress`` hears the numbers of traces done and in all after each part. The bytes do
    not depend on ``workers``. A day that the generator wrote there before is replaced.

    Raises: ConfigError when ``target`` holds anything else or a fault has no place.
    """
    planned = plan(options)
    _prepare(target)
    with _aside(target / TRUTH) as file:
        file.write(json.dumps(truth(planned), indent=1).encode() + b"\n")
    tasks = list(_tasks(options))
    done = spans = size = 0
    for traces, task_spans, task_bytes in _results(planned, tasks, target, workers):
        done, spans, size = done + traces, spans + task_spans, size + task_bytes
        if on_progress is not None:
            on_progress(done, options.traces)
    return Written(
        traces=options.traces,
        spans=spans,
        bytes=size,
        files=options.traces if options.layout == "files" else len(tasks),
        truth=target / TRUTH,
    )


def truth(planned: Plan) -> dict[str, Any]:
    """What was planted where: the content of `_truth.json`."""
    options = planned.options
    step_us = DAY_US / options.traces
    settings = asdict(options) | {"day": options.day.isoformat()}
    endpoints = [
        {"entry": k, "endpoint": program.endpoint, "traces": int((planned.entry == k).sum())}
        for k, program in enumerate(planned.world.entries)
    ]
    faults = [
        {
            **planted.fault.settings(),
            "endpoint": planned.world.entries[planted.fault.entry].endpoint,
            "paths": [list(path) for path in planted.paths],
            "traces": planted.traces,
            "from_us": planned.day_us + int(planted.first * step_us),
            "first_trace": trace_id(planned, planted.first),
            "last_trace": trace_id(planned, planted.last),
        }
        for planted in planned.faults
    ]
    return {
        "generator": _GENERATOR,
        "seed": options.seed,
        "options": settings,
        "entries": endpoints,
        "faults": faults,
    }


def _prepare(target: Path) -> None:
    """Make the folder, and take away what the generator wrote there before."""
    if target.exists() and not target.is_dir():
        raise ConfigError(f"{target} is a file; name a folder to write the traces to")
    target.mkdir(parents=True, exist_ok=True)
    old = sorted(target.iterdir())
    ours = [path for path in old if path.name == TRUTH or path.name.startswith(("trace", ".trace"))]
    if len(ours) < len(old) or (old and not _is_ours(target / TRUTH)):
        raise ConfigError(f"{target} is not empty and not written by `{_GENERATOR}`; name another")
    for path in ours:
        path.unlink()


def _is_ours(path: Path) -> bool:
    return path.exists() and f'"generator": "{_GENERATOR}"' in path.read_text("utf-8")[:200]


def _tasks(options: SynthOptions) -> Iterator[_Task]:
    """The parts of the day, of equal numbers of traces, in order."""
    if options.layout == "files":
        count = -(-options.traces // _FILES_PER_TASK)
    elif options.files is not None:
        count = options.files
    else:
        whole = options.traces * options.spans * _SPAN_BYTES
        count = min(max(1, round(whole / _FILE_BYTES)), options.traces)
    for number in range(count):
        first, end = (options.traces * k // count for k in (number, number + 1))
        yield _Task(number, first, end)


def _results(
    planned: Plan, tasks: list[_Task], target: Path, workers: int
) -> Iterator[tuple[int, int, int]]:
    """Traces, spans and bytes of each task as it ends."""
    if workers <= 1 or len(tasks) == 1:
        for task in tasks:
            yield _write_task(planned, task, target)
        return
    # spawn: the caller may have threads (DuckDB, a progress bar) that a fork would break
    with ProcessPoolExecutor(
        min(workers, len(tasks)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(planned.options,),
    ) as pool:
        for future in as_completed([pool.submit(_work, task, target) for task in tasks]):
            yield future.result()


_worker_plan: Plan | None = None


def _start_worker(options: SynthOptions) -> None:
    """Plan the day once in each process; a plan is a hundred times larger than its options."""
    global _worker_plan  # noqa: PLW0603  # the one thing a pool's initializer can hand over
    _worker_plan = plan(options)


def _work(task: _Task, target: Path) -> tuple[int, int, int]:
    assert _worker_plan is not None
    return _write_task(_worker_plan, task, target)


def _write_task(planned: Plan, task: _Task, target: Path) -> tuple[int, int, int]:
    """Write the files of one task; traces, spans and bytes written."""
    layout = planned.options.layout
    total = size = 0
    if layout == "files":
        for index in range(task.first, task.end):
            body, spans = trace_json(planned, index)
            body = b'{"data":[' + body + b'],"total":0,"limit":0,"offset":0,"errors":null}\n'
            with _aside(target / f"trace-{index:08d}.json") as file:
                file.write(body)
            total, size = total + spans, size + len(body)
    else:
        with (
            _aside(target / f"traces-{task.number:05d}.{layout}") as raw,
            _packed(raw, layout) as file,
        ):
            for index in range(task.first, task.end):
                body, spans = trace_json(planned, index)
                file.write(body)
                file.write(b"\n")
                total, size = total + spans, size + len(body) + 1
    return task.end - task.first, total, size


@contextmanager
def _aside(path: Path) -> Iterator[IO[bytes]]:
    """A file that appears under its name only when it is whole."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        yield file
    partial.replace(path)


@contextmanager
def _packed(file: IO[bytes], layout: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """``file``, compressed as the layout says; the same bytes give the same file."""
    if layout == "jsonl.gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=3, mtime=0) as out:
            yield out
    elif layout == "jsonl.zst":
        with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as writer:
            yield writer
    else:
        yield file
