"""The section «Hosts»: how long an endpoint holds the critical path, by where it ran."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from crisp.report.columns import Floats, Ints
from crisp.report.host_values import HOST, HostValues
from crisp.report.kept import Kept
from crisp.report.log_ticks import round_times
from crisp.report.model import THIN
from crisp.report.paths import Tree
from crisp.report.violins import (
    Axis,
    axis_of,
    bandwidth,
    density,
    holm,
    kruskal_wallis,
    log_time,
    weighted_quantiles,
)
from crisp.units import micros

_ENDPOINTS = 8
_VALUES = 12
_FOR_P99 = 100  # of fewer observations the 99th percentile is the largest one by another name
_DENSITY = 100  # densities are whole hundredths of their peak
_TICKS = 7
_QUANTILES = np.array([0.25, 0.5, 0.75, 0.95, 0.99])
_LEVEL = 0.05
_SLIGHT = 0.05


@dataclass(frozen=True, slots=True)
class _Times:
    """Exclusive time of one endpoint: an observation for each trace and host it ran on."""

    time_us: Floats
    weight: Floats
    host: Ints


def violins_data(kept: Kept, tree: Tree, hosts: HostValues) -> dict[str, Any]:
    """The 8 endpoints of a tree that hold the path longest and ran on hosts that differ.

    An observation is the exclusive time of one endpoint in one trace on one host, over all its
    call paths. Of an attribute the values with 20 observations or more are compared, the 12 most
    frequent of them; of the host itself only where there are at most 12. Endpoints come by
    exclusive time of all traces, ties by name; ``chosen`` is the comparison least likely to be
    chance, else the first. Probabilities are adjusted for all comparisons of the page.
    """
    endpoints: list[dict[str, Any]] = []
    for name, times in _by_endpoint(kept, tree):
        service, operation = tree.names[name]
        found = [_attribute(times, hosts, i, service) for i in range(len(hosts.attributes))]
        shown = [attribute for attribute in found if attribute is not None]
        if shown:
            endpoints.append({"service": service, "operation": operation, "attributes": shown})
        if len(endpoints) == _ENDPOINTS:
            break
    attributes = {
        (e, a): attribute
        for e, endpoint in enumerate(endpoints)
        for a, attribute in enumerate(endpoint["attributes"])
        if attribute["p"] is not None
    }
    adjusted = holm([attribute["p"] for attribute in attributes.values()])
    for attribute, p in zip(attributes.values(), adjusted, strict=True):
        attribute |= {"p": _p_words(p), "different": p < _LEVEL}
    _, chosen = min(zip(adjusted, attributes, strict=True), default=(1.0, (0, 0)))
    return {
        "endpoints": endpoints,
        "chosen": list(chosen),
        "tests": len(attributes),
        "empty": "" if endpoints else _why_empty(kept),
    }


def _why_empty(kept: Kept) -> str:
    if not len(kept):
        return "No trace of this endpoint is kept whole, so nothing is known of its hosts."
    if not any(kept.hosts[host] for host in np.unique(kept.host).tolist()):
        return "These traces do not say which hosts their calls ran on."
    return (
        "Nothing to compare: no call ran on hosts that differ in a known attribute, such as zone, "
        f"hardware or version, or on 2 to {_VALUES} hosts."
    )


def _by_endpoint(kept: Kept, tree: Tree) -> list[tuple[int, _Times]]:
    """Observations by endpoint, the one that holds the path longest first."""
    if not len(kept.trace):
        return []
    name = np.array(tree.name, dtype=np.int64)[kept.path]
    hosts = len(kept.hosts)
    key = (name * len(kept) + kept.trace) * hosts + kept.host
    keys, place = np.unique(key, return_inverse=True)
    time_us = np.bincount(place, kept.exclusive_us).astype(np.float64)
    of_name, trace = np.divmod(keys // hosts, len(kept))
    weight = kept.weight[trace]
    names, starts = np.unique(of_name, return_index=True)
    total = np.add.reduceat(time_us * weight, starts).tolist()
    ends = [*starts.tolist()[1:], len(keys)]
    order = sorted(range(len(names)), key=lambda i: (-total[i], tree.names[names[i]]))
    cuts = [(int(names[i]), slice(int(starts[i]), ends[i])) for i in order]
    return [(name, _Times(time_us[cut], weight[cut], keys[cut] % hosts)) for name, cut in cuts]


def _attribute(times: _Times, hosts: HostValues, place: int, service: str) -> dict[str, Any] | None:
    """One attribute as shown; None where fewer than 2 values were seen, or too many hosts."""
    code = hosts.of(place, service, times.host)
    known = code >= 0
    codes, counts = np.unique(code[known], return_counts=True)
    name = hosts.attributes[place]
    if len(codes) < 2 or (name == HOST and len(codes) > _VALUES):
        return None
    frequent = sorted(range(len(codes)), key=lambda i: (-counts[i], codes[i]))
    enough = [i for i in frequent if counts[i] >= THIN]
    words = [hosts.values[place][number] for number in codes.tolist()]
    shown = sorted(enough[:_VALUES])
    few = [i for i in frequent if counts[i] < THIN]
    return {
        "attribute": name,
        "few": [
            {"value": words[i], "n": int(counts[i]), "missing": THIN - int(counts[i])}
            for i in few[:_VALUES]
        ],
        "left_out": len(enough[_VALUES:]) + len(few[_VALUES:]),
        "unknown": int((~known).sum()),
        **_compared(times, code, [int(codes[i]) for i in shown], [words[i] for i in shown]),
    }


def _compared(times: _Times, code: Ints, codes: list[int], words: list[str]) -> dict[str, Any]:
    """The distributions of some values on one axis; nothing to compare in fewer than two."""
    if len(codes) < 2:
        return {"values": [], "ticks": [], "p": None, "different": False, "effect": None}
    cuts = [np.flatnonzero(code == number) for number in codes]
    found = [
        _Distribution.of(times.time_us[cut], times.weight[cut], len(np.unique(times.host[cut])))
        for cut in cuts
    ]
    axis = axis_of([value.log_times for value in found], [value.width for value in found])
    group = np.repeat(np.arange(len(cuts)), [len(cut) for cut in cuts])
    return {
        "values": [value.data(word, axis) for value, word in zip(found, words, strict=True)],
        "ticks": _ticks(axis),
        "p": kruskal_wallis(times.time_us[np.concatenate(cuts)], group, len(cuts)),
        "different": False,
        "effect": _effect([value.p50_us for value in found]),
    }


@dataclass(frozen=True, slots=True)
class _Distribution:
    """The observations of one value, with what is known before the axis is."""

    log_times: Floats
    weight: Floats
    hosts: int
    width: float
    p50_us: float
    p95_us: float
    p99_us: float

    @classmethod
    def of(cls, time_us: Floats, weight: Floats, hosts: int) -> _Distribution:
        low, p50, high, p95, p99 = weighted_quantiles(time_us, weight, _QUANTILES).tolist()
        logs = log_time(time_us)
        apart = math.log10(high + 1) - math.log10(low + 1)
        return cls(logs, weight, hosts, bandwidth(logs, weight, apart), p50, p95, p99)

    def data(self, word: str, axis: Axis) -> dict[str, Any]:
        shape = density(self.log_times, self.weight, self.width, axis)
        return {
            "value": word,
            "n": len(self.log_times),
            "hosts": self.hosts,
            "p50_us": round(self.p50_us, 1),
            "p95_us": round(self.p95_us, 1),
            "p99_us": round(self.p99_us, 1) if len(self.log_times) >= _FOR_P99 else None,
            "p50_at": round(axis.at(self.p50_us), 4),
            "p95_at": round(axis.at(self.p95_us), 4),
            "density": np.rint(_DENSITY * shape).astype(int).tolist(),
        }


def _effect(medians_us: list[float]) -> dict[str, Any]:
    """The highest median against the lowest, ties to the first: which they are, and how far."""
    high = min(range(len(medians_us)), key=lambda i: (-medians_us[i], i))
    low = min(range(len(medians_us)), key=lambda i: (medians_us[i], i))
    above, below = medians_us[high], medians_us[low]
    return {
        "high": high,
        "low": low,
        "words": _effect_words(above, below),
        "slight": below > 0 and above / below - 1 < _SLIGHT,
        "equal": above == below,
    }


def _effect_words(above_us: float, below_us: float) -> str:
    """What stands between "the median on A is" and "B"."""
    difference = micros(above_us - below_us)
    if below_us <= 0:
        return f"{difference} higher than on"
    ratio = above_us / below_us
    if ratio >= 2:
        return f"{difference} higher, {ratio:.1f} times that on"
    percent = 100 * (ratio - 1)
    return f"{f'{percent:.0f}' if percent >= 1 else 'less than 1'} % ({difference}) higher than on"


def _p_words(p: float) -> str:
    """A probability with three decimals; none is smaller than 0.001 in words."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _ticks(axis: Axis) -> list[dict[str, Any]]:
    """Round times on the axis, at most 7 of them."""
    times = round_times(axis.lowest_us, axis.highest_us)
    kept = times[:: math.ceil(len(times) / _TICKS) or 1]
    return [{"at": round(axis.at(time), 4), "label": micros(time)} for time in kept]
