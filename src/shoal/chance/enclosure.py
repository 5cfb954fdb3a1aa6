"""Whole numbers that certainly lie below and above a real number times a power of two; integers only, no float."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

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


def scaled(value: Fraction, bits: int) -> Bounds:
    """Floor and ceiling of a fraction times 2^bits."""
    number = value.numerator << bits
    return number // value.denominator, -(-number // value.denominator)
