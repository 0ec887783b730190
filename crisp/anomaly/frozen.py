"""Arrays of models as bytes: safetensors, small, and the same bytes each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Mapping[str, npt.NDArray[Any]]

_INTEGERS = (np.int8, np.int16, np.int32, np.int64)


def packed(arrays: Arrays) -> bytes:
    """The arrays as safetensors, ordered by name. Integers take as few bytes as hold them."""
    from safetensors.numpy import save

    return bytes(save({name: smallest(np.asarray(arrays[name])) for name in sorted(arrays)}))


def unpacked(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays again; integers are int64, all else is as it was.

    Raises:
        safetensors.SafetensorError: this is no safetensors.
    """
    from safetensors.numpy import load

    return {
        name: values.astype(np.int64) if values.dtype.kind == "i" else values
        for name, values in sorted(load(data).items())
    }


def smallest(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values in the smallest integer type that holds them, in one piece; others unchanged."""
    if values.dtype.kind != "i":
        return np.ascontiguousarray(values)
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    kind = next(k for k in _INTEGERS if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return np.ascontiguousarray(values, kind)


def nested(parts: Mapping[str, Arrays]) -> dict[str, npt.NDArray[Any]]:
    """Arrays of several parts as one, named ``part/name``."""
    return {f"{part}/{name}": a for part, arrays in parts.items() for name, a in arrays.items()}


def part(arrays: Arrays, name: str) -> dict[str, npt.NDArray[Any]]:
    """The arrays of one part again."""
    start = f"{name}/"
    return {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}
