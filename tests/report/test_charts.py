from __future__ import annotations

from crisp.report.charts import HEIGHT, WIDTH, Bin, chart

LAST = 2**62


def test_bars_lie_on_a_logarithmic_axis() -> None:
    drawn = chart("spans", [Bin(1, 10, 10), Bin(10, 100, 40)])
    assert [(bar.x, bar.height) for bar in drawn.bars] == [(0, HEIGHT / 4), (WIDTH / 2, HEIGHT)]
    assert [bar.width for bar in drawn.bars] == [WIDTH / 2 - 1] * 2
    assert [tick.label for tick in drawn.ticks] == ["1", "10", "100"]
    assert drawn.total == 50


def test_open_last_bin_is_drawn_as_wide_as_its_lower_edge() -> None:
    drawn = chart("spans", [Bin(1, 2, 1), Bin(2, LAST, 3)])
    assert [bar.label for bar in drawn.bars] == ["1: 1", "2 and more: 3"]
    assert drawn.bars[0].width == drawn.bars[1].width


def test_empty_bins_leave_a_gap_and_empty_ends_are_cut() -> None:
    bins = [Bin(0, 1, 0), Bin(1, 10, 5), Bin(10, 100, 0), Bin(100, 1_000, 5), Bin(1_000, LAST, 0)]
    drawn = chart("spans", bins)
    assert [bar.x for bar in drawn.bars] == [0, round(WIDTH * 2 / 3, 1)]


def test_zero_has_a_place_on_the_axis() -> None:
    drawn = chart("callers", [Bin(0, 1, 2)])
    assert [(bar.x, bar.label) for bar in drawn.bars] == [(0, "0: 2")]


def test_times_have_units() -> None:
    drawn = chart("latency", [Bin(1_000, 2_000, 2)], is_time=True)
    assert drawn.bars[0].range == "1.00 ms to below 2.00 ms"
