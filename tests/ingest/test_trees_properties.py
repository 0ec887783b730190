"""What holds of the trees of any references."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crisp.ingest.jaeger import Reference, Span, Trace
from crisp.options import IngestOptions
from tests.drawing import analysed_traces


@st.composite
def linked(draw: st.DrawFn) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Spans with any references: repeated, crossed, dangling, circular."""
    ids = [f"s{number}" for number in range(draw(st.integers(1, 7)))]
    reference = st.tuples(
        st.sampled_from(["CHILD_OF", "FOLLOWS_FROM"]),
        st.sampled_from(["t", "t", "t", "other", ""]),
        st.sampled_from([*ids, "gone", "0000"]),
    )
    return [(span_id, draw(st.lists(reference, max_size=3))) for span_id in ids]


@settings(max_examples=300)
@given(linked())
def test_every_span_is_in_a_tree_or_lost_for_a_counted_reason(
    spans: list[tuple[str, list[tuple[str, str, str]]]],
) -> None:
    ids = {span_id for span_id, _ in spans}
    above: dict[str, str | None] = {}
    for span_id, references in spans:
        links = [
            (link, target)
            for link, trace, target in references
            if trace in ("t", "") and target.strip("0")
        ]
        parents = [t for link, t in links if link == "CHILD_OF" and t in ids]
        parents += [t for link, t in links if link == "FOLLOWS_FROM" and t in ids]
        above[span_id] = parents[0] if parents else ("gone" if links else None)
    tops = {span_id: top_of(span_id, above) for span_id in ids}
    trace = Trace(
        [
            Span(i, "op", 0, 1, references=[Reference(*reference) for reference in references])
            for i, references in spans
        ],
        "t",
    )
    for roots, wanted in (("entry", {"root"}), ("orphans", {"root", "orphan"})):
        found = analysed_traces([trace], ingest=IngestOptions(roots=roots))  # type: ignore[arg-type]  # one of Roots
        forest = found.planted.forest
        assert {forest.span_id(row) for row in range(len(forest))} == {
            span_id for span_id in ids if tops[span_id] in wanted
        }
        assert {
            forest.span_id(row): forest.span_id(parent)
            for row, parent in enumerate(forest.parent.tolist())
            if parent >= 0
        } == {
            span_id: above[span_id]
            for span_id in ids
            if tops[span_id] in wanted and above[span_id] in ids
        }
        assert (found.rejects != []) == (not len(forest))
        if len(forest):
            orphans = sum(parent == "gone" for parent in above.values())
            lost = sum(top == "cycle" for top in tops.values())
            assert found.ledger.get("orphans", (0, ""))[0] == orphans
            assert found.ledger.get("unreachable", (0, ""))[0] == lost


def top_of(span_id: str, above: dict[str, str | None]) -> str:
    """What stands at the top of the chain of parents."""
    seen = set()
    while span_id not in seen:
        seen.add(span_id)
        parent = above[span_id]
        if parent is None:
            return "root"
        if parent not in above:
            return "orphan"
        span_id = parent
    return "cycle"
