"""Exact arithmetic for draws: parameters as fractions, certified bounds of exponentials, and inversion without rounding.

A draw accepts whole numbers and fractions, never a float, whose last bits nobody chose. Irrational probabilities are enclosed
between whole numbers times a power of two; a uniform number is compared with these bounds digit by digit, until they decide.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Integral
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError


def whole(value: object, name: str, low: int, high: int | None = None) -> int:
    """A whole number from `low` to `high`, or an error that says so."""
    allowed = f"a whole number from {low} " + ("up" if high is None else f"to {high}")
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(f"{name} is not a whole number", came=repr(value), allowed=allowed)
    number = int(value)
    if number < low or (high is not None and number > high):
        raise ParameterError(f"{name} is out of range", came=number, allowed=allowed)
    return number


def fraction(value: object, name: str) -> Fraction:
    """An exact fraction; a float is refused, because 0.1 as a float is not one tenth."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, bool) and isinstance(value, Integral):
        return Fraction(int(value))
    raise ParameterError(
        f"{name} is not exact",
        came=repr(value),
        allowed="a Fraction or a whole number",
        fix="write Fraction('0.1') for one tenth",
    )


def probability(value: object, name: str) -> Fraction:
    """An exact fraction from 0 to 1."""
    number = fraction(value, name)
    if not 0 <= number <= 1:
        raise ParameterError(f"{name} is not a probability", came=number, allowed="a fraction from 0 to 1")
    return number


Bounds = tuple[int, int]


def exp_bounds(gamma: Fraction, bits: int) -> Bounds:
    """Lower and upper bounds of exp(−gamma) · 2^bits for gamma ≥ 0, at most 2 apart.

    exp(y) for y = gamma / 2^h ≤ 1/16 by its series, rounded down (terms dropped) and up (what is dropped is less
    than twice the first term dropped); then its inverse, squared h times, each step rounded outwards. Squaring a
    number below one at most doubles its error, so h + 16 spare bits are enough.
    """
    if gamma == 0:
        return 1 << bits, 1 << bits
    if gamma >= bits:
        return 0, 1
    halvings = (gamma.numerator // gamma.denominator).bit_length() + 4
    spare = halvings + 16
    lower, upper = _halved_and_squared(gamma, halvings, bits + spare)
    return lower >> spare, -(-upper >> spare)


def _halved_and_squared(gamma: Fraction, halvings: int, bits: int) -> Bounds:
    """Bounds of exp(−gamma) · 2^bits with the errors of all steps still in them."""
    small = (gamma.numerator << (bits - halvings)) // gamma.denominator
    lower, upper = _exp_below(small, bits), _exp_above(small + 1, bits)
    lower, upper = (1 << 2 * bits) // upper, -(-(1 << 2 * bits) // lower)
    for _ in range(halvings):
        lower, upper = lower * lower >> bits, -(-upper * upper >> bits)
    return lower, upper


def _exp_below(exponent: int, bits: int) -> int:
    """At most exp(exponent / 2^bits) · 2^bits."""
    total, term, step = 0, 1 << bits, 0
    while term:
        total += term
        step += 1
        term = (term * exponent >> bits) // step
    return total


def _exp_above(exponent: int, bits: int) -> int:
    """At least exp(exponent / 2^bits) · 2^bits, for an exponent up to a half."""
    total, term, step = 0, 1 << bits, 0
    while term > 1:
        total += term
        step += 1
        term = -(-term * exponent // (step << bits))
    return total + 2


def ratio_bounds(above: Bounds, below: Bounds, bits: int) -> Bounds:
    """Bounds of a quotient in [0, 1] times 2^bits, from bounds of its two parts in any common unit."""
    one = 1 << bits
    if below[0] <= 0:
        return 0, one
    return (above[0] << bits) // below[1], min(one, -(-(above[1] << bits) // below[0]))


def settle(bounds: Callable[[int], Bounds], bits: int) -> Bounds:
    """Floor and ceiling of x · 2^bits, where `bounds(n)` encloses x · 2^n ever more tightly.

    More bits are asked for until only one answer is left. For an irrational x that happens sooner or later; a
    rational x comes here only with bounds that are exact.
    """
    spare = 32
    while True:
        lower, upper = bounds(bits + spare)
        floor, ceiling = lower >> spare, -(-upper >> spare)
        if ceiling - floor <= 1:
            return floor, ceiling
        spare *= 2


def fraction_bounds(value: Fraction, bits: int) -> Bounds:
    """Floor and ceiling of a fraction times 2^bits."""
    number = value.numerator << bits
    return number // value.denominator, -(-number // value.denominator)


WORD = 1 << 64
CHUNK = 1 << 17

Cut = Callable[[int, int], Bounds]
"""A function of (index, bits) that gives floor and ceiling of the cut times 2^bits."""


class Bits(Protocol):
    """Anything that gives independent uniform bits."""

    def words(self, count: int, /) -> NDArray[np.uint64]:
        """As 64-bit numbers."""
        ...

    def bytes(self, count: int, /) -> bytes:
        """As bytes."""
        ...


class InversionSampler:
    """Inverse transform sampling without rounding.

    A draw is the number of cuts 0 < x_0 < x_1 < … ≤ 1 that are at most U, a uniform real number of [0, 1). U is never
    rounded: its binary digits are drawn as far as they matter. After b digits, read as the number u, all that is
    known is u ≤ U · 2^b < u + 1. A cut is surely passed when ceiling(x · 2^b) ≤ u, surely not when floor(x · 2^b) >
    u; otherwise, which has probability 2^-b for each cut, more digits are drawn. So the answer has exactly the
    distribution that the cuts define, and no float takes part. `count` is None for an endless sequence.
    """

    __slots__ = ("_count", "_cut", "_last")

    def __init__(self, cut: Cut, count: int | None) -> None:
        self._cut, self._count = cut, count
        last = []
        index, ceiling = 0, 0
        # Cuts within 2^-64 of one are not listed: a word of ones ends at the first of them, and is decided slowly.
        while index != count and ceiling < WORD:
            ceiling = cut(index, 64)[1]
            last.append(ceiling - 1)
            index += 1
        self._last = np.array(last, dtype=np.uint64)

    def draw(self, source: Bits, size: int) -> NDArray[np.int64]:
        """`size` independent draws: for each, the number of cuts at or below a fresh U."""
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            words = source.words(min(CHUNK, size - start))
            drawn[start : start + len(words)] = self.locate(source, words)
        return drawn

    def locate(self, source: Bits, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The draws of which these words are the first 64 digits."""
        # A word is past a cut when it is at least its ceiling, that is, above its `last`; and surely not past it when
        # below `last`. At `last` itself the cut may lie inside the word's step, and `decide` looks again.
        if not len(self._last):
            return np.zeros(len(words), dtype=np.int64)
        index = np.searchsorted(self._last, words)
        near = np.minimum(index, len(self._last) - 1)
        for place in np.flatnonzero(self._last[near] == words):
            index[place] = self.decide(source, int(words[place]), 64)
        return index.astype(np.int64, copy=False)

    def decide(self, source: Bits, known: int, bits: int) -> int:
        """The draw whose first `bits` digits are known, drawing eight more at a time until it is certain."""
        passed = 0
        while True:
            passed = self._count_passed(passed, known, bits)
            if passed == self._count or self._cut(passed, bits)[0] > known:
                return passed
            known, bits = known << 8 | source.bytes(1)[0], bits + 8

    def _count_passed(self, low: int, known: int, bits: int) -> int:
        """How many cuts are surely passed, given that the first `low` are: doubling steps, then halving."""
        step = 1
        while self._is_passed(low + step - 1, known, bits):
            low, step = low + step, step * 2
        high = low + step - 1
        while low < high:
            middle = (low + high) // 2
            if self._is_passed(middle, known, bits):
                low = middle + 1
            else:
                high = middle
        return low

    def _is_passed(self, index: int, known: int, bits: int) -> bool:
        if self._count is not None and index >= self._count:
            return False
        return self._cut(index, bits)[1] <= known
