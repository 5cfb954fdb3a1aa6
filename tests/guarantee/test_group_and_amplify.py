"""A person with many rows, replacing instead of adding, and what sampling in front is worth."""

import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.guarantee.differential import allowance, amplify
from shoal.guarantee.group import delta_of_replaced_rows, delta_of_replacement, delta_of_rows
from shoal.guarantee.safe_k.curve import delta_add, delta_remove, delta_tight
from tests.guarantee.oracle import hockey_stick, published_law


@cache
def crowd(epsilon):
    return delta_tight(20, ".2", epsilon)


@cache
def removing(epsilon):
    return delta_remove(20, ".2", epsilon)


@cache
def adding(epsilon):
    return delta_add(20, ".2", epsilon)


def test_one_row_is_the_curve_and_two_rows_cost_far_more():
    """theory.md section 0: k = 20, beta = .2, epsilon 1: one row 2.8e-10, two rows far more."""
    one, two, three = (delta_of_rows(crowd, m, 1) for m in (1, 2, 3))
    assert one == crowd(Fraction(1)) == pytest.approx(2.768e-10, rel=1e-3)
    assert 1e-7 < two < 1e-6 < three < 1e-4


def test_the_split_is_better_than_equal_shares_and_than_any_on_a_grid():
    best = delta_of_rows(crowd, 2, 1)
    for i in range(1, 100):
        first = Fraction(i, 100)
        assert best <= (crowd(first) + math.exp(first) * crowd(1 - first)) * (1 + 1e-12)


def test_rows_bound_is_attained_by_rows_of_one_class():
    """The truth for two rows in one class, from the law itself: the bound holds and wastes nothing."""
    with mpmath.workdps(30):
        beta = mpmath.mpf("0.2")
        truth = max(
            hockey_stick(published_law(n, 5, beta), published_law(n - 2, 5, beta), mpmath.exp(1)) for n in range(5, 40)
        )
    assert delta_of_rows(lambda e: delta_tight(5, ".2", e), 2, 1) == pytest.approx(float(truth), rel=1e-12)


def test_replacing_costs_more_than_removing_and_less_than_two_rows():
    replaced = delta_of_replacement(removing, adding, 1)
    assert crowd(Fraction(1)) < replaced < delta_of_rows(crowd, 2, 1)
    assert replaced <= delta_remove(20, ".2", 1 + math.log(0.8)) * (1 + 1e-9)


def test_replacing_two_rows_is_cheaper_than_four_steps_of_the_worse_direction():
    two = delta_of_replaced_rows(removing, adding, 2, 2)
    assert delta_of_replacement(removing, adding, 2) < two < delta_of_rows(crowd, 4, 2)


def test_replacement_bound_holds_for_two_classes():
    """Two independent classes, one losing and one gaining a record: the product law is below the bound."""
    beta, k = mpmath.mpf(".3"), 4
    bound = delta_of_replacement(lambda e: delta_remove(k, ".3", e), lambda e: delta_add(k, ".3", e), "0.8")
    ratio, worst = mpmath.exp("0.8"), mpmath.mpf(0)
    for n in range(4, 12):
        for m in range(4, 12):
            losing = [(p, published_law(n - 1, k, beta).get(j, 0)) for j, p in published_law(n, k, beta).items()]
            gaining = [(published_law(m - 1, k, beta).get(j, 0), p) for j, p in published_law(m, k, beta).items()]
            value = sum(max(0, a * c - ratio * b * d) for a, b in losing for c, d in gaining)
            worst = max(worst, value)
    assert float(worst) <= bound <= 20 * float(worst)


@pytest.mark.parametrize("rows", [0, -1, True, 1.5, "2"])
def test_bad_rows(rows):
    with pytest.raises(ParameterError, match="rows"):
        delta_of_rows(crowd, rows, 1)


def test_negative_epsilon():
    with pytest.raises(ParameterError, match="negative"):
        delta_of_rows(crowd, 2, -1)


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
