"""Coins, noise and choices follow their distributions exactly; a scale 30 % off is refused, and OpenDP agrees."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.source import Source
from tests.statistical.fit import fits, same_law

DRAWS = 100_000
SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(20), Fraction(300)]


def geometric_law(scale):
    steps = np.arange(int(40 * scale) + 40)
    return -np.expm1(-1 / scale) * np.exp(-steps / scale)


def laplace_law(scale):
    """From −n to n, and n."""
    last = int(40 * scale) + 40
    steps = np.abs(np.arange(-last, last + 1))
    return np.tanh(1 / (2 * scale)) * np.exp(-steps / scale), last


def is_laplace(drawn, scale):
    law, last = laplace_law(scale)
    return fits(drawn, law, first=-last)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_geometric_draws_follow_their_distribution_and_no_impostor(scale, effort):
    drawn = Source.seeded(f"geometric {scale}").geometric(scale, DRAWS * effort)
    assert drawn.min() == 0
    assert fits(drawn, geometric_law(float(scale)))
    assert not fits(drawn, geometric_law(0.7 * float(scale)))
    assert not fits(drawn, geometric_law(1.3 * float(scale)))


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_draws_follow_their_distribution_and_no_impostor(scale, effort):
    drawn = Source.seeded(f"laplace {scale}").discrete_laplace(scale, DRAWS * effort)
    assert is_laplace(drawn, float(scale))
    assert not is_laplace(drawn, 0.7 * float(scale))
    assert not is_laplace(drawn, 1.3 * float(scale))
    assert not is_laplace(drawn + 1, float(scale)) or scale > 200


def gaussian_law(sigma):
    """From −n to n, and n."""
    last = int(12 * sigma) + 12
    weights = np.exp(-(np.arange(-last, last + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum(), last


def is_gaussian(drawn, sigma):
    law, last = gaussian_law(sigma)
    return fits(drawn, law, first=-last)


SIGMAS = [Fraction(3, 10), Fraction(3, 4), Fraction(1), Fraction(7, 3), Fraction("22.355"), Fraction(300)]


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_discrete_gaussian_draws_follow_their_distribution_and_no_impostor(sigma, effort):
    drawn = Source.seeded(f"gaussian {sigma}").discrete_gaussian(sigma, DRAWS * effort)
    assert is_gaussian(drawn, float(sigma))
    assert not is_gaussian(drawn, 0.95 * float(sigma))
    assert not is_gaussian(drawn, 1.05 * float(sigma))
    assert not is_gaussian(drawn + 1, float(sigma)) or sigma > 200
    assert not is_laplace(drawn, float(sigma) / np.sqrt(2))


@pytest.mark.parametrize("sigma", [0.3, 0.75, 1.0])
def test_a_rounded_gaussian_is_no_discrete_gaussian(sigma, effort):
    rounded = np.rint(np.random.default_rng(5).normal(0, sigma, DRAWS * effort)).astype(np.int64)
    assert not is_gaussian(rounded, sigma)


def test_wide_gaussian_noise_is_right_in_its_high_and_low_digits(effort):
    sigma = 10**5
    drawn = Source.seeded("wide").discrete_gaussian(sigma, DRAWS * effort)
    steps = (drawn + 10**8) // (sigma // 10) - 10**4  # tenths of sigma, rounded down
    edges = np.arange(-60, 62) / 10
    law = np.diff([0.5 * (1 + math.erf(edge / math.sqrt(2))) for edge in edges])
    assert fits(steps, law / law.sum(), first=-60)
    assert fits(drawn % 256, np.full(256, 1 / 256))


@pytest.mark.parametrize("scale", [10**5, 10**9])
def test_noise_of_large_scale_is_right_in_its_high_and_low_digits(scale, effort):
    drawn = Source.seeded(f"large {scale}").geometric(scale, DRAWS * effort)
    steps = drawn // (scale // 10)
    assert fits(steps, geometric_law(10.0))
    assert not fits(steps, geometric_law(7.0))
    assert not fits(steps, geometric_law(13.0))
    assert fits(drawn % 256, np.full(256, 1 / 256))
    assert fits(drawn // 256 % 4, np.full(4, 1 / 4)) or scale < 10**6


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000)])
def test_bernoulli_draws_have_the_stated_probability_and_no_other(probability, effort):
    coins = Source.seeded(f"coin {probability}").bernoulli(probability, 5 * DRAWS * effort).astype(int)
    off = min(probability, 1 - probability)
    for rate, right in ((probability, True), (probability - off * 3 / 4, False), (probability + off * 3 / 4, False)):
        assert fits(coins, [1 - float(rate), float(rate)]) == right


@pytest.mark.parametrize("gamma", [Fraction(1, 10), Fraction(1), Fraction(5)])
def test_bernoulli_exp_draws_have_the_stated_probability_and_no_other(gamma, effort):
    coins = Source.seeded(f"exponential coin {gamma}").bernoulli_exp(gamma, DRAWS * effort).astype(int)
    for exponent, right in ((1.0, True), (0.7, False), (1.3, False)):
        rate = np.exp(-exponent * float(gamma))
        assert fits(coins, [1 - rate, rate]) == right


@pytest.mark.parametrize("scores", [[0, 1, 0, 1, 3], [Fraction(n, 7) for n in range(30)], [2, 2], [0, 20, 19]])
def test_exponential_choices_follow_their_distribution_and_no_impostor(scores, effort):
    drawn = Source.seeded(f"choices {len(scores)}").choices(scores, DRAWS * effort)

    def law(stretch):
        weights = np.exp([stretch * float(score) for score in scores])
        return weights / weights.sum()

    assert fits(drawn, law(1.0))
    if len(set(scores)) > 1:
        assert not fits(drawn, law(0.7))
        assert not fits(drawn, law(1.3))
    else:
        assert not fits(drawn, [0.45, 0.55])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 3, 25])
def test_opendp_draws_the_same_noise(scale, effort):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    many = 40_000 * effort
    oracle = dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int), scale=float(scale))
    theirs = np.array(oracle([0] * many))
    source = Source.seeded(f"oracle {scale}")
    assert same_law(theirs, source.discrete_laplace(scale, many))
    assert not same_law(theirs, source.discrete_laplace(scale * Fraction(7, 10), many))
    assert not same_law(theirs, source.discrete_laplace(scale * Fraction(13, 10), many))


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(5)], ids=str)
def test_opendp_draws_the_same_gaussian_noise(sigma, effort):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    many = 20_000 * effort
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, scale=float(sigma))([0] * many))
    source = Source.seeded(f"beside OpenDP {sigma}")
    assert same_law(theirs, source.discrete_gaussian(sigma, many))
    assert not same_law(theirs, source.discrete_gaussian(sigma * Fraction(8, 10), many))
