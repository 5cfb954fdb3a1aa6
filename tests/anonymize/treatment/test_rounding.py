"""Rounding: the nearest multiple inside the domain, a half away from 0; held against exact fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.anonymize.treatment.rounding import Rounding
from shoal.data.domain import Interval
from tests.anonymize.treatment.attributes import AGE, PAY, masked


def rounded(attribute, base, values):
    return Rounding(attribute, Fraction(base)).apply({attribute.name: values}, None)[attribute.name]


def nearest(value, base, low, high):
    """Every multiple in the domain by its distance; of two at one distance, the one farther from 0."""
    times = range(-(-low // base), high // base + 1)
    return min((k * base for k in times), key=lambda at: (abs(at - value), -abs(at)))


@given(st.integers(-7, 113), st.integers(1, 60))
def test_whole_numbers(value, base):
    got = rounded(AGE, base, np.array([value, value]))
    assert got.tolist() == [nearest(value, base, -7, 113)] * 2


@given(st.integers(-100, 997), st.sampled_from(["0.1", "0.25", "1/3", "0.07", "2"]))
def test_decimals_as_they_are_written(hundredths, base):
    value, step = hundredths / 100, Fraction(base)
    got = rounded(PAY, base, np.array([value]))[0]
    wanted = nearest(Fraction(hundredths, 100), step, Fraction(-1), Fraction("9.97"))
    assert got == float(wanted)


def test_halves_go_away_from_zero():
    assert rounded(AGE, 10, np.array([-5, 5, 15, 25])).tolist() == [0, 10, 20, 30], "-10 is outside the domain"
    wide = replace(AGE, domain=Interval(-50, 50))
    assert rounded(wide, 10, masked([-5, -15, 7], 2)).tolist() == [-10, -20, None]
    assert rounded(PAY, "0.1", np.array([0.15, 0.25, -0.05])).tolist() == [0.2, 0.3, -0.1]


def test_the_ends_of_whole_numbers():
    largest = np.array([2**63 - 1, -(2**63)])
    made = rounded(replace(AGE, domain=None), 10, largest)
    assert made.tolist() == [2**63 - 1 - 7, -(2**63) + 8]
