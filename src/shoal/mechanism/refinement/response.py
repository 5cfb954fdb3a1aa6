"""The refined distribution for one true answer: for the custodian alone; the analyst gets one sample of it.

Everything here except what `sample` returns reveals the true answer, and must not be published.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.chance.exact import Bounds, InversionSampler, fraction_bounds
from shoal.chance.source import Source
from shoal.errors import UsageError
from shoal.mechanism.refinement.distance import number
from shoal.mechanism.refinement.factors import RefinementCurve
from shoal.mechanism.refinement.prior import Ball, DiscretePrior, Order, Points, Prior, QuantilePrior, StepRange

_BATCH = 1 << 19


@dataclass(frozen=True)
class RefinedDistribution:
    """A prior raised near the true answer and lowered elsewhere: rings between nested balls, each with its factor.

    For the custodian alone: every figure reveals the true answer.
    """

    prior: Prior
    curve: RefinementCurve
    order: Order

    @cached_property
    def balls(self) -> tuple[Ball, ...]:
        """Nested balls, from the empty one to all points, with strictly increasing masses."""
        found = [ball for share in self.curve.breaks for ball in self.order.around(share)]
        chain = [self.prior.nothing()]
        for ball in [*sorted(found, key=lambda ball: ball.mass), self.prior.whole()]:
            wider = ball.around(chain[-1])
            if wider.mass > chain[-1].mass:
                chain.append(wider)
        return tuple(chain)

    @cached_property
    def factors(self) -> tuple[Fraction, ...]:
        """The factor of the prior probability in each ring, from the nearest ring to the farthest; never increasing."""
        return tuple(self.curve.factor(inner.mass, outer.mass) for inner, outer in pairwise(self.balls))

    @cached_property
    def nearest(self) -> Ball:
        """The nearest points, which get the mass that delta moves."""
        return self.order.first()

    # --- the set that is raised ---------------------------------------------------------------------------------

    @property
    def near(self) -> Ball:
        """U_u: the largest ball that is raised by the full factor."""
        return self.order.around(self.curve.near)[0]

    @property
    def near_size(self) -> Any:
        """The length of the raised interval, or the number of raised values."""
        return self.near.size

    @property
    def near_probability(self) -> float:
        """The probability that the answer lies in the ball that is raised."""
        near = self.near
        moved = self.curve.moved if near.mass >= self.nearest.mass else 0
        return float(self.curve(near.mass) + moved)

    # --- the distribution ------------------------------------------------------------------------------------------------

    @property
    def masses(self) -> dict[Any, Fraction]:
        """The exact probability of each listed value."""
        if not isinstance(self.prior, DiscretePrior):
            raise UsageError(
                "a distribution over numbers on a line has no list of values", fix="ask for its density or its cdf"
            )
        points = np.arange(len(self.prior.masses))
        factors = [self.factors[ring] for ring in self.rings(points)]
        extra = self.curve.moved / self.nearest.mass
        given = [extra if held else Fraction(0) for held in self.nearest.holds(points)]
        triples = zip(self.prior.listed, self.prior.masses, factors, given, strict=True)
        return {value: mass * (factor + more) for value, mass, factor, more in triples}

    def pmf(self, value: Any) -> Fraction:
        """The probability of a listed value; zero for any other."""
        return self.masses.get(value, Fraction(0))

    def density(self, value: float) -> float:
        """The density at a number, without what was moved to the nearest step."""
        steps = self._steps()
        if not (prior := steps.density(float(value))):
            return 0.0
        step = min(steps.below(float(value)), steps.count - 1)
        return prior * float(self.factors[self.rings(np.array([step], dtype=np.int64))[0]])

    def cdf(self, value: Any) -> float:
        """The probability of an answer up to a number."""
        if isinstance(self.prior, DiscretePrior):
            here, numbers = number(value), self.prior.numbers
            if here is None or numbers is None:
                raise UsageError("the values of the prior are no numbers, so there is no cumulative distribution")
            return float(sum(mass for at, mass in zip(numbers, self.masses.values(), strict=True) if at <= here))
        steps = self._steps()
        reached = steps.below(float(value))
        total = self._share(self.nearest, reached) * self.curve.moved / self.nearest.mass
        for (inner, outer), factor in zip(pairwise(self.balls), self.factors, strict=True):
            total += factor * (self._share(outer, reached) - self._share(inner, reached))
        return float(total)

    @cached_property
    def mean(self) -> Any:
        """The mean of the answer; None where values are no numbers."""
        first = self._integral(1)
        return None if first is None else first + float(self.prior.center)

    @cached_property
    def variance(self) -> Any:
        """The variance of the answer; None where values are no numbers."""
        first, second = self._integral(1), self._integral(2)
        return None if first is None or second is None else second - first**2

    @property
    def expected_distance(self) -> float:
        """The mean distance from the true answer; nan if the true answer has no distance from the values of the prior."""
        return self.order.expected_distance(self.curve)

    # --- one sample ---------------------------------------------------------------------------------------------

    def rings(self, points: Points) -> NDArray[np.int64]:
        """The number of the ring in which each point lies, 0 for the nearest."""
        outside = [~ball.holds(points) for ball in self.balls[1:-1]]
        return np.sum(outside, axis=0, dtype=np.int64) if outside else np.zeros(len(points), dtype=np.int64)

    def sample(self, source: Source, size: int) -> NDArray[Any]:
        """Independent answers: from the prior, each kept with probability factor/up.

        A draw is kept with probability (1 − moved)/up whatever the true answer is, so the number of draws tells nothing,
        and each draw takes the same work. What was moved is drawn for every answer, too, and used for some.
        """
        kept = self._accept(source, size)
        if self.curve.moved:
            moved = source.bernoulli(self.curve.moved, size)
            points = self.nearest.draw(source, size)
            kept = np.where(moved, points, kept)
        return self.prior.values(kept)

    def _accept(self, source: Source, size: int) -> Points:
        chances = [factor / self.curve.up for factor in self.factors]
        marks = sorted({chance for chance in chances if 0 < chance < 1})

        def bounds(index: int, bits: int) -> Bounds:
            return fraction_bounds(marks[index], bits)

        coins = InversionSampler(bounds, len(marks))
        # A coin that has passed at most `allowed` marks keeps a point of that ring; none keeps a point of chance 0.
        allowed = np.array([sum(mark < chance for mark in marks) if chance else -1 for chance in chances])
        needed = float(self.curve.up / (1 - self.curve.moved))
        parts, found = [np.empty((0,), dtype=np.int64)], 0
        while found < size:
            wanted = (size - found) * needed
            count = min(_BATCH, int(wanted + 4 * wanted**0.5) + 16)
            points = self.prior.propose(source, count)
            kept = points[coins.draw(source, count) <= allowed[self.rings(points)]]
            parts = [kept] if not found else [*parts, kept]
            found += len(kept)
        return np.concatenate(parts)[:size] if size else self.prior.propose(source, 0)

    # --- sums over rings ----------------------------------------------------------------------------------------

    def _integral(self, power: int) -> float | None:
        """The mean of (value − the prior's center) to this power; None where values are no numbers."""
        moments = [ball.moment(power) for ball in self.balls]
        nearest = self.nearest.moment(power)
        if nearest is None or any(moment is None for moment in moments):
            return None
        numbers = [moment for moment in moments if moment is not None]
        rings = zip(pairwise(numbers), self.factors, strict=True)
        moved = float(self.curve.moved / self.nearest.mass) * nearest if self.curve.moved else 0.0
        return sum((float(factor) * (outer - inner) for (inner, outer), factor in rings), moved)

    def _steps(self) -> QuantilePrior:
        if not isinstance(self.prior, QuantilePrior):
            raise UsageError(
                "only a distribution over numbers on a line has a density", fix="ask for the masses of listed values"
            )
        return self.prior

    def _share(self, ball: Ball, reached: int) -> Fraction:
        """The mass of the part of a run below a step."""
        if not isinstance(ball, StepRange):
            return Fraction(0)
        return Fraction(max(0, min(ball.high, reached) - ball.low), ball.prior.count)
