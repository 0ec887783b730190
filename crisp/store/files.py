"""What the store asks of the place it lies in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Protocol


class Files(Protocol):
    """Folders of one root. Locations are paths or URLs below it."""

    def staging(self) -> AbstractContextManager[str]:
        """A new folder that is gone afterwards."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """One writer at a time, where the place can do that."""
        ...

    def names(self) -> list[str]:
        """Names directly below the root; none when it does not exist."""
        ...

    def below(self, folder: str) -> list[str]:
        """Locations of the files directly in ``folder``, sorted; none when it does not exist."""
        ...

    def texts(self, files: Sequence[str]) -> dict[str, str]:
        """The texts of those files that exist."""
        ...

    def replace(self, file: str, text: str) -> None:
        """Write a file in one step; its folder is made when missing."""
        ...

    def digest(self, folder: str) -> str:
        """Hash of the content of all files below ``folder``, with their names."""
        ...

    def move(self, folder: str, target: str, last: Mapping[str, str]) -> None:
        """Move a folder to where nothing finished stands. The texts ``last``, by name, are
        written into it; when they are there all is."""
        ...

    def clean(self, folder: str, keep: Set[str], before: str | None) -> None:
        """Remove what is directly in ``folder`` but not named in ``keep`` or in use; ``before``
        is what has just been replaced, and most likely to be read; None when nothing was."""
        ...

    def held(self, folder: str) -> AbstractContextManager[bool]:
        """Keep `clean` from removing a folder; False when it is gone already."""
        ...
