"""Priors over several answers at once, and whatever else may be meant by a prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, UsageError
from shoal.mechanism.refinement.distance import Absolute, Distance, Norm, usual
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
    Shells,
)
from shoal.mechanism.refinement.prior_steps import Continuous, Line, Run, Steps, discrete_law

_HALVINGS = 100


class Joint(Prior):
    """Independent answers, at least one of them on a line; a ball is a box, so the distance is a largest part.

    Points are rows, one column for each part.
    """

    def __init__(self, parts: Sequence[Prior]) -> None:
        self.parts = tuple(parts)
        if not self.parts or not all(isinstance(part, Discrete | Steps) for part in self.parts):
            raise UsageError("a joint prior has parts that do not fit", allowed="listed values and numbers on a line")

    def propose(self, source: Source, size: int) -> Points:
        return np.stack([part.propose(source, size) for part in self.parts], axis=1)

    def values(self, points: Points) -> NDArray[Any]:
        columns = [part.values(points[:, place]).tolist() for place, part in enumerate(self.parts)]
        rows = np.empty(len(points), dtype=object)
        rows[:] = list(zip(*columns, strict=True))
        return rows

    def usual(self) -> Norm:
        """The largest of what suits each part."""
        return Norm("max", [Absolute() if part.listed is None else usual(part.listed) for part in self.parts])

    def suits(self, distance: Distance) -> bool:
        return (
            isinstance(distance, Norm)
            and distance.kind == "max"
            and len(distance.parts) == len(self.parts)
            and all(
                isinstance(way, Absolute) if isinstance(part, Steps) else part.suits(way)
                for part, way in zip(self.parts, distance.parts, strict=True)
            )
        )

    def order(self, distance: Distance, truth: Any) -> Order:
        fits = isinstance(truth, tuple | list | np.ndarray) and len(truth) == len(self.parts)
        if not fits or not isinstance(distance, Norm):
            return Anywhere(self)
        orders = tuple(part.order(way, t) for part, way, t in zip(self.parts, distance.parts, truth, strict=True))
        return Boxes(self, distance, orders, tuple(truth))

    def whole(self) -> Ball:
        return Box(tuple(part.whole() for part in self.parts))

    def nothing(self) -> Ball:
        return Box(tuple(part.nothing() for part in self.parts))

    def representatives(self, count: int = REPRESENTATIVES) -> tuple[list[Any], NDArray[np.float64]]:
        """A lattice that spreads evenly over all parts at once."""
        columns = []
        for place, part in enumerate(self.parts):
            values, weights = part.representatives(count)
            turned = (np.arange(count) * _golden(place, len(self.parts)) + 0.5 / count) % 1
            columns.append(
                [values[i] for i in np.minimum(np.searchsorted(np.cumsum(weights), turned), len(values) - 1)]
            )
        return list(zip(*columns, strict=True)), np.full(count, 1 / count)


@dataclass(frozen=True)
class Box(Ball):
    """A ball in each part."""

    sides: tuple[Ball, ...]

    @property
    def mass(self) -> Fraction:  # type: ignore[override]
        return prod((side.mass for side in self.sides), start=Fraction(1))

    def holds(self, points: Points) -> NDArray[np.bool_]:
        inside = [side.holds(points[:, place]) for place, side in enumerate(self.sides)]
        return np.asarray(np.logical_and.reduce(inside))

    def around(self, inner: Ball) -> Ball:
        if not isinstance(inner, Box) or not inner.mass:
            return self
        return Box(tuple(mine.around(its) for mine, its in zip(self.sides, inner.sides, strict=True)))

    def draw(self, source: Source, size: int) -> Points:
        return np.stack([side.draw(source, size) for side in self.sides], axis=1)

    def moment(self, power: int) -> tuple[float | None, ...]:
        """One for each part: its own, times the masses of the others."""
        if not self.mass:
            return tuple(None if side.moment(power) is None else 0.0 for side in self.sides)
        own = [side.moment(power) for side in self.sides]
        return tuple(
            None if moment is None else moment * float(self.mass / side.mass)
            for moment, side in zip(own, self.sides, strict=True)
        )

    @property
    def size(self) -> tuple[Any, ...]:
        """One for each part."""
        return tuple(side.size for side in self.sides)


@dataclass(frozen=True)
class Boxes(Order):
    """Boxes that grow around a true answer, every side by the same weighted distance."""

    prior: Joint
    distance: Norm
    orders: tuple[Order, ...]
    truth: tuple[Any, ...]

    def box(self, radius: float) -> Box:
        """What is at most this far in every part."""
        sides = zip(self.orders, self.distance.weights, self.prior.parts, strict=True)
        return Box(tuple(_side(order, radius / float(weight), part) for order, weight, part in sides))

    def around(self, share: Fraction) -> tuple[Ball, Ball]:
        low, high = 0.0, self._farthest()
        inner, outer = self.box(low), self.box(high)
        if inner.mass > share:
            return self.prior.nothing(), inner
        if outer.mass < share:
            return outer, self.prior.whole()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if inner.mass == share or not low < middle < high:
                break
            box = self.box(middle)
            if box.mass <= share:
                low, inner = middle, box
            else:
                high, outer = middle, box
        return (inner, inner) if inner.mass == share else (inner, outer)

    def first(self) -> Ball:
        return Box(tuple(order.first() for order in self.orders))

    def expected(self, gain: Gain) -> float:
        values, weights = self.prior.representatives(4 * REPRESENTATIVES)
        return gain.mean(self.distance.between(self.truth, values), weights)

    def _farthest(self) -> float:
        """A radius whose box holds every point that can be placed."""
        reach = [1.0]
        for order, weight in zip(self.orders, self.distance.weights, strict=True):
            if isinstance(order, Line):
                ends = order.prior.at(np.array([0, order.prior.count - 1], dtype=np.int64))
                reach.append(float(weight) * float(np.abs(ends - order.truth).max()))
            elif isinstance(order, Shells):
                reach += [float(weight) * float(level) for level in order.levels if isfinite(level)]
        return 2 * max(reach)


def _side(order: Order, radius: float, part: Prior) -> Ball:
    """The points of one part that are at most this far."""
    if isinstance(order, Shells):
        return order.ball(sum(float(level) <= radius for level in order.levels))
    if isinstance(order, Line):
        steps = order.prior
        low, high = steps.below(order.truth - radius), steps.below(order.truth + radius)
        return Run(steps, low, max(low, high))
    return part.whole()


def _golden(place: int, parts: int) -> float:
    """The step of one column of the lattice: powers of the root of x^(parts + 1) = x + 1, the golden ratio for one."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (parts + 1))
    return float(root ** -(place + 1))


def joint(*parts: Any) -> Prior:
    """A prior over several independent answers; listed as tuples where all parts are listed."""
    priors = [prior_of(part) for part in parts]
    listed = [prior for prior in priors if isinstance(prior, Discrete)]
    if not priors:
        raise UsageError("the prior has no support", came="no parts", allowed="at least one part")
    if len(listed) < len(priors):
        return Joint(priors)
    if prod(len(prior.masses) for prior in listed) > MOST_VALUES:
        raise ParameterError(
            "a prior lists too many values", came="the product of its parts", allowed=f"{MOST_VALUES:,}"
        )
    rows = zip(product(*(prior.listed for prior in listed)), product(*(prior.masses for prior in listed)), strict=True)
    return Discrete({row: prod(masses, start=Fraction(1)) for row, masses in rows})


def _of_scipy(law: Any) -> Prior:
    """A frozen distribution, or one that has nothing to be frozen."""
    from scipy.stats import rv_continuous, rv_discrete

    frozen = law.freeze() if isinstance(law, rv_continuous | rv_discrete) and not law.numargs else law
    family = getattr(frozen, "dist", None)
    if isinstance(family, rv_continuous):
        return Continuous(frozen)
    if isinstance(family, rv_discrete):
        return discrete_law(frozen)
    raise UsageError("this distribution is not frozen", came=type(law).__name__, fix="give it its parameters")


def prior_of(meant: Any) -> Prior:
    """The prior meant by a Prior, a mapping of values to probabilities, a frozen scipy.stats law, or a tuple of such."""
    if isinstance(meant, Prior):
        return meant
    if isinstance(meant, Mapping):
        return Discrete(meant)
    if isinstance(meant, tuple | list):
        return joint(*meant)
    if hasattr(meant, "ppf"):
        return _of_scipy(meant)
    raise UsageError(
        "this is no prior",
        came=type(meant).__name__,
        allowed="Uniform, Discrete, Histogram, a mapping of values to probabilities, a frozen scipy.stats distribution, joint(…)",
    )
