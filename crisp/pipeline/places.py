"""Where things lie under the output folder."""

from __future__ import annotations

from dataclasses import dataclass, fields

from crisp.locations import Location, join


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Folders or URLs, each with days of tables, but for the site."""

    lake: str
    marts: str
    site: str
    models: str
    scores: str
    alerts: str


def places(out: Location) -> Places:
    """The layout of an output folder, a path or a URL."""
    return Places(**{each.name: join(out, each.name) for each in fields(Places)})
