"""Differential privacy as values: implication, curves, f-smooth bounds, and what a sample in front is worth."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee import rounding
from shoal.guarantee.differential import (
    ApproxDP,
    GaussianDP,
    LaplaceDP,
    PureDP,
    SafeKSampling,
    SampledDP,
    SmoothBound,
    SmoothDP,
    allowance,
    amplify,
)
from shoal.guarantee.safe_k.curve import delta_published


def test_implication_of_differential_privacy():
    assert PureDP(1) >= ApproxDP(1, 0) >= PureDP(1)
    assert PureDP(1) >= PureDP(2)
    assert not PureDP(2) >= PureDP(1)
    assert SafeKSampling(20, ".2") >= ApproxDP(1, "2.8e-10")
    assert not SafeKSampling(20, ".2") >= ApproxDP(1, "2.7e-10")
    assert SafeKSampling(30, ".1") >= SafeKSampling(20, ".2")
    assert not SafeKSampling(30, ".3") >= SafeKSampling(20, ".2")
    assert LaplaceDP(1) >= PureDP(1)
    assert GaussianDP(".1") >= GaussianDP(".2")
    assert not GaussianDP(1) >= PureDP(10)
    assert ApproxDP(1, "1e-6") <= PureDP(1)


def test_implication_under_sampling():
    assert PureDP(1) >= SampledDP(".1", "0.159", 0)
    assert not PureDP(1) >= SampledDP(".1", "0.15", 0)
    assert SampledDP(".5", 1, "1e-6") >= SampledDP(".25", "0.7", "1e-6")
    assert not SampledDP(".25", 1, "1e-6") >= SampledDP(".5", 5, "1e-6")
    assert not SampledDP(".5", 1, "1e-6") >= PureDP(1)


@given(st.integers(1, 500), st.integers(0, 10**6), st.integers(0, 600))
def test_approx_dp_curve_is_that_of_randomized_response(hundredths, millionths, at):
    """The curve is convex in e^eps, reaches delta at its own epsilon, and inverts."""
    dp = ApproxDP(Fraction(hundredths, 100), Fraction(millionths, 10**6) / 2)
    epsilon = Fraction(at, 100)
    value = dp.delta_at(epsilon)
    assert float(dp.delta) * (1 - 1e-15) <= value <= 1
    if epsilon < dp.epsilon and value < 1:
        assert dp.epsilon_at(value) == pytest.approx(float(epsilon), abs=1e-9)
    assert dp.epsilon_at(dp.delta) <= rounding.up(dp.epsilon)


def test_gaussian_and_laplace_curves_against_high_precision():
    with mpmath.workdps(50):
        for mu, epsilon in ((0.3, 1.0), (1.0, 0.0), (1.0, 5.0), (2.5, 3.0), (0.1, 0.8)):
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
            found = GaussianDP(mu).delta_at(epsilon)
            assert truth <= found <= truth * (1 + 1e-8)
            assert GaussianDP(mu).epsilon_at(found) == pytest.approx(epsilon, abs=1e-6)
    assert LaplaceDP(1).delta_at(0) == pytest.approx(1 - math.exp(-0.5), rel=1e-8)
    assert LaplaceDP(1).delta_at(1) == 0.0
    assert LaplaceDP(1).epsilon_at(LaplaceDP(1).delta_at("0.4")) == pytest.approx(0.4, abs=1e-6)
    assert LaplaceDP(1).epsilon_at(1) == 0.0
    assert math.isinf(GaussianDP(1).epsilon_at(0))


def test_crowd_curve_ends():
    crowd = SafeKSampling(5, ".2")
    assert crowd.epsilon_at(".2") == 0.0
    assert math.isinf(crowd.epsilon_at("1e-6"))
    assert crowd.delta_remove("-0.1") > crowd.delta_remove(0) > crowd.delta_remove(1)
    assert crowd.delta_add(1) == 0.0


def test_smooth_bound_is_above_the_published_one_and_starts_at_one():
    smooth = SmoothDP.of(20, ".2", 1)
    assert smooth.f(1) == 1.0
    for epsilon in ("1", "1.5", "2", "4"):
        assert smooth.delta_at(epsilon) >= delta_published(20, ".2", epsilon)
    assert smooth.f(3) < smooth.f(2) < 1
    assert smooth.delta_at(700) >= smooth.floor() == pytest.approx((0.2 * math.exp(0.8)) ** 20)


@pytest.mark.slow
@given(st.integers(1, 80), st.integers(1, 90).map(lambda b: Fraction(b, 100)), st.integers(0, 300))
def test_smooth_bound_covers_published_everywhere(k, beta, hundredths):
    """Chernoff also covers the class sizes below k/gamma that LQS10's proof passes over."""
    epsilon = Fraction(hundredths, 100) + rounding.exact(-math.log1p(-float(beta)) + 1e-9)
    assert SmoothDP.of(k, beta, epsilon).delta >= delta_published(k, beta, epsilon) * (1 - 1e-12)


def test_smooth_composition():
    both = SmoothDP.of(20, ".2", 1).compose(SmoothDP.of(30, ".1", "0.5"))
    assert both.epsilon == Fraction(3, 2)
    assert both.f(2) == max(SmoothDP.of(20, ".2", 1).f(2), SmoothDP.of(30, ".1", "0.5").f(2))
    assert SmoothDP.of(20, ".2", 1) >= ApproxDP(2, "1e-6")
    assert not SmoothDP.of(20, ".2", 1) >= ApproxDP("0.9", "0.5")
    with pytest.raises(PreconditionError, match="f-smooth"):
        SmoothBound(20, ".5", ".1")
    with pytest.raises(PreconditionError, match="starts at"):
        SmoothDP.of(20, ".2", 1).delta_at(".5")
    with pytest.raises(UsageError):
        SmoothDP(())


def test_amplification_golden():
    """LQS11 Table 1, and theory.md section 1.4."""
    assert amplify(math.log(11), "1e-5", ".1").epsilon == pytest.approx(math.log(2), abs=1e-12)
    assert amplify(math.log(11), "1e-5", ".01").epsilon == pytest.approx(math.log(1.1), abs=1e-12)
    assert amplify(math.log(11), "1e-5", ".1").delta == pytest.approx(1e-6)
    assert amplify(1, 0, ".1").epsilon == pytest.approx(0.159, abs=5e-4)
    assert amplify(1, 0, ".01").epsilon == pytest.approx(0.017, abs=5e-4)
    assert allowance(".1", 0, ".01").epsilon == pytest.approx(2.44, abs=5e-3)


@given(
    st.integers(1, 800).map(lambda e: Fraction(e, 100)),
    st.integers(0, 100).map(lambda d: Fraction(d, 10**4)),
    st.integers(1, 100).map(lambda r: Fraction(r, 100)),
)
def test_amplify_and_allowance_are_inverse(epsilon, delta, rate):
    allowed = allowance(epsilon, delta, rate)
    back = amplify(allowed.epsilon, allowed.delta, rate)
    assert back.epsilon == pytest.approx(float(epsilon), rel=1e-9)
    assert back.epsilon <= float(epsilon) * (1 + 1e-12)
    assert back.delta <= float(delta) * (1 + 1e-12) + 5e-324


@given(st.integers(1, 500).map(lambda e: Fraction(e, 100)), st.integers(1, 99).map(lambda r: Fraction(r, 100)))
def test_two_samplings_are_one(epsilon, rate):
    once = amplify(epsilon, 0, rate * Fraction(1, 2))
    twice = amplify(amplify(epsilon, 0, Fraction(1, 2)).epsilon, 0, rate * Fraction(1, 2), Fraction(1, 2))
    assert once.epsilon == pytest.approx(twice.epsilon, rel=1e-9)


@pytest.mark.parametrize("rate", [0, -1, 1.5, "x"])
def test_bad_rate(rate):
    with pytest.raises(ParameterError, match="rate"):
        amplify(1, 0, rate)


def test_a_larger_rate_than_before_is_refused():
    with pytest.raises(ParameterError, match="smaller"):
        amplify(1, 0, ".5", ".1")
    with pytest.raises(ParameterError, match="from_rate"):
        amplify(1, 0, ".5", 2)
