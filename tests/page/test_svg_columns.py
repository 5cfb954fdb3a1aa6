"""A column before and after: bars as tall as their counts, records where their values are, every word escaped."""

from __future__ import annotations

import re

from shoal.page.svg import (
    SIDE,
    SMALL_BOTTOM,
    SMALL_HEIGHT,
    SMALL_TOP,
    SMALL_WIDTH,
    draw_histograms,
    draw_matrix,
    draw_records,
)
from tests.publish.reading import Page


def test_bars_are_as_tall_as_their_counts():
    drawn = draw_histograms([2, 4, 0], [4, 1, 1], ("0", "3"), "age", "words")
    tall = [-float(value) for value in re.findall(r"v(-[\d.]+)h", drawn)]
    assert len(tall) == 2
    assert tall[1] == 2 * tall[0] == SMALL_HEIGHT - SMALL_BOTTOM - SMALL_TOP
    (line,) = re.findall(r'<path class="line" d="([^"]+)"', drawn)
    heights = [186 - float(y) for y in re.findall(r"V([\d.]+)", line)]
    assert heights == [tall[1], tall[1] / 4, tall[1] / 4, 0]
    assert Page(drawn).faults == []
    assert ">age<" in drawn


def test_records_lie_between_the_ends():
    drawn = draw_records([(0, 0), (1, 1), (0.5, 0)], ("0", "9"), "age", "words")
    places = re.findall(r"M([\d.]+) ([\d.]+)h0", drawn)
    bottom = SMALL_HEIGHT - SMALL_BOTTOM
    assert [(float(x), float(y)) for x, y in places] == [
        (SIDE, bottom), (SMALL_WIDTH - 16, SMALL_TOP), (SIDE + (SMALL_WIDTH - 16 - SIDE) / 2, bottom),
    ]  # fmt: skip
    assert Page(drawn).faults == []


def test_names_are_escaped():
    for drawn in (
        draw_histograms([1], [1], ("<a>", "b"), "<script>", 'a "quoted" <word>'),
        draw_records([(0, 0)], ("<a>", "b"), "<script>", 'a "quoted" <word>'),
    ):
        assert "<script>" not in drawn
        assert "<a>" not in drawn
        assert Page(drawn).faults == []


def test_a_long_name_of_an_axis_is_cut():
    drawn = draw_histograms([1], [1], ("0", "1"), "x" * 100, "words")
    assert f">{'x' * 39}\u2026<" in drawn


def test_nothing_to_draw_is_an_empty_frame():
    assert 'class="before"' not in draw_histograms([], [], ("0", "1"), "age", "words")


def test_a_matrix_has_a_tint_for_each_cell_and_numbers_where_they_fit():
    drawn = draw_matrix(["<b>", "two"], [[0.0, 0.3], [0.3, 1.0]], "words")
    cells = dict(re.findall(r'<path class="heat" opacity="([\d.]+)" stroke-width="30.0" d="([^"]+)"', drawn))
    assert {tint: path.count("M") for tint, path in cells.items()} == {"0.06": 1, "0.65": 2, "1": 1}
    assert re.findall(r'class="cell[^>]*>([^<]+)<', drawn) == [".00", ".30", ".30", "1"]
    assert "&lt;b&gt;" in drawn
    many = draw_matrix([f"column {i}" for i in range(28)], [[0.01] * 28] * 28, "words")
    assert many.count("h12.9") == 28 * 28
    assert 'class="cell' not in many
    assert len(many) < 18_000
