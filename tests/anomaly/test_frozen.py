from __future__ import annotations

import numpy as np

from crisp.anomaly.frozen import nested, packed, part, smallest, unpacked


def test_the_order_of_arrays_does_not_change_the_bytes() -> None:
    a, b = np.arange(3), np.array([0.5, 1.5])
    assert packed({"a": a, "b": b}) == packed({"b": b, "a": a})


def test_arrays_come_back_and_integers_are_large_again() -> None:
    arrays = {
        "small": np.array([-3, 5]),
        "large": np.array([2**40]),
        "flags": np.array([True, False]),
        "floats": np.array([[0.1, 0.2]], np.float32),
        "across": np.arange(6.0).reshape(2, 3).T,
        "empty": np.empty((0, 4)),
        "nothing": np.empty(0, np.int64),
    }
    found = unpacked(packed(arrays))
    assert sorted(found) == sorted(arrays)
    for name, values in arrays.items():
        assert found[name].dtype == values.dtype
        assert np.array_equal(found[name], values)


def test_integers_take_as_few_bytes_as_hold_them() -> None:
    for values, kind in [
        ([-128, 127], np.int8),
        ([128], np.int16),
        ([-(2**15) - 1], np.int32),
        ([2**31], np.int64),
    ]:
        assert smallest(np.array(values, np.int64)).dtype == kind


def test_parts_are_told_apart_by_their_whole_names() -> None:
    arrays = nested({"a": {"x": np.zeros(1)}, "ab": {"x": np.ones(1)}})
    assert part(arrays, "a")["x"].tolist() == [0]
    assert part(arrays, "ab")["x"].tolist() == [1]
