"""The picture of a hierarchy: every level and every label that fits, in place."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes

from shoal.data.domain import Interval, Pattern, Values
from shoal.data.hierarchy.build import hierarchy
from shoal.data.hierarchy.spans import spans
from shoal.data.schema import Type
from shoal.page.diagrams import draw_levels
from shoal.page.plots import render

TREE = {"r": {"b": ["x", "z"], "a": ["y"]}}


def test_places_are_shares_of_the_domain():
    bands = spans(hierarchy({"cuts": [25]}, Type.DECIMAL, Interval(0, 100)))
    assert [band.words for band in bands] == ["every value", "2 labels", "one label"]
    assert bands[0].cells == ()
    assert bands[1].cells == ((0, 0.25, "< 25"), (0.25, 1, ">= 25"))
    assert bands[1].loss == 0.625


def test_groups_stand_in_one_piece():
    bands = spans(hierarchy({"taxonomy": TREE}, Type.CATEGORY, Values(("x", "y", "z"))))
    assert [cell[2] for cell in bands[0].cells] == ["x", "z", "y"]
    assert bands[1].cells == ((0, pytest.approx(2 / 3), "b"), (pytest.approx(2 / 3), 1, "a"))
    assert bands[0].words == "3 values"


@pytest.mark.slow
def test_masks_show_letters_of_their_side():
    right = spans(hierarchy({"mask": "right"}, Type.TEXT, Pattern("[0-9]{5}")))
    assert [band.words for band in right][:2] == ["100,000 values", "10,000 labels"]
    assert (right[0].cells, right[1].cells) == ((), ())
    assert right[4].cells[0][2] == "0****"
    left = spans(hierarchy({"mask": "left"}, Type.TEXT, Pattern("[ab]{2}")))
    assert [cell[2] for cell in left[1].cells] == ["*a", "*b"]
    prefix = spans(hierarchy({"mask": {"prefix": [1]}}, Type.TEXT, Pattern("[ab]{2}")))
    assert [cell[2] for cell in prefix[1].cells] == ["a", "b"]
    listed = spans(hierarchy({"mask": "left"}, Type.TEXT, Values(("ab", "cb", "ca"))))
    assert [cell[2] for cell in listed[1].cells] == ["*a", "*b"]


@pytest.mark.slow
def test_the_picture_names_levels_and_labels_that_fit():
    bands = spans(hierarchy({"intervals": [1, 50], "above": 100}, Type.INTEGER, Interval(0, 110)))
    axes = draw_levels("Ages", bands)
    assert isinstance(axes, Axes)
    words = [text.get_text() for text in axes.texts]
    assert {"level 0", "level 3", "[0, 50)", ">= 100", "3 labels", "loss 0.410", "*", "111 values"} <= set(words)
    assert "57" not in words
    assert render(axes.figure, "png") == render(draw_levels("Ages", bands).figure, "png")


@pytest.mark.slow
def test_a_level_with_too_many_labels_is_hatched():
    axes = draw_levels("Codes", spans(hierarchy({"mask": "right"}, Type.TEXT, Pattern("[0-9]{5}"))))
    words = {text.get_text() for text in axes.texts}
    assert {"1,000 labels", "loss 9e-05", "3****"} <= words
