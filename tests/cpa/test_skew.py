"""Clocks that disagree (DESIGN rule 6.2, the vectors of Jaeger's adjuster), drawn."""

from __future__ import annotations

import pytest

from tests.drawing import START_US, Analysed, analysed, ms


def starts(drawing: str, limit_ms: float = 10_000) -> dict[str, str]:
    """Start of each span after the moves, in milliseconds; every span lies inside its parent."""
    found = edge(drawing, limit_ms)
    forest, clipped = found.planted.forest, found.analysis.clipped
    return {
        forest.span_id(row): ms(int(clipped.start_us[row]) - START_US)
        for row in range(len(forest))
        if not clipped.off[row]
    }


def edge(drawing: str, limit_ms: float = 10_000) -> Analysed:
    return analysed(drawing, skew="edge", skew_limit_us=round(limit_ms * 1000))


@pytest.mark.parametrize(
    ("child", "start", "moved"),
    [
        pytest.param("20  70", "20", None, id="inside: stays"),
        pytest.param("20 170", "20", None, id="longer and not before: stays"),
        pytest.param(" 0  50", "35", "35", id="before: centred"),
        pytest.param(" 0 150", "10", "10", id="longer and before: to the parent's start"),
        pytest.param("50 120", "25", "25", id="after: centred"),
        pytest.param("10 110", "10", None, id="as long as the parent and together: stays"),
        pytest.param(" 5 105", "10", "5", id="as long as the parent and before: together"),
        pytest.param("200 220", "50", "150", id="wholly after: centred"),
    ],
)
def test_child_on_another_host_moves(child: str, start: str, moved: str | None) -> None:
    drawing = f"A 10 110 host=a\n  B {child} host=b"
    assert starts(drawing) == {"A": "10", "B": start}
    assert edge(drawing).ledger.get("moved") == ((1, moved) if moved else None)


def test_half_of_odd_spare_time_is_rounded_down() -> None:
    assert starts("A 10 110 host=a\n  B 0 49.999 host=b")["B"] == "35"
    assert starts("A 10 110.001 host=a\n  B 0 49.998 host=b")["B"] == "35.001"


def test_span_on_the_host_of_its_parent_inherits_the_move() -> None:
    drawing = "A 10 110 host=a\n  B 50 120 host=b\n    C 60 80 host=b"
    assert starts(drawing) == {"A": "10", "B": "25", "C": "35"}
    assert edge(drawing).ledger == {"moved": (2, "50")}


def test_span_on_the_root_host_does_not_move() -> None:
    drawing = "A 10 110 host=a\n  B 0 50 host=a"
    assert edge(drawing).ledger == {"clipped_start": (1, "10")}
    assert edge(drawing).path == "B[10,50) A[50,110)"


def test_a_third_host_is_judged_against_its_moved_parent() -> None:
    drawing = "A 0 100 host=a\n  B 200 260 host=b\n    C 20 40 host=c\n      D 22 30 host=c"
    assert starts(drawing) == {"A": "0", "B": "20", "C": "20", "D": "22"}


def test_back_on_the_first_host_a_span_is_judged_anew() -> None:
    drawing = "A 0 100 host=a\n  B 200 260 host=b\n    C 30 40 host=a"
    assert starts(drawing) == {"A": "0", "B": "20", "C": "30"}


@pytest.mark.parametrize(("child", "refused"), [("0 50", "35"), ("80 130", "45")])
def test_a_move_beyond_the_limit_is_refused_and_counted(child: str, refused: str) -> None:
    drawing = f"A 10 110 host=a\n  B {child} host=b"
    ledger = edge(drawing, limit_ms=10).ledger
    assert ledger["move_refused"] == (1, refused)
    assert "moved" not in ledger


def test_a_move_of_exactly_the_limit_is_made() -> None:
    drawing = "A 10 110 host=a\n  B 0 50 host=b"
    assert edge(drawing, limit_ms=35).ledger == {"moved": (1, "35")}
    assert edge(drawing, limit_ms=34.999).ledger["move_refused"] == (1, "35")


def test_a_refused_move_is_inherited_and_refused_again() -> None:
    drawing = "A 10 110 host=a\n  B 0 50 host=b\n    C 20 30 host=b\n      D 22 24 host=c"
    assert edge(drawing, limit_ms=10).ledger["move_refused"] == (2, "70")
    assert starts(drawing, limit_ms=10) == {"A": "10", "B": "10", "C": "20", "D": "22"}


def test_limit_zero_refuses_every_move() -> None:
    assert "moved" not in edge("A 10 110 host=a\n  B 0 50 host=b", limit_ms=0).ledger


@pytest.mark.parametrize(("parent", "child"), [("", ""), ("host=a", ""), ("", "host=b")])
def test_span_without_known_host_is_treated_as_on_another(parent: str, child: str) -> None:
    assert starts(f"A 10 110 {parent}\n  B 0 50 {child}")["B"] == "35"


@pytest.mark.parametrize(
    ("parent", "child", "same"),
    [
        ("host.id=1 hostname=a", "host.id=1 hostname=b", True),
        ("host.id=1 host.ip=a", "host.id=2 host.ip=a", False),
        ("host.ip=1 host.name=a", "host.ip=1 host.name=b", True),
        ("host.name=1 ip=a", "host.name=1 ip=b", True),
        ("ip=1 hostname=a", "ip=1 hostname=b", True),
        ("hostname=1", "hostname=1", True),
        ("k8s.pod.name=1", "k8s.pod.name=1", False),
    ],
)
def test_clock_is_known_by_the_first_tag_in_order(parent: str, child: str, same: bool) -> None:
    assert ("moved" in edge(f"A 10 110 {parent}\n  B 0 50 {child}").ledger) is not same


def test_root_never_moves() -> None:
    assert edge("A 10 110").ledger == {}


def test_moves_reach_the_path_and_keep_durations() -> None:
    found = edge("A 0 100 host=a\n  B 200 260 host=b\n    C 210 220 host=b")
    assert found.path == "A[0,20) B[20,30) C[30,40) B[40,80) A[80,100)"
    assert found.ledger == {"moved": (2, "360")}


def test_without_skew_times_stay_as_recorded() -> None:
    found = analysed("A 0 100 host=a\n  B 200 260 host=b")
    assert found.path == "A[0,100)"
    assert found.ledger == {"dropped": (1, "60")}


def test_statistics_count_recorded_times_also_when_spans_move() -> None:
    found = edge("A 0 100 host=a\n  B 200 260 host=b")
    assert found.analysis.stats.concurrency.tolist() == [1]
