"""The staircase distribution in any dimension: uniform points of nested boxes, continuous and on a grid (SC13 chapter 4).

`ShellDistribution` is the distribution of the box's number, `BoxDistribution` the continuous distribution with its density,
variance, intervals and regions in closed form, `LatticeDistribution` the one on whole steps that is drawn, exactly.

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
from math import exp, expm1, floor, gcd, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.chance.exact import Bounds, InversionSampler, exp_bounds, ratio_bounds, settle
from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError
from shoal.mechanism.base import check_confidence, check_scale

Floats = NDArray[np.float64]
LARGEST_DIMENSION = 1024
"""Sums over the mixture take time that grows with the square of the dimension."""


@dataclass(frozen=True)
class ShellDistribution:
    """The number I of the box, Pr[I = i] ∝ q^i ∏ (i + r_j), in double precision, for figures; `draw_numbers` draws it exactly."""

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
        return self._mixture_probability(i, complement=False)

    def beyond(self, i: int) -> float:
        """Pr[I > i]."""
        return self._mixture_probability(i, complement=True)

    def _mixture_probability(self, i: int, *, complement: bool) -> float:
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

    def without(self, component: int) -> tuple[ShellDistribution, float]:
        """The distribution without one component, and its total over this one's, which give E[f(I) / (I + r_j)]."""
        rest = ShellDistribution(self.epsilon, self.ratios[:component] + self.ratios[component + 1 :])
        return rest, float(np.exp(rest.log_total - self.log_total))


def least_index(reached: Callable[[int], bool]) -> int:
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


def _mixture(
    epsilon: Fraction, sides: tuple[int, ...], starts: tuple[int, ...]
) -> tuple[NDArray[np.int64], InversionSampler]:
    """The k that are possible, and cuts at the shares of the first, the first two, …

    A factor that all numbers of one component share changes no share, so it is divided out: boxes of one shape are one case.
    """
    if len(sides) > LARGEST_DIMENSION:
        raise ParameterError("too many components", came=len(sides), allowed=f"at most {LARGEST_DIMENSION}")
    pairs = ((side, start, gcd(side, start)) for side, start in zip(sides, starts, strict=True))
    return _reduced_mixture(epsilon, tuple((side // common, start // common) for side, start, common in pairs))


@lru_cache(maxsize=16)
def _reduced_mixture(
    epsilon: Fraction, shape: tuple[tuple[int, int], ...]
) -> tuple[NDArray[np.int64], InversionSampler]:
    """Integers only. A rational cut would be a linear relation with rational coefficients between the polynomials
    q^k (1 − q)^(m − k), which have none, at a q that is transcendental (Lindemann). So finitely many bits decide.
    """
    weights = [1]
    for side, start in shape:
        grown = [(side * k + start) * weight for k, weight in enumerate(weights)] + [0]
        for k, weight in enumerate(weights):
            grown[k + 1] += side * (k + 1) * weight
        weights = grown
    ordinals = [k for k, weight in enumerate(weights) if weight]
    known: dict[int, tuple[list[int], list[int]]] = {}

    def sums(bits: int) -> tuple[list[int], list[int]]:
        """Running sums of a_k q^k (1 − q)^(m − k), in any common unit, rounded down and up."""
        if bits not in known:
            size = bits + SPARE + 2 * floor(epsilon)
            low, high = exp_bounds(epsilon, size)
            powers = _powers((low, high, -size), len(shape), size)
            rests = _powers(((1 << size) - high, (1 << size) - low, -size), len(shape), size)
            terms = [
                _product(_product((weights[k], weights[k], 0), powers[k], size), rests[len(shape) - k], size)
                for k in ordinals
            ]
            unit = max(upper.bit_length() + exponent for _, upper, exponent in terms) - size
            lower = accumulate(_shifted(down, exponent - unit) for down, _, exponent in terms)
            upper = accumulate(-_shifted(-top, exponent - unit) for _, top, exponent in terms)
            known[bits] = list(lower), list(upper)
        return known[bits]

    def cut_bounds(index: int, bits: int) -> Bounds:
        def bounds(more: int) -> Bounds:
            lower, upper = sums(more)
            return ratio_bounds((lower[index], upper[index]), (lower[-1], upper[-1]), more)

        return settle(bounds, bits)

    return np.array(ordinals, dtype=np.int64), InversionSampler(cut_bounds, len(ordinals) - 1)


SPARE = 64
"""More bits than are asked for, which thousands of roundings to one unit of the last place leave untouched."""

Enclosure = tuple[int, int, int]
"""Two whole numbers and an exponent of two: a number between the first and the second, times two to the exponent."""


def _product(first: Enclosure, second: Enclosure, size: int) -> Enclosure:
    """The product of two positive numbers, rounded outwards to about so many bits."""
    lower, upper = first[0] * second[0], first[1] * second[1]
    surplus = max(0, upper.bit_length() - size)
    return lower >> surplus, -(-upper >> surplus), first[2] + second[2] + surplus


def _powers(base: Enclosure, most: int, size: int) -> list[Enclosure]:
    """The powers 0, …, most of a number."""
    return list(accumulate(range(most), lambda power, _: _product(power, base, size), initial=(1, 1, 0)))


def _shifted(value: int, by: int) -> int:
    """A whole number times a power of two, rounded down."""
    return value << by if by >= 0 else value >> -by


class ConfidenceInterval(NamedTuple):
    """An interval from low to high that holds the noise with some confidence."""

    low: float
    high: float

    @property
    def length(self) -> float:
        """The length of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class BoxDistribution:
    """Density M on the box with half-sides z, M e^(−i epsilon) on the i-th further shell of half-sides z + i s.

    The continuous distribution of SC13 Theorem 1 (with i from 1) and its box form, in any dimension. It is what the noise on a
    fine grid comes close to; nothing is ever drawn from it. One dimension is the univariate staircase with d = z.

    >>> round(float(BoxDistribution(1.0, (1.0,), (0.5,)).variance[0]), 3)
    1.925
    """

    epsilon: float
    sensitivity: tuple[float, ...]
    inner: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 700:
            raise ParameterError("epsilon is out of range", came=self.epsilon, allowed="0 < epsilon <= 700")
        if not self.sensitivity or not all(0 < side < np.inf for side in self.sensitivity):
            raise ParameterError("a sensitivity is not positive and finite", allowed="finite numbers above 0")
        if len(self.inner) != len(self.sensitivity):
            raise ParameterError("the inner box has another dimension", came=len(self.inner))
        if not all(0 <= z <= s for z, s in zip(self.inner, self.sensitivity, strict=True)):
            raise PreconditionError(
                "staircase" if len(self.inner) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                came=self.inner,
                allowed="0 <= z <= s in each component",
            )

    @cached_property
    def number(self) -> ShellDistribution:
        """The distribution of the box's number."""
        ratios = tuple(z / s for z, s in zip(self.inner, self.sensitivity, strict=True))
        return ShellDistribution(self.epsilon, ratios)

    @cached_property
    def _log_unit(self) -> float:
        """ln of the volume of the box with half-sides s."""
        return float(np.log(2 * np.array(self.sensitivity)).sum())

    @cached_property
    def _log_height(self) -> float:
        """ln M."""
        return -self._log_unit - log(-expm1(-self.epsilon)) - self.number.log_total

    def shell(self, points: ArrayLike) -> Floats:
        """The number of the shell of each point; the last axis runs over the components."""
        over = (np.abs(self._points(points)) - np.array(self.inner)) / np.array(self.sensitivity)
        return np.asarray(np.maximum(0.0, np.ceil(over.max(axis=-1))))

    def density(self, points: ArrayLike) -> Floats:
        """The density at each point."""
        return np.asarray(np.exp(self._log_height - self.epsilon * self.shell(points)))

    @property
    def variance(self) -> Floats:
        """E[(z + I s)²] / 3 in each component."""
        mean, square = self.number.moments
        z, s = np.array(self.inner), np.array(self.sensitivity)
        return np.asarray((z**2 + 2 * z * s * mean + s**2 * square) / 3)

    @property
    def expected_error(self) -> Floats:
        """E[z + I s] / 2 in each component."""
        return np.asarray((np.array(self.inner) + np.array(self.sensitivity) * self.number.moments[0]) / 2)

    def cdf(self, value: float, component: int = 0) -> float:
        """The probability that one component is at most a value."""
        inside = self._within(abs(value), component)
        return (1 + inside) / 2 if value >= 0 else (1 - inside) / 2

    def interval(self, confidence: float, component: int = 0) -> ConfidenceInterval:
        """The shortest interval that holds one component with this probability."""
        wanted = check_confidence(confidence)
        z, s = self.inner[component], self.sensitivity[component]
        n = least_index(lambda i: self._within(z + i * s, component) >= wanted) - 1
        rest, share = self.number.without(component)
        half = s * (wanted - (self.number.up_to(n) if n >= 0 else 0.0)) / (share * rest.beyond(n))
        return ConfidenceInterval(-half, half)

    def region_volume(self, confidence: float) -> float:
        """The volume of the smallest region that holds the noise with this probability; infinity beyond a float."""
        logarithm = self.log_region_volume(confidence)
        return exp(logarithm) if logarithm < 709 else float("inf")

    def log_region_volume(self, confidence: float) -> float:
        """The logarithm of `region_volume`, which stays finite in many dimensions."""
        wanted = check_confidence(confidence)
        i = least_index(lambda shell: self.number.inside(shell) >= wanted)
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
        return np.asarray(np.array(self.sensitivity) * (ratios + high))

    def _within(self, half: float, component: int) -> float:
        """Pr[|X_j| ≤ half] = Pr[I ≤ n] + half · E[1 / (z + I s); I > n], n the last box inside."""
        z, s = self.inner[component], self.sensitivity[component]
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
    """The logarithm of the smallest region's volume for Laplace noise: an L1 ball, its radius a gamma quantile."""
    from scipy.special import gammaincinv, gammaln

    radius = float(gammaincinv(dimension, check_confidence(confidence))) * scale
    return dimension * log(2 * radius) - float(gammaln(dimension + 1))


class LaplaceComparison(NamedTuple):
    """Box noise and independent Laplace noise for the same sums: volumes as logarithms, errors in units of the sensitivity.

    Laplace noise has the scale Σ s / epsilon in every component, which the L1 sensitivity asks for. Even
    Laplace noise is that of components divided by their sensitivities first: the scale m s_j / epsilon in component j.
    """

    dimension: int
    log_volume: float
    log_volume_laplace: float
    log_volume_even: float
    expected_error: float
    expected_error_laplace: float
    expected_error_even: float


def compare_with_laplace(box: BoxDistribution, confidence: float = 0.95) -> LaplaceComparison:
    """Region volume, and the expected absolute error as a mean over components, each in units of its sensitivity."""
    sides = np.array(box.sensitivity)
    m, scale = len(sides), float(sides.sum()) / box.epsilon
    even = laplace_log_region_volume(m / box.epsilon, m, confidence) + float(np.log(sides).sum())
    return LaplaceComparison(
        dimension=m,
        log_volume=box.log_region_volume(confidence),
        log_volume_laplace=laplace_log_region_volume(scale, m, confidence),
        log_volume_even=even,
        expected_error=float(np.mean(box.expected_error / sides)),
        expected_error_laplace=float(np.mean(scale / sides)),
        expected_error_even=m / box.epsilon,
    )


LARGEST_SIDE = 1 << 40
"""The largest half-side of a box, in steps."""
LARGEST_REACH = 1 << 49
"""The largest product of half-side and dimension over epsilon: a draw overflows int64 with probability below 2^-10000."""


@dataclass(frozen=True)
class LatticeDistribution:
    """Pr[x] ∝ e^(−i epsilon) on the i-th shell of boxes with half-sides z, z + s, z + 2 s, … in whole steps.

    The distribution that is drawn, exactly; figures are in steps. `sides` is s, `inner` is z.
    """

    epsilon: Fraction
    sides: tuple[int, ...]
    inner: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 700:
            raise ParameterError("epsilon is out of range", came=float(self.epsilon), allowed="0 < epsilon <= 700")
        if not 0 < len(self.sides) <= LARGEST_DIMENSION:
            raise ParameterError("too many components", came=len(self.sides), allowed=f"1 to {LARGEST_DIMENSION}")
        if len(self.inner) != len(self.sides) or not all(
            0 <= z <= s and s > 0 for z, s in zip(self.inner, self.sides, strict=True)
        ):
            raise PreconditionError(
                "staircase" if len(self.sides) == 1 else "staircase-box",
                "the inner box is not inside the box of the sensitivity",
                allowed="0 <= z <= s in each component, s of one step or more",
            )
        check_scale(1 / self.epsilon)
        if max(self.sides) > LARGEST_SIDE or max(self.sides) * len(self.sides) / self.epsilon > LARGEST_REACH:
            raise ParameterError(
                "the noise is too wide for its grid", allowed="sides up to 2^40 steps, noise up to 2^49",
                fix="raise epsilon, or declare a coarser grid",
            )  # fmt: skip

    @cached_property
    def number(self) -> ShellDistribution:
        """The distribution of the box's number: sizes ∏ (2 (z + i s) + 1)."""
        ratios = tuple((2 * z + 1) / (2 * s) for z, s in zip(self.inner, self.sides, strict=True))
        return ShellDistribution(float(self.epsilon), ratios)

    def draw(self, source: Source, size: int) -> NDArray[np.int64]:
        """A box by its number, then a uniform point of it, each component by itself; a row for each draw."""
        doubled, starts = [2 * side for side in self.sides], [2 * z + 1 for z in self.inner]
        numbers = draw_numbers(source, self.epsilon, doubled, starts, size)
        drawn = np.empty((size, len(self.sides)), dtype=np.int64)
        for column, (side, z) in enumerate(zip(self.sides, self.inner, strict=True)):
            half = z + numbers * side
            drawn[:, column] = _below(source, 2 * half + 1) - half
        return drawn

    def shell(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of the shell of each offset; the last axis runs over the components."""
        over = np.abs(offsets) - np.array(self.inner)
        return np.asarray(np.maximum(0, -(-over // np.array(self.sides)).min(axis=-1)))

    def pmf(self, offsets: ArrayLike) -> Floats:
        """The probability of each offset."""
        shells = self.shell(np.asarray(offsets, dtype=np.int64))
        return np.asarray(np.exp(self._log_height - float(self.epsilon) * shells))

    @cached_property
    def _log_height(self) -> float:
        """ln Pr[0] = −ln((1 − q) Σ q^i ∏ (2 (z + i s) + 1))."""
        unit = float(np.log(2 * np.array(self.sides, dtype=np.float64)).sum())
        return -unit - log(-expm1(-float(self.epsilon))) - self.number.log_total

    @property
    def variance(self) -> Floats:
        """E[h (h + 1)] / 3 with h = z + I s."""
        mean, square = self.number.moments
        z, s = np.array(self.inner, dtype=np.float64), np.array(self.sides, dtype=np.float64)
        return np.asarray((z**2 + 2 * z * s * mean + s**2 * square + z + s * mean) / 3)

    @property
    def expected_error(self) -> Floats:
        """E[h (h + 1) / (2 h + 1)] = E[2 h + 1] / 4 − E[1 / (2 h + 1)] / 4."""
        mean, _ = self.number.moments
        s = np.array(self.sides, dtype=np.float64)
        inverse = np.array([self.number.without(j)[1] for j in range(len(s))]) / (2 * s)
        return np.asarray((2 * (np.array(self.inner) + s * mean) + 1 - inverse) / 4)

    def tails(self, confidence: float) -> NDArray[np.int64]:
        """For each component the least t with Pr[|x_j| ≤ t] ≥ confidence."""
        kinds = list(zip(self.sides, self.inner, strict=True))
        known = {kind: self._tail(kinds.index(kind), confidence) for kind in set(kinds)}
        return np.array([known[kind] for kind in kinds], dtype=np.int64)

    def _tail(self, j: int, confidence: float) -> int:
        """Pr[|x_j| ≤ t] = Pr[I ≤ n] + (2 t + 1) E[1 / (2 h + 1); I > n], n the last box inside."""
        z, s = self.inner[j], self.sides[j]
        rest, share = self.number.without(j)

        def within(t: int) -> float:
            n = max(-1, (t - z) // s)
            return (self.number.up_to(n) if n >= 0 else 0.0) + (2 * t + 1) / (2 * s) * share * rest.beyond(n)

        return least_index(lambda t: within(t) >= confidence * (1 - 1e-14))


def _below(source: Source, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each bound a uniform whole number below it: as many bits as it needs, drawn again while too large."""
    drawn = np.zeros(len(bounds), dtype=np.int64)
    left = np.flatnonzero(bounds > 1)
    # A power of two that is not below the bound, from its float's exponent; one bit too many costs draws, not exactness.
    masks = (np.int64(1) << np.frexp(bounds.astype(np.float64))[1].astype(np.int64)) - 1
    while len(left):
        words = (source.words(len(left)) >> np.uint64(1)).astype(np.int64) & masks[left]
        good = words < bounds[left]
        drawn[left[good]] = words[good]
        left = left[~good]
    return drawn
