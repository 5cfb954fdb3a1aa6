"""The factors of a refinement: by how much it raises the prior near the true answer and lowers it elsewhere, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.chance.exact import exp_bounds

Kind = Literal["individual", "statistical"]
KINDS: tuple[Kind, ...] = ("individual", "statistical")
_BITS = 128


@dataclass(frozen=True)
class RefinementCurve:
    """The refined distribution as a curve over the prior mass, from the nearest point to the farthest.

    The nearest points of prior mass x get the probability min(L(x), 1 − moved), where L rises with slope `up` as far as
    `near` and with slope `down` beyond, and L(1) = 1. What is `moved` is taken from the farthest points and given
    to the nearest ones. An atom gets the mean slope over its mass, so that the total is one whatever the atoms are.
    """

    up: Fraction
    down: Fraction
    moved: Fraction = Fraction(0)

    @cached_property
    def near(self) -> Fraction:
        """The prior mass that is raised: p_u = (1 − down)/(up − down) (SC13 Algorithm 5.1 has it the wrong way round)."""
        return (1 - self.down) / (self.up - self.down) if self.up > self.down else Fraction(0)

    def __call__(self, mass: Fraction) -> Fraction:
        """The refined probability of the nearest points of this prior mass, without what was moved to the nearest."""
        raised = min(mass, self.near)
        return min(self.up * raised + self.down * (mass - raised), 1 - self.moved)

    @cached_property
    def breaks(self) -> tuple[Fraction, ...]:
        """The prior masses at which the slope changes."""
        marks = {self.near}
        if self.moved:
            kept, raised = 1 - self.moved, self.up * self.near
            marks.add(kept / self.up if kept <= raised else self.near + (kept - raised) / self.down)
        return tuple(sorted(mark for mark in marks if 0 < mark < 1))

    def factor(self, inner: Fraction, outer: Fraction) -> Fraction:
        """The factor of the points between two masses: the mean slope there."""
        return (self(outer) - self(inner)) / (outer - inner)

    def mean(self, far: Sequence[Fraction | float], weights: NDArray[np.float64]) -> float:
        """The mean distance under the refined distribution, given distances with their prior weights."""
        values = np.array([float(value) for value in far])
        nearest = np.argsort(values, kind="stable")
        return float(values[nearest] @ self.shares(np.cumsum(weights[nearest])))

    def shares(self, ends: NDArray[np.float64]) -> NDArray[np.float64]:
        """The refined probabilities, as floats, of rings that end at these prior masses, along the last axis."""
        up, down, near, moved = (float(number) for number in (self.up, self.down, self.near, self.moved))
        raised = np.minimum(ends, near)
        reached = np.minimum(up * raised + down * (ends - raised), 1 - moved)
        shares = np.diff(reached, axis=-1, prepend=0.0)
        shares[..., 0] += moved
        return np.asarray(shares)


def inverse_growth(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions just below and just above exp(−epsilon)."""
    lower, upper = exp_bounds(epsilon, _BITS)
    return Fraction(lower, 1 << _BITS), Fraction(upper, 1 << _BITS)


def individual_curve(epsilon: Fraction, delta: Fraction) -> RefinementCurve:
    """For a question about one person: e^epsilon and e^−epsilon against the prior, delta · e^−epsilon moved."""
    below, above = inverse_growth(epsilon)
    return RefinementCurve(1 / above, above, delta * below)


def statistical_curve(epsilon: Fraction, delta: Fraction, up: Fraction) -> RefinementCurve:
    """For a question about many: factors whose quotient is e^epsilon, delta / (1 + e^epsilon) moved."""
    below, above = inverse_growth(epsilon)
    return RefinementCurve(up, up * above, delta * below / (1 + below))
