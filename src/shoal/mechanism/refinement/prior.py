"""The prior of an analyst: a distribution over possible answers, with exact probabilities.

Every prior is a finite set of points with exact probabilities, fixed before any answer is known. A Ball is a set of points
with its exact mass; an Order lists the points from the nearest to a true answer to the farthest, as nested balls.

    DiscretePrior     listed values
    HistogramPrior    numbers in bins, uniform within each; UniformPrior is one bin
    ContinuousPrior   any continuous distribution of scipy.stats

A continuous distribution is replaced, before any answer is known, by a fixed number of equally likely steps: step i stands
for the quantile in the middle of its share. Every figure of a guarantee is a count of steps, so it is exact; the values of
the steps are floats, and the same for every true answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import inf, isfinite, lcm, log, log1p, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance.exact import Bounds, InversionSampler, fraction_bounds
from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact
from shoal.mechanism.refinement.distance import AbsoluteDistance, CustomDistance, Distance, number
from shoal.mechanism.refinement.factors import RefinementCurve

Points = NDArray[np.int64]
MOST_VALUES = 1 << 16
REPRESENTATIVES = 1024
"""How many points stand for the whole prior where an average over all of it is estimated."""
_ROUNDING = Fraction(1, 10**9)


class Ball(ABC):
    """A set of points with its exact prior mass."""

    mass: Fraction

    @abstractmethod
    def holds(self, points: Points) -> NDArray[np.bool_]:
        """Which points are in the ball."""

    @abstractmethod
    def around(self, inner: Ball) -> Ball:
        """The ball enlarged so that it contains a smaller one, should rounding have left a part of that out."""

    @abstractmethod
    def draw(self, source: Source, size: int) -> Points:
        """Independent points of the prior, given that they are in the ball."""

    @abstractmethod
    def moment(self, power: int) -> float | None:
        """The integral of (value − the prior's center) to this power over the ball; None where values are no numbers."""

    @property
    @abstractmethod
    def size(self) -> Any:
        """The length of an interval, the number of listed values."""


class Order(ABC):
    """The points from the nearest to one true answer to the farthest."""

    @abstractmethod
    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        """Two nested balls next to each other whose masses enclose a share."""

    @abstractmethod
    def first(self) -> Ball:
        """The nearest points."""

    @abstractmethod
    def expected_distance(self, curve: RefinementCurve) -> float:
        """The mean distance from the true answer under the refined distribution."""


class Prior(ABC):
    """A distribution over finitely many points."""

    listed: tuple[Any, ...] | None = None
    """All possible values, where they are listed."""
    center: Fraction | float
    """A number in the middle, about which variances are computed."""

    @abstractmethod
    def propose(self, source: Source, size: int) -> Points:
        """Independent points, exactly by their probabilities."""

    @abstractmethod
    def values(self, points: Points) -> NDArray[Any]:
        """The answers that points stand for."""

    @abstractmethod
    def order(self, distance: Distance, truth: Any) -> Order:
        """The points by distance from a true answer; None, or a value without a distance, is equally far from everything."""

    @abstractmethod
    def whole(self) -> Ball:
        """All points."""

    @abstractmethod
    def nothing(self) -> Ball:
        """No points."""

    @abstractmethod
    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        """Values that stand for the whole, with their weights."""

    def suits(self, distance: Distance) -> bool:
        """Whether the points can be put in order by this distance."""
        return isinstance(distance, Distance)


@dataclass(frozen=True)
class NoOrder(Order):
    """The order for a true answer that is equally far from every point."""

    prior: Prior
    far: float = nan

    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        whole = self.prior.whole()
        return (whole, whole) if share >= 1 else (self.prior.nothing(), whole)

    def first(self) -> Ball:
        return self.prior.whole()

    def expected_distance(self, curve: RefinementCurve) -> float:  # noqa: ARG002 - a refinement of no order is the prior
        return self.far


class DiscretePrior(Prior):
    """Listed values with exact probabilities; a value of probability zero is left out and never comes out.

    Probabilities are read as written: "1/3", "0.1", 0.1. If all are text, whole numbers or fractions they sum to
    exactly one; floats may miss it by a billionth and are then fraction_bounds.
    """

    def __init__(self, probabilities: Mapping[Any, Number]) -> None:
        masses = check_probabilities(list(probabilities.values()))
        kept = [(value, mass) for value, mass in zip(probabilities, masses, strict=True) if mass]
        if len(kept) > MOST_VALUES:
            raise ParameterError("a prior lists too many values", came=f"{len(kept):,}", allowed=f"{MOST_VALUES:,}")
        self.listed: tuple[Any, ...] = tuple(value for value, _ in kept)
        self.masses = tuple(mass for _, mass in kept)

    @cached_property
    def _sampler(self) -> InversionSampler:
        return index_sampler(self.masses)

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The values as fractions, if all are numbers."""
        found = [number(value) for value in self.listed]
        return None if None in found else tuple(value for value in found if value is not None)

    @cached_property
    def center(self) -> Fraction:  # type: ignore[override]
        """A number in the middle, about which variances are computed."""
        return self.numbers[len(self.numbers) // 2] if self.numbers else Fraction(0)

    @cached_property
    def _objects(self) -> NDArray[Any]:
        """The values as an array: of numbers if all are of one such type, else of objects."""
        if len({type(value) for value in self.listed}) == 1 and isinstance(self.listed[0], bool | int | float | str):
            return np.array(self.listed)
        objects = np.empty(len(self.listed), dtype=object)
        objects[:] = self.listed
        return objects

    def propose(self, source: Source, size: int) -> Points:
        return self._sampler.draw(source, size)

    def values(self, points: Points) -> NDArray[Any]:
        return np.asarray(self._objects[points])

    def order(self, distance: Distance, truth: Any) -> Order:
        if truth is None:
            return NoOrder(self)
        far = distance.between(truth, self.listed)
        levels = sorted(set(far))
        if len(levels) == 1:
            return NoOrder(self, float(levels[0]))
        rank = {level: place for place, level in enumerate(levels)}
        ranks = np.array([rank[level] for level in far], dtype=np.int64)
        masses = [Fraction(0)] * len(levels)
        for place, mass in zip(ranks, self.masses, strict=True):
            masses[place] += mass
        return ShellOrder(self, ranks, (Fraction(0), *accumulate(masses)), tuple(levels))

    def whole(self) -> Ball:
        return ShellBall(self, np.zeros(len(self.listed), dtype=np.int64), 1, Fraction(1))

    def nothing(self) -> Ball:
        return ShellBall(self, np.zeros(len(self.listed), dtype=np.int64), 0, Fraction(0))

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        if len(self.listed) <= count:
            return list(self.listed), np.array([float(mass) for mass in self.masses])
        ends = list(accumulate(self.masses))
        chosen = [bisect_right(ends, Fraction(2 * place + 1, 2 * count)) for place in range(count)]
        return [self.listed[place] for place in chosen], np.full(count, 1 / count)


@dataclass(frozen=True)
class ShellOrder(Order):
    """Listed values in shells of equal distance: one shell is never divided."""

    prior: DiscretePrior
    ranks: Points
    ends: tuple[Fraction, ...]
    levels: tuple[Any, ...]

    def ball(self, shells: int) -> Ball:
        """The nearest shells."""
        return ShellBall(self.prior, self.ranks, shells, self.ends[shells])

    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        return self.ball(bisect_right(self.ends, share) - 1), self.ball(bisect_left(self.ends, share))

    def first(self) -> Ball:
        return self.ball(1)

    def expected_distance(self, curve: RefinementCurve) -> float:
        steps = [curve(end) for end in self.ends]
        steps[0] -= curve.moved
        return sum(float(far) * float(steps[i + 1] - steps[i]) for i, far in enumerate(self.levels))


@dataclass(frozen=True)
class ShellBall(Ball):
    """The listed values of the nearest shells."""

    prior: DiscretePrior
    ranks: Points
    shells: int
    mass: Fraction

    def holds(self, points: Points) -> NDArray[np.bool_]:
        return np.asarray(self.ranks[points] < self.shells)

    def around(self, inner: Ball) -> Ball:
        # The shells of one true answer are nested, so the heavier of two holds the other.
        return inner if inner.mass > self.mass else self

    def draw(self, source: Source, size: int) -> Points:
        inside = np.flatnonzero(self.ranks < self.shells)
        return inside[index_sampler([self.prior.masses[place] / self.mass for place in inside]).draw(source, size)]

    def moment(self, power: int) -> float | None:
        if self.prior.numbers is None:
            return None
        pairs = zip(self.prior.numbers, self.prior.masses, self.ranks, strict=True)
        center = self.prior.center
        return float(sum((value - center) ** power * mass for value, mass, rank in pairs if rank < self.shells))

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.ranks < self.shells))


def check_probabilities(given: Sequence[Number]) -> list[Fraction]:
    """Probabilities as exact fractions that sum to one, or an error that says what is wrong with them."""
    masses = [exact(mass, "a probability of the prior") for mass in given]
    if any(mass < 0 for mass in masses):
        raise ParameterError("a probability of the prior is negative", allowed="from 0 to 1")
    total = sum(masses, Fraction(0))
    if not total:
        raise UsageError("the prior has no support", came="no value with a probability above 0", allowed="at least one")
    loose = any(isinstance(mass, float | np.floating) for mass in given)
    if total != 1 and not (loose and abs(total - 1) <= _ROUNDING):
        raise ParameterError(
            "the prior does not sum to one", came=f"{float(total):.12g}", allowed="exactly 1, floats within a billionth"
        )
    return [mass / total for mass in masses]


def index_sampler(masses: Sequence[Fraction]) -> InversionSampler:
    """The exact draw of an index by these probabilities, which sum to one and are above 0."""
    ends = list(accumulate(masses))[:-1]

    def bounds(index: int, bits: int) -> Bounds:
        return fraction_bounds(ends[index], bits)

    return InversionSampler(bounds, len(ends))


BITS = 52
"""2^52 steps: the middle of each, (2 i + 1) / 2^53, is a float that is neither 0 nor 1."""
_FINEST = 62
_HALVINGS = 40
_FEW = 1 << 16
"""So few steps lie so close together that one value stands for all of them."""


class QuantilePrior(Prior):
    """A prior over numbers in `count` equally likely steps, lowest first: step i is a quantile."""

    count: int
    center: float

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
            return NoOrder(self)
        return LineOrder(self, distance, place)

    def whole(self) -> Ball:
        return StepRange(self, 0, self.count)

    def nothing(self) -> Ball:
        return StepRange(self, 0, 0)

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        steps = [(2 * place + 1) * self.count // (2 * count) for place in range(count)]
        return self.at(np.array(steps, dtype=np.int64)).tolist(), np.full(count, 1 / count)

    def suits(self, distance: Distance) -> bool:
        return isinstance(distance, AbsoluteDistance | CustomDistance)


@dataclass(frozen=True)
class StepRange(Ball):
    """The ball of the steps from low up to, not including, high."""

    prior: QuantilePrior
    low: int
    high: int

    @property
    def mass(self) -> Fraction:  # type: ignore[override]
        return Fraction(self.high - self.low, self.prior.count)

    def holds(self, points: Points) -> NDArray[np.bool_]:
        return np.asarray((points >= self.low) & (points < self.high))

    def around(self, inner: Ball) -> Ball:
        if not isinstance(inner, StepRange) or inner.low == inner.high:
            return self
        return StepRange(self.prior, min(self.low, inner.low), max(self.high, inner.high))

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
class LineOrder(Order):
    """Steps by distance from a number; a range of the nearest ones is found by bisection.

    A range has exactly as many steps as it should; only where it lies depends on the true answer. Two steps at the same
    distance come one after the other.
    """

    prior: QuantilePrior
    distance: Distance
    truth: float

    def run(self, steps: int) -> StepRange:
        """The nearest steps, as many as asked for."""
        low, high = 0, self.prior.count - steps
        while low < high:
            middle = (low + high) // 2
            if self._reaches(middle, middle + steps):
                high = middle
            else:
                low = middle + 1
        return StepRange(self.prior, low, low + steps)

    def _reaches(self, first: int, beyond: int) -> bool:
        """Whether a range should begin here and not one step later: its first step is as near as the next after its last."""
        left, right = self.prior.at(np.array([first, beyond], dtype=np.int64)).tolist()
        if isinstance(self.distance, AbsoluteDistance):
            return bool(left + right >= 2 * self.truth)
        near, far = self.distance.between(self.truth, [left, right])
        return near < far or (near == far and left >= self.truth)

    def around(self, share: Fraction) -> tuple[StepRange, StepRange]:
        steps = share * self.prior.count
        inner = self.run(steps.numerator // steps.denominator)
        if steps.denominator == 1:
            return inner, inner
        return inner, self.run(inner.high - inner.low + 1)

    def first(self) -> StepRange:
        return self.run(1)

    def expected_distance(self, curve: RefinementCurve) -> float:
        if not isinstance(self.distance, AbsoluteDistance):
            values, weights = self.prior.representatives(4 * REPRESENTATIVES)
            return curve.mean(self.distance.between(self.truth, values), weights)
        middle = self.prior.below(self.truth)
        nearest = float(self.prior.at(np.array([self.first().low], dtype=np.int64))[0])
        total = float(curve.moved) * abs(nearest - self.truth)
        runs = [
            StepRange(self.prior, 0, 0),
            *(self.around(share)[0] for share in curve.breaks),
            StepRange(self.prior, 0, self.prior.count),
        ]
        for inner, outer in pairwise(runs):
            if outer.mass > inner.mass:
                spread = self._spread(outer, middle) - self._spread(inner, middle)
                total += float(curve.factor(inner.mass, outer.mass)) * spread
        return total

    def _spread(self, run: StepRange, middle: int) -> float:
        """The integral of |value − truth| over a range of steps."""
        cut = min(max(middle, run.low), run.high)
        above = self.prior.integral(cut, run.high, 1, self.truth)
        return above - self.prior.integral(run.low, cut, 1, self.truth)


class HistogramPrior(QuantilePrior):
    """Numbers in bins: edges in rising order, a probability for each bin, even within it.

    Each bin has a whole number of steps, exactly its share, as long as the probabilities have a common denominator below
    2^62; otherwise its share is rounded to a step.
    """

    def __init__(self, edges: Sequence[Number], probabilities: Sequence[Number]) -> None:
        marks = [exact(edge, "an edge of the prior") for edge in edges]
        if len(marks) != len(probabilities) + 1 or len(marks) < 2 or len(marks) > MOST_VALUES:
            raise ParameterError(
                "a histogram has one more edge than bins", came=f"{len(marks)} edges, {len(probabilities)} bins"
            )
        self.edges = np.array([_float(mark) for mark in marks])
        if not np.isfinite(self.edges).all() or not (np.diff(self.edges) > 0).all():
            raise ParameterError(
                "the edges of a prior are not in increasing order", allowed="finite numbers, each above the one before"
            )
        self.masses = check_probabilities(probabilities)
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


class UniformPrior(HistogramPrior):
    """The uniform prior on an interval."""

    def __init__(self, low: Number = 0, high: Number = 1) -> None:
        super().__init__([low, high], [1])


class ContinuousPrior(QuantilePrior):
    """A frozen continuous distribution of scipy.stats."""

    def __init__(self, distribution: Any) -> None:
        self.distribution = distribution
        self.count = 1 << BITS
        low, high = distribution.support()
        self._ends = float(low), float(high)
        probe = self.at(np.array([0, self.count // 2, self.count - 1], dtype=np.int64))
        if not np.isfinite(probe).all() or not probe[0] < probe[2]:
            raise UsageError(
                "the quantiles of the prior are not finite or do not increase", allowed="a proper distribution"
            )
        self.center = float(probe[1])

    def at(self, steps: Points) -> NDArray[np.float64]:
        quantiles = self.distribution.ppf((2 * steps + 1) / (2.0 * self.count))
        return np.asarray(np.clip(quantiles, self._ends[0], self._ends[1]), dtype=np.float64)

    def below(self, value: float) -> int:
        return min(self.count, max(0, int(float(self.distribution.cdf(value)) * self.count)))

    def density(self, value: float) -> float:
        return float(self.distribution.pdf(value))

    def integral(self, low: int, high: int, power: int, center: float) -> float:
        """The integral by Gauss's rule over the log-odds of the quantile, where tails are as wide as the middle."""
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
        values = np.where(
            odds < 0, self.distribution.ppf(np.minimum(below, 0.5)), self.distribution.isf(np.minimum(above, 0.5))
        )
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


def discrete_prior(distribution: Any) -> DiscretePrior:
    """A frozen discrete distribution of scipy.stats, its probabilities rounded to steps of 2^-52: beyond them it ends."""
    ends = np.array([distribution.ppf(share) for share in (0.5**BITS, 1 - 0.5**BITS)], dtype=np.float64)
    points = np.append(ends, getattr(distribution.dist, "xk", ends))
    if not np.isfinite(ends).all() or not np.equal(points, np.rint(points)).all():
        raise UsageError("the prior is not on whole numbers", fix="list its values with their probabilities instead")
    lowest, highest = (int(end) for end in ends)
    if highest - lowest >= MOST_VALUES:
        raise ParameterError(
            "a prior lists too many values", came=f"{highest - lowest + 1:,}", allowed=f"{MOST_VALUES:,}"
        )
    values = np.arange(lowest, highest + 1)
    below = np.minimum(np.rint(distribution.cdf(values) * 2.0**BITS), 2.0**BITS).astype(np.int64)
    below[-1] = 1 << BITS
    counts = np.diff(np.maximum.accumulate(below), prepend=0)
    return DiscretePrior({int(v): Fraction(int(c), 1 << BITS) for v, c in zip(values, counts, strict=True)})


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _of_scipy(distribution: Any) -> Prior:
    """A frozen distribution, or one that has nothing to be frozen."""
    from scipy.stats import rv_continuous, rv_discrete

    freezable = isinstance(distribution, rv_continuous | rv_discrete) and not distribution.numargs
    frozen = distribution.freeze() if freezable else distribution
    family = getattr(frozen, "dist", None)
    if isinstance(family, rv_continuous):
        return ContinuousPrior(frozen)
    if isinstance(family, rv_discrete):
        return discrete_prior(frozen)
    raise UsageError(
        "a scipy.stats distribution without its parameters",
        came=type(distribution).__name__,
        fix="give it its parameters",
    )


def as_prior(given: Any) -> Prior:
    """A prior from a Prior, a mapping of values to probabilities, or a frozen scipy.stats distribution.

    >>> as_prior({"a": "1/3", "b": "2/3"}).masses
    (Fraction(1, 3), Fraction(2, 3))
    """
    if isinstance(given, Prior):
        return given
    if isinstance(given, Mapping):
        return DiscretePrior(given)
    if hasattr(given, "ppf"):
        return _of_scipy(given)
    raise UsageError(
        "a prior of an unknown form",
        came=type(given).__name__,
        allowed="a mapping of values to probabilities, a frozen scipy.stats distribution, or one of the priors of this module",
    )
