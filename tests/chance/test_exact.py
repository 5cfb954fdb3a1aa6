"""Certified bounds enclose the true value, tightly; and inversion by such bounds has exactly the stated distribution."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.chance import draws
from shoal.chance.exact import (
    WORD,
    InversionSampler,
    _exp_above,
    _exp_below,
    _halved_and_squared,
    exp_bounds,
    fraction_bounds,
    ratio_bounds,
    settle,
)
from shoal.chance.source import Source
from tests.statistical.fit import fits

gammas = st.fractions(0, 300) | st.fractions(0, 1) | st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 10**15))


def true_exp(gamma, bits):
    """exp(−gamma) · 2^bits by mpmath."""
    with mpmath.workprec(2000):
        return mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * mpmath.mpf(2) ** bits


@pytest.mark.slow
@given(gammas, st.integers(0, 300))
def test_exponentials_are_enclosed(gamma, bits):
    lower, upper = exp_bounds(gamma, bits)
    with mpmath.workprec(2000):
        assert lower <= true_exp(gamma, bits) <= upper
    assert upper - lower <= 2


@pytest.mark.slow
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


@pytest.mark.slow
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
    floor, ceiling = fraction_bounds(value, bits)
    assert floor <= value * 2**bits <= ceiling
    assert ceiling - floor == (0 if (value * 2**bits).denominator == 1 else 1)


@pytest.mark.parametrize(("above", "below"), [((3, 4), (7, 8)), ((0, 1), (1, 2)), ((5, 5), (5, 5)), ((1, 2), (0, 3))])
def test_quotients_are_enclosed(above, below):
    lower, upper = ratio_bounds(above, below, 20)
    true: list[Fraction] = [Fraction(a, b) for a in above for b in below if b]
    assert lower <= min(true) * 2**20
    assert upper >= min(Fraction(1), max(true)) * 2**20


class Scripted:
    """Bits given in advance; it is an error to ask for more."""

    def __init__(self, script=b""):
        self.left = list(script)

    def words(self, count):
        raise AssertionError("no words were expected")

    def bytes(self, count):
        return bytes(self.left.pop(0) for _ in range(count))


def at(*values):
    return InversionSampler(lambda index, bits: fraction_bounds(Fraction(values[index]), bits), len(values))


def words(*values):
    return np.array(values, dtype=np.uint64)


def test_cuts_at_whole_steps_need_no_more_bits():
    half = WORD // 2
    cuts = at("1/2", 1)
    assert cuts.locate(Scripted(), words(0, half - 1, half, WORD - 1)).tolist() == [0, 0, 1, 1]


def test_a_cut_inside_a_step_is_decided_by_the_next_bits():
    third = WORD // 3  # 1/3 is .010101… in binary: its next eight digits are 0x55
    cuts = at("1/3", "2/3")
    assert cuts.locate(Scripted(), words(third - 1, third + 1, 2 * third - 1, 2 * third + 1)).tolist() == [0, 1, 1, 2]
    for script, passed in (([0x54], 0), ([0x56], 1), ([0x55, 0x55, 0x54], 0), ([0x55, 0x55, 0xFF], 1)):
        source = Scripted(script)
        assert cuts.locate(source, words(third)).tolist() == [passed]
        assert source.left == []


def test_no_cuts_is_certainty():
    assert InversionSampler(lambda *_: (0, 0), 0).locate(Scripted(), words(5, 7)).tolist() == [0, 0]


def test_cuts_closer_than_a_word_are_told_apart():
    tiny = Fraction(1, WORD)
    cuts = at(1 - tiny / 2, 1 - tiny / 4, 1 - tiny / 8)
    last = words(WORD - 1)
    assert cuts.locate(Scripted(), words(WORD - 2)).tolist() == [0]
    assert [cuts.locate(Scripted([byte]), last).tolist() for byte in (0x7F, 0x80, 0xC0, 0xE0)] == [[0], [1], [2], [3]]


def test_an_endless_tail_goes_on_past_its_table():
    tail = draws._tail(Fraction(1))
    far = tail.decide(Scripted([0xFF] * 40 + [0]), WORD - 1, 64)
    # U is about 1 − 2^-384, and −ln(2^-384) is 266.2.
    assert far == 266


@pytest.mark.parametrize("gamma", [Fraction(1), Fraction(1, 10), Fraction(7, 3)])
def test_the_table_of_a_tail_is_the_true_one(gamma):
    last = draws._tail(gamma)._last.tolist()
    with mpmath.workprec(400):
        step = mpmath.mpf(gamma.numerator) / gamma.denominator
        true = [int(mpmath.floor((1 - mpmath.exp(-step * n)) * WORD)) for n in range(1, len(last) + 1)]
    assert last == true
    assert last[-1] == WORD - 1 > last[-2]


@pytest.mark.parametrize("gamma", [Fraction(1, 17), Fraction(1, 10**6), Fraction(1, 1 << 50)])
def test_the_table_of_a_digit_is_the_true_one(gamma):
    last = draws._digit(gamma)._last.tolist()
    with mpmath.workprec(400):
        step = mpmath.mpf(gamma.numerator) / gamma.denominator
        whole = 1 - mpmath.exp(-step * 256)
        true = [int(mpmath.floor((1 - mpmath.exp(-step * d)) / whole * WORD)) for d in range(1, 256)]
    assert last == true


def test_the_table_of_a_choice_is_the_true_one():
    scores, sizes = [Fraction(5), Fraction(9, 2), Fraction(1, 3), Fraction(-2)], [1, 3, 1, 2]
    last = draws._groups(scores, sizes)._last.tolist()
    with mpmath.workprec(400):
        parts = [
            size * mpmath.exp(mpmath.mpf(score.numerator) / score.denominator)
            for score, size in zip(scores, sizes, strict=True)
        ]
        true = [int(mpmath.floor(mpmath.fsum(parts[:n]) / mpmath.fsum(parts) * WORD)) for n in (1, 2, 3)]
    assert last == true


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [draws._tail(Fraction(1, 5)), draws._digit(Fraction(1, 100)), at("1/3", "1/2", "4/5")])
def test_fast_and_slow_agree_where_both_decide(cuts):
    undecided = set(cuts._last.tolist())
    edges = [edge for word in undecided for edge in (word - 1, word + 1) if edge not in undecided and edge < WORD]
    tried = np.concatenate([Source.seeded(1).words(200), np.array([0, *edges], dtype=np.uint64)])
    slow = [cuts.decide(Scripted(), int(word), 64) for word in tried]
    assert cuts.locate(Scripted(), tried).tolist() == slow


@pytest.mark.slow
def test_the_slow_path_alone_has_the_right_law():
    source, tail = Source.seeded(2), draws._tail(Fraction(1, 2))
    drawn = np.array([tail.decide(source, 0, 0) for _ in range(20_000)])
    ratio = np.exp(-np.arange(40) / 2)
    assert fits(drawn, ratio * (1 - np.exp(-0.5)))
    assert not fits(drawn, np.exp(-np.arange(40) / 1.6) * (1 - np.exp(-1 / 1.6)))
    assert not fits(drawn, np.exp(-np.arange(40) / 2.4) * (1 - np.exp(-1 / 2.4)))
