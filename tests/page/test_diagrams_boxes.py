"""The diagram of boxes: every box in its place, those that are published apart from those that are suppressed."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from shoal.page.diagrams import BoxDiagram, DiagramBox, boxes_side_by_side, draw_boxes
from shoal.page.picture import PlotAxis
from shoal.page.plots import render

BOXES = (
    DiagramBox(0, 20, 0, 60, "41"),
    DiagramBox(20, 100, 0, 60, "330"),
    DiagramBox(0, 99.5, 60, 120, "", shown=False),
    DiagramBox(99.5, 100, 60, 120, "no room for this"),
)
AGE, INCOME = PlotAxis("age"), PlotAxis("income")


def patches(axes):
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_every_box_has_its_place_and_an_edge():
    axes = draw_boxes(BoxDiagram("Boxes", BOXES), AGE, INCOME)
    assert isinstance(axes, Axes)
    edges = [patch.get_bbox().extents.tolist() for patch in patches(axes) if not patch.get_fill()]
    assert edges == [[box.left, box.bottom, box.right, box.top] for box in BOXES]
    assert axes.get_xlim() == (0, 100)
    assert axes.get_ylim() == (0, 120)


def test_what_is_not_shown_is_hatched():
    axes = draw_boxes(BoxDiagram("Boxes", BOXES), AGE, INCOME)
    hatched = [patch.get_bbox().extents.tolist() for patch in patches(axes) if patch.get_hatch()]
    assert hatched == [[0, 60, 99.5, 120]]


def test_words_stand_where_they_fit():
    axes = draw_boxes(BoxDiagram("Boxes", BOXES), AGE, INCOME)
    assert [text.get_text() for text in axes.texts] == ["41", "330"]
    assert axes.texts[1].get_position() == (60, 30)


def test_records_are_points_and_limits_can_be_given():
    points = [(3.0, 4.0), (50.5, 60.5)]
    axes = draw_boxes(BoxDiagram("Boxes", BOXES, points), PlotAxis("age", limits=(-5, 110)), INCOME)
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [list(point) for point in points]
    assert axes.get_xlim() == (-5, 110)


def test_no_boxes_are_an_empty_picture():
    axes = draw_boxes(BoxDiagram("Nothing", ()), AGE, INCOME)
    assert (axes.get_xlim(), patches(axes)) == ((0, 1), [])


def test_panels_stand_side_by_side_and_name_the_vertical_axis_once():
    figure = boxes_side_by_side([BoxDiagram("One", BOXES), BoxDiagram("Two", BOXES[:2])], AGE, INCOME)
    assert [axes.get_ylabel() for axes in figure.axes] == ["income", ""]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["One", "Two"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_boxes_give_the_same_bytes(kind):
    panel = BoxDiagram("Boxes", BOXES, [(1, 2)])
    first, second = (render(draw_boxes(panel, AGE, INCOME).figure, kind) for _ in range(2))
    assert first == second
