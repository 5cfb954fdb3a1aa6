"""The curve of a whole release: delta at each epsilon for everything that is published, and for the unit of its plan.

One sample: what was paid in pure epsilon before it was drawn (the choice of views, of the recoding) is taken off epsilon, and
the sample's own delta for the unit at what is left is the delta of both together (theorems `eps-safe-recoding`, `view-choice`
and `basic-composition`; for several rows, or for replacing, with `group-privacy` and `replace-one`).
Several samples: what all parts compose to (theorem `pld-composition`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from shoal.errors import UsageError
from shoal.guarantee.base import Guarantee
from shoal.guarantee.compose import Composition, compose
from shoal.guarantee.differential import ApproxDP
from shoal.guarantee.safe_k.curve import delta_exactly
from shoal.guarantee.safe_k.promise import Promise

EPSILONS = tuple(
    Fraction(text)
    for text in ("0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "6", "8", "10", "12", "16", "20")
)
"""The round epsilons at which a curve is printed, as far as they are not far above what is promised."""
FAR = 4
"""Epsilons above this, and above twice the promised one, are left out."""
SMALLEST_COMPOSED = Fraction(1, 10**10)
"""A composed delta below this is not printed: the arithmetic of distributions is not relied on there."""


@dataclass(frozen=True)
class CurvePoint:
    """One epsilon and its delta; for a unit of several steps, how epsilon is split over them (what was paid before left out)."""

    epsilon: Fraction
    delta: Fraction
    split: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class ReleaseCurve:
    """delta of a whole release at any epsilon, never below the truth.

    `samples` are the numbers of every table that is published, `paid` is the pure epsilon spent before they were drawn,
    `parts` is what the release was charged for, and `total` is what it promises.
    """

    samples: tuple[Promise, ...]
    paid: Fraction
    parts: tuple[tuple[Guarantee, int], ...]
    total: ApproxDP

    def __post_init__(self) -> None:
        if not self.samples:
            raise UsageError("a release publishes at least one table")

    @property
    def is_one_sample(self) -> bool:
        """Whether one table is published, so that nothing has to be composed but what was paid before it."""
        return len(self.samples) == 1

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """The smallest delta that is proved at epsilon; 1 where nothing is."""
        return self.point_at(epsilon).delta

    def point_at(self, epsilon: Fraction) -> CurvePoint:
        """delta at epsilon, with what shows it."""
        found = self._of_one(epsilon) if self.is_one_sample else self._of_all(epsilon)
        if epsilon >= self.total.epsilon and found.delta > self.total.delta:
            return CurvePoint(epsilon, self.total.delta, found.split)  # what is promised holds from its own epsilon on
        return found

    def points(self) -> list[CurvePoint]:
        """Round epsilons and the promised one with their deltas, where there is something to say."""
        own = self.total.epsilon
        far = max(Fraction(FAR), 2 * own)
        found = [self.point_at(epsilon) for epsilon in sorted({*(e for e in EPSILONS if e <= far), own})]
        least = Fraction(0) if self.is_one_sample else SMALLEST_COMPOSED
        return [point for point in found if point.epsilon == own or least <= point.delta < 1]

    def _of_one(self, epsilon: Fraction) -> CurvePoint:
        sample, left = self.samples[0], epsilon - self.paid
        if left < 0:
            return CurvePoint(epsilon, Fraction(1))
        if sample.whose.is_one_step:
            return CurvePoint(epsilon, delta_exactly(sample.k, sample.beta, left))
        chain = sample.whose.chain(sample.k, sample.beta, left)
        return CurvePoint(epsilon, Fraction(chain.delta), chain.split)

    def _of_all(self, epsilon: Fraction) -> CurvePoint:
        return CurvePoint(epsilon, min(Fraction(1), Fraction(self._composed.delta_at(epsilon))))

    @cached_property
    def _composed(self) -> Composition:
        return compose(self.parts)


def curve_of_promise(promise: Promise) -> ReleaseCurve:
    """The curve of a release of one table with these numbers."""
    total = ApproxDP(promise.epsilon, promise.delta)
    return ReleaseCurve((promise,), promise.epsilon_recoding, ((total, 1),), total)


def release_curve(
    samples: Sequence[Promise], paid: Fraction, parts: Sequence[tuple[Guarantee, int]], total: ApproxDP
) -> ReleaseCurve:
    """The curve of a release that publishes these samples after paying so much for what was chosen on the table."""
    return ReleaseCurve(tuple(samples), paid, tuple(parts), total)
