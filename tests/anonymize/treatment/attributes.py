"""Attributes of every type that a treatment may have, and sources of chance whose every draw a test chooses."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np

from shoal.data.domain import Interval, Values
from shoal.data.schema import Attribute, Missing, Role
from shoal.data.type import Type

AGE = Attribute("age", Role.QUASI, Type.INTEGER, Interval(-7, 113))
PAY = Attribute("pay", Role.OTHER, Type.DECIMAL, Interval(-1.0, 9.97))
DAY = Attribute("day", Role.QUASI, Type.DATE, Interval(dt.date(2020, 1, 1), dt.date(2020, 12, 31)))
GRADE = Attribute("grade", Role.OTHER, Type.ORDINAL, Values(("low", "middle", "high")))
TOWN = Attribute("town", Role.QUASI, Type.CATEGORY, Values(("a", "b", "c", "other")))
SEX = Attribute("sex", Role.QUASI, Type.CATEGORY, Values(("f", "m", "x")), missing=Missing.REFUSE)
ALIVE = Attribute("alive", Role.OTHER, Type.BOOLEAN, Values(("false", "true")), missing=Missing.REFUSE)


class ScriptedSource:
    """Every draw of a whole number below a bound is the next of a list, and coins fall as they are told."""

    def __init__(self, numbers=(), coins=()):
        self.numbers, self.coins = list(numbers), list(coins)

    def integers(self, bound, size):
        taken, self.numbers = self.numbers[:size], self.numbers[size:]
        assert all(0 <= each < bound for each in taken)
        return np.array(taken, dtype=np.int64)

    def bernoulli(self, probability, size):
        assert isinstance(probability, Fraction)
        taken, self.coins = self.coins[:size], self.coins[size:]
        return np.array(taken, dtype=np.bool_)


class GridBits:
    """Uniform numbers on a grid of 2^bits: every one once."""

    def __init__(self, bits):
        self.bits = bits

    def words(self, count):
        return (np.arange(count, dtype=np.uint64) << np.uint64(64 - self.bits)).astype(np.uint64)


def masked(values, *absent):
    """Values of which those at some places are missing."""
    held = np.asarray(values)
    gone = np.zeros(len(held), dtype=bool)
    gone[list(absent)] = True
    return np.ma.MaskedArray(held, gone)
