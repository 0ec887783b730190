"""Arrow arrays from columns and columns from arrays, by their buffers.

`pyarrow.array` first imports pandas, to look for objects that never occur here: a quarter of
a second and 40 MB for each process. Handing over the buffers does without, and copies less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_TEXT_LIMIT = 2**31 - 1


def ints(values: npt.ArrayLike) -> pa.Array:
    """An int64 array."""
    return _plain(pa.int64(), np.ascontiguousarray(values, np.int64))


def doubles(values: npt.ArrayLike) -> pa.Array:
    """A float64 array."""
    return _plain(pa.float64(), np.ascontiguousarray(values, np.float64))


def offsets(values: npt.ArrayLike) -> pa.Array:
    """An int32 array, as lists want their edges."""
    return _plain(pa.int32(), np.ascontiguousarray(values, np.int32))


def flags(values: npt.ArrayLike) -> pa.Array:
    """A bool array."""
    column = np.ascontiguousarray(values, np.bool_)
    bits = np.packbits(column, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(column), [None, pa.py_buffer(bits)])


def texts(values: Sequence[str]) -> pa.Array:
    """A string array. Lone surrogates, which are no text, become U+FFFD.

    Raises:
        OverflowError: more than 2 GB of text in one array.
    """
    joined = "".join(values)
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    if not joined.isascii():
        encoded = [_utf8(value) for value in values]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        data = b"".join(encoded)
    else:
        data = joined.encode()
    if len(data) > _TEXT_LIMIT:
        raise OverflowError(f"{len(data)} bytes of text in one column")
    edges = np.zeros(len(values) + 1, np.int32)
    np.cumsum(lengths, out=edges[1:])
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _plain(kind: pa.DataType, column: npt.NDArray[Any]) -> pa.Array:
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


_MAKERS = {pa.int64(): ints, pa.float64(): doubles, pa.bool_(): flags, pa.string(): texts}


def array(values: Any, kind: pa.DataType) -> pa.Array:
    """An array of one of the four plain types; Arrow arrays are passed on."""
    return values if isinstance(values, pa.Array) else _MAKERS[kind](values)


def batch(columns: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    """A batch from columns by name, in the order of ``schema``."""
    arrays = [array(columns[field.name], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def numbers(column: pa.Array) -> npt.NDArray[Any]:
    """The values of an int64 or float64 array without nulls; they are not copied, nor to be
    changed. `pyarrow.Array.to_numpy` imports pandas too."""
    kind = np.int64 if column.type == pa.int64() else np.float64
    values = column.buffers()[1]
    if values is None:  # Arrow gives no buffer to an array of nothing
        return np.empty(0, dtype=kind)
    return np.frombuffer(values, dtype=kind)[column.offset : column.offset + len(column)]


def constant(value: str, count: int) -> pa.Array:
    """``count`` times the same text."""
    return texts([value]).take(ints(np.zeros(count, np.int64)))


def rows(records: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """A batch from records; plain columns only."""
    return batch({name: [record[name] for record in records] for name in schema.names}, schema)
