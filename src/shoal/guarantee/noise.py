"""Guarantees of noisy counts: discrete Gaussian noise on many counts, the exponential mechanism, zero-concentrated privacy.

Each has a dominating pair that is the same in both directions, so its curve for epsilon >= 0 says everything: the pair on a
grid connects the dots of that curve (Doroshenko and others 2022) and is mirrored. Each has its parameter rho of
zero-concentrated differential privacy (Bun and Steinke 2016), by which parts add up where delta is too small for the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.differential import DifferentialPrivacy
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, precise, text_near, text_up, up, whole
from shoal.guarantee.safe_k.curve import check_delta, check_epsilon

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution as Distribution

Floats = npt.NDArray[np.float64]
Curve = Callable[[Floats], Floats]
"""delta at many epsilons from 0 up, never below the truth by more than `SLACK` covers."""

LEAST_SIGMA = Fraction(3, 10)
"""Noise below it is none: at 0.3 eight draws in a thousand differ from zero."""
LARGEST_SIGMA = 10**9
MOST_COUNTS = 10**7
MOST_CHOICES = 100
LARGEST_RHO = 350
"""From there on the privacy loss exceeds 700 on average or nearly so, which says nothing."""
SUMMED = 5_000.0
"""Up to this standard deviation of the sum of all noises curves are sums over its values; beyond, the normal distribution's."""
RIPPLE = 1e-10
"""How far the sum's law may be from the lattice normal law for the latter to be taken in its place, times 1 + RIPPLE."""
TAIL = 40.0
"""Deviations beyond which values of the sum are left out: their mass is below e^-800."""
ON_GRID = 12.0
"""Deviations that a grid of privacy losses reaches: what lies beyond has mass below 1e-31 and counts as infinite loss."""
SLACK = 1e-9
"""Relative slack on curves in double precision, whose sums have positive terms only (errors below 1e-11)."""
NEGLECTED = 1e-305
"""Terms that a double cannot hold add up to less."""


# --- noisy tables ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoisyTablesDP(DifferentialPrivacy):
    """Discrete Gaussian noise on whole counts, of which one unit changes at most n, each by at most one: the exact curve.

    Noise of parameter sigma is x with probability proportional to exp(-x^2 / (2 sigma^2)) on the whole numbers. Of several
    `choices` of (n, sigma) one is run; which one may depend on earlier outputs, so the worst at each epsilon counts. One row
    that is added or removed changes one count of each table: n tables have n such counts, and 2 n where a row is replaced
    (theorem `noisy-tables`).

    Arguments  `choices` are pairs of a whole number from 1 up and a sigma of at least 0.3, as a number or its text
    Raises     ParameterError for what is no such pair, and for noise so small that the loss exceeds 700

    >>> NoisyTablesDP([(28, "22.4")]).epsilon_at("1e-6")
    0.9978...
    """

    choices: tuple[tuple[int, Fraction], ...]
    kind: ClassVar[str] = "noisy-tables-dp"

    def __init__(self, choices: Iterable[tuple[int, Number]]) -> None:
        object.__setattr__(self, "choices", _check_choices(choices))

    def delta_at(self, epsilon: Number) -> float:
        e = np.array([float(check_epsilon(epsilon))])
        return min(1.0, max(float(_counts_curve(n, s)(e)[0]) for n, s in self.choices) * (1 + SLACK) + NEGLECTED)

    def epsilon_at(self, delta: Number) -> float:
        return _least_epsilon(self.delta_at, float(check_delta(delta)))

    @property
    def concentration(self) -> Fraction:
        return max(n / (2 * sigma**2) for n, sigma in self.choices)

    @property
    def spread(self) -> float:
        return max(1e-6, min(1.0, math.sqrt(2 * float(self.concentration))))

    @property
    def reach(self) -> float:
        return _reach(float(self.concentration))

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """By connecting the dots of the largest curve."""
        points = _points(self.reach, grid)
        deltas = np.max([_counts_curve(n, sigma)(points) for n, sigma in self.choices], axis=0)
        return _on_grid(deltas + NEGLECTED, grid)

    def implies(self, other: Guarantee) -> bool:
        """Fewer counts with the same noise: the noise of fewer is part of the noise of more."""
        if isinstance(other, NoisyTablesDP) and all(
            any(n <= most and sigma == same for most, same in other.choices) for n, sigma in self.choices
        ):
            return True
        return super().implies(other)

    def words(self) -> str:
        listed = " or ".join(f"{n} with sigma = {text_up(sigma)}" for n, sigma in self.choices)
        return (
            f"discrete Gaussian noise on counts that one unit changes by at most one ({listed}): for example "
            f"(1, {text_up(self.delta_at(1))})-differential privacy"
        )


def _check_choices(choices: Iterable[object]) -> tuple[tuple[int, Fraction], ...]:
    pairs = []
    for pair in choices:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ParameterError("a choice of noisy tables is no pair", came=repr(pair), allowed="(counts, sigma)")
        n, sigma = whole(pair[0], "the number of counts"), exact(pair[1], "sigma")
        if not LEAST_SIGMA <= sigma <= LARGEST_SIGMA:
            raise ParameterError("sigma is out of range", came=pair[1], allowed=f"from 0.3 to {LARGEST_SIGMA:,}")
        if n > MOST_COUNTS:
            raise ParameterError("too many counts", came=n, allowed=f"at most {MOST_COUNTS:,}")
        check_rho(n / (2 * sigma**2))
        pairs.append((n, sigma))
    if not 0 < len(pairs) <= MOST_CHOICES:
        raise ParameterError(
            "too few or too many choices of noisy tables",
            came=len(pairs),
            allowed=f"1 to {MOST_CHOICES} pairs (counts, sigma)",
        )
    return tuple(sorted(set(pairs)))


def check_rho(rho: Fraction) -> Fraction:
    """rho of zero-concentrated differential privacy, above 0 and at most 350; ParameterError for another number."""
    if not 0 < rho <= LARGEST_RHO:
        came = f"rho = {text_near(rho)}"
        raise ParameterError("the loss is none, or beyond any meaning", came=came, allowed=f"0 < rho <= {LARGEST_RHO}")
    return rho


def ripple(n: int, sigma: float) -> float:
    """A bound on how far the law of a sum of n discrete Gaussians is above the lattice normal law, relatively.

    By Poisson summation (theorem `noisy-tables`): (sum over whole k of exp(-pi^2 sigma^2 k^2))^n - 1.
    """
    first = math.exp(-((math.pi * sigma) ** 2))
    # Later terms are at most first^4, first^9, ...: for sigma >= 0.3 together below 1.01 first^4.
    return math.expm1(min(700.0, n * math.log1p(2 * first + 2.02 * first**4)))


@lru_cache(maxsize=32)
def _counts_curve(n: int, sigma: Fraction) -> Curve:
    """The curve of n counts that all change by one; its loss is (2 S + n)/(2 sigma^2), S the sum of the n noises."""
    width = float(sigma)
    deviation = width * math.sqrt(n)
    excess = ripple(n, width)
    if excess > RIPPLE:
        return _lattice_curve(n, width, _convolved(n, width))
    if deviation <= SUMMED:
        last = math.ceil(TAIL * deviation)
        normal = np.exp(-((np.arange(-last, last + 1) / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
        return _lattice_curve(n, width, normal * (1 + excess))
    return _rounded_normal_curve(n, width, excess)


def _convolved(n: int, sigma: float) -> Floats:
    """The law of the sum of n discrete Gaussians on -t ... t, by doubling; every term is positive."""

    def cut(law: Floats, count: int) -> Floats:
        middle, last = len(law) // 2, math.ceil(TAIL * sigma * math.sqrt(count))
        return law[max(0, middle - last) : middle + last + 1]

    one = np.exp(-((np.arange(-math.ceil(TAIL * sigma), math.ceil(TAIL * sigma) + 1) / sigma) ** 2) / 2)
    one /= one.sum()
    law, count = one, 1
    for digit in f"{n:b}"[1:]:
        law, count = cut(np.convolve(law, law), 2 * count), 2 * count
        if digit == "1":
            law, count = cut(np.convolve(law, one), count + 1), count + 1
    return law


def _lattice_curve(n: int, sigma: float, law: Floats) -> Curve:
    """The curve of losses (2 s + n)/(2 sigma^2) with the masses `law` on s = -t ... t.

    In e^epsilon it is linear between two losses: with B(l) = sum over losses l' >= l of mass e^(l - l'), it is
    delta(l) = delta(next) + (1 - e^(l - next)) B(next), all terms positive.
    """
    from scipy.signal import lfilter

    step = 1 / sigma**2
    first = (n - 2 * (len(law) // 2)) / (2 * sigma**2)
    weights = lfilter([1.0], [1.0, -math.exp(-step)], law[::-1])[::-1]
    deltas = np.cumsum((weights * -math.expm1(-step))[::-1])[::-1]
    deltas = np.append(deltas[1:], 0.0)  # at each loss

    def curve(epsilons: Floats) -> Floats:
        at = np.floor((epsilons - first) / step).astype(np.int64) + 1  # the first loss above epsilon
        inside = (at >= 0) & (at < len(law))
        index = np.clip(at, 0, len(law) - 1)
        above = deltas[index] + weights[index] * -np.expm1(np.minimum(0.0, epsilons - (first + step * index)))
        return np.where(inside, above, np.where(at < 0, 1.0, 0.0))

    return curve


def _rounded_normal_curve(n: int, sigma: float, excess: float) -> Curve:
    """The curve by comparison with a continuous Gaussian that is rounded to whole numbers (theorem `noisy-tables`).

    With v = n sigma^2 the lattice normal law is at most e^(1/(8 v)) times the rounded one, and its losses are at most
    1/(8 v) + s^2/(24 v^2) larger at the value s, so the Gaussian's curve at an epsilon that much smaller is a bound.
    """
    variance, mu = n * sigma**2, math.sqrt(n) / sigma
    shift = (1 / 8 + (TAIL + mu) ** 2 / 24) / variance
    factor = (1 + excess) * math.exp(1 / (8 * variance))
    return lambda epsilons: np.minimum(1.0, factor * gaussian_curve(mu, epsilons - shift))


def gaussian_curve(mu: float, epsilons: Floats) -> Floats:
    """The curve of Gaussian noise of deviation 1/mu (Balle and Wang 2018), by ratios of tail to density: no cancellation."""
    from scipy.special import erfcx

    size = np.abs(epsilons)
    low = size / mu - mu / 2
    tails = erfcx(low / math.sqrt(2)) - erfcx((low + mu) / math.sqrt(2))
    positive = np.exp(-(low**2) / 2) * tails / 2
    mirrored = -np.expm1(-size) + np.exp(-size) * positive
    return np.asarray(np.where(epsilons >= 0, positive, mirrored))


# --- the exponential mechanism -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExponentialDP(DifferentialPrivacy):
    """The exponential mechanism: one of several options with probability proportional to exp(epsilon score / (2 s)).

    No score moves by more than s, so between any two options the privacy loss differs by at most epsilon (bounded range). That
    is more than epsilon-DP says: choices made one after another, of which the scores may depend on what was chosen before,
    add up to about half as much (theorem `bounded-range`).

    Arguments  `epsilon` is a number above 0, at most 700, or its text
    Raises     ParameterError for what is no such number

    >>> ExponentialDP(1).delta_at(0) < 0.6 * 0.4621  # of any 1-DP mechanism
    True
    >>> ExponentialDP(1).own
    (Fraction(1, 1), Fraction(0, 1))
    """

    epsilon: Fraction
    kind: ClassVar[str] = "exponential-dp"

    def __init__(self, epsilon: Number) -> None:
        number = check_epsilon(epsilon)
        if number == 0:
            raise ParameterError("epsilon is not positive", came=epsilon, allowed="epsilon > 0")
        object.__setattr__(self, "epsilon", number)

    def delta_at(self, epsilon: Number) -> float:
        """(e^(epsilon/2) - e^(e/2))^2 / (e^epsilon - 1) at e up to epsilon, 0 from there on."""
        e = check_epsilon(epsilon)
        if e >= self.epsilon:
            return 0.0
        with precise():
            whole_range, own = decimal(self.epsilon), (decimal(self.epsilon) / 2).exp()
            return min(1.0, up((own - (decimal(e) / 2).exp()) ** 2 / (whole_range.exp() - 1) * (1 + GUARD)))

    def epsilon_at(self, delta: Number) -> float:
        d = check_delta(delta)
        with precise():
            whole_range = decimal(self.epsilon)
            root = (whole_range / 2).exp() - (decimal(d) * (whole_range.exp() - 1)).sqrt()
            if root <= 1:
                return 0.0
            # The curve is steep there, so that the next float is taken: its shortest text, too, is not below the truth.
            return min(up(self.epsilon), math.nextafter(up(2 * root.ln() * (1 + GUARD)), math.inf))

    @property
    def own(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, Fraction(0)

    @property
    def concentration(self) -> Fraction:
        return self.epsilon**2 / 8

    @property
    def spread(self) -> float:
        return max(1e-6, min(1.0, float(self.epsilon)))

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """By connecting the dots of the curve."""
        size = float(self.epsilon)
        points = _points(size, grid)
        return _on_grid(np.expm1(np.minimum(0.0, points - size) / 2) ** 2 / -math.expm1(-size), grid)

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, ExponentialDP):
            return self.epsilon <= other.epsilon
        return super().implies(other)

    def words(self) -> str:
        return (
            f"the exponential mechanism with {text_up(self.epsilon)}-differential privacy, in which the privacy losses of any "
            f"two options differ by at most {text_up(self.epsilon)}"
        )


# --- zero-concentrated differential privacy ---------------------------------------------------------------------------


@dataclass(frozen=True)
class ConcentratedDP(DifferentialPrivacy):
    """rho-zero-concentrated differential privacy: the Rényi divergence of each order a is at most a rho (Bun and Steinke 2016).

    Discrete Gaussian noise of parameter sigma on whole numbers that one unit moves by at most Delta together (the root of
    the sum of squares) satisfies it with rho = Delta^2 / (2 sigma^2). Parts add up: rho_1 + rho_2 (theorem
    `concentrated-composition`). Its (epsilon, delta) are by the conversion of Canonne, Kamath and Steinke 2020.

    Arguments  `rho` is a number above 0, at most 350, or its text
    Raises     ParameterError for what is no such number

    >>> round(ConcentratedDP("0.02").epsilon_at("1e-6"), 3)
    0.9
    """

    rho: Fraction
    kind: ClassVar[str] = "concentrated-dp"

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", check_rho(exact(rho, "rho")))

    def delta_at(self, epsilon: Number) -> float:
        return min(self._at_zero, concentrated_delta(up(self.rho), float(check_epsilon(epsilon))))

    def epsilon_at(self, delta: Number) -> float:
        return _least_epsilon(self.delta_at, float(check_delta(delta)))

    @property
    def concentration(self) -> Fraction:
        return self.rho

    @property
    def spread(self) -> float:
        return max(1e-6, min(1.0, math.sqrt(2 * float(self.rho))))

    @property
    def reach(self) -> float:
        return _reach(float(self.rho))

    def distributions(self, grid: float) -> tuple[Distribution, Distribution]:
        """By connecting the dots of the largest convex curve below the bound: the true curve is convex, so it lies below."""
        points = _points(self.reach, grid)
        deltas = np.minimum(self._at_zero, _concentrated_deltas(up(self.rho), points))
        mirrored = -np.expm1(-points[:0:-1]) + np.exp(-points[:0:-1]) * deltas[:0:-1]
        odds = np.exp(np.concatenate([-points[:0:-1], points]))
        hull = _convex_minorant(np.append(0.0, odds), np.concatenate([[1.0], mirrored, deltas]))
        return _on_grid(hull[-len(points) :], grid)

    def implies(self, other: Guarantee) -> bool:
        if isinstance(other, ConcentratedDP):
            return self.rho <= other.rho
        return super().implies(other)

    def words(self) -> str:
        return (
            f"{text_up(self.rho)}-zero-concentrated differential privacy: for example "
            f"(1, {text_up(self.delta_at(1))})-differential privacy"
        )

    @property
    def _at_zero(self) -> float:
        """At every epsilon at most the total variation distance, and that by Pinsker's inequality at most sqrt(rho/2)."""
        return min(1.0, math.sqrt(up(self.rho) / 2) * (1 + SLACK))


def concentrated_delta(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at epsilon: the least over a of exp((a − 1)(a rho − epsilon)) (1 − 1/a)^a / (a − 1)."""

    def logarithm(order: float) -> float:
        above = math.exp(order)  # a − 1
        return above * ((1 + above) * rho - epsilon) - order - (1 + above) * math.log1p(1 / above)

    orders = np.linspace(-12, 25, 75)
    best = min(orders, key=lambda order: logarithm(float(order)))
    low, high = best - 0.5, best + 0.5
    for _ in range(60):  # every order is a valid bound, so the search needs no proof
        third = (high - low) / 3
        low, high = (low, high - third) if logarithm(low + third) < logarithm(high - third) else (low + third, high)
    least = min(logarithm(float(low)), logarithm(float(best)))
    return min(1.0, math.exp(min(0.0, least)) * (1 + 1e-8) + NEGLECTED)


def _concentrated_deltas(rho: float, epsilons: Floats) -> Floats:
    """`concentrated_delta` at many epsilons, to a few units of the sixth digit above it."""

    def logarithms(orders: Floats) -> Floats:
        above = np.exp(orders)
        return np.asarray(above * ((1 + above) * rho - epsilons) - orders - (1 + above) * np.log1p(1 / above))

    low, high = np.full_like(epsilons, -12.0), np.full_like(epsilons, 25.0)
    for _ in range(36):
        third = (high - low) / 3
        left = logarithms(low + third) < logarithms(high - third)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    least = np.minimum(0.0, logarithms((low + high) / 2))
    return np.asarray(np.minimum(1.0, np.exp(least) * (1 + 1e-8) + NEGLECTED))


def _convex_minorant(xs: Floats, ys: Floats) -> Floats:
    """The largest convex function below the points, at each of them; they come by increasing x."""
    kept: list[int] = []
    x, y = xs.tolist(), ys.tolist()
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) <= (y[i] - y[b]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.asarray(np.interp(xs, xs[kept], ys[kept]))


# --- what they share ------------------------------------------------------------------------------------------------------


def _reach(rho: float) -> float:
    """A loss that is exceeded with probability below 1e-31: `ON_GRID` deviations above its mean."""
    return rho + ON_GRID * math.sqrt(2 * rho)


def _points(reach: float, grid: float) -> Floats:
    """0, grid, 2 grid, ... until beyond `reach`."""
    return np.arange(math.ceil(reach / grid) + 1, dtype=np.float64) * grid


def _least_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """The least epsilon up to 700 at which a falling curve is at most delta, by halving; what is returned keeps it."""
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        if high == 700:
            return math.inf
        low, high = high, min(700.0, 2 * high)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


def _on_grid(deltas: Floats, grid: float) -> tuple[Distribution, Distribution]:
    """The pair on the grid whose curve runs through these points at 0, grid, 2 grid, ... and is mirrored below 0.

    The curve in e^epsilon is convex, so chords lie above it. A chord's slope changes at a point by the mass that the second
    distribution has there, which is e^-loss times that of the first; exchanging the two mirrors the losses. What is left at
    the last point has infinite loss.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    deltas = np.minimum.accumulate(np.minimum(1.0, deltas))
    losses = np.arange(1, len(deltas)) * grid
    falls = -np.diff(deltas)  # from each point to the next
    before = falls / -math.expm1(-grid)  # e^loss times the slope before each point from the second on
    after = np.append(falls[1:], 0.0) / math.expm1(grid)
    upper = np.maximum(0.0, before - after)
    lower = upper * np.exp(-losses)
    middle = max(0.0, 1.0 - float(deltas[-1]) - float(upper.sum()) - float(lower.sum()))
    masses = np.concatenate([lower[::-1], [middle], upper])
    both = PrivacyLossDistribution(DensePLDPmf(grid, -len(losses), masses, float(deltas[-1]), True))
    return both, both
