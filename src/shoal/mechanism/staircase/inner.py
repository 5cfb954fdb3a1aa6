"""How large the inner box is: in closed form in one dimension, by a search that sees no data in more.

Every inner box inside the box of the sensitivity is private and optimal in the sense that no noise is closer to zero
everywhere; which is best depends on what is to be small.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, expm1, floor, log
from typing import Literal, get_args

import numpy as np

from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import decimal, precise
from shoal.mechanism.base import check_confidence
from shoal.mechanism.staircase.distribution import BoxDistribution, Floats, ShellDistribution

Criterion = Literal["min_variance", "min_interval", "total_variance", "worst_component", "region_volume"]
"""What is made small. In one dimension all mean the variance (1, 3, 4) or the interval (2, 5) at a confidence; in more,
the first two are other names of the sum of the variances and of the region's volume. `worst_component` is the largest
variance in units of the sensitivity, unless weights say otherwise."""

CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
CONFIDENCE = Fraction(95, 100)
"""The confidence of intervals and regions, if none is given."""

Loss = Callable[[Floats], float]


@lru_cache(maxsize=64)
def best_inner(
    epsilon: Fraction,
    sensitivity: tuple[Fraction, ...],
    criterion: Criterion = "min_variance",
    *,
    confidence: Fraction = CONFIDENCE,
    weights: tuple[Fraction, ...] | None = None,
) -> tuple[float, ...]:
    """Half-sides z of the inner box, 0 ≤ z ≤ s, that make the criterion small."""
    if criterion not in CRITERIA:
        raise UsageError("unknown criterion", came=criterion, allowed=", ".join(CRITERIA))
    wanted = check_confidence(confidence)
    sides = np.array([float(side) for side in sensitivity])
    if weights is not None and len(weights) != len(sides):
        raise ParameterError("the weights have another dimension", came=len(weights), allowed=f"{len(sides)} weights")
    given = None if weights is None else np.array([float(weight) for weight in weights])
    ratios = _ratios(epsilon, sides, criterion, wanted, given)
    return tuple(float(z) for z in np.clip(ratios, 0, 1) * sides)


def _ratios(
    epsilon: Fraction, sides: Floats, criterion: Criterion, confidence: float, weights: Floats | None
) -> Floats:
    by_region = criterion in {"min_interval", "region_volume"}
    if len(sides) == 1:
        ratio = least_interval(float(epsilon), confidence) if by_region else least_variance(epsilon)
        return np.array([ratio])
    if by_region:
        return _alike(len(sides), lambda r: _distribution(float(epsilon), r).log_region_volume(confidence))
    if criterion == "worst_component":
        return _least_worst(float(epsilon), np.ones(len(sides)) if weights is None else weights * sides**2)
    return _least_total(float(epsilon), sides**2 * (1 if weights is None else weights))


def least_variance(epsilon: Fraction) -> float:
    """d / Delta with the least variance in one dimension: (cbrt(q (1 + q) / 2) − q) / (1 − q).

    >>> round(least_variance(Fraction(1)), 4)
    0.4167
    """
    with precise():
        q = (-decimal(epsilon)).exp()
        root = ((q * (1 + q) / 2).ln() / 3).exp()
        # Both differences vanish with epsilon, to a half of one another: 70 digits leave enough above 1e-20.
        return float((root - q) / (1 - q)) if 1 - q > Decimal("1e-20") else 0.5


def least_interval(epsilon: float, confidence: float) -> float:
    """d / Delta with the shortest interval in one dimension.

    The length is linear in d between the points where the interval ends on a step, that is where
    q^k = (1 − confidence) (d (1 − q) + q) for a whole k; so it is shortest at one of them, at 0 or at 1.
    """
    kappa = -log(1 - confidence) / epsilon
    found = [0.0, 1.0]
    for k in {ceil(kappa), floor(kappa + 1)}:
        # (q^k / (1 − confidence) − q) / (1 − q), which for a small epsilon is nearly 0 / 0
        d = exp(-epsilon) * expm1((1 + kappa - k) * epsilon) / -expm1(-epsilon)
        found += [d] if 0 < d < 1 else []
    found_by = {d: BoxDistribution(epsilon, (1.0,), (d,)) for d in found}
    shortest = min(each.interval(confidence).length for each in found_by.values())
    tied = [d for d, each in found_by.items() if each.interval(confidence).length <= shortest * (1 + 1e-12)]
    return min(tied, key=lambda d: float(found_by[d].variance[0]))


def _alike(dimension: int, loss: Loss, points: int = 41) -> Floats:
    """The best ratio that all components share: on a grid, then between its neighbours."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(0, 1, points)
    start = grid[int(np.argmin([loss(np.full(dimension, ratio)) for ratio in grid]))]
    near = (max(0.0, start - 1 / (points - 1)), min(1.0, start + 1 / (points - 1)))
    found = minimize_scalar(
        lambda ratio: loss(np.full(dimension, ratio)), bounds=near, method="bounded", options={"xatol": 1e-10}
    )
    best = float(found.x) if found.fun < loss(np.full(dimension, start)) else float(start)
    return np.full(dimension, best)


def _least_total(epsilon: float, weights: Floats) -> Floats:
    """The least weighted sum of E[(r + I)²]; components of equal weight share a ratio."""
    from scipy.optimize import minimize

    scale = weights / weights.sum()
    distinct, kinds = np.unique(weights, return_inverse=True)

    def loss(ratios: Floats) -> float:
        mean, square = ShellDistribution(epsilon, tuple(np.clip(ratios, 0, 1))).moments
        return float(scale @ (ratios**2 + 2 * ratios * mean) + square)

    alike = _alike(len(weights), loss)
    starts = (np.full(len(distinct), alike[0]), np.where(distinct < distinct.max(), 1.0, alike[0]))
    bounds = [(0, 1)] * len(distinct)
    found = [minimize(lambda r: loss(r[kinds]), start, method="L-BFGS-B", bounds=bounds).x for start in starts]
    return min([alike, *(np.clip(ratios, 0, 1)[kinds] for ratios in found)], key=loss)


def _least_worst(epsilon: float, weights: Floats) -> Floats:
    """The least of the largest w E[(r + I)²].

    A larger ratio in one component draws I towards 0 and helps all others, so every component takes the ratio at
    which it is as bad as the heaviest one, or 1. What is left to choose is the ratio of the heaviest.
    """
    heaviest = float(weights.max())

    def level_ratios(ratio: float) -> Floats:
        ratios = np.full(len(weights), ratio)
        for _ in range(100):
            mean, square = ShellDistribution(epsilon, tuple(ratios)).moments
            level = heaviest * (ratio**2 + 2 * ratio * mean + square) / weights
            before, ratios = ratios, np.clip(np.sqrt(np.maximum(0, mean**2 - square + level)) - mean, 0, 1)
            if np.abs(ratios - before).max() < 1e-12:
                break
        return ratios

    def loss(ratios: Floats) -> float:
        mean, square = ShellDistribution(epsilon, tuple(level_ratios(float(ratios[0])))).moments
        return float(ratios[0] ** 2 + 2 * ratios[0] * mean + square)

    return level_ratios(float(_alike(1, loss)[0]))


def _distribution(epsilon: float, ratios: Floats) -> BoxDistribution:
    return BoxDistribution(epsilon, (1.0,) * len(ratios), tuple(float(r) for r in ratios))
