"""What an analyst knows beforehand: a law over possible answers, listed with exact probabilities.

Every prior is a finite set of points with exact probabilities, fixed before any answer is known. A Ball is a set of points
with its exact mass; an Order lists the points from the nearest to a true answer to the farthest, as nested balls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance.exact import Bounds, InversionSampler, fraction_bounds
from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.rounding import Number, exact
from shoal.mechanism.refinement.distance import Distance, number
from shoal.mechanism.refinement.factors import Gain

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
        """Which points are in it."""

    @abstractmethod
    def around(self, inner: Ball) -> Ball:
        """The ball made large enough to hold a smaller one, should rounding have left that out."""

    @abstractmethod
    def draw(self, source: Source, size: int) -> Points:
        """Points of the prior given that they are in it."""

    @abstractmethod
    def moment(self, power: int) -> Any:
        """The integral over it of (value − the prior's center) to this power; None where values are no numbers."""

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
    def expected(self, gain: Gain) -> float:
        """The mean distance under the refined law."""


class Prior(ABC):
    """A law over finitely many points."""

    listed: tuple[Any, ...] | None = None
    """All possible values, where they are listed."""

    @abstractmethod
    def propose(self, source: Source, size: int) -> Points:
        """Independent points, exactly by their probabilities."""

    @abstractmethod
    def values(self, points: Points) -> NDArray[Any]:
        """The answers that points stand for."""

    @abstractmethod
    def order(self, distance: Distance, truth: Any) -> Order:
        """By nearness to a true answer; None, or what cannot be placed, is equally far from everything."""

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
        """Whether nearness by this distance can be told."""
        return isinstance(distance, Distance)


@dataclass(frozen=True)
class Anywhere(Order):
    """No order at all: every point is as far as every other."""

    prior: Prior
    far: float = nan

    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        whole = self.prior.whole()
        return (whole, whole) if share >= 1 else (self.prior.nothing(), whole)

    def first(self) -> Ball:
        return self.prior.whole()

    def expected(self, gain: Gain) -> float:  # noqa: ARG002 - a refinement of no order is the prior
        return self.far


class Discrete(Prior):
    """Listed values with exact probabilities; a value of probability zero is left out and never comes out.

    Probabilities are read as written: "1/3", "0.1", 0.1. If all are text, whole numbers or fractions they sum to
    exactly one; floats may miss it by a billionth and are then fraction_bounds.
    """

    def __init__(self, probabilities: Mapping[Any, Number]) -> None:
        masses = shares(list(probabilities.values()))
        kept = [(value, mass) for value, mass in zip(probabilities, masses, strict=True) if mass]
        if len(kept) > MOST_VALUES:
            raise ParameterError("a prior lists too many values", came=f"{len(kept):,}", allowed=f"{MOST_VALUES:,}")
        self.listed: tuple[Any, ...] = tuple(value for value, _ in kept)
        self.masses = tuple(mass for _, mass in kept)

    @cached_property
    def _cuts(self) -> InversionSampler:
        return cuts(self.masses)

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The values as fractions, if all are numbers."""
        found = [number(value) for value in self.listed]
        return None if None in found else tuple(value for value in found if value is not None)

    @cached_property
    def center(self) -> Fraction:
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
        return self._cuts.draw(source, size)

    def values(self, points: Points) -> NDArray[Any]:
        return np.asarray(self._objects[points])

    def order(self, distance: Distance, truth: Any) -> Order:
        if truth is None:
            return Anywhere(self)
        far = distance.between(truth, self.listed)
        levels = sorted(set(far))
        if len(levels) == 1:
            return Anywhere(self, float(levels[0]))
        rank = {level: place for place, level in enumerate(levels)}
        ranks = np.array([rank[level] for level in far], dtype=np.int64)
        masses = [Fraction(0)] * len(levels)
        for place, mass in zip(ranks, self.masses, strict=True):
            masses[place] += mass
        return Shells(self, ranks, (Fraction(0), *accumulate(masses)), tuple(levels))

    def whole(self) -> Ball:
        return Shell(self, np.zeros(len(self.listed), dtype=np.int64), 1, Fraction(1))

    def nothing(self) -> Ball:
        return Shell(self, np.zeros(len(self.listed), dtype=np.int64), 0, Fraction(0))

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        if len(self.listed) <= count:
            return list(self.listed), np.array([float(mass) for mass in self.masses])
        ends = list(accumulate(self.masses))
        chosen = [bisect_right(ends, Fraction(2 * place + 1, 2 * count)) for place in range(count)]
        return [self.listed[place] for place in chosen], np.full(count, 1 / count)


@dataclass(frozen=True)
class Shells(Order):
    """Listed values in shells of equal distance: one shell is never divided."""

    prior: Discrete
    ranks: Points
    ends: tuple[Fraction, ...]
    levels: tuple[Any, ...]

    def ball(self, shells: int) -> Ball:
        """The nearest shells."""
        return Shell(self.prior, self.ranks, shells, self.ends[shells])

    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        return self.ball(bisect_right(self.ends, share) - 1), self.ball(bisect_left(self.ends, share))

    def first(self) -> Ball:
        return self.ball(1)

    def expected(self, gain: Gain) -> float:
        steps = [gain(end) for end in self.ends]
        steps[0] -= gain.moved
        return sum(float(far) * float(steps[i + 1] - steps[i]) for i, far in enumerate(self.levels))


@dataclass(frozen=True)
class Shell(Ball):
    """The listed values of the nearest shells."""

    prior: Discrete
    ranks: Points
    shells: int
    mass: Fraction

    def holds(self, points: Points) -> NDArray[np.bool_]:
        return np.asarray(self.ranks[points] < self.shells)

    def around(self, inner: Ball) -> Ball:
        # Shells of one true answer are nested, so the heavier of two holds the other.
        return inner if inner.mass > self.mass else self

    def draw(self, source: Source, size: int) -> Points:
        inside = np.flatnonzero(self.ranks < self.shells)
        return inside[cuts([self.prior.masses[place] / self.mass for place in inside]).draw(source, size)]

    def moment(self, power: int) -> float | None:
        if self.prior.numbers is None:
            return None
        pairs = zip(self.prior.numbers, self.prior.masses, self.ranks, strict=True)
        center = self.prior.center
        return float(sum((value - center) ** power * mass for value, mass, rank in pairs if rank < self.shells))

    @property
    def size(self) -> int:
        return int(np.count_nonzero(self.ranks < self.shells))


def shares(given: Sequence[Number]) -> list[Fraction]:
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


def cuts(masses: Sequence[Fraction]) -> InversionSampler:
    """The exact draw of an index by these probabilities, which sum to one and are above 0."""
    ends = list(accumulate(masses))[:-1]

    def cut(index: int, bits: int) -> Bounds:
        return fraction_bounds(ends[index], bits)

    return InversionSampler(cut, len(ends))
