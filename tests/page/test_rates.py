"""Pictures of rates: every line is named, and what is not there is not in the legend."""

from __future__ import annotations

import pytest

from shoal.page.rates import RateDiagram, RateLine, draw_rates

HIGH, LOW = (0.8, 0.9, 0.97), (0.0, 0.0, 0.1)


@pytest.mark.slow
def test_lines_and_legend():
    lines = [
        RateLine("one method", HIGH, LOW, 0.3, 0.5),
        RateLine("another whose name is so long that it wraps", LOW, LOW),
    ]
    figure = draw_rates(RateDiagram("A title", lines, "A caption."))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "one method",
        "another whose name is so long that\nit wraps",
    ]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["success", "control", "baseline", "beyond it the claim is refuted"]
    places = [line.get_xdata()[0] for line in axes.lines if line.get_marker() in "os"]
    assert places == [90.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
def test_a_legend_without_what_is_not_drawn():
    figure = draw_rates(RateDiagram("A title", [RateLine("one", HIGH, LOW)]))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["success", "control"]
