"""Published numbers on the shape of production traces, and how they are read.

Facts only, no rows of anybody's data set:

- Uber: 531,085 sanitised Jaeger traces (Zenodo 10.5281/zenodo.13947828, SIGMETRICS 2025), as
  counted by docc-lab/bridges @ 943cc2db. Bin k of 20 holds the k-th 5 % of the traces; its
  median is read as the (k + 0.5)/20 quantile, digitised from plots within 2 %.
- Meta: facebookresearch/distributed_traces @ 9250e5af (USENIX ATC 2023).
- Alibaba: cluster-trace-microservices-v2022, call graphs of dufanrong/DGG @ 82db6dce.
- Clock offsets: fitted on the six runs of the TraceWeaver hotel traces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

# Uber, spans per trace: the k/40 quantiles of 1,000 clean traces, the last 2.5 % one by one.
UBER_SPANS = (
    *(3, 3, 3, 4, 7, 7, 9, 14, 15, 21, 28, 39, 50, 50, 59, 77, 97, 111, 115, 119),
    *(121, 123, 128, 132, 134, 137, 142, 152, 159, 178, 196, 200, 210, 216, 232, 259),
    *(300, 352, 400),
)
UBER_SPANS_TAIL = (
    *(419, 419, 421, 440, 480, 505, 530, 532, 552, 572, 578, 593, 656, 691, 776, 779),
    *(826, 953, 1003, 1130, 1388, 5363, 10376),
)

# Uber, medians of 20 equal bins of all traces: spans, spans open at once, depth (in edges; one
# merged tie placed by us), and fan-out (15 markers told apart, stretched over the 20 bins).
UBER_BIN_SPANS = (
    *(4, 20, 45, 80, 122, 138, 178, 213, 266, 305),
    *(351, 404, 527, 771, 1060, 1268, 1675, 2214, 3865, 10252),
)
UBER_BIN_CONCURRENCY = (
    *(3.0, 8.0, 11.1, 14.1, 17.1, 24.1, 29.1, 33.2, 37.1, 41.1),
    *(48.2, 53.1, 64.5, 87.4, 117.6, 137.9, 175.7, 248.3, 341.2, 700.4),
)
UBER_BIN_DEPTH = (2, 7, 8, 10, 13, 14, 15, 17, 18, 18, 21, 22, 23, 26, 29, 31, 35, 40, 44, 49)
UBER_FANOUT = (
    *(1.0, 3.0, 7.1, 10.0, 13.1, 16.1, 21.1, 32.1, 38.3, 51.4),
    *(79.3, 105.7, 127.0, 175.0, 330.5),
)

# Uber, share of 10,000 random traces that have the defect at least once.
UBER_MULTI_ROOT = 0.3009
UBER_DANGLING = 0.0557
UBER_SECOND_PARENT = 0.1249
UBER_REPEATED_PARENT = 0.6393
UBER_DUPLICATE_ID = 0.0221
# Of spans with several CHILD_OF: an identical copy, another ancestor, a true fan-in.
UBER_MULTI_PARENT_SPANS = (0.9656, 0.034, 0.0001)
# Roots per multi-root trace: median and 99 % quantile.
UBER_ROOTS = (5, 550)

# Meta, hosts per service: (quantile, value).
META_INSTANCES = ((0.05, 1), (0.1, 2), (0.25, 3), (0.5, 8), (0.75, 64), (0.9, 650))

# Alibaba, share of calls by kind: cache, rpc, http, database, message queue.
ALIBABA_CALLS = {"cache": 0.3680, "rpc": 0.2830, "http": 0.3262, "db": 0.0212, "mq": 0.0016}

# TraceWeaver hotel: hosts of one machine agree within tens of µs, others within some ms.
CLOCK_NEAR_US = 50.0
CLOCK_FAR_US = 1600.0
CLOCK_FAR_SHARE = 0.5


def interpolate(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """``ys`` at ``x``, linear between the points and constant outside them; ``xs`` ascends."""
    right = bisect_right(xs, x)
    if right == 0:
        return float(ys[0])
    if right == len(xs):
        return float(ys[-1])
    share = (x - xs[right - 1]) / (xs[right] - xs[right - 1])
    return float(ys[right - 1] + share * (ys[right] - ys[right - 1]))


def quantile(q: float, table: Sequence[tuple[float, float]]) -> float:
    """The value of a (quantile, value) ``table`` at ``q``."""
    return interpolate(q, [at for at, _ in table], [value for _, value in table])


def depth_of(spans: float) -> int:
    """Edges below the root of a trace of ``spans``: both quantiles are taken to agree."""
    return max(round(interpolate(spans, (1, *UBER_BIN_SPANS), (0, *UBER_BIN_DEPTH))), 0)


def fanout_of(spans: float) -> int:
    """Most children of one span in a trace of ``spans``: both quantiles are taken to agree."""
    step = (len(UBER_FANOUT) - 1) / (len(UBER_BIN_SPANS) - 1)
    places = range(len(UBER_FANOUT))
    values = [interpolate(k * step, places, UBER_FANOUT) for k in range(len(UBER_BIN_SPANS))]
    return round(interpolate(spans, UBER_BIN_SPANS, values))


def size_strata(weights: Sequence[float]) -> list[float]:
    """Mean spans of consecutive shares of the traces, smallest traces first.

    ``weights`` sum to 1; share k covers the quantiles from the sum of the weights before it
    to the sum including it, so that the weighted sizes follow Uber's distribution.
    """
    body = len(UBER_SPANS)
    tail = 0.975
    ranks = [(k + 0.5) / 40 for k in range(body)]
    ranks += [tail + 0.025 * (k + 0.5) / len(UBER_SPANS_TAIL) for k in range(len(UBER_SPANS_TAIL))]
    values = (*UBER_SPANS, *UBER_SPANS_TAIL)
    sizes, low = [], 0.0
    for weight in weights:
        steps = max(8, round(weight * 2000))
        points = [low + weight * (k + 0.5) / steps for k in range(steps)]
        sizes.append(sum(interpolate(p, ranks, values) for p in points) / steps)
        low += weight
    return sizes
