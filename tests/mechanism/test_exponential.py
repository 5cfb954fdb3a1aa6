"""The exponential mechanism: exact probabilities, with and without the factor 2."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import ParameterError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.base import Sensitivity
from shoal.mechanism.exponential import Exponential

ROW = Unit.row("add_remove")


def test_probabilities():
    half = Exponential.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW))
    whole = Exponential.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW), monotone=True)
    np.testing.assert_allclose(half.probabilities([0, 2]), [1 / (1 + np.e), np.e / (1 + np.e)])
    np.testing.assert_allclose(whole.probabilities([0, 1]), [1 / (1 + np.e), np.e / (1 + np.e)])
    assert half.guarantee == whole.guarantee == PureDP(1)
    assert half.expected_error([0, 2]) == pytest.approx(2 / (1 + np.e))


def test_scores_are_rounded_to_their_grid():
    choice = Exponential.for_target(PureDP(2), sensitivity=Sensitivity("0.25", ROW), grid="0.1")
    assert choice.spread == 6
    np.testing.assert_allclose(choice.probabilities([0.04, 0.06]), choice.probabilities([Fraction(0), Fraction(1, 10)]))


def test_scores_far_apart_neither_overflow_nor_vanish():
    choice = Exponential.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW))
    assert choice.draw([0, 10**6, -(10**6)], Source.seeded(1)) == 1
    assert choice.probabilities([10**9, 0])[0] == 1


def test_one_option_and_none():
    choice = Exponential.for_target(PureDP(1), sensitivity=Sensitivity(1, ROW))
    assert choice.draw([3], Source.seeded(1)) == 0
    with pytest.raises(ParameterError):
        choice.draw([], Source.seeded(1))
    with pytest.raises(ParameterError):
        Exponential.for_target(PureDP(1), sensitivity=Sensitivity((1, 1), ROW))
