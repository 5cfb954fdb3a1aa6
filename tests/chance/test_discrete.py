"""Coins, noise and choices: edges, types and refusals; their laws are in tests/statistical."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.chance.discrete import LARGEST, _digits
from shoal.chance.source import Source
from shoal.errors import ParameterError


def test_certain_coins():
    source = Source.seeded(1)
    assert source.bernoulli(1, 50).all()
    assert not source.bernoulli(0, 50).any()
    assert source.bernoulli_exp(0, 50).all()
    assert not source.bernoulli_exp(10**6, 50).any()
    assert source.bernoulli(Fraction(1, 2), 50).dtype == np.bool_


def test_a_tiny_scale_is_nearly_always_zero():
    assert not Source.seeded(2).discrete_laplace(Fraction(1, 10**6), 1000).any()


def test_digits_are_as_many_as_the_scale_needs():
    places = {1: 1, 16: 1, 17: 2, 4096: 2, 4097: 3, LARGEST: 7}
    assert {scale: len(_digits(Fraction(scale))) for scale in places} == places


def test_the_largest_scale_fits():
    drawn = Source.seeded(3).discrete_laplace(LARGEST, 2000)
    assert drawn.dtype == np.int64
    assert LARGEST / 2 < np.abs(drawn).mean() < 2 * LARGEST


@pytest.mark.parametrize("size", [0, 1, (1 << 17) + 1])
def test_sizes(size):
    source = Source.seeded(4)
    assert source.geometric(3, size).shape == source.discrete_laplace(3, size).shape == (size,)
    assert source.choices([1, 2], size).shape == source.bernoulli(Fraction(1, 3), size).shape == (size,)


def test_a_choice_of_one_and_of_equals():
    source = Source.seeded(5)
    assert source.choose([Fraction(-5)]) == 0
    assert set(source.choices([3, 3, 3], 200).tolist()) == {0, 1, 2}


def test_scores_may_be_far_apart_and_come_from_numpy():
    source = Source.seeded(6)
    assert set(source.choices(np.array([0, 10**9, 10**9 - 10**6]), 100).tolist()) == {1}  # type: ignore[arg-type]


def test_scores_count_by_their_differences_alone():
    low, high = ([Fraction(score) + shift for score in (0, 1, 3)] for shift in (-(10**6), 10**6))
    assert Source.seeded(7).choices(low, 50).tolist() == Source.seeded(7).choices(high, 50).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.bernoulli(Fraction(3, 2), 1), "the probability of a coin is not a probability; got 3/2; allowed"),
        (lambda s: s.bernoulli(0.5, 1), r"the probability of a coin is not exact; got 0\.5; allowed"),
        (lambda s: s.bernoulli(1, -1), "the number of draws is out of range; got -1; allowed"),
        (lambda s: s.bernoulli_exp(-1, 1), "the exponent of a coin is negative; got -1; allowed"),
        (lambda s: s.bernoulli_exp(1, 1.0), "the number of draws is not a whole number"),
        (lambda s: s.geometric(0, 1), "the scale of the noise is out of range; got 0; allowed: above 0"),
        (lambda s: s.geometric(True, 1), "the scale of the noise is not exact; got True; allowed"),
        (lambda s: s.discrete_laplace(LARGEST + 1, 1), r"out of range; got .*; allowed: above 0, at most 2\^50"),
        (lambda s: s.discrete_laplace(1.0, 1), r"not exact; got 1\.0; .*; write Fraction\('0\.1'\)"),
        (lambda s: s.choose([]), "there is nothing to choose from; got no scores; allowed: one score or more"),
        (lambda s: s.choose([1, 0.5]), r"a score is not exact; got 0\.5; allowed"),
    ],
)
def test_wrong_numbers_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call(Source.seeded(1))
