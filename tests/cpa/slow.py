"""Section 6 of DESIGN a second time: as the text says it, span by span, slow and recursive.

Written from the text, not from the kernel, and without numpy. Property tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from crisp.options import PathOptions


@dataclass
class Span:
    """A span with its children; times change as the rules are applied."""

    id: str
    start: int
    end: int
    kind: str = ""
    follows: bool = False
    host: str = ""
    endpoint: str = ""
    children: list[Span] = field(default_factory=list)

    def all(self) -> Iterator[Span]:
        """The span and everything below it."""
        yield self
        for child in self.children:
            yield from child.all()

    def copy(self) -> Span:
        """A copy down to the leaves."""
        children = [child.copy() for child in self.children]
        return Span(
            self.id,
            self.start,
            self.end,
            self.kind,
            self.follows,
            self.host,
            self.endpoint,
            children,
        )


@dataclass
class Held:
    """A span on the path, cut at ``end``, and the endpoints above it."""

    span: Span
    end: int
    above: tuple[str, ...]


@dataclass
class Answer:
    """The critical path of one tree."""

    segments: list[tuple[str, int, int]] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    tolerated: int = 0

    def exclusive(self, ids: Sequence[str]) -> int:
        """Time in segments of the named spans."""
        return sum(end - start for span, start, end in self.segments if span in ids)

    def paths(self) -> dict[tuple[str, ...], tuple[int, int, int]]:
        """Spans, exclusive and inclusive time by call path."""
        found: dict[tuple[str, ...], tuple[int, int, int]] = {}
        for held in self.held:
            path = (*held.above, held.span.endpoint)
            spans, exclusive, inclusive = found.get(path, (0, 0, 0))
            found[path] = (
                spans + 1,
                exclusive + self.exclusive([held.span.id]),
                inclusive + held.end - held.span.start,
            )
        return found

    def endpoints(self) -> dict[str, tuple[int, int, int]]:
        """Spans on the path, exclusive time, and length of the union of their intervals."""
        found: dict[str, tuple[int, int, int]] = {}
        for endpoint in {held.span.endpoint for held in self.held}:
            mine = [held for held in self.held if held.span.endpoint == endpoint]
            covered: set[tuple[int, int]] = set()
            for held in mine:
                covered |= elementary(self.held, held.span.start, held.end)
            union = sum(end - start for start, end in covered)
            found[endpoint] = (
                len(mine),
                self.exclusive([held.span.id for held in mine]),
                union,
            )
        return found


def elementary(held: Sequence[Held], start: int, end: int) -> set[tuple[int, int]]:
    """[start, end) in pieces between which no interval of ``held`` begins or ends."""
    edges = sorted({edge for one in held for edge in (one.span.start, one.end)})
    return {(a, b) for a, b in pairwise(edges) if start <= a and b <= end}


def critical_path(recorded: Span, options: PathOptions) -> Answer:
    """Async, skew, clip, walk."""
    root = recorded.copy()
    if options.skew == "edge":
        adjust(root, root.host, 0, options.skew_limit_us)
    if options.keep_lone_server:
        keep_lone_servers(root)
    prune(root, options.async_rule)
    clip(root, drop_overhanging=options.drop_overhanging)
    answer = Answer()
    walk(root, root.end, (), options, answer)
    answer.segments.sort(key=lambda segment: segment[1])
    return answer


def adjust(span: Span, host: str, delta: int, limit: int) -> None:
    """Children of ``span``, which stands on ``host`` and was given ``delta``."""
    for child in span.children:
        own = delta
        if child.host != host or not child.host:
            own = needed(child, span)
        if abs(own) <= limit:
            child.start += own
            child.end += own
        adjust(child, child.host, own, limit)


def needed(child: Span, parent: Span) -> int:
    """By how much the child should move, after the notes on Jaeger."""
    length, room = child.end - child.start, parent.end - parent.start
    if length > room:
        return parent.start - child.start if child.start < parent.start else 0
    if parent.start <= child.start and child.end <= parent.end:
        return 0
    return parent.start + (room - length) // 2 - child.start


def keep_lone_servers(span: Span) -> None:
    """The only child of a client, a server, is moved inside with its subtree."""
    if span.kind == "client" and [child.kind for child in span.children] == ["server"]:
        server = span.children[0]
        by = 0
        if server.end - server.start > span.end - span.start or server.start < span.start:
            by = span.start - server.start
        elif server.end > span.end:
            by = span.end - server.end
        for below in server.all():
            below.start += by
            below.end += by
    for child in span.children:
        keep_lone_servers(child)


def prune(span: Span, rule: str) -> None:
    """Take out the children nobody waits for."""
    span.children = [
        child
        for child in span.children
        if not (
            (child.follows and rule in ("both", "reference"))
            or (span.kind == "producer" and child.kind == "consumer" and rule in ("both", "kind"))
        )
    ]
    for child in span.children:
        prune(child, rule)


def clip(span: Span, *, drop_overhanging: bool) -> None:
    """Cut the children to the span, or drop them."""
    kept = []
    for child in span.children:
        if child.start == child.end:
            inside = span.start <= child.start <= span.end
        else:
            inside = child.start < span.end and child.end > span.start
        both = child.start < span.start and child.end > span.end
        if not inside or (both and drop_overhanging):
            continue
        child.start = max(child.start, span.start)
        child.end = min(child.end, span.end)
        kept.append(child)
    span.children = kept
    for child in kept:
        clip(child, drop_overhanging=drop_overhanging)


def walk(
    span: Span, end: int, above: tuple[str, ...], options: PathOptions, answer: Answer
) -> None:
    """The span holds the path from its start to ``end``; cut it there and look at its children."""
    answer.held.append(Held(span, end, above))
    children = [child.copy() for child in span.children]
    for child in children:
        child.end = min(child.end, end)
    t, later = end, None
    while True:
        before = [
            child for child in children if happens_before(child, later, t, span, children, options)
        ]
        if not before:
            break
        last = min(before, key=lambda c: (-c.end, -(c.end - c.start), c.start, c.id))
        answer.tolerated += last.end > t
        until = min(last.end, t)
        own(span, until, t, answer)
        walk(last, until, (*above, span.endpoint), options, answer)
        t, later = last.start, last
    own(span, span.start, t, answer)


def own(span: Span, start: int, end: int, answer: Answer) -> None:
    if start < end:
        answer.segments.append((span.id, start, end))


def happens_before(
    child: Span,
    later: Span | None,
    t: int,
    parent: Span,
    siblings: Sequence[Span],
    options: PathOptions,
) -> bool:
    """Whether ``child`` was over at t, the start of ``later`` or the end of the parent."""
    if child.end <= child.start or child.start >= t:
        return False
    if child.end < t or (later is None and child.end == t):
        return True
    if later is None:
        return False
    if child.end == t and options.touching == "serial":
        return True
    if options.touching == "parallel":
        return False
    overlap = child.end - t
    if overlap > options.overlap_us:
        return False
    others = [other for other in siblings if other is not child and other is not later]
    share = Fraction(str(options.overlap_ratio))
    if options.overlap_of == "parent":
        return (
            overlap < share * (parent.end - parent.start)
            and child.end < later.end
            and not any(
                t <= moment <= child.end for other in others for moment in (other.start, other.end)
            )
        )
    shorter = min(child.end - child.start, later.end - later.start)
    return overlap <= share * shorter and not any(
        t <= other.start < child.end or t < other.end <= child.end for other in others
    )


def concurrency(root: Span) -> int:
    """Largest number of spans open at once, by looking at every moment one begins."""
    spans = list(root.all())
    return max(sum(one.start <= moment.start < one.end for one in spans) for moment in spans)


def depth(span: Span) -> int:
    """Spans on the longest chain of calls."""
    return 1 + max((depth(child) for child in span.children), default=0)


def callers(root: Span) -> dict[str, int]:
    """Distinct endpoints that call each endpoint."""
    pairs = {(span.endpoint, child.endpoint) for span in root.all() for child in span.children}
    return {
        span.endpoint: sum(callee == span.endpoint for _, callee in pairs) for span in root.all()
    }
