"""Tell of progress while Spark is busy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

_INTERVAL_S = 0.2


@contextmanager
def watching(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` at once and then again and again, until the block ends."""
    over = Event()

    def watch() -> None:
        while not over.wait(_INTERVAL_S):
            tell()

    tell()
    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
