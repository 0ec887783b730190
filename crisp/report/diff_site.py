"""Write the pages of a comparison: all endpoints of two windows, and what changed in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from crisp.report.model_diff import Changed, Diff, diff_data, surest_first
from crisp.report.page_files import write, write_page
from crisp.report.pages import bundle, pages_of

NAV = (("index", "Comparison"),)
_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSite:
    """A written comparison."""

    index: str
    """path or URL of the first page"""
    changed: tuple[Changed, ...]
    """endpoints of both windows, sure changes first"""
    new: tuple[str, ...]
    """endpoints of the second window alone"""
    gone: tuple[str, ...]
    """endpoints of the first window alone"""


def write_diff(
    before: Mapping[str, pa.Table],
    after: Mapping[str, pa.Table],
    target: Path,
    *,
    labels: tuple[str, str],
    title: str,
    generated_us: int,
    jaeger_url: str | None = None,
) -> DiffSite:
    """Write the comparison of two windows' marts into the empty directory ``target``.

    Raises:
        ConfigError: ``jaeger_url`` is no http or https template with ``{trace_id}``.
        CrispError: the front end was never built.
    """
    files = bundle()
    runs, ledgers = (pa.concat_tables([before[name], after[name]]) for name in ("runs", "ledgers"))
    pages = pages_of(
        runs,
        ledgers,
        title=title,
        generated_us=generated_us,
        jaeger_url=jaeger_url,
        nav=NAV,
    )
    for name, content in files.items():
        write(target / name, content)
    diff = Diff(before, after, labels)
    found = []
    (target / "endpoint").mkdir()
    for changed, tree, differences in diff.pages(seed=_SEED):
        write_page(
            pages,
            target / "endpoint" / changed.page,
            tree,
            template="comparison",
            parts={"changes": differences},
            changed=changed,
            labels=labels,
            levels=tree["depth"],
        )
        found.append(changed)
    ordered = surest_first(found)
    write_page(
        pages,
        target / "index",
        diff_data(ordered, labels),
        template="diff",
        changed=ordered,
        labels=labels,
        new=diff.new,
        gone=diff.gone,
    )
    return DiffSite(
        index=str(target / "index.html"),
        changed=tuple(ordered),
        new=tuple(f"{row.service}::{row.operation}" for row in diff.new),
        gone=tuple(f"{row.service}::{row.operation}" for row in diff.gone),
    )
