"""The judge is judged first: it accepts the right distribution, and a wrong one only when it is nearly right."""

from __future__ import annotations

import numpy as np
import pytest

from tests.statistical.fit import fits, p_value, same_law


def coins(seed, rate, size=10_000):
    return np.random.default_rng(seed).binomial(20, rate, size)


def law(rate):
    from scipy.stats import binom

    return binom.pmf(np.arange(21), 20, rate)


@pytest.mark.slow
def test_p_values_are_uniform_under_the_right_distribution():
    values = [p_value(np.bincount(coins(seed, 0.3), minlength=21), law(0.3) * 10_000) for seed in range(200)]
    assert 0.4 < np.mean(values) < 0.6
    assert 0.05 < np.quantile(values, 0.1) < 0.2


def test_the_right_distribution_is_accepted_and_wrong_ones_are_rejected():
    assert fits(coins(1, 0.3), law(0.3))
    assert not fits(coins(1, 0.3), law(0.28))
    assert not fits(coins(1, 0.3), law(0.32))
    assert fits(coins(1, 0.3) - 50, law(0.3), first=-50)


def test_two_samples_of_one_distribution_are_accepted_and_of_two_rejected():
    assert same_law(coins(1, 0.3), coins(2, 0.3))
    assert not same_law(coins(1, 0.3), coins(2, 0.33))
    assert not same_law(coins(1, 0.3), coins(2, 0.27))
