"""Binomial probabilities as decimals that are never below the truth, for any n that fits in memory.

Every tail is a sum of positive terms, started where the terms are largest and stopped when a
geometric series bounds what is left; that bound is added. No subtraction, so no cancellation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from shoal.guarantee.rounding import precise

_NEGLIGIBLE = Decimal(10) ** -55
_SMALL = 1500
_LN_TWO_PI = Decimal("1.83787706640934548356065947281123527972279494727556682563430308096553139185452")


def mass(j: int, n: int, p: Decimal) -> Decimal:
    """Pr[Bin(n, p) = j], to more than 50 digits."""
    if not 0 <= j <= n:
        return Decimal(0)
    if n <= _SMALL:
        return Decimal(math.comb(n, j)) * p**j * (1 - p) ** (n - j)
    ways = _ln_factorial(n) - _ln_factorial(j) - _ln_factorial(n - j)
    return (ways + j * p.ln() + (n - j) * (1 - p).ln()).exp()


def at_least(j: int, n: int, p: Decimal, weight: Callable[[int], Decimal] | None = None) -> Decimal:
    """Sum over i >= j of Pr[Bin(n, p) = i] * weight(i), for weights in [0, 1] (default 1)."""
    if j > n:
        return Decimal(0)
    odds = p / (1 - p)
    term, total, i = mass(max(j, 0), n, p), Decimal(0), max(j, 0)
    while True:
        total += term if weight is None else term * weight(i)
        if i == n:
            return total
        ratio = odds * (n - i) / (i + 1)
        term, i = term * ratio, i + 1
        # the ratios decrease, so all that is left is at most term / (1 - ratio)
        if ratio < 1 and (rest := term / (1 - ratio)) < total * _NEGLIGIBLE:
            return total + rest


def at_most(j: int, n: int, p: Decimal, weight: Callable[[int], Decimal] | None = None) -> Decimal:
    """Sum over i <= j of Pr[Bin(n, p) = i] * weight(i), for weights in [0, 1] (default 1)."""
    if weight is None:
        return at_least(n - j, n, 1 - p)
    return at_least(n - j, n, 1 - p, lambda i: weight(n - i))


@lru_cache(maxsize=4096)
def _ln_factorial(n: int) -> Decimal:
    """ln n!, exactly summed for small n and by Stirling's series (alternating, so the first term left out bounds it)."""
    with precise():
        if n <= _SMALL:
            return Decimal(math.factorial(n)).ln()
        x = Decimal(n)
        series = sum((b / x ** (2 * i + 1) for i, b in enumerate(_stirling())), start=Decimal(0))
        return (x + Decimal("0.5")) * x.ln() - x + _LN_TWO_PI / 2 + series


@lru_cache(maxsize=1)
def _stirling() -> tuple[Decimal, ...]:
    """Coefficients B_2i / (2i (2i - 1)), i = 1..16; at n > 1500 the next term is below 10^-90."""
    count = 32
    bernoulli: list[Fraction] = [Fraction(1)]
    for m in range(1, count + 1):
        bernoulli.append(-sum((math.comb(m + 1, i) * bernoulli[i] for i in range(m)), start=Fraction(0)) / (m + 1))
    with precise():
        return tuple(
            Decimal(b.numerator) / Decimal(b.denominator)
            for b in (bernoulli[2 * i] / (2 * i * (2 * i - 1)) for i in range(1, count // 2 + 1))
        )
