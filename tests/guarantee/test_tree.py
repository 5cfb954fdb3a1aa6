"""The price of a path of noisy tests: equal to brute force over all paths, and never above what was allowed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.rounding import decimal, precise
from shoal.guarantee.tree import SplitTest, calibrate_split_test, decimal_chance, gain, path_loss, published_split_test

TINY = Decimal(10) ** -30
ULP = Fraction(1, 10**12)
SCALES = [Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(12)]


def masses(scale: Fraction, most: int) -> dict[int, Decimal]:
    """Pr[X = x] of the two-sided geometric for |x| up to `most`."""
    q = (-1 / decimal(scale)).exp()
    return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-most, most + 1)}


def paths(top: int, length: int) -> list[tuple[int, ...]]:
    """All non-increasing sequences of counts from 0 to `top`."""
    if length == 0:
        return [()]
    return [(first, *rest) for first in range(top + 1) for rest in paths(first, length - 1)]


def brute_force(scale: Fraction, thresholds: tuple[int, ...], clamp: int, top: int) -> Decimal:
    """The largest |log-ratio| over all counts of a path and all depths at which it may end, in both directions.

    The path ends in a box that was tested and not split, or, at the end, in one that was not tested.
    """
    worst = Decimal(0)
    yes = {x: decimal_chance(x, scale) for x in range(-clamp, top + 2 - min(thresholds))}

    def chance(count: int, threshold: int) -> Decimal:
        return yes[max(count - threshold, -clamp)]

    for counts in paths(top, len(thresholds)):
        ratios = [chance(c + 1, t) / chance(c, t) for c, t in zip(counts, thresholds, strict=True)]
        product = Decimal(1)
        for i, (count, threshold) in enumerate(zip(counts, thresholds, strict=True)):
            ended = product * (1 - chance(count + 1, threshold)) / (1 - chance(count, threshold))
            worst = max(worst, abs(ended.ln()))
            product *= ratios[i]
        worst = max(worst, abs(product.ln()))
    return worst


# --- one test ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("excess", [-7, -1, 0, 1, 2, 9])
def test_the_chance_of_passing_is_the_sum_of_the_noise_above(scale, excess):
    with precise():
        summed = sum((mass for x, mass in masses(scale, 400).items() if excess + x > 0), Decimal(0))
        assert abs(decimal_chance(excess, scale) - summed) < TINY


@pytest.mark.parametrize("scale", SCALES)
def test_the_gain_is_a_ratio_of_chances_and_falls_with_the_excess(scale):
    with precise():
        for excess in range(-20, 40):
            ratio = decimal_chance(excess + 1, scale) / decimal_chance(excess, scale)
            assert abs(gain(excess, scale) - ratio.ln()) < TINY
        gains = [gain(excess, scale) for excess in range(-20, 40)]
        assert all(later <= earlier for earlier, later in pairwise(gains))


# --- a path -----------------------------------------------------------------------------------------------------

CASES = [
    ((0,), 0),
    ((3,), 1),
    ((2, 2, 2), 1),
    ((1, 2, 3, 4), 2),
    ((0, 1, 3, 4), 1),
    ((3, 5, 7, 9), 2),
    ((1, 1, 4, 4), 3),
    ((2, 6, 6, 8), 0),
    ((0, 0, 1, 9), 5),
    ((4, 5, 6), 9),
]


@pytest.mark.parametrize(("thresholds", "clamp"), CASES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_path_loss_is_brute_force_rounded_up(scale, thresholds, clamp):
    with precise():
        found, truth = path_loss(scale, thresholds, clamp), Fraction(brute_force(scale, thresholds, clamp, top=10))
    assert 0 <= found - truth + ULP / 10**9 <= 2 * ULP


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4).map(sorted), st.integers(0, 5),
    st.fractions(min_value=Fraction(1, 4), max_value=5, max_denominator=20),
)  # fmt: skip
def test_the_path_loss_is_brute_force_for_any_thresholds(thresholds, clamp, scale):
    with precise():
        truth = Fraction(brute_force(scale, tuple(thresholds), clamp, top=9))
    assert 0 <= path_loss(scale, thresholds, clamp) - truth + ULP / 10**9 <= 2 * ULP


def test_flat_thresholds_cost_every_test_and_none_costs_more():
    scale = Fraction(5)
    assert path_loss(scale, [7] * 6, 3) - Fraction(6, 5) <= ULP
    assert path_loss(scale, [7, 8, 9, 10, 11, 12], 3) < Fraction(6, 5)


def test_no_test_costs_nothing():
    assert path_loss(Fraction(3), [], 2) == 0


def test_a_small_theta_costs_no_more():
    test = SplitTest(Fraction(4), 2, 6, 12)
    losses = [path_loss(test.scale, test.thresholds(theta), test.clamp) for theta in range(12)]
    assert max(losses) == losses[6] == losses[-1] == test.loss


# --- setting the noise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/20", "3/20", "1/2", "1", "2"])
@pytest.mark.parametrize("y", ["0", "3/10", "7/10", "1"])
@pytest.mark.parametrize("clamp", [None, Fraction(1, 2)])
def test_calibration_keeps_epsilon_and_wastes_little(epsilon, y, clamp):
    epsilon, y = Fraction(epsilon), Fraction(y)
    test = calibrate_split_test(epsilon, y, 20, clamp)
    assert test.loss <= epsilon
    below = y if clamp is None else clamp
    for step in [*range(1, 10), *range(10, int(300 * test.scale), 1 + int(3 * test.scale))]:
        scale = test.scale - Fraction(step, 1000)
        assert SplitTest(scale, ceil(y * scale), ceil(below * scale), 20).loss > epsilon


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(3, 20), Fraction(1, 2)])
@pytest.mark.parametrize("y", [Fraction(3, 10), Fraction(7, 10), Fraction(1)])
def test_the_exact_noise_is_less_than_the_published(epsilon, y):
    paper = published_split_test(epsilon, y, 64)
    assert paper.loss < epsilon
    assert calibrate_split_test(epsilon, y, 64).scale < paper.scale


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8), Fraction(32)])
@pytest.mark.parametrize("y", [Fraction(1, 10), Fraction(7, 10), Fraction(2)])
def test_the_published_noise_holds_on_whole_numbers_when_its_steps_are_rounded_up(epsilon, y):
    paper = published_split_test(epsilon, y, 40)
    assert paper.loss <= epsilon
    if paper.scale < 1:  # rounded down they vanish, and every test is paid in full
        still = SplitTest(paper.scale, floor(y * paper.scale), floor(y * paper.scale), 40)
        assert still.loss > epsilon


def test_depth_one_is_a_single_test():
    assert calibrate_split_test(Fraction(1, 2), Fraction(7, 10), 1).scale - 2 <= Fraction(1, 1000)


def test_a_scale_is_the_same_each_time():
    assert calibrate_split_test(Fraction(3, 20), Fraction(7, 10), 64, Fraction(1, 2)).scale == Fraction(7143, 500)


# --- premises ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "thresholds", "clamp"),
    [(Fraction(0), (1, 2), 1), (Fraction(-1), (1, 2), 1), (Fraction(1), (1, 2), -1), (Fraction(1), (3, 2), 1)],
)
def test_a_broken_premise_is_refused_by_name(scale, thresholds, clamp):
    with pytest.raises(PreconditionError, match="privtree-geometric"):
        path_loss(scale, thresholds, clamp)


def test_a_tree_that_grows_on_nobody_is_refused():
    test = SplitTest(Fraction(20), 14, 6, 64)
    with pytest.raises(PreconditionError, match="privtree-geometric"):
        test.check_empty(theta=40, fan_out=3)
    test.check_empty(theta=40, fan_out=2)
    SplitTest(Fraction(20), 14, 10, 64).check_empty(theta=40, fan_out=3)
    with pytest.raises(PreconditionError, match="clamp of 3"):  # the bar is so low that the clamp is never reached
        SplitTest(Fraction(20), 14, 10, 64).check_empty(theta=3, fan_out=3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: calibrate_split_test(Fraction(0), Fraction(1), 5),
        lambda: calibrate_split_test(Fraction(1), Fraction(-1), 5),
        lambda: calibrate_split_test(Fraction(1), Fraction(1), 5, Fraction(-1)),
        lambda: calibrate_split_test(Fraction(1), Fraction(1), 0),
        lambda: SplitTest(Fraction(1), -1, 0, 3),
        lambda: published_split_test(Fraction(1), Fraction(0), 5),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises(ParameterError):
        call()
