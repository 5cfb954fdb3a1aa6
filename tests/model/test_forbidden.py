"""Boxes that no row may lie in: what lies outside is found where there is any, and rows are moved there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.model.fit import fit
from shoal.model.forbidden import find_outside, lies_in, move_out
from shoal.model.measurement import Axis, Measurement

SIZES = (3, 2, 2)


def boxes_of(drawn):
    return [tuple(np.array(mask) for mask in box) for box in drawn]


ANY_BOX = st.tuples(*(st.lists(st.booleans(), min_size=size, max_size=size) for size in SIZES))


@given(st.lists(ANY_BOX, max_size=9))
def test_cells_outside_all_boxes_are_found_wherever_there_are_any(drawn):
    boxes = boxes_of(drawn)
    every = np.array(list(product(*map(range, SIZES))))
    allowed = every[~lies_in(boxes, every)]
    outside, is_certain = find_outside(boxes, SIZES)
    assert is_certain
    assert (outside is None) == (len(allowed) == 0)
    if outside is not None:
        inside = np.logical_and.reduce([mask[every[:, axis]] for axis, mask in enumerate(outside)])
        assert inside.any()
        assert not lies_in(boxes, every[inside]).any()


@given(st.lists(ANY_BOX, min_size=1, max_size=9), st.integers(0, 99))
def test_rows_are_moved_out_of_every_box(drawn, seed):
    boxes = boxes_of(drawn)
    outside, _ = find_outside(boxes, SIZES)
    every = np.array(list(product(*map(range, SIZES))))
    bad = every[lies_in(boxes, every)]
    if outside is None or not len(bad):
        return
    margins = [np.array([5.0, 0.0, 1.0]), np.array([0.0, 3.0]), np.array([-1.0, 2.0])]
    moved = move_out(bad, boxes, margins, outside, Source.seeded(seed))
    assert not lies_in(boxes, moved).any()
    assert moved.shape == bad.shape
    assert (moved >= 0).all()
    assert (moved < SIZES).all()


def test_values_follow_the_counts_of_their_attribute():
    """A row that is moved takes a frequent value more often, and changes the attribute with more records outside the box."""
    box = (np.array([True, False, False]), np.array([True, False]))
    codes = np.zeros((20_000, 2), dtype=np.int64)
    margins = [np.array([10.0, 60.0, 30.0]), np.array([90.0, 10.0])]
    outside, _ = find_outside([box], (3, 2))
    moved = move_out(codes, [box], margins, outside, Source.seeded(3))
    shares = np.bincount(moved[:, 0], minlength=3) / len(moved)
    assert shares == pytest.approx([0.1, 0.6, 0.3], abs=0.02)
    assert (moved[:, 1] == 1).mean() == pytest.approx(0.1, abs=0.02)


def test_boxes_that_cover_the_domain_leave_no_row():
    halves = [(np.array([True, False]), np.ones(2, bool)), (np.array([False, True]), np.ones(2, bool))]
    assert find_outside(halves, (2, 2)) == (None, True)
    point = Measurement((0, 1), (np.arange(2), np.arange(2)), np.full((2, 2), 9.0), 4.0)
    model = fit([Axis("a", 2, False), Axis("b", 2, False)], [point], source=Source.seeded(1), forbidden=halves)
    with pytest.raises(UsageError, match="in no forbidden box"):
        model.draw(10, Source.seeded(1))
