"""Priors over numbers on a line: uniform, histogram, or any continuous law of scipy.stats, in equally likely steps.

A continuous law is replaced, before any answer is known, by a fixed number of equally likely steps: step i stands for the
quantile in the middle of its share. Every figure of a promise is a count of steps, so it is exact; the values of the steps
are floats, and the same for every true answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import inf, isfinite, lcm, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact
from shoal.mechanism.refinement.distance import Absolute, Custom, Distance, number
from shoal.mechanism.refinement.factors import Gain
from shoal.mechanism.refinement.prior import (
    MOST_VALUES,
    REPRESENTATIVES,
    Anywhere,
    Ball,
    Discrete,
    Order,
    Points,
    Prior,
    shares,
)

BITS = 52
"""2^52 steps: the middle of each, (2 i + 1) / 2^53, is a float that is neither 0 nor 1."""
_FINEST = 62
_HALVINGS = 40
_FEW = 1 << 16
"""So few steps lie so close together that one value stands for all of them."""


class Steps(Prior):
    """Numbers in `count` equally likely steps, lowest first."""

    count: int
    center: float
    """A number in the middle, about which variances are computed."""

    @abstractmethod
    def at(self, steps: Points) -> NDArray[np.float64]:
        """The value of each step."""

    @abstractmethod
    def below(self, value: float) -> int:
        """About how many steps lie below a number; never more than there are."""

    @abstractmethod
    def density(self, value: float) -> float:
        """The prior's density at a number."""

    @abstractmethod
    def integral(self, low: int, high: int, power: int, center: float) -> float:
        """The integral of (value − center)^power over the steps from low up to high."""

    def propose(self, source: Source, size: int) -> Points:
        return source.integers(self.count, size)

    def values(self, points: Points) -> NDArray[Any]:
        return self.at(points)

    def order(self, distance: Distance, truth: Any) -> Order:
        here = None if truth is None else number(truth)
        if here is None or not isfinite(place := _float(here)):
            return Anywhere(self)
        return Line(self, distance, place)

    def whole(self) -> Ball:
        return Run(self, 0, self.count)

    def nothing(self) -> Ball:
        return Run(self, 0, 0)

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        steps = [(2 * place + 1) * self.count // (2 * count) for place in range(count)]
        return self.at(np.array(steps, dtype=np.int64)).tolist(), np.full(count, 1 / count)

    def suits(self, distance: Distance) -> bool:
        return isinstance(distance, Absolute | Custom)


@dataclass(frozen=True)
class Run(Ball):
    """The steps from low up to, not including, high."""

    prior: Steps
    low: int
    high: int

    @property
    def mass(self) -> Fraction:  # type: ignore[override]
        return Fraction(self.high - self.low, self.prior.count)

    def holds(self, points: Points) -> NDArray[np.bool_]:
        return np.asarray((points >= self.low) & (points < self.high))

    def around(self, inner: Ball) -> Ball:
        if not isinstance(inner, Run) or inner.low == inner.high:
            return self
        return Run(self.prior, min(self.low, inner.low), max(self.high, inner.high))

    def draw(self, source: Source, size: int) -> Points:
        return self.low + source.integers(self.high - self.low, size)

    def moment(self, power: int) -> float:
        return self.prior.integral(self.low, self.high, power, self.prior.center)

    @property
    def size(self) -> float:
        if self.low == self.high:
            return 0.0
        low, high = self.prior.at(np.array([self.low, self.high - 1], dtype=np.int64)).tolist()
        return float(high - low)


@dataclass(frozen=True)
class Line(Order):
    """Steps by nearness to a number; a run of the nearest ones is found by halving.

    A run has exactly as many steps as it should; only where it lies depends on the true answer. Two steps at the same
    distance come one after the other.
    """

    prior: Steps
    distance: Distance
    truth: float

    def run(self, steps: int) -> Run:
        """The nearest steps, as many as asked for."""
        low, high = 0, self.prior.count - steps
        while low < high:
            middle = (low + high) // 2
            if self._reaches(middle, middle + steps):
                high = middle
            else:
                low = middle + 1
        return Run(self.prior, low, low + steps)

    def _reaches(self, first: int, beyond: int) -> bool:
        """Whether a run does better to begin here than one step later: its first step is as near as the next after it."""
        left, right = self.prior.at(np.array([first, beyond], dtype=np.int64)).tolist()
        if isinstance(self.distance, Absolute):
            return bool(left + right >= 2 * self.truth)
        near, far = self.distance.between(self.truth, [left, right])
        return near < far or (near == far and left >= self.truth)

    def around(self, share: Fraction) -> tuple[Run, Run]:
        steps = share * self.prior.count
        inner = self.run(steps.numerator // steps.denominator)
        if steps.denominator == 1:
            return inner, inner
        return inner, self.run(inner.high - inner.low + 1)

    def first(self) -> Run:
        return self.run(1)

    def expected(self, gain: Gain) -> float:
        if not isinstance(self.distance, Absolute):
            values, weights = self.prior.representatives(4 * REPRESENTATIVES)
            return gain.mean(self.distance.between(self.truth, values), weights)
        middle = self.prior.below(self.truth)
        nearest = float(self.prior.at(np.array([self.first().low], dtype=np.int64))[0])
        total = float(gain.moved) * abs(nearest - self.truth)
        runs = [
            Run(self.prior, 0, 0),
            *(self.around(share)[0] for share in gain.breaks),
            Run(self.prior, 0, self.prior.count),
        ]
        for inner, outer in pairwise(runs):
            if outer.mass > inner.mass:
                spread = self._spread(outer, middle) - self._spread(inner, middle)
                total += float(gain.factor(inner.mass, outer.mass)) * spread
        return total

    def _spread(self, run: Run, middle: int) -> float:
        """The integral of |value − truth| over a run."""
        cut = min(max(middle, run.low), run.high)
        above = self.prior.integral(cut, run.high, 1, self.truth)
        return above - self.prior.integral(run.low, cut, 1, self.truth)


class Histogram(Steps):
    """Numbers in bins: edges in rising order, a probability for each bin, even within it.

    Each bin has a whole number of steps, exactly its share, as long as the probabilities have a common denominator below
    2^62; otherwise its share is rounded to a step.
    """

    def __init__(self, edges: Sequence[Number], probabilities: Sequence[Number]) -> None:
        marks = [exact(edge, "an edge of the prior") for edge in edges]
        if len(marks) != len(probabilities) + 1 or len(marks) < 2 or len(marks) > MOST_VALUES:
            raise ParameterError("edges and bins disagree", came=f"{len(marks)} edges, {len(probabilities)} bins")
        self.edges = np.array([_float(mark) for mark in marks])
        if not np.isfinite(self.edges).all() or not (np.diff(self.edges) > 0).all():
            raise ParameterError("the edges of a prior do not rise", allowed="finite numbers, each above the last")
        self.masses = shares(probabilities)
        common = lcm(*(mass.denominator for mass in self.masses))
        fits = common.bit_length() <= _FINEST
        self.count = common << max(0, BITS - common.bit_length() + 1) if fits else 1 << BITS
        ends = [int(end * self.count) for end in accumulate(self.masses)]
        self.starts = np.array([0, *ends], dtype=np.int64)
        self.center = float(self.at(np.array([self.count // 2]))[0])

    def at(self, steps: Points) -> NDArray[np.float64]:
        bins = np.searchsorted(self.starts, steps, side="right") - 1
        within = (2 * (steps - self.starts[bins]) + 1) / (2 * (self.starts[bins + 1] - self.starts[bins]))
        low, high = self.edges[bins], self.edges[bins + 1]
        return np.asarray(np.minimum(low + (high - low) * within, high))

    def below(self, value: float) -> int:
        low, high = self.edges[0], self.edges[-1]
        return int(np.interp(min(max(value, low), high), self.edges, self.starts))

    def density(self, value: float) -> float:
        if not self.edges[0] <= value <= self.edges[-1]:
            return 0.0
        place = min(int(np.searchsorted(self.edges, value, side="right")) - 1, len(self.masses) - 1)
        return float(self.masses[place]) / float(self.edges[place + 1] - self.edges[place])

    def integral(self, low: int, high: int, power: int, center: float) -> float:
        cuts = np.clip(self.starts, low, high)
        places = np.flatnonzero(np.diff(cuts))
        left, right = (self._edge(places, cuts[places + side]) - center for side in (0, 1))
        weight = (cuts[places + 1] - cuts[places]) / self.count
        # The mean of x^p over an interval is the mean of all products of its ends with p factors.
        mean = sum(left**k * right ** (power - k) for k in range(power + 1)) / (power + 1)
        return float(np.sum(weight * mean))

    def _edge(self, bins: Points, steps: Points) -> NDArray[np.float64]:
        """Where a step begins, within its bin."""
        share = (steps - self.starts[bins]) / (self.starts[bins + 1] - self.starts[bins])
        return np.asarray(self.edges[bins] + (self.edges[bins + 1] - self.edges[bins]) * share)


class Uniform(Histogram):
    """Any number between two bounds, all alike."""

    def __init__(self, low: Number = 0, high: Number = 1) -> None:
        super().__init__([low, high], [1])


class Continuous(Steps):
    """A frozen continuous distribution of scipy.stats."""

    def __init__(self, law: Any) -> None:
        self.law = law
        self.count = 1 << BITS
        low, high = law.support()
        self._ends = float(low), float(high)
        probe = self.at(np.array([0, self.count // 2, self.count - 1], dtype=np.int64))
        if not np.isfinite(probe).all() or not probe[0] < probe[2]:
            raise UsageError("the prior has no finite quantiles that rise", allowed="a proper distribution")
        self.center = float(probe[1])

    def at(self, steps: Points) -> NDArray[np.float64]:
        quantiles = self.law.ppf((2 * steps + 1) / (2.0 * self.count))
        return np.asarray(np.clip(quantiles, self._ends[0], self._ends[1]), dtype=np.float64)

    def below(self, value: float) -> int:
        return min(self.count, max(0, int(float(self.law.cdf(value)) * self.count)))

    def density(self, value: float) -> float:
        return float(self.law.pdf(value))

    def integral(self, low: int, high: int, power: int, center: float) -> float:
        """By Gauss's rule over the log-odds of the quantile, where tails are as wide as the middle."""
        if high - low < _FEW:
            middle = np.array([(low + high) // 2], dtype=np.int64)
            return float((self.at(middle)[0] - center) ** power) * (high - low) / self.count if high > low else 0.0
        left, right = (min(max(step, 0.5), self.count - 0.5) / self.count for step in (low, high))
        left, right = log(left) - log1p(-left), log(right) - log1p(-right)
        panels = np.linspace(left, right, int(right - left) + 2)
        nodes, weights = np.polynomial.legendre.leggauss(16)
        half = np.diff(panels)[:, None] / 2
        odds = (panels[:-1, None] + half * (nodes + 1)).ravel()
        below, above = 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds))
        values = np.where(odds < 0, self.law.ppf(np.minimum(below, 0.5)), self.law.isf(np.minimum(above, 0.5)))
        mass = (half * weights).ravel() * below * above
        # Scaled to the exact mass of the run.
        return float(np.sum(mass * (values - center) ** power)) * (high - low) / self.count / float(mass.sum())

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        """Evenly in the middle; the first and last share are halved again and again, since tails may weigh much."""
        tail = _HALVINGS if count > 4 * _HALVINGS else 0
        even = count - 2 * tail
        low = [0.0, *(0.5**halving / even for halving in range(tail, 0, -1))]
        edges = np.array([*low, *(place / even for place in range(1, even)), *(1 - edge for edge in reversed(low))])
        steps = np.minimum((edges[:-1] + edges[1:]) / 2 * self.count, self.count - 1).astype(np.int64)
        return self.at(steps).tolist(), np.diff(edges)


def discrete_law(law: Any) -> Discrete:
    """A frozen discrete distribution of scipy.stats, its shares rounded to steps of 2^-52: beyond them it ends."""
    ends = np.array([law.ppf(share) for share in (0.5**BITS, 1 - 0.5**BITS)], dtype=np.float64)
    points = np.append(ends, getattr(law.dist, "xk", ends))
    if not np.isfinite(ends).all() or not np.equal(points, np.rint(points)).all():
        raise UsageError("the prior is not on whole numbers", fix="list its values with their probabilities instead")
    lowest, highest = (int(end) for end in ends)
    if highest - lowest >= MOST_VALUES:
        raise ParameterError(
            "a prior lists too many values", came=f"{highest - lowest + 1:,}", allowed=f"{MOST_VALUES:,}"
        )
    values = np.arange(lowest, highest + 1)
    below = np.minimum(np.rint(law.cdf(values) * 2.0**BITS), 2.0**BITS).astype(np.int64)
    below[-1] = 1 << BITS
    counts = np.diff(np.maximum.accumulate(below), prepend=0)
    return Discrete({int(v): Fraction(int(c), 1 << BITS) for v, c in zip(values, counts, strict=True)})


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
