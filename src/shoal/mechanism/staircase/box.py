"""The box law on the real line and in space: density, variance, intervals and regions in closed form (SC13 chapter 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, floor, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError, PreconditionError
from shoal.mechanism.base import check_confidence
from shoal.mechanism.staircase.shells import BoxNumber, first

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """From low to high."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """How long it is."""
        return self.high - self.low


@dataclass(frozen=True)
class BoxLaw:
    """Density M on the box with half-sides z, M e^(−i epsilon) on the i-th further shell of half-sides z + i s.

    The continuous law of SC13 Theorem 1 (with i from 1) and its box form, in any dimension. It is what the noise on a
    fine grid comes close to; nothing is ever drawn from it. One dimension is the univariate staircase with d = z.
    """

    epsilon: float
    half_sides: tuple[float, ...]
    inner: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 700:
            raise ParameterError("epsilon is out of range", came=self.epsilon, allowed="0 < epsilon <= 700")
        if not self.half_sides or not all(0 < side < np.inf for side in self.half_sides):
            raise ParameterError("a half-side is not positive and finite", allowed="finite numbers above 0")
        if len(self.inner) != len(self.half_sides):
            raise ParameterError("the inner box has another dimension", came=len(self.inner))
        if not all(0 <= z <= s for z, s in zip(self.inner, self.half_sides, strict=True)):
            raise PreconditionError(
                "staircase" if len(self.inner) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                came=self.inner,
                allowed="0 <= z <= s in each component",
            )

    @cached_property
    def number(self) -> BoxNumber:
        """The law of the box's number."""
        ratios = tuple(z / s for z, s in zip(self.inner, self.half_sides, strict=True))
        return BoxNumber(self.epsilon, ratios)

    @cached_property
    def _log_unit(self) -> float:
        """ln of the volume of the box with half-sides s."""
        return float(np.log(2 * np.array(self.half_sides)).sum())

    @cached_property
    def _log_height(self) -> float:
        """ln M."""
        return -self._log_unit - log(-expm1(-self.epsilon)) - self.number.log_total

    def shell(self, points: ArrayLike) -> Floats:
        """The number of the shell of each point; the last axis runs over the components."""
        over = (np.abs(self._points(points)) - np.array(self.inner)) / np.array(self.half_sides)
        return np.asarray(np.maximum(0.0, np.ceil(over.max(axis=-1))))

    def density(self, points: ArrayLike) -> Floats:
        """The density at each point."""
        return np.asarray(np.exp(self._log_height - self.epsilon * self.shell(points)))

    @property
    def variance(self) -> Floats:
        """E[(z + I s)²] / 3 in each component."""
        mean, square = self.number.moments
        z, s = np.array(self.inner), np.array(self.half_sides)
        return np.asarray((z**2 + 2 * z * s * mean + s**2 * square) / 3)

    @property
    def expected_error(self) -> Floats:
        """E[z + I s] / 2 in each component."""
        return np.asarray((np.array(self.inner) + np.array(self.half_sides) * self.number.moments[0]) / 2)

    def cdf(self, value: float, component: int = 0) -> float:
        """The probability that one component is at most a value."""
        inside = self._within(abs(value), component)
        return (1 + inside) / 2 if value >= 0 else (1 - inside) / 2

    def interval(self, confidence: float, component: int = 0) -> Interval:
        """The shortest interval that holds one component with this probability."""
        wanted = check_confidence(confidence)
        z, s = self.inner[component], self.half_sides[component]
        n = first(lambda i: self._within(z + i * s, component) >= wanted) - 1
        rest, share = self.number.without(component)
        half = s * (wanted - (self.number.up_to(n) if n >= 0 else 0.0)) / (share * rest.beyond(n))
        return Interval(-half, half)

    def region_volume(self, confidence: float) -> float:
        """The volume of the smallest region that holds the noise with this probability; infinity beyond a float."""
        logarithm = self.log_region_volume(confidence)
        return exp(logarithm) if logarithm < 709 else float("inf")

    def log_region_volume(self, confidence: float) -> float:
        """Its logarithm, which stays finite in many dimensions."""
        wanted = check_confidence(confidence)
        i = first(lambda shell: self.number.inside(shell) >= wanted)
        part = log(wanted - self.number.inside(i - 1)) - self._log_height + i * self.epsilon
        whole = self._log_unit + self.number.log_size(i - 1) if i else -np.inf
        return float(np.logaddexp(part, whole))

    def region(self, confidence: float) -> Floats:
        """Half-sides z + u s of a box that holds the noise with this probability; no region is smaller."""
        target = self.log_region_volume(confidence) - self._log_unit
        ratios = np.array(self.number.ratios)
        low, high = -float(ratios.min()), 1.0
        while np.log(ratios + high).sum() < target:
            high = 2 * high + 1
        for _ in range(200):
            middle = (low + high) / 2
            with np.errstate(divide="ignore"):
                below = np.log(np.maximum(0, ratios + middle)).sum() < target
            low, high = (middle, high) if below else (low, middle)
        return np.asarray(np.array(self.half_sides) * (ratios + high))

    def _within(self, half: float, component: int) -> float:
        """Pr[|X_j| ≤ half] = Pr[I ≤ n] + half · E[1 / (z + I s); I > n], n the last box inside."""
        z, s = self.inner[component], self.half_sides[component]
        n = max(-1, floor((half - z) / s * (1 + 1e-15)))
        rest, share = self.number.without(component)
        return min(1.0, (self.number.up_to(n) if n >= 0 else 0.0) + half / s * share * rest.beyond(n))

    def _points(self, points: ArrayLike) -> Floats:
        given = np.asarray(points, dtype=np.float64)
        if len(self.inner) == 1 and (given.ndim == 0 or given.shape[-1] != 1):
            given = given[..., np.newaxis]
        if given.shape[-1] != len(self.inner):
            raise ParameterError("points of another dimension", came=given.shape[-1], allowed=str(len(self.inner)))
        return given


def laplace_log_region_volume(scale: float, dimension: int, confidence: float) -> float:
    """The same of independent Laplace noise: an L1 ball, whose radius over the scale is a gamma quantile."""
    from scipy.special import gammaincinv, gammaln

    radius = float(gammaincinv(dimension, check_confidence(confidence))) * scale
    return dimension * log(2 * radius) - float(gammaln(dimension + 1))


class Comparison(NamedTuple):
    """A box law beside independent Laplace noise for the same sums: volumes as logarithms, errors in half-sides.

    Laplace noise has the scale Σ s / epsilon in every component, which is what the sum of the moves asks for. Even
    Laplace noise is that of components divided by their half-sides first: the scale m s_j / epsilon in component j.
    """

    dimension: int
    log_volume: float
    log_volume_laplace: float
    log_volume_even: float
    expected_error: float
    expected_error_laplace: float
    expected_error_even: float


def compare_with_laplace(law: BoxLaw, confidence: float = 0.95) -> Comparison:
    """Region volume, and the expected absolute error as a mean over components, each in units of its half-side."""
    sides = np.array(law.half_sides)
    m, scale = len(sides), float(sides.sum()) / law.epsilon
    even = laplace_log_region_volume(m / law.epsilon, m, confidence) + float(np.log(sides).sum())
    return Comparison(
        dimension=m,
        log_volume=law.log_region_volume(confidence),
        log_volume_laplace=laplace_log_region_volume(scale, m, confidence),
        log_volume_even=even,
        expected_error=float(np.mean(law.expected_error / sides)),
        expected_error_laplace=float(np.mean(scale / sides)),
        expected_error_even=m / law.epsilon,
    )
