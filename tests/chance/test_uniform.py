"""Whole numbers below a bound: types, ranges, and the words that are thrown away."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.chance.source import Source
from shoal.errors import ParameterError


class Scripted(Source):
    """A source whose bytes are given in advance."""

    __slots__ = ("left",)

    def __init__(self, script):
        self.left = script

    def bytes(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return taken + bytes(count - len(taken))


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 255, 256, 257, 1 << 16, (1 << 32) - 1, 1 << 63, (1 << 64) - 1, 1 << 64])
def test_numbers_are_in_range(bound):
    drawn = Source.seeded(1).integers(bound, 1000)
    assert drawn.dtype == (np.int64 if bound <= 1 << 63 else np.uint64)
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < bound
    assert int(drawn.max()) >= (bound - 1) // 2


@pytest.mark.parametrize("bound", [(1 << 64) + 1, 10**30, 1 << 200])
def test_beyond_64_bits_numbers_are_pythons_own(bound):
    drawn = Source.seeded(2).integers(bound, 300)
    assert drawn.dtype == object
    assert all(0 <= number < bound for number in drawn)
    assert max(drawn) > bound * 9 // 10
    assert min(drawn) < bound // 10
    assert len(set(drawn)) == 300


def test_what_falls_outside_is_drawn_again():
    assert Scripted(bytes([7, 6, 5, 0xF8 + 4, 3])).integers(5, 2).tolist() == [4, 3]
    large = (1 << 64) + 1
    script = b"\xff" * 9 + (5 << 7).to_bytes(9, "big")
    assert Scripted(script).integers(large, 1).tolist() == [5]


def test_small_bounds_visit_everything():
    assert set(Source.seeded(3).integers(5, 500).tolist()) == {0, 1, 2, 3, 4}
    assert Source.seeded(3).integers(1, 4).tolist() == [0, 0, 0, 0]
    assert Source.seeded(3).integers(9, 0).tolist() == []


@pytest.mark.parametrize("bound", [0, -3, 2.0, True, None])
def test_a_bound_is_a_whole_number_from_one(bound):
    with pytest.raises(
        ParameterError, match=r"the bound of a random integer .*; got .*; allowed: a whole number from 1"
    ):
        Source.seeded(1).integers(bound, 1)


def test_a_size_is_not_negative():
    with pytest.raises(ParameterError, match="the number of draws is out of range; got -1; allowed"):
        Source.seeded(1).integers(5, -1)
