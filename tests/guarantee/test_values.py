"""Guarantees as values: words, implication, files, claims, units, smooth bounds, rounding."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee import rounding
from shoal.guarantee.claim import StatedClaim, Status, make_claim
from shoal.guarantee.differential import (
    ApproxDP,
    GaussianDP,
    LaplaceDP,
    PureDP,
    SafeKSampling,
    SampledDP,
    SmoothBound,
    SmoothDP,
)
from shoal.guarantee.safe_k import curve
from shoal.guarantee.safe_k.curve import delta_published
from shoal.guarantee.syntactic import KAnonymity, KMap, KnowledgeGain, LDiversity, ProbabilisticK, TCloseness
from shoal.guarantee.unit import Unit

ROW = Unit.row("add_remove")


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


def test_implication_of_syntactic_guarantees():
    assert KAnonymity(5) >= KAnonymity(3)
    assert KAnonymity(5) >= ProbabilisticK(5)
    assert KAnonymity(5) >= KMap(4)
    assert not ProbabilisticK(5) >= KAnonymity(5)
    assert LDiversity(3, "entropy") >= LDiversity(3, "distinct")
    assert not LDiversity(3, "distinct") >= LDiversity(3, "entropy")
    assert TCloseness(2, "ratio") >= KnowledgeGain(2)
    assert not TCloseness(".2", "emd") >= KnowledgeGain(2)
    assert not KAnonymity(5) >= PureDP(100)
    assert not PureDP(0) >= KAnonymity(2)


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


def test_unit_has_no_default_and_speaks():
    with pytest.raises(TypeError):
        Unit.row()
    person = Unit.person("patient", 3, "replace_one")
    assert "at most 3" in person.words()
    assert "'patient'" in person.words()
    assert Unit.from_saved(person.to_saved()) == person
    assert "one row" in ROW.words()
    for wrong in (
        lambda: Unit.row("nearby"),
        lambda: Unit.person("", 1, "add_remove"),
        lambda: Unit.person("p", 0, "add_remove"),
        lambda: Unit("row", "add_remove", "p", 1),
        lambda: Unit("household", "add_remove", None, 1),
    ):
        with pytest.raises(UsageError):
            wrong()


def test_claim_rules():
    claim = make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("safe-k-tight",))
    assert claim.words().startswith("Proved: (1, 1e-06)-differential privacy")
    assert StatedClaim.from_saved(json.loads(json.dumps(claim.to_saved()))).to_saved() == claim.to_saved()
    assert make_claim(KAnonymity(5), None, Status.CHECKED).words().startswith("Checked: 5-anonymity")
    assert make_claim(ApproxDP(1, 0), ROW, Status.NONE, randomness="test seed").words() == "No guarantee is made."
    conditional = make_claim(PureDP(1), ROW, Status.CONDITION, ("amplification",), ("the table is a random sample",))
    assert "Condition: the table is a random sample" in conditional.words()
    wrong = [
        lambda: make_claim(ApproxDP(1, "1e-6"), None, Status.PROVED, ("safe-k-tight",)),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("magic",)),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.PROVED, ("safe-k-tight",), randomness="test seed"),
        lambda: make_claim(ApproxDP(1, "1e-6"), ROW, Status.CHECKED, ("safe-k-tight",)),
        lambda: make_claim(KAnonymity(5), None, Status.PROVED),
        lambda: make_claim(PureDP(1), ROW, Status.CONDITION, ("amplification",)),
    ]
    for make in wrong:
        with pytest.raises(UsageError):
            make()


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


@pytest.mark.parametrize("wrong", [lambda: KAnonymity(0), lambda: KMap(True), lambda: LDiversity("0.5", "distinct")])
def test_bad_syntactic_numbers(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_bad_syntactic_words():
    with pytest.raises(UsageError):
        LDiversity(2, "fuzzy")
    with pytest.raises(UsageError):
        TCloseness("0.2", "manhattan")
    with pytest.raises(ParameterError):
        TCloseness("0.5", "ratio")


NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-(10**6), max_value=10**6),
    st.fractions(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@pytest.mark.slow
@given(NUMBERS)
def test_rounding_goes_the_right_way_by_one_step_at_most(value):
    above, below = rounding.up(value), rounding.down(value)
    exact = Fraction(value)
    assert Fraction(below) <= exact <= Fraction(above)
    assert above == below or math.nextafter(below, math.inf) == above


@given(st.floats(1e-300, 1e300), st.integers(1, 12))
def test_printing_rounds_against_us(value, digits):
    assert (
        Decimal(rounding.text_up(value, digits)) >= Decimal(repr(value)) >= Decimal(rounding.text_down(value, digits))
    )


@pytest.mark.slow
@given(st.fractions(min_value=-1000, max_value=1000))
def test_exact_text_is_exact(value):
    assert Fraction(rounding.exact_text(value)) == value


def test_exact_reads_text_and_shortest_decimals():
    assert rounding.exact("1e-6") == Fraction(1, 10**6)
    assert rounding.exact(0.1) == Fraction(1, 10) == rounding.exact(np.float64(0.1))
    assert rounding.exact(Decimal("0.3")) == Fraction(3, 10)
    assert rounding.exact("1/3") == Fraction(1, 3)
    for wrong in ("", "abc", "nan", float("inf"), None, True, [1], "1/0", "1e9999999", Decimal("1e-999999")):
        with pytest.raises(ParameterError):
            rounding.exact(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 1500, 1501, 5000, 10**7])
def test_binomial_mass_and_tails_against_high_precision(n):
    p = Decimal("0.013")
    with mpmath.workdps(90), rounding.precise():
        j = max(1, int(n * p * Decimal("1.3")))
        truth = mpmath.binomial(n, j) * mpmath.mpf("0.013") ** j * mpmath.mpf("0.987") ** (n - j)
        assert abs(mpmath.mpf(str(curve.binomial_mass(j, n, p))) / truth - 1) < mpmath.mpf(10) ** -45
        if n <= 5000:
            tail = mpmath.fsum(
                mpmath.binomial(n, i) * mpmath.mpf("0.013") ** i * mpmath.mpf("0.987") ** (n - i)
                for i in range(j, n + 1)
            )
            found = mpmath.mpf(str(curve.binomial_at_least(j, n, p)))
            assert 0 <= found / tail - 1 < mpmath.mpf(10) ** -45
            lower = mpmath.mpf(str(curve.binomial_at_most(j - 1, n, p)))
            assert abs(lower + tail - 1) < mpmath.mpf(10) ** -45
    assert curve.binomial_mass(-1, 5, p) == curve.binomial_mass(6, 5, p) == curve.binomial_at_least(6, 5, p) == 0
