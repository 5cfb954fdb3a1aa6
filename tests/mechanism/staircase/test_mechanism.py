"""The univariate staircase: the thesis' numbers to all digits, closed forms against brute force, and the public face."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.chance.source import Source
from shoal.errors import ShoalError
from shoal.guarantee.differential import PureDP
from shoal.guarantee.unit import Unit
from shoal.mechanism.staircase.distribution import BoxDistribution, ConfidenceInterval
from shoal.mechanism.staircase.inner import least_interval, least_variance
from shoal.mechanism.staircase.mechanism import OptimalNoise

ROW = Unit.row("add_remove")

# SC13 section 4.3, corrected digits
LEAST_VARIANCE = [("1", 0.4167374, 1.9181035), ("0.5", None, 7.9170), ("0.1", None, 199.9167)]
SHORTEST = [("1", 0.9933, 5.9865), ("0.5", None, 11.9784), ("0.1", None, 59.9105)]


@pytest.mark.parametrize(("epsilon", "d", "variance"), LEAST_VARIANCE)
def test_golden_least_variance(epsilon, d, variance):
    noise = OptimalNoise(epsilon=epsilon, sensitivity=1, criterion="min_variance")
    digits = 7 if epsilon == "1" else 4
    assert round(noise.variance, digits) == variance
    assert d is None or round(noise.inner, 7) == d


@pytest.mark.parametrize(("epsilon", "d", "length"), SHORTEST)
def test_golden_shortest_interval(epsilon, d, length):
    noise = OptimalNoise(epsilon=epsilon, sensitivity=1, criterion="min_interval", confidence="0.95")
    assert round(noise.interval(0.95).length, 4) == length
    assert d is None or round(noise.inner, 4) == d


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "4", "30"])
def test_no_other_d_has_less_variance(epsilon):
    best = least_variance(Fraction(epsilon))
    here = BoxDistribution(float(epsilon), (1.0,), (best,)).variance[0]
    for d in np.linspace(0, 1, 101):
        assert BoxDistribution(float(epsilon), (1.0,), (float(d),)).variance[0] >= here * (1 - 1e-12)


@pytest.mark.parametrize("confidence", [0.05, 0.3, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_other_d_has_a_shorter_interval(epsilon, confidence):
    best = least_interval(epsilon, confidence)
    here = BoxDistribution(epsilon, (1.0,), (best,)).interval(confidence).length
    for d in np.linspace(0, 1, 41):
        assert BoxDistribution(epsilon, (1.0,), (float(d),)).interval(confidence).length >= here * (1 - 1e-12)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 5), st.floats(0, 1), st.floats(0.2, 20))
def test_closed_forms_are_the_sums_of_the_steps(epsilon, ratio, delta):
    d, q = ratio * delta, np.exp(-epsilon)
    law = BoxDistribution(epsilon, (delta,), (d,))
    height = 1 / (2 * (d + delta * q / (1 - q)))
    ends = d + delta * np.arange(0, 1 + int(60 / epsilon))
    starts, weights = np.append(0, ends[:-1]), height * q ** np.arange(len(ends))
    assert law.density(0.0) == pytest.approx(height)
    assert law.variance[0] == pytest.approx(2 * (weights * (ends**3 - starts**3) / 3).sum(), rel=1e-9)
    assert law.expected_error[0] == pytest.approx((weights * (ends**2 - starts**2)).sum(), rel=1e-9)
    for x in (0.0, 0.3 * d, d, d + 0.4 * delta, d + 3.7 * delta):
        mass = (weights * np.clip(np.minimum(x, ends) - starts, 0, None)).sum()
        assert law.cdf(x) == pytest.approx(0.5 + mass, abs=1e-12)
        assert law.cdf(-x) == pytest.approx(0.5 - mass, abs=1e-12)
    for confidence in (0.1, 0.5, 0.95):
        low, high = law.interval(confidence)
        assert low == -high
        assert law.cdf(high) - law.cdf(low) == pytest.approx(confidence, abs=1e-12)
        assert law.region_volume(confidence) == pytest.approx(high - low)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-4", "50", "700"])
@pytest.mark.parametrize("criterion", ["min_variance", "min_interval"])
def test_far_corners(epsilon, criterion):
    noise = OptimalNoise(epsilon, 1, criterion, confidence="0.999999")
    assert 0 <= noise.inner <= 1
    assert 0 < noise.variance < np.inf
    low, high = noise.interval("0.999999")
    assert noise.cdf(high) - noise.cdf(low) == pytest.approx(0.999999, abs=1e-9)
    assert np.isfinite(noise.sample(100, Source.seeded(1))).all()


@pytest.mark.parametrize("grid", ["1", "1/2", None])
@pytest.mark.parametrize("epsilon", ["0.4", "1", "2.5"])
def test_the_interval_of_what_is_drawn_holds_it_and_a_smaller_one_does_not(epsilon, grid):
    noise = OptimalNoise(epsilon, 1, "min_interval", grid=grid)
    step = float(noise.grid[0])
    offsets = np.arange(-int(40 / step), int(40 / step) + 1)
    chances = noise.lattice.pmf(offsets[:, None])
    half = noise.drawn_interval().high
    assert chances[np.abs(offsets * step) <= half + 1e-12].sum() >= 0.95 - 1e-9
    assert chances[np.abs(offsets * step) <= 0.7 * half].sum() < 0.95
    assert chances[np.abs(offsets * step) <= half - step / 2].sum() < 0.95  # no shorter one would do


def test_several_components_have_an_interval_each_of_what_is_drawn():
    first, second = OptimalNoise(1, (1, 10), grid=1).drawn_interval()
    assert second.high > first.high > 0


def test_a_confidence_too_near_one_is_refused_rather_than_searched_for_ever():
    for confidence in ("0.9999999999999999", "1e-13"):
        with pytest.raises(ShoalError):
            OptimalNoise(1, 1).interval(confidence)


@pytest.mark.parametrize("d", [0, "0.5", 1])
def test_every_d_between_zero_and_the_sensitivity(d):
    noise = OptimalNoise(1, 1, inner=d)
    assert noise.inner == float(Fraction(d))
    assert noise.density(np.linspace(-40, 40, 80_001)).sum() * 0.001 == pytest.approx(1, abs=1e-3)
    assert noise.cdf(0) == 0.5


def test_a_plain_sensitivity_gives_plain_numbers_and_a_sequence_gives_rows():
    one, two = OptimalNoise(1, 1), OptimalNoise(1, [1, 2])
    assert isinstance(one.variance, float)
    assert isinstance(one.interval(0.95), ConfidenceInterval)
    assert one.sample(5, Source.seeded(1)).shape == (5,)
    assert two.variance.shape == (2,)
    assert len(two.interval("0.95")) == 2
    assert two.sample(5, Source.seeded(1)).shape == (5, 2)
    assert one.sample().shape == (1,)
    assert "epsilon=1" in repr(one)


def test_what_is_drawn_is_close_to_the_continuous_law():
    noise = OptimalNoise(1, 10)
    assert noise.lattice.sides == (1024,)
    drawn = noise.sample(100_000, Source.seeded(4))
    assert drawn.var() == pytest.approx(noise.variance, rel=0.03)
    assert np.abs(drawn).mean() == pytest.approx(noise.expected_error, rel=0.02)
    low, high = noise.interval(0.95)
    assert ((drawn >= low) & (drawn <= high)).mean() == pytest.approx(0.95, abs=0.003)
    fine = noise.lattice.variance * (10 / 1024) ** 2
    assert fine == pytest.approx([noise.variance], rel=1e-3)


def test_the_mechanism_answers_on_the_same_grid():
    noise = OptimalNoise("0.5", (1, 4), "region_volume", confidence="0.9", grid=("0.25", "0.5"))
    mechanism = noise.mechanism(ROW)
    assert mechanism.guarantee == PureDP("0.5")
    assert mechanism.distribution is noise.lattice
    answer = mechanism.draw([10, 20], Source.seeded(1))
    assert all((Fraction(value) * 4).denominator == 1 for value in answer)


@pytest.mark.parametrize("wrong", [
    {"epsilon": 0}, {"epsilon": -1}, {"epsilon": "nan"}, {"epsilon": float("inf")}, {"epsilon": "1e-400"},
    {"sensitivity": 0}, {"sensitivity": -1}, {"sensitivity": float("inf")}, {"sensitivity": []}, {"sensitivity": (1, 0)},
    {"criterion": "best"}, {"inner": 1.1}, {"inner": -0.1}, {"grid": 0}, {"confidence": 1}, {"confidence": 0},
    {"weights": (1, 2)},
])  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ShoalError):
        OptimalNoise(**{"epsilon": 1, "sensitivity": 1, **wrong})
    with pytest.raises(ShoalError):
        OptimalNoise(1, 1).interval(1.5)
    with pytest.raises(ShoalError):
        OptimalNoise(1, 1).sample(-1)
