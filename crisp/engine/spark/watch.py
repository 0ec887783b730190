"""Tell of progress while Spark is busy."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType

_INTERVAL_S = 0.2


class Watch:
    """Calls ``tell`` at once and then again and again, until the block around it ends."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._over = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._over.wait(_INTERVAL_S):
            self._tell()

    def __enter__(self) -> None:
        self._tell()
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
