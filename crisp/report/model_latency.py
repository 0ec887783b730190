"""The section «Latency»: how often each latency was seen, band by band. Geometry and words only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crisp.report.columns import Rows, dicts
from crisp.report.log_ticks import round_times
from crisp.report.model_endpoint import Band
from crisp.units import count, micros

WIDTH, HEIGHT = 480, 150
_ROW = 16
_A_DECADE = 20
_GAP = 1.5
_LOWEST = 2.0
_LIGHTEST = 0.3
_LABEL = 90  # room that the label of an edge takes
_TICK_GAP = 60
_MIN_DECADES = 0.3


@dataclass(frozen=True, slots=True)
class Piece:
    """Traces of one band in one bucket, as drawn."""

    x: float
    y: float
    width: float
    height: float
    shade: float
    """how strong its colour is, up to 1: faster bands are fainter"""
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One bucket in words: its range, then per band of `LatencyChart.bands` the traces."""

    range: str
    traces: int
    in_band: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A labelled place on the axis; ``y`` is the line of its text, so that labels stay apart."""

    x: float
    y: float
    label: str
    anchor: str
    hint: str


@dataclass(frozen=True, slots=True)
class LatencyChart:
    """A distribution ready to be drawn in WIDTH by ``height``; its bars stand at ``base``."""

    traces: int
    pieces: tuple[Piece, ...]
    edges: tuple[Mark, ...]
    ticks: tuple[Mark, ...]
    bands: tuple[str, ...]
    lines: tuple[Line, ...]
    base: float

    @property
    def height(self) -> float:
        """With the labels of the edges above and of the ticks below."""
        return self.base + 1.25 * _ROW


def latency_chart(rows: Rows, bands: tuple[Band, ...]) -> LatencyChart | None:
    """The latencies of an endpoint, ``rows`` of the mart ``latencies``; None without traces.

    The axis is logarithmic: a bucket is a twentieth of a decade. Bars stack bands from the
    fastest up, and are at least 2 high, or a band of a hundredth of the traces would not show.
    An edge stands at the largest latency of the band below it.
    """
    counts: dict[int, dict[int, int]] = {}
    for row in sorted(dicts(rows), key=lambda row: (row["bucket"], row["band"])):
        if row["traces"]:
            counts.setdefault(row["bucket"], {})[row["band"]] = row["traces"]
    if not counts:
        return None
    axis = _Axis.of(min(counts), max(counts) + 1)
    used = tuple(band for band in bands if band.traces)
    totals = [sum(of_band.values()) for of_band in counts.values()]
    edges = _edges(used, axis)
    base = HEIGHT + max((edge.y + _ROW / 2 for edge in edges), default=0.0)
    return LatencyChart(
        traces=sum(totals),
        base=base,
        pieces=tuple(
            piece
            for bucket, of_band in counts.items()
            for piece in _pieces(bucket, of_band, used, axis, base, HEIGHT / max(totals))
        ),
        edges=edges,
        ticks=_ticks(axis, base),
        bands=tuple(band.label for band in used),
        lines=tuple(
            Line(_range(bucket), all_, tuple(of_band.get(band.band, 0) for band in used))
            for (bucket, of_band), all_ in zip(counts.items(), totals, strict=True)
        ),
    )


def bounds_us(bucket: int) -> tuple[int, int]:
    """The smallest latency of a bucket, and the smallest of the next that has any.

    A bucket is ``floor(20 log10(latency + 1))``, so a narrow one at the fast end may have none.
    """
    low, high = (math.ceil(math.pow(10, edge / _A_DECADE)) - 1 for edge in (bucket, bucket + 1))
    return low, high


@dataclass(frozen=True, slots=True)
class _Axis:
    """Buckets from ``low`` to ``high`` over WIDTH."""

    low: float
    high: float

    @classmethod
    def of(cls, first: int, after: int) -> _Axis:
        """At least wide enough to put labels on, with the buckets in its middle."""
        wider = max(0.0, _MIN_DECADES * _A_DECADE - (after - first)) / 2
        low = max(0.0, first - wider)
        return cls(low, max(after + wider, low + _MIN_DECADES * _A_DECADE))

    def x(self, bucket: float) -> float:
        return (bucket - self.low) / (self.high - self.low) * WIDTH

    def time_us(self, bucket: float) -> float:
        return math.pow(10, bucket / _A_DECADE) - 1

    def of_time(self, time_us: float) -> float:
        return self.x(_A_DECADE * math.log10(time_us + 1))


def _pieces(
    bucket: int,
    of_band: dict[int, int],
    bands: tuple[Band, ...],
    axis: _Axis,
    base: float,
    scale: float,
) -> list[Piece]:
    x = axis.x(bucket)
    width = max(axis.x(bucket + 1) - x - _GAP, _GAP)
    found = []
    top = base
    for place, band in enumerate(bands):
        traces = of_band.get(band.band, 0)
        if not traces:
            continue
        height = max(traces * scale, _LOWEST)
        top -= height
        shade = _LIGHTEST + (1 - _LIGHTEST) * place / max(len(bands) - 1, 1)
        words = f"{_range(bucket)}: {_traces(traces)} of {band.label}"
        at = (round(x, 1), round(top, 1), round(width, 1), round(height, 1))
        found.append(Piece(*at, round(shade, 3), words))
    return found


def _edges(bands: tuple[Band, ...], axis: _Axis) -> tuple[Mark, ...]:
    """The upper edge of every band that another one follows, each in the first row with room."""
    found: list[Mark] = []
    free: list[float] = []
    for band in bands[:-1]:
        x = axis.of_time(band.hi_us)
        right = x + _LABEL > WIDTH
        left_end, end = (x - _LABEL, x) if right else (x, x + _LABEL)
        row = next((i for i, taken in enumerate(free) if taken <= left_end), len(free))
        free[row : row + 1] = [end]
        name = f"P{band.hi_percentile:g}"
        below = f"{band.hi_percentile:g} % of the traces"
        hint = f"{name}: {below} took {micros(band.hi_us)} or less"
        anchor = "end" if right else "start"
        found.append(
            Mark(round(x, 1), _ROW * (row + 0.75), f"{name} {micros(band.hi_us)}", anchor, hint)
        )
    return tuple(found)


def _ticks(axis: _Axis, base: float) -> tuple[Mark, ...]:
    """Round times on the axis, as many as have room."""
    marks: list[Mark] = []
    for time in round_times(axis.time_us(axis.low), axis.time_us(axis.high)):
        x = axis.of_time(time)
        if not marks or x - marks[-1].x >= _TICK_GAP:
            half = _TICK_GAP / 2
            anchor = "start" if x < half else "end" if x > WIDTH - half else "middle"
            marks.append(Mark(round(x, 1), base + _ROW, micros(time), anchor, ""))
    return tuple(marks)


def _range(bucket: int) -> str:
    low, high = bounds_us(bucket)
    return micros(low) if high - low <= 1 else f"{micros(low)} to below {micros(high)}"


def _traces(number: int) -> str:
    return "1 trace" if number == 1 else f"{count(number)} traces"
