"""``python -m crisp`` is ``crisp``."""

from __future__ import annotations

from crisp.cli import main

if __name__ == "__main__":
    main()
