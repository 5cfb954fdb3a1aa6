"""Cuts: the table is the true one, edges go to the slow path, and the slow path has the same law."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from shoal.chance import discrete as draws
from shoal.chance import exponential as choose
from shoal.chance.enclosure import scaled
from shoal.chance.source import Source
from shoal.chance.unit_interval import WORD, Cuts
from tests.statistical.fit import fits


class Scripted:
    """Bits given in advance; it is an error to ask for more."""

    def __init__(self, script=b""):
        self.left = list(script)

    def words(self, count):
        raise AssertionError("no words were expected")

    def bytes(self, count):
        return bytes(self.left.pop(0) for _ in range(count))


def at(*values):
    return Cuts(lambda index, bits: scaled(Fraction(values[index]), bits), len(values))


def words(*values):
    return np.array(values, dtype=np.uint64)


def test_cuts_at_whole_steps_need_no_more_bits():
    half = WORD // 2
    cuts = at("1/2", 1)
    assert cuts.place(Scripted(), words(0, half - 1, half, WORD - 1)).tolist() == [0, 0, 1, 1]


def test_a_cut_inside_a_step_is_decided_by_the_next_bits():
    third = WORD // 3  # 1/3 is .010101… in binary: its next eight digits are 0x55
    cuts = at("1/3", "2/3")
    assert cuts.place(Scripted(), words(third - 1, third + 1, 2 * third - 1, 2 * third + 1)).tolist() == [0, 1, 1, 2]
    for script, passed in (([0x54], 0), ([0x56], 1), ([0x55, 0x55, 0x54], 0), ([0x55, 0x55, 0xFF], 1)):
        source = Scripted(script)
        assert cuts.place(source, words(third)).tolist() == [passed]
        assert source.left == []


def test_no_cuts_is_certainty():
    assert Cuts(lambda *_: (0, 0), 0).place(Scripted(), words(5, 7)).tolist() == [0, 0]


def test_cuts_closer_than_a_word_are_told_apart():
    tiny = Fraction(1, WORD)
    cuts = at(1 - tiny / 2, 1 - tiny / 4, 1 - tiny / 8)
    last = words(WORD - 1)
    assert cuts.place(Scripted(), words(WORD - 2)).tolist() == [0]
    assert [cuts.place(Scripted([byte]), last).tolist() for byte in (0x7F, 0x80, 0xC0, 0xE0)] == [[0], [1], [2], [3]]


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
    last = choose._groups(scores, sizes)._last.tolist()
    with mpmath.workprec(400):
        parts = [
            size * mpmath.exp(mpmath.mpf(score.numerator) / score.denominator)
            for score, size in zip(scores, sizes, strict=True)
        ]
        true = [int(mpmath.floor(mpmath.fsum(parts[:n]) / mpmath.fsum(parts) * WORD)) for n in (1, 2, 3)]
    assert last == true


@pytest.mark.parametrize("cuts", [draws._tail(Fraction(1, 5)), draws._digit(Fraction(1, 100)), at("1/3", "1/2", "4/5")])
def test_fast_and_slow_agree_where_both_decide(cuts):
    undecided = set(cuts._last.tolist())
    edges = [edge for word in undecided for edge in (word - 1, word + 1) if edge not in undecided and edge < WORD]
    tried = np.concatenate([Source.seeded(1).words(200), np.array([0, *edges], dtype=np.uint64)])
    slow = [cuts.decide(Scripted(), int(word), 64) for word in tried]
    assert cuts.place(Scripted(), tried).tolist() == slow


def test_the_slow_path_alone_has_the_right_law():
    source, tail = Source.seeded(2), draws._tail(Fraction(1, 2))
    drawn = np.array([tail.decide(source, 0, 0) for _ in range(20_000)])
    ratio = np.exp(-np.arange(40) / 2)
    assert fits(drawn, ratio * (1 - np.exp(-0.5)))
    assert not fits(drawn, np.exp(-np.arange(40) / 1.6) * (1 - np.exp(-1 / 1.6)))
    assert not fits(drawn, np.exp(-np.arange(40) / 2.4) * (1 - np.exp(-1 / 2.4)))
