"""Certified bounds enclose the true value, tightly, as arithmetic of 2,000 bits confirms."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance.enclosure import _exp_above, _exp_below, _halved_and_squared, exp_bounds, ratio_bounds, scaled, settle

gammas = st.fractions(0, 300) | st.fractions(0, 1) | st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 10**15))


def true_exp(gamma, bits):
    """exp(−gamma) · 2^bits by mpmath."""
    with mpmath.workprec(2000):
        return mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * mpmath.mpf(2) ** bits


@given(gammas, st.integers(0, 300))
def test_exponentials_are_enclosed(gamma, bits):
    lower, upper = exp_bounds(gamma, bits)
    with mpmath.workprec(2000):
        assert lower <= true_exp(gamma, bits) <= upper
    assert upper - lower <= 2


@given(st.fractions(0, 16), st.integers(9, 40))
def test_every_step_rounds_outwards(gamma, bits):
    lower, upper = _halved_and_squared(gamma, 8, bits)
    with mpmath.workprec(2000):
        assert lower <= true_exp(gamma, bits) <= upper


@given(st.integers(1, 24), st.floats(0, 0.5))
def test_the_series_is_enclosed_without_spare_bits(bits, share):
    exponent = int(share * 2**bits)
    with mpmath.workprec(2000):
        true = mpmath.exp(mpmath.mpf(exponent) / 2**bits) * 2**bits
        assert _exp_below(exponent, bits) <= true <= _exp_above(exponent, bits)


@given(gammas.filter(bool), st.integers(0, 200))
def test_floor_and_ceiling_are_the_true_ones(gamma, bits):
    floor, ceiling = settle(lambda more: exp_bounds(gamma, more), bits)
    with mpmath.workprec(2000):
        assert floor == int(mpmath.floor(true_exp(gamma, bits)))
    assert ceiling == floor + 1


def test_known_digits_of_e():
    # floor(2^64 / e) is the sequence 5E2D58D8B3BCDF1A BADEC782… in base 16.
    assert settle(lambda more: exp_bounds(Fraction(1), more), 64)[0] == 0x5E2D58D8B3BCDF1A
    assert exp_bounds(Fraction(0), 64) == (1 << 64, 1 << 64)
    assert exp_bounds(Fraction(1000), 64) == (0, 1)


def test_a_number_close_to_a_whole_needs_more_bits():
    asked = []

    def bounds(bits):
        asked.append(bits)
        third = (1 << bits) // 3
        return third - (1 << 70), third + (1 << 70)

    assert settle(bounds, 8) == (85, 86)
    assert asked == [40, 72, 136]


@given(st.fractions(0, 1), st.integers(0, 100))
def test_fractions_are_scaled_exactly(value, bits):
    floor, ceiling = scaled(value, bits)
    assert floor <= value * 2**bits <= ceiling
    assert ceiling - floor == (0 if (value * 2**bits).denominator == 1 else 1)


@pytest.mark.parametrize(("above", "below"), [((3, 4), (7, 8)), ((0, 1), (1, 2)), ((5, 5), (5, 5)), ((1, 2), (0, 3))])
def test_quotients_are_enclosed(above, below):
    lower, upper = ratio_bounds(above, below, 20)
    true: list[Fraction] = [Fraction(a, b) for a in above for b in below if b]
    assert lower <= min(true) * 2**20
    assert upper >= min(Fraction(1), max(true)) * 2**20
