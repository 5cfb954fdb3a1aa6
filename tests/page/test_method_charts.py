"""Charts of methods: bars on one scale, intervals, names that do not touch, texts that are shown literally."""

from __future__ import annotations

import re

import pytest

from shoal.page.method_charts import ChartBar, MapPoint, _place_name, _touch, draw_bars, draw_map, round_ticks

NAME = "<b>&evil"


def test_bars_share_one_scale_and_what_is_not_measured_has_none():
    bars = [
        ChartBar("a", 0.5, "0.500"),
        ChartBar("b", 0.25, "0.250"),
        ChartBar("c", None, "–"),
        ChartBar(NAME, -0.1, "−0.100"),
    ]
    drawn = draw_bars("risk", bars, 0.5, f"risk of {NAME}")
    widths = [float(found) for found in re.findall(r'<rect [^>]*width="([\d.]+)"', drawn)]
    assert widths == [344.0, 172.0]
    assert NAME not in drawn
    assert drawn.count("&lt;b&gt;&amp;evil") == 2  # the label and the words for screen readers
    assert 'role="img" aria-label="risk of' in drawn


def test_an_interval_below_nothing_has_no_end_at_nothing():
    drawn = draw_bars("risk", [ChartBar("a", 0.2, "", -0.1, 0.4), ChartBar("b", 0.2, "", 0.1, 0.4)], 0.4, "")
    one, two = re.findall(r'class="interval" d="([^"]+)"', drawn)
    assert (one.count("v8"), two.count("v8")) == (1, 2)
    assert "interval" not in draw_bars("risk", [ChartBar("a", 0.2, "", 0.2, 0.2)], 0, "")  # a fact, and no scale


def test_names_on_a_map_do_not_touch_each_other_or_points():
    taken = [(95.0, 95.0, 109.0, 109.0)]
    for _ in range(6):
        box = _place_name((102.0, 102.0), 60, taken)
        assert not any(_touch(box, other) for other in taken)
        taken.append(box)


def test_a_map_shows_every_method_and_the_original():
    points = [MapPoint(NAME, 0.1, 0.2), MapPoint("b", 0.1, 0.2), MapPoint("the original", 0, 1, is_original=True)]
    drawn = draw_map(points, "far", "risky", "where methods lie")
    assert drawn == draw_map(points, "far", "risky", "where methods lie")
    assert (drawn.count('class="dot"'), drawn.count('class="mark"')) == (2, 1)
    assert NAME not in drawn
    assert draw_map([MapPoint("a", 0, -1)], "x", "y", "").count("<circle") == 1  # below nothing is drawn at nothing


@pytest.mark.parametrize(
    ("largest", "last", "many"), [(0, 1, 2), (1, 1, 6), (0.7, 0.7, 8), (0.071, 0.08, 9), (12, 12, 7)]
)
def test_ticks_are_round_and_reach_the_largest(largest, last, many):
    ticks = round_ticks(largest)
    assert ticks[-1] == pytest.approx(last)
    assert len(ticks) <= many
    assert ticks[0] == 0
