"""Gaussian noise on a grid: drawn exactly, with a calibration that is proved for the grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import erf, floor, inf, log, nextafter, pi, sqrt
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.noise import concentrated_delta
from shoal.guarantee.rounding import Number, exact, text_up, up
from shoal.mechanism.base import Sensitivity, Target, check_grid, check_scale
from shoal.mechanism.noise import AdditiveNoise, Floats

SUMMED = 20_000.0
"""Up to this many steps of standard deviation sums are taken term by term; beyond, the bound by concentrated DP."""
MOST_EPSILON = 512
"""Beyond it a scale is none."""
SLACK = 1 + 1e-8
"""On sums in double precision: excess losses count from about 1e-6 epsilon on, and are right to 1e-15 epsilon."""
NEGLECTED = 1e-305
"""Terms that a double cannot hold add up to less."""


@dataclass(frozen=True)
class Gaussian(AdditiveNoise):
    """Independent discrete Gaussian noise in each component, Pr[x steps] ∝ exp(−(x g)² / (2 scale²)).

    Promise   ApproxDP by theorem `gaussian`.
    Requires  a delta strictly between 0 and 1; it uses a bound on the L2 sensitivity, derived from L0, L1 and L∞.
    Reads     the answer that it is given, and no table.
    """

    scale: float
    theorem: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        own = self.target.own
        if own is None or not 0 < own[1] < 1:
            raise PreconditionError(
                "gaussian",
                "Gaussian noise satisfies no pure epsilon",
                allowed="0 < delta < 1",
                fix="calibrate it for ApproxDP",
            )
        for step in set(self.grid):
            check_scale(Fraction(self.scale) / step)
        if proved_delta(self.sensitivity, self.grid, self.scale, own[0]) > own[1]:
            raise PreconditionError("gaussian", "the scale is too small for the guarantee", came=self.scale)

    @classmethod
    def for_target(cls, target: Target, *, sensitivity: Sensitivity, grid: Number | Sequence[Number]) -> Self:
        own = target.own
        if not isinstance(target, ApproxDP) or not 0 < own[1] < 1:
            raise PreconditionError(
                "gaussian",
                "Gaussian noise satisfies no pure epsilon",
                allowed="0 < delta < 1",
                fix="calibrate it for ApproxDP",
            )
        steps = check_grid(grid, sensitivity.components)
        return cls(sensitivity, steps, ApproxDP(*own), _least_scale(sensitivity, steps, *own))

    @classmethod
    def of_scale(cls, sensitivity: Sensitivity, grid: tuple[Fraction, ...], scale: float, delta: Fraction) -> Self:
        """The noise of this scale, with the least epsilon that is proved for it at delta, rounded up to four digits."""

        def keeps(epsilon: float) -> bool:
            return proved_delta(sensitivity, grid, scale, exact(epsilon)) <= float(delta) * (1 - 1e-15)

        low, high = 0.0, 1.0
        while not keeps(high):
            if high >= MOST_EPSILON:
                raise ParameterError(
                    "the noise is too small for any epsilon of meaning",
                    came=f"a scale of {text_up(scale)}",
                    fix="ask for less",
                )
            low, high = high, 2 * high
        while high - low > 1e-5 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if keeps(middle) else (middle, high)
        return cls(sensitivity, grid, ApproxDP(exact(text_up(high)), delta), scale)

    def noise(self, source: Source, size: int) -> NDArray[np.int64]:
        if len(self.grid) == 1:
            return source.discrete_gaussian(Fraction(self._sigmas()[0]), size * self.components).reshape(size, -1)
        return np.stack([source.discrete_gaussian(Fraction(sigma), size) for sigma in self._sigmas()], axis=1)

    def pmf(self, offsets: ArrayLike) -> Floats:
        sigmas = np.array(self._sigmas())
        heights = np.array([log(_total(sigma)) for sigma in self._sigmas()])
        logs = -((self._offsets(offsets) / sigmas) ** 2) / 2 - heights
        return np.asarray(np.exp(logs.sum(axis=-1)))

    @property
    def variance(self) -> Floats:
        return self._spread([_moment(sigma, 2) for sigma in self._sigmas()] * self._grid_floats() ** 2)

    @property
    def expected_error(self) -> Floats:
        return self._spread([_moment(sigma, 1) for sigma in self._sigmas()] * self._grid_floats())

    def tail_steps(self, confidence: float) -> NDArray[np.int64]:
        tails = np.array([_tail(sigma, confidence) for sigma in self._sigmas()], dtype=np.int64)
        return np.broadcast_to(tails, (self.components,))

    def _sigmas(self) -> list[float]:
        return _in_steps(self.scale, self.grid)


def proved_delta(sensitivity: Sensitivity, grid: tuple[Fraction, ...], scale: float, epsilon: Fraction) -> float:
    """The delta that theorem `gaussian` proves at epsilon, rounded up.

    Always by concentrated DP, which holds in any dimension; and by the sum over the worse half-line where one unit
    changes one component alone, if that is smaller.
    """
    e = float(epsilon)
    square = sensitivity.l2_squared_on(grid)
    best = concentrated_delta(up(square / (2 * Fraction(scale) ** 2)), e)
    sigmas = _in_steps(scale, grid)
    if sensitivity.l0 == 1 and max(sigmas) <= SUMMED:
        shifts = sensitivity.linf_steps(grid)
        pairs = set(zip(sigmas * (len(shifts) // len(sigmas)), shifts, strict=True))
        best = min(best, max(summed_delta(sigma, shift, e) for sigma, shift in pairs))
    return best


def summed_delta(sigma: float, shift: int, epsilon: float) -> float:
    """Σ over x > t of p(x − shift) − e^epsilon p(x), p the discrete Gaussian distribution: every term is positive.

    The ratio of the two passes e^epsilon at t = epsilon sigma² / shift + shift / 2. A smaller shift gives less.
    """
    start = floor(epsilon * sigma**2 / shift + shift / 2) + 1 - shift
    # Terms beyond 40 deviations are below e^-800.
    last = max(start, 0) + int(40 * sigma) + 1
    x = np.arange(start, last, dtype=np.float64)
    loss = (2 * (x + shift) * shift - float(shift) ** 2) / (2 * sigma**2)
    terms = np.exp(-((x / sigma) ** 2) / 2) * -np.expm1(np.minimum(0.0, epsilon - loss))
    return min(1.0, float(np.sum(terms)) / _total(sigma) * SLACK + NEGLECTED)


@lru_cache(maxsize=256)
def _least_scale(sensitivity: Sensitivity, grid: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction) -> float:
    """A scale that satisfies (epsilon, delta), found by bisection; that it does is computed, not assumed."""
    allowed = float(delta) * (1 - 1e-15)

    def keeps(scale: float) -> bool:
        return proved_delta(sensitivity, grid, scale, epsilon) <= allowed

    high = sqrt(float(sensitivity.l2_squared_on(grid)))
    while not keeps(high):
        high *= 2
        if high > float(min(grid)) * 2**50:
            raise ParameterError(
                "the noise is too wide for its grid", allowed="at most 2^50 steps", fix="declare a coarser grid"
            )
    low = high / 2
    while keeps(low) and low > float(min(grid)) / 8:
        low, high = low / 2, low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def _in_steps(scale: float, grid: tuple[Fraction, ...]) -> list[float]:
    """The standard deviation parameter in steps of each grid, rounded up."""
    return [nextafter(up(Fraction(scale) / step), inf) for step in grid]


def _sum(sigma: float, of: Callable[[Floats], Floats]) -> float:
    x = np.arange(0, int(40 * sigma) + 2, dtype=np.float64)
    terms = of(x) * np.exp(-((x / sigma) ** 2) / 2)
    return float(2 * terms.sum() - terms[0])


@lru_cache(maxsize=512)
def _total(sigma: float) -> float:
    """Σ exp(−x² / (2 sigma²)) over the whole numbers; by Poisson summation sigma √(2 pi) from some steps on."""
    return sigma * sqrt(2 * pi) if sigma > 10 else _sum(sigma, np.ones_like)


def _moment(sigma: float, power: int) -> float:
    if sigma > SUMMED:
        return sigma**2 if power == 2 else sigma * sqrt(2 / pi)
    return _sum(sigma, lambda x: x**power) / _total(sigma)


def _tail(sigma: float, confidence: float) -> int:
    """The least t with Pr[|x| ≤ t] ≥ confidence; beyond `SUMMED` from the continuous distribution, which is as good there."""
    if sigma <= SUMMED:
        x = np.arange(0, int(40 * sigma) + 2, dtype=np.float64)
        chances = np.exp(-((x / sigma) ** 2) / 2) / _total(sigma) * np.where(x == 0, 1, 2)
        return min(int(np.searchsorted(np.cumsum(chances), confidence * (1 - 1e-14))), len(x) - 1)
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if erf(middle / sqrt(2)) >= confidence else (middle, high)
    return int(high * sigma) + 1
