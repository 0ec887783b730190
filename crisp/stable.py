"""Hashes that are the same on every machine and in every release.

Ids made here are stored and joined on for years: nothing in this file may ever change.
"""

from __future__ import annotations

from hashlib import blake2b


def text_id(*parts: str) -> int:
    """Signed 64-bit hash of some texts; never 0.

    The first eight bytes, little-endian, of BLAKE2b over the texts in UTF-8, parted by zero
    bytes. An endpoint's id is that of (service, operation), a tree's of (trace, root span).
    """
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True) or 1
