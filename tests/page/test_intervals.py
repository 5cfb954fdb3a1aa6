"""Pictures of values with intervals: one line each, open ends reach the edge, and many lines are cut with a word about it."""

from __future__ import annotations

import pytest

from shoal.page.intervals import MOST_LINES, IntervalDiagram, IntervalLine, draw_intervals


@pytest.mark.slow
def test_an_interval_without_a_bound_reaches_the_edge():
    axes = draw_intervals(
        IntervalDiagram("A title", [IntervalLine("a", None, 3.0, 4.0), IntervalLine("b", 1.0, 2.0, None)])
    )
    bars = [line for line in axes.lines if len(line.get_xdata()) == 2]
    left, right = axes.get_xlim()
    assert bars[0].get_xdata()[0] == left
    assert bars[1].get_xdata()[1] == right


@pytest.mark.slow
def test_many_lines_are_cut_and_the_caption_says_so():
    lines = [IntervalLine(f"group {i}", i - 1.0, float(i), i + 1.0) for i in range(MOST_LINES + 3)]
    axes = draw_intervals(IntervalDiagram("A title", lines, "A caption."))
    assert len(axes.get_yticks()) == MOST_LINES
    assert f"The first {MOST_LINES} of {MOST_LINES + 3} groups." in axes.figure.get_supxlabel()
