"""How many shells out: a box law is a mixture of uniform laws on growing boxes, and this is the law of the box's number.

Noise with density M e^(−i eps) on the i-th shell of the boxes B_0 ⊂ B_1 ⊂ … is a uniform point of B_I, where
Pr[I = i] ∝ q^i · size(B_i), q = e^(−eps): a point of shell k is in every B_i with i ≥ k, and Σ_{i ≥ k} q^i = q^k / (1 − q).
With sizes ∏ s_j (i + r_j) and (i + r) C(i, k) = (k + 1) C(i, k + 1) + (k + r) C(i, k), the size is a sum of positive
multiples a_k of C(i, k). So I is again a mixture: of k plus a sum of k + 1 geometric numbers, k drawn with weights
a_k q^k / (1 − q)^(k + 1). Everything follows from that, in any dimension, without cancellation (theorem `staircase-box`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from math import exp, expm1, log

import numpy as np
from numpy.typing import NDArray

from shoal.chance.exact import Bounds, InversionSampler, exp_bounds, ratio_bounds, settle
from shoal.chance.source import Source
from shoal.errors import ParameterError

LARGEST_DIMENSION = 1024
"""Sums over the mixture take time that grows with the square of the dimension."""


@dataclass(frozen=True)
class BoxNumber:
    """The law Pr[I = i] ∝ q^i ∏ (i + r_j) in double precision, for figures; `draw_numbers` draws it exactly."""

    epsilon: float
    ratios: tuple[float, ...]

    @cached_property
    def _logs(self) -> NDArray[np.float64]:
        """ln(a_k q^k / (1 − q)^(k + 1)) for k = 0, …, dimension."""
        logs = np.array([0.0])
        with np.errstate(divide="ignore"):
            for r in self.ratios:
                k = np.arange(len(logs) + 1, dtype=np.float64)
                up = np.append(-np.inf, logs) + np.log(k)
                logs = np.logaddexp(up, np.append(logs, -np.inf) + np.log(k + r))
        k = np.arange(len(logs), dtype=np.float64)
        return np.asarray(logs - k * self.epsilon - (k + 1) * log(-expm1(-self.epsilon)))

    @cached_property
    def log_total(self) -> float:
        """ln Σ_i q^i ∏ (i + r_j)."""
        return float(np.logaddexp.reduce(self._logs))

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.exp(self._logs - self.log_total)

    @cached_property
    def moments(self) -> tuple[float, float]:
        """The mean of I and of I²."""
        p = -expm1(-self.epsilon)
        k = np.arange(len(self._weights))
        mean = k + (k + 1) * (1 - p) / p
        square = mean**2 + (k + 1) * (1 - p) / p**2
        return float(self._weights @ mean), float(self._weights @ square)

    def up_to(self, i: int) -> float:
        """Pr[I ≤ i]: negative binomial distribution functions, mixed."""
        return self._mixed(i, complement=False)

    def beyond(self, i: int) -> float:
        """Pr[I > i]."""
        return self._mixed(i, complement=True)

    def _mixed(self, i: int, *, complement: bool) -> float:
        from scipy.special import betainc, betaincc

        k = np.arange(len(self._weights), dtype=np.float64)
        inside = k <= i
        left = np.where(inside, i - k, 0)
        if not complement:
            chances = betainc(k + 1, left + 1, -expm1(-self.epsilon))
        elif self.epsilon < 1:  # of q and 1 − q the smaller one is right to its last digit
            chances = betaincc(k + 1, left + 1, -expm1(-self.epsilon))
        else:
            chances = betainc(left + 1, k + 1, exp(-self.epsilon))
        return float(self._weights @ np.where(inside, chances, float(complement)))

    def log_size(self, i: int) -> float:
        """ln ∏ (i + r_j)."""
        with np.errstate(divide="ignore"):
            return float(np.log(i + np.array(self.ratios)).sum())

    def inside(self, i: int) -> float:
        """The probability of a point in box i: Pr[I ≤ i] + q^(i + 1) ∏ (i + r_j) / ((1 − q) Σ)."""
        if i < 0:
            return 0.0
        beyond = self.log_size(i) - (i + 1) * self.epsilon - log(-expm1(-self.epsilon)) - self.log_total
        return min(1.0, self.up_to(i) + float(np.exp(beyond)))

    def without(self, component: int) -> tuple[BoxNumber, float]:
        """The law with one factor less, and its sum over this one's: E[f(I) / (I + r_j)] in terms of the smaller law."""
        rest = BoxNumber(self.epsilon, self.ratios[:component] + self.ratios[component + 1 :])
        return rest, float(np.exp(rest.log_total - self.log_total))


def first(reached: Callable[[int], bool]) -> int:
    """The least i ≥ 0 at which a condition holds that then stays."""
    high = 1
    while not reached(high - 1):
        high *= 2
    low, high = high // 2, high - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return high


def draw_numbers(
    source: Source, epsilon: Fraction, sides: Sequence[int], starts: Sequence[int], size: int
) -> NDArray[np.int64]:
    """`size` independent I with Pr[I = i] ∝ e^(−i epsilon) ∏ (sides_j · i + starts_j), exactly."""
    ordinals, cuts = _mixture(epsilon, tuple(sides), tuple(starts))
    parts = ordinals[cuts.draw(source, size)]
    numbers = parts.copy()
    for k in range(int(parts.max(initial=0)) + 1):
        places = np.flatnonzero(parts >= k)
        numbers[places] += source.geometric(1 / epsilon, len(places))
    return numbers


@lru_cache(maxsize=16)
def _mixture(
    epsilon: Fraction, sides: tuple[int, ...], starts: tuple[int, ...]
) -> tuple[NDArray[np.int64], InversionSampler]:
    """The k that are possible, and cuts at the shares of the first, the first two, …; integers only.

    A rational cut would be a linear relation with rational coefficients between the polynomials q^k (1 − q)^(m − k),
    which have none, at a q that is transcendental (Lindemann). So finitely many bits decide.
    """
    if len(sides) > LARGEST_DIMENSION:
        raise ParameterError("too many components", came=len(sides), allowed=f"at most {LARGEST_DIMENSION}")
    weights = [1]
    for side, start in zip(sides, starts, strict=True):
        grown = [(side * k + start) * weight for k, weight in enumerate(weights)] + [0]
        for k, weight in enumerate(weights):
            grown[k + 1] += side * (k + 1) * weight
        weights = grown
    ordinals = [k for k, weight in enumerate(weights) if weight]
    known: dict[int, tuple[list[int], list[int]]] = {}

    def sums(bits: int) -> tuple[list[int], list[int]]:
        """Running sums of a_k q^k (1 − q)^(m − k), in any common unit, rounded down and up."""
        if bits not in known:
            low, high = exp_bounds(epsilon, bits)
            rest_low, rest_high = (1 << bits) - high, (1 << bits) - low
            degree = len(sides)
            lower = accumulate(weights[k] * low**k * rest_low ** (degree - k) for k in ordinals)
            upper = accumulate(weights[k] * high**k * rest_high ** (degree - k) for k in ordinals)
            known[bits] = list(lower), list(upper)
        return known[bits]

    def cut(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            lower, upper = sums(more)
            return ratio_bounds((lower[index], upper[index]), (lower[-1], upper[-1]), more)

        return settle(bounds, bits)

    return np.array(ordinals, dtype=np.int64), InversionSampler(cut, len(ordinals) - 1)
