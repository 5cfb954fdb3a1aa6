"""Coins and noise on the integers with exactly the stated law: Bernoulli, geometric, discrete Laplace."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.chance import exact
from shoal.chance.enclosure import Bounds, exp_bounds, ratio_bounds, scaled, settle
from shoal.chance.unit_interval import Cuts
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.chance.source import Source

BASE = 256
"""The base in which a geometric number is written; each digit is drawn from a table of this length."""
LARGEST = 1 << 50
"""The largest scale: a draw overflows int64 with probability below 2^-10000."""


def bernoulli(source: Source, probability: Fraction | int, size: int) -> NDArray[np.bool_]:
    """`size` independent coins, True with exactly this probability."""
    chance = exact.probability(probability, "the probability of a coin")
    size = exact.whole(size, "the number of draws", 0)
    if chance == 0:
        return np.zeros(size, dtype=np.bool_)
    return np.equal(_coin(chance).draw(source, size), 0)


def bernoulli_exp(source: Source, gamma: Fraction | int, size: int) -> NDArray[np.bool_]:
    """`size` independent coins, True with probability exactly exp(−gamma), for gamma ≥ 0."""
    exponent = exact.fraction(gamma, "the exponent of a coin")
    size = exact.whole(size, "the number of draws", 0)
    if exponent < 0:
        raise ParameterError("the exponent of a coin is negative", came=exponent, allowed="a fraction from 0 up")
    return np.equal(_exponential_coin(exponent).draw(source, size), 0)


def geometric(source: Source, scale: Fraction | int, size: int) -> NDArray[np.int64]:
    """`size` independent K ≥ 0 with Pr[K = k] = (1 − q) · q^k, where q = exp(−1/scale), exactly.

    K is drawn digit by digit: since q^K is the product over the digits of q^(digit · place value), the digits of K in
    any base are independent, each with probabilities proportional to the powers of its own ratio; and so is what
    stands above the last digit, which is geometric again. Each has its table of cuts (see `cuts.Cuts`).
    """
    tables = _digits(_scale(scale))
    size = exact.whole(size, "the number of draws", 0)
    total = np.zeros(size, dtype=np.int64)
    for value, cuts in tables:
        total += value * cuts.draw(source, size)
    return total


def discrete_laplace(source: Source, scale: Fraction | int, size: int) -> NDArray[np.int64]:
    """`size` independent X with Pr[X = x] = (1 − q)/(1 + q) · q^|x|, where q = exp(−1/scale), exactly.

    The difference of two independent geometric numbers: Σ_k (1 − q)² q^k q^(k+|x|) = (1 − q)² q^|x| / (1 − q²).
    """
    drawn = geometric(source, scale, size)
    drawn -= geometric(source, scale, size)
    return drawn


def _scale(value: Fraction | int) -> Fraction:
    scale = exact.fraction(value, "the scale of the noise")
    if not 0 < scale <= LARGEST:
        raise ParameterError(
            "the scale of the noise is out of range", came=scale, allowed="above 0, at most 2^50 steps of the grid"
        )
    return scale


@lru_cache(maxsize=64)
def _coin(chance: Fraction) -> Cuts:
    return Cuts(lambda _, bits: scaled(chance, bits), 1)


@lru_cache(maxsize=64)
def _exponential_coin(gamma: Fraction) -> Cuts:
    # exp of a rational other than 0 is irrational (Lindemann), so `settle` ends; for 0 the bounds are exact.
    return Cuts(lambda _, bits: settle(lambda more: exp_bounds(gamma, more), bits), 1)


@lru_cache(maxsize=64)
def _digits(scale: Fraction) -> tuple[tuple[int, Cuts], ...]:
    """Place values and tables: as many digits as leave at most 16 scales, some 700 cuts, to the rest."""
    tables: list[tuple[int, Cuts]] = []
    value = 1
    while 16 * value < scale:
        tables.append((value, _digit(value / scale)))
        value *= BASE
    tables.append((value, _tail(value / scale)))
    return tuple(tables)


def _digit(gamma: Fraction) -> Cuts:
    """A digit d below BASE with probability proportional to exp(−gamma · d).

    Its cuts are (1 − exp(−gamma · d)) / (1 − exp(−gamma · BASE)). None is rational: that would be a linear relation
    between exponentials of distinct rationals, against the theorem of Lindemann and Weierstrass.
    """

    def cut(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            return ratio_bounds(_rest(gamma * (index + 1), more), _rest(gamma * BASE, more), more)

        return settle(bounds, bits)

    return Cuts(cut, BASE - 1)


def _tail(gamma: Fraction) -> Cuts:
    """A whole number n ≥ 0 with probability proportional to exp(−gamma · n): cuts 1 − exp(−gamma · (n + 1))."""
    return Cuts(lambda index, bits: settle(lambda more: _rest(gamma * (index + 1), more), bits), None)


def _rest(gamma: Fraction, bits: int) -> Bounds:
    """Bounds of (1 − exp(−gamma)) · 2^bits."""
    lower, upper = exp_bounds(gamma, bits)
    return (1 << bits) - upper, (1 << bits) - lower
