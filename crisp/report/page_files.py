"""A page and the same data beside it, as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crisp.report.pages import Pages, joined_json, json_text

Parts = Mapping[str, Mapping[str, Any]]
NO_PARTS: Parts = MappingProxyType({})


def write_page(
    pages: Pages,
    stem: Path,
    data: Mapping[str, Any] | None,
    *,
    template: str | None = None,
    parts: Parts = NO_PARTS,
    **shown: Any,
) -> int:
    """Write ``stem.html`` and, where there is data, the same JSON beside it; bytes written.

    ``parts`` are what a page reads only when it comes to show it: elements of their own in the
    page, fields of the one object beside it.
    """
    texts = page_texts(data, parts)
    html = pages.render(template or stem.name, texts, beside=f"{stem.name}.json", **shown)
    written = write(stem.with_name(f"{stem.name}.html"), html.encode())
    if texts:
        written += write(stem.with_name(f"{stem.name}.json"), joined_json(texts).encode())
    return written


def page_texts(data: Mapping[str, Any] | None, parts: Parts) -> dict[str, str]:
    """JSON by the id of the element that holds it."""
    texts = {name: json_text(part) for name, part in parts.items()}
    return texts if data is None else {"data": json_text(data), **texts}


def write(path: Path, content: bytes) -> int:
    """Write a file; its length."""
    path.write_bytes(content)
    return len(content)
