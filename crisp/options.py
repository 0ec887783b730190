"""Frozen settings of every stage, checked once when made.

A policy is a named set of critical-path rules (DESIGN section 6.7); its name and every value
are stored with each result, because the choice moves the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from crisp.errors import ConfigError

AsyncRule = Literal["both", "reference", "kind", "none"]
Skew = Literal["none", "edge"]
Roots = Literal["entry", "endpoint", "orphans"]
OverlapOf = Literal["sibling", "parent"]
EngineName = Literal["duckdb", "spark"]
Touching = Literal["serial", "overlap", "parallel"]
Profile = Literal["hurdle", "paper", "plain"]
Features = Literal["scpv", "stv"]
Flow = Literal["none", "planar", "realnvp"]
Device = Literal["auto", "cpu", "cuda"]

MICROSECONDS_PER_DAY = 86_400_000_000
MEMORY_LIMIT = "300MB"
"""Memory for merging tables; with the interpreter and its libraries that stays below 500 MB."""
LARGEST_TIME_US = 2**53 - 1
"""Largest start: exact in a double, and beyond the year 2200."""
LARGEST_DURATION_US = 2**45 - 1
"""Largest duration, 407 days: no request takes so long, but a clock that began at 0 says so, and
sums over 262,144 such traces still are 64-bit integers."""
SMALLEST_PROBABILITY = 1e-9
"""Smallest probability of sampling that is believed, for the same reason."""


MOST_KEPT = 10_000
"""Traces of an endpoint that a page can still show."""


def _choices(name: str, value: object, allowed: Any) -> list[str]:
    known = get_args(allowed)
    return [] if value in known else [f"{name} must be one of {', '.join(known)}, not {value!r}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions:
    """How critical paths are found. The defaults are policy ``crisp``."""

    policy: str = "crisp"
    async_rule: AsyncRule = "both"
    """Which children nobody waits for: by FOLLOWS_FROM reference, by PRODUCER/CONSUMER kind."""
    skew: Skew = "none"
    skew_limit_us: int = 10_000_000
    """Larger clock corrections are refused and counted."""
    overlap_us: int = 1000
    """Siblings overlapping by no more than this may still be serial."""
    overlap_ratio: float = 0.1
    """… and by no more than this share of `overlap_of`."""
    overlap_of: OverlapOf = "sibling"
    """What the ratio refers to: the shorter of the two siblings (≤), or the parent (<)."""
    touching: Touching = "serial"
    """A child ending exactly where the next begins: serial, judged as an overlap, parallel."""
    drop_overhanging: bool = False
    """Drop, rather than clip, a child that sticks out of its parent on both sides."""
    keep_lone_server: bool = False
    """Move the only, server, child of a client span into it instead of clipping it."""
    all_paths: bool = False
    """Also keep every call path of the tree, not only those on the critical path."""

    def __post_init__(self) -> None:
        problems = [
            *_choices("async", self.async_rule, AsyncRule),
            *_choices("skew", self.skew, Skew),
            *_choices("overlap_of", self.overlap_of, OverlapOf),
            *_choices("touching", self.touching, Touching),
        ]
        if not 0 <= self.overlap_ratio <= 1:
            problems.append(f"overlap_ratio must be in [0, 1], not {self.overlap_ratio}")
        if self.overlap_us < 0 or self.skew_limit_us < 0:
            problems.append("overlap_us and skew_limit_us must not be negative")
        if problems:
            raise ConfigError("; ".join(problems))


POLICIES: Mapping[str, PathOptions] = {
    "crisp": PathOptions(),
    "paper": PathOptions(policy="paper", overlap_ratio=1.0),
    "crisp-oss": PathOptions(
        policy="crisp-oss",
        async_rule="none",
        overlap_us=LARGEST_TIME_US,
        overlap_ratio=0.01,
        overlap_of="parent",
        touching="overlap",
        drop_overhanging=True,
        keep_lone_server=True,
    ),
    "jaeger-ui": PathOptions(
        policy="jaeger-ui", async_rule="kind", overlap_us=0, overlap_ratio=0.0, touching="parallel"
    ),
}


def path_options(policy: str, **changes: Any) -> PathOptions:
    """The named policy with some settings changed; ``None`` leaves a setting alone.

    Raises:
        ConfigError: unknown policy, or a value out of range.
    """
    if policy not in POLICIES:
        raise ConfigError(f"unknown policy {policy!r}; known: {', '.join(POLICIES)}")
    return replace(POLICIES[policy], **{k: v for k, v in changes.items() if v is not None})


HOST_TAGS = ("hostname", "host.name", "k8s.pod.name", "host.id", "ip", "host.ip")
"""Process tags that name the host in tables, best first."""

CLOCK_TAGS = ("host.id", "host.ip", "host.name", "ip", "hostname")
"""Process tags that tell whose clock stamped a span, in Jaeger's order."""

ATTRIBUTE_TAGS = (
    "zone",
    "region",
    "sku",
    "version",
    "service.version",
    "cloud.region",
    "cloud.availability_zone",
    "host.type",
    "host.arch",
    "k8s.node.name",
    "k8s.cluster.name",
    "deployment.environment",
    "deployment.environment.name",
)
"""Process tags kept in table ``hosts``; a list, because tags may hold secrets."""


@dataclass(frozen=True, slots=True)
class Template:
    """A rule that makes operation names with ids in them one name."""

    pattern: str
    replacement: str

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern).sub(self.replacement, "")
        except (re.error, IndexError) as error:
            raise ConfigError(f"template {self.pattern!r}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """Which traces and trees are read, and how names are made."""

    roots: Roots = "entry"
    service: str | None = None
    operation: str | None = None
    start_us: int | None = None
    """Only trees whose root starts at or after this moment."""
    end_us: int | None = None
    """… and before this one."""
    templates: tuple[Template, ...] = ()
    attributes: tuple[str, ...] = ATTRIBUTE_TAGS
    max_spans: int = 5_000_000
    """Larger traces are rejected."""

    def __post_init__(self) -> None:
        problems = _choices("roots", self.roots, Roots)
        if self.roots == "endpoint" and not (self.service or self.operation):
            problems.append("roots=endpoint needs a service or an operation")
        if self.start_us is not None and self.end_us is not None and self.start_us >= self.end_us:
            problems.append("the start of the window must lie before its end")
        if self.max_spans < 1:
            problems.append("max_spans must be at least 1")
        if problems:
            raise ConfigError("; ".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateOptions:
    """How trees are merged."""

    edges: tuple[float, ...] = (0, 50, 90, 95, 99, 100)
    """Percentile edges of the latency bands, ascending from 0 to 100."""
    exemplars: int = 3
    """Traces kept per endpoint and call path as examples."""
    kept: int = 500
    """Traces kept whole per endpoint, evenly over its bands: for heat maps, violins, intervals."""

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if len(self.edges) < 2 or self.edges[0] != 0 or self.edges[-1] != 100 or not ascending:
            raise ConfigError(f"bands must ascend from 0 to 100, not {list(self.edges)}")
        if self.exemplars < 1:
            raise ConfigError(f"exemplars must be at least 1, not {self.exemplars}")
        bands = len(self.edges) - 1
        if not bands <= self.kept <= MOST_KEPT:  # a band without any would not be spoken for
            raise ConfigError(
                f"kept must be at least {bands}, one for each band, and at most {MOST_KEPT}, not"
                f" {self.kept}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where work runs."""

    name: EngineName = "duckdb"
    """duckdb: this machine; spark: a cluster"""
    workers: int | None = None
    """processes of this machine; default one for each core"""
    memory_limit: str | None = None
    """of DuckDB; default `MEMORY_LIMIT`"""
    master: str | None = None
    """of Spark; default what spark-submit says, or else all cores of this machine"""
    conf: Mapping[str, str] = field(default_factory=dict)
    """of Spark"""

    def __post_init__(self) -> None:
        problems = _choices("engine", self.name, EngineName)
        if self.name == "duckdb" and (self.master is not None or self.conf):
            problems.append("--master and --spark-conf need --engine spark")
        if self.name == "spark" and (self.workers is not None or self.memory_limit is not None):
            problems.append("--workers and --memory-limit are DuckDB's; see --spark-conf for Spark")
        if problems:
            raise ConfigError("; ".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """What the pages say that is not in the tables."""

    title: str = "crisp"
    jaeger_url: str | None = None
    """Address of a trace with ``{trace_id}`` and perhaps ``{span_id}``; None for no links."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Owner by service, or by a pattern of services as in a shell; the first that fits counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How models of normal traces are made."""

    profile: Profile | None = None
    """hurdle: our network; paper: that of TraceAnomaly; plain: none; default: hurdle where torch is
    installed, else plain"""
    features: Features = "scpv"
    """scpv: the critical path; stv: all call paths, of a lake that was made with all_paths"""
    charge_callee: bool = False
    """Count the time of a client's span for the service it calls."""
    flow: Flow = "none"
    """What shapes the latent distribution of the network; profile paper: planar unless said"""
    flow_length: int = 10
    least: int = 20
    """Paths in fewer traces are folded into one for each parent."""
    least_traces: int = 200
    """Endpoints with fewer traces in the window get no network."""
    most_traces: int = 20_000
    """Of endpoints with more, as many, evenly over time."""
    reference: int = 2_000
    """Traces kept in the model to compare a day with."""
    alpha: float = 0.001
    """Share of normal traces that may be called abnormal."""
    drift: float = 0.1
    """Change of the traces, 0 to 1, above which a network is trained again."""
    most_days: int = 7
    """… and days after which it is in any case."""
    seed: int = 0
    device: Device = "auto"
    """Where networks are trained: auto: a GPU when there is one"""

    def __post_init__(self) -> None:
        problems = [
            *(_choices("profile", self.profile, Profile) if self.profile is not None else ()),
            *_choices("features", self.features, Features),
            *_choices("flow", self.flow, Flow),
            *_choices("device", self.device, Device),
        ]
        if self.profile == "plain" and self.flow != "none":
            problems.append("profile plain has no network that a flow could shape")
        for name, low in (("flow_length", 1), ("least", 1), ("least_traces", 20)):
            if getattr(self, name) < low:
                problems.append(f"{name} must be at least {low}, not {getattr(self, name)}")
        for name, low in (("most_traces", 100), ("reference", 20), ("most_days", 1), ("seed", 0)):
            if getattr(self, name) < low:
                problems.append(f"{name} must be at least {low}, not {getattr(self, name)}")
        if not 0 < self.alpha <= 0.1:
            problems.append(f"alpha must be in (0, 0.1], not {self.alpha}")
        if not 0 <= self.drift <= 1:
            problems.append(f"drift must be in [0, 1], not {self.drift}")
        if problems:
            raise ConfigError("; ".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOptions:
    """Which changes of endpoints are alerts."""

    level: float = 0.01
    """Chance that a night without any change raises an alert, over the whole fleet."""
    least_change: float = 0.01
    """Changes of latency that are smaller, as a share of it, are no alerts by themselves."""
    least_traces: int = 20
    """Endpoints with fewer traces on a day are not compared."""
    least_days: int = 5
    """Endpoints with fewer days before are not compared: nobody knows how much days differ."""
    becomes_normal_days: int = 7
    """A change that has lasted so long is the new normal."""
    expires_hours: float = 36.0
    """A receiver that hears nothing for so long may take an alert for over."""
    site_url: str | None = None
    """Address of the site, for links to the page of an endpoint"""

    def __post_init__(self) -> None:
        problems = []
        if not 0 < self.level <= 0.5:
            problems.append(f"level must be in (0, 0.5], not {self.level}")
        if not 0 <= self.least_change < 1:
            problems.append(f"least_change must be in [0, 1), not {self.least_change}")
        problems.extend(
            f"{name} must be at least 1, not {getattr(self, name)}"
            for name in ("least_traces", "least_days", "becomes_normal_days", "expires_hours")
            if getattr(self, name) < 1
        )
        if problems:
            raise ConfigError("; ".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Everything that decides the result of a run."""

    ingest: IngestOptions = field(default_factory=IngestOptions)
    path: PathOptions = field(default_factory=PathOptions)
    aggregate: AggregateOptions = field(default_factory=AggregateOptions)
    report: ReportOptions = field(default_factory=ReportOptions)
