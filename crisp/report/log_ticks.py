"""Round times for a logarithmic axis."""

from __future__ import annotations

import math

_STEPS = ((1,), (1, 2, 5), range(1, 10), [i / 10 for i in range(10, 100)])


def round_times(low_us: float, high_us: float) -> list[float]:
    """Powers of ten from ``low_us`` to ``high_us``, ascending, in microseconds.

    Where there are fewer than two also 2 and 5 times them, then every digit, then every second
    digit: the coarsest steps that give two.
    """
    inside: list[float] = []
    powers = range(
        math.floor(math.log10(max(low_us, 1))), math.ceil(math.log10(max(high_us, 1))) + 1
    )
    for steps in _STEPS:
        times = [float(step * 10**power) for power in powers for step in steps]
        inside = [time for time in times if low_us <= time <= high_us]
        if len(inside) >= 2:
            break
    return inside
