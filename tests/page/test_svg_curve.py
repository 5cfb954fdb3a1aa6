"""Curves drawn by hand: inside their frame, escaped, with ticks that a person can read."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.page import svg
from shoal.page.picture import Mark, Picture, PlotAxis, Series


def picture(xs, ys, label="delta"):
    return Picture(
        "A <picture>",
        PlotAxis("x & y"),
        PlotAxis(label, log=True),
        [Series("", xs, ys, dots=True)],
        marks=[Mark(xs[0], ys[0], "<b>")],
    )


def test_words_are_escaped():
    text = svg.draw_curve(picture([0.1, 1.0], [1e-2, 1e-6]))
    assert 'aria-label="A &lt;picture&gt;. "' in text
    assert "&lt;b&gt;</text>" in text
    assert "x &amp; y</text>" in text


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.floats(0.01, 700), st.floats(0, 1)), min_size=1, max_size=12),
)
def test_everything_is_inside_the_frame(points):
    text = svg.draw_curve(picture([x for x, _ in points], [y for _, y in points]))
    for name, most in (("cx", svg.WIDTH), ("cy", svg.HEIGHT), ("x", svg.WIDTH), ("y", svg.HEIGHT)):
        values = [float(value) for value in re.findall(rf' {name}="([-0-9.]+)"', text)]
        assert all(0 <= value <= most for value in values), name
    assert 3 <= text.count("V268.0") <= 12
    assert 2 <= len(re.findall(r"H466\.0", text)) <= 9


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (4, [0, 1, 2, 3, 4]),
        (1.5, [0, 0.5, 1, 1.5]),
        (0.1, [0, 0.02, 0.04, 0.06, 0.08, 0.1]),
        (700, [100 * i for i in range(8)]),
    ],
)
def test_ticks_are_round(largest, ticks):
    assert svg._across(largest) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("low", "high", "powers"),
    [(1e-6, 0.5, [-6, -5, -4, -3, -2, -1, 0]), (1e-11, 0.02, [-12, -10, -8, -6, -4, -2, 0]), (1e-3, 1e-3, [-3, -2])],
)
def test_powers_are_evenly_spaced(low, high, powers):
    assert svg._up(low, high)[: len(powers)] == powers
