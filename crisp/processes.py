"""What the processes that crisp starts do to themselves."""

from __future__ import annotations

import os
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait


def end_with_parent(stopped: Connection | None = None) -> None:
    """End this process when the one that started it ends, however it ends.

    Or when it closes its end of the pipe ``stopped``.
    """
    parent = parent_process()
    ends: list[int | Connection] = [] if parent is None else [parent.sentinel]
    if stopped is not None:
        ends.append(stopped)

    def watch() -> None:
        if ends:
            wait(ends)
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
