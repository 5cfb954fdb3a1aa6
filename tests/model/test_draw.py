"""Rows that are drawn from a model: their tables are the model's, up to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.model.fit import fit
from shoal.progress import StageProgress
from tests.model.tables import SIZES, axes, chain, counted, measured, pairs

JOINT = chain()


@pytest.fixture(scope="module")
def model():
    return fit(axes(), measured(JOINT, *pairs(4)), source=Source.seeded(1))


def test_no_rows(model):
    assert model.draw(0, Source.seeded(1)).shape == (0, 4)


def test_the_same_seed_gives_the_same_rows(model):
    assert np.array_equal(model.draw(500, Source.seeded(4)), model.draw(500, Source.seeded(4)))


def test_the_steps_of_drawing_are_told_with_their_share_and_change_no_row(model):
    told = []
    rows = model.draw(500, Source.seeded(4), told.append)
    assert np.array_equal(rows, model.draw(500, Source.seeded(4)))
    assert all(isinstance(each, StageProgress) for each in told)
    names = list(dict.fromkeys(each.name for each in told))
    assert names[:2] == ["learning what rows are like", "drawing rows"]
    assert names[-1] == "bringing pairs nearer"
    assert sum(each.name == "learning what rows are like" for each in told) > 5


def test_rows_have_the_tables_of_the_model(model):
    rows = model.draw(10_000, Source.seeded(1))
    assert rows.dtype == np.int64
    found = counted(rows, SIZES)
    for pair in pairs(4):
        rest = tuple(axis for axis in range(4) if axis not in pair)
        assert np.abs(found.sum(rest) - JOINT.sum(rest)).max() < 2.5


def test_forbidden_boxes_never_occur():
    box = (np.array([True, False, False]), np.array([True, True, False, False]), None, None)
    model = fit(axes(), measured(JOINT, *pairs(4), sigma=30.0), source=Source.seeded(1), forbidden=[box])
    rows = model.draw(5_000, Source.seeded(1))
    assert counted(rows, SIZES)[0, :2].sum() == 0


def test_rows_of_a_domain_that_is_nearly_forbidden():
    point = measured(np.array([[1000.0, 0.0], [0.0, 0.0]]), (0, 1))
    box = (np.array([True, False]), np.array([True, False]))
    model = fit(axes((2, 2)), point, source=Source.seeded(1), forbidden=[box])
    rows = model.draw(100, Source.seeded(1))
    assert len(rows) == 100
    assert (rows == 0).all(1).sum() == 0
    assert len(np.unique(rows, axis=0)) == 2  # moved along the one attribute or the other
