"""The diagram of clusters: a patch around each, every point in place, and what is published over them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Polygon, Rectangle

from shoal.page.diagrams import ClusterDiagram, cluster_colour, clusters_side_by_side, draw_clusters, hull
from shoal.page.plots import COLOURS, render

SQUARE = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]


def test_the_hull_of_a_square_has_four_corners():
    assert hull([*SQUARE, (1.0, 1.0), (1.0, 0.0)]) == SQUARE
    assert hull([(1.0, 2.0)]) == [(1.0, 2.0)]
    assert hull([(3.0, 3.0), (1.0, 1.0), (2.0, 2.0)]) == [(1.0, 1.0), (3.0, 3.0)]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=12))
def test_every_point_lies_inside_its_hull(points):
    corners = hull(points)
    assert set(corners) <= set(points)
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        assert all((bx - ax) * (y - ay) - (by - ay) * (x - ax) >= 0 for x, y in points)


def test_a_picture_has_its_points_patches_and_centres():
    axes = draw_clusters(
        ClusterDiagram("two", [*SQUARE, (9.0, 9.0), (9.0, 8.0)], [0, 0, 0, 0, 1, 1], [(1.0, 1.0), (9.0, 8.5)])
    )
    assert axes.get_title(loc="left") == "two"
    assert sum(isinstance(patch, Polygon) for patch in axes.patches) == 4  # a rim and a face for each group
    records, centres = axes.collections
    assert records.get_offsets().tolist() == [[0, 0], [2, 0], [2, 2], [0, 2], [9, 9], [9, 8]]
    assert centres.get_offsets().tolist() == [[1, 1], [9, 8.5]]
    assert records.get_facecolors().tolist() == [[1, 1, 1, 1]]  # hollow: something else is shown


def test_labels_and_moves():
    labels = draw_clusters(ClusterDiagram("label", SQUARE, [0] * 4, boxes=[(0, 0, 2, 2)]))
    (box,) = [patch for patch in labels.patches if isinstance(patch, Rectangle)]
    assert (box.get_xy(), box.get_width(), box.get_height()) == ((0, 0), 2, 2)
    moved = draw_clusters(
        ClusterDiagram("shuffle", SQUARE, [0] * 4, moves=[(SQUARE[0], SQUARE[1]), (SQUARE[1], SQUARE[0])])
    )
    assert len(moved.texts) == 2
    assert len(moved.collections) == 1
    assert len(moved.collections[0].get_facecolors()) == 4  # full: the values themselves are published


def test_cuts_without_patches():
    axes = draw_clusters(ClusterDiagram("ranks", SQUARE, [0, 1, 1, 0], cuts=([1.0], [0.5, 1.5]), patches=False))
    assert len(axes.lines) == 3
    assert not axes.patches


def test_several_pictures_share_a_width():
    one = ClusterDiagram("one", SQUARE, [0, 0, 1, 1])
    three = clusters_side_by_side([one] * 3)
    four = clusters_side_by_side([one] * 4)
    assert three.get_figwidth() == pytest.approx(7)
    assert four.get_figwidth() == pytest.approx(7)
    assert four.get_figheight() == pytest.approx(2 * three.get_figheight())
    assert [axes.axison for axes in four.axes] == [True] * 4 + [False] * 2
    assert clusters_side_by_side([one], 2).get_figwidth() == pytest.approx(3.5)


def test_equal_pictures_are_equal_bytes():
    one = ClusterDiagram("one", SQUARE, [0, 0, 1, 1], [(1.0, 1.0)])
    assert render(clusters_side_by_side([one]), "svg") == render(clusters_side_by_side([one]), "svg")


def test_colours_come_round():
    assert cluster_colour(len(COLOURS)) == cluster_colour(0)
