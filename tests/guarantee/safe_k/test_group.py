"""A person with many rows, and replacing instead of adding or removing."""

import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest

from shoal.errors import ParameterError
from shoal.guarantee.safe_k.curve import delta_add, delta_remove, delta_tight
from shoal.guarantee.safe_k.group import delta_of_replaced_rows, delta_of_replacement, delta_of_rows
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
