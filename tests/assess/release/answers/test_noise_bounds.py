"""Bounds of sums of noise hold, against probabilities that are added up term by term, and are as small as they can be."""

from __future__ import annotations

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from shoal.assess.release.answers.noise_bounds import mean_bound, noise_bound

RISKS = (0.4, 0.2, 0.025, 1e-3, 1e-6)


def probabilities(sigma, most):
    """The probabilities of -most, …, most for one noise."""
    terms = np.array([exp(-x * x / (2 * sigma * sigma)) for x in range(-most, most + 1)])
    return terms / terms.sum()


def of_sum(sigma, cells):
    """The probabilities of a sum of independent noises, by convolution."""
    one = probabilities(sigma, int(15 * sigma) + 15)
    found = np.ones(1)
    for _ in range(cells):
        found = np.convolve(found, one)
    return found


def exceeds(found, t):
    """Pr[sum > t]."""
    middle = len(found) // 2
    return float(found[middle + int(t) + 1 :].sum())


@pytest.mark.parametrize("sigma", ["0.3", "0.8", "1.4", "1.5", "2", "7.25"])
@pytest.mark.parametrize("cells", [1, 2, 3, 10])
def test_a_bound_holds_and_one_less_hardly_ever_does(sigma, cells):
    found = of_sum(float(sigma), cells)
    for risk in RISKS:
        bound = noise_bound(Fraction(sigma), cells, risk)
        assert exceeds(found, bound) <= risk
        assert bound == 0 or exceeds(found, bound - 1 - (float(sigma) >= 1.5)) > risk


def test_no_cells_have_no_noise():
    assert noise_bound(Fraction(10), 0, 0.025) == 0


@pytest.mark.parametrize("sigma", ["0.5", "40", "1e6"])
def test_a_tiny_risk_has_a_bound(sigma):
    assert noise_bound(Fraction(sigma), 3, 1e-12) >= 6.9 * float(sigma) * sqrt(3)


def test_a_mean_of_two_sums_is_bounded():
    """All values of 0.3 X + 0.7 Y, with their probabilities."""
    one, other = of_sum(1.5, 2), of_sum(2.0, 3)
    x, y = (np.arange(len(own)) - len(own) // 2 for own in (one, other))
    value, chance = np.add.outer(0.3 * x, 0.7 * y), np.multiply.outer(one, other)
    for risk in RISKS:
        bound = mean_bound([1.5 * sqrt(2), 2 * sqrt(3)], [0.3, 0.7], risk)
        assert chance[value > bound].sum() <= risk
        assert chance[value > bound - 1.7].sum() > risk
    assert mean_bound([100.0], [1.0], 1e-12) == pytest.approx(100 * sqrt(2 * np.log(1e12)))


def test_an_impostor_by_the_normal_quantile_alone_fails():
    """Without the half for whole numbers the bound would be too small."""
    found = of_sum(2.0, 1)
    assert exceeds(found, int(1.96 * 2.0 - 1)) > 0.025
