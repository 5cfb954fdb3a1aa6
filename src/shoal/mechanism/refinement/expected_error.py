"""What a refinement can be expected to give, from the prior alone: the mean distance, and the factor that makes it least."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.mechanism.refinement.distance import Absolute, Distance, Norm
from shoal.mechanism.refinement.factors import Gain
from shoal.mechanism.refinement.prior import REPRESENTATIVES, Prior

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outlook:
    """Distances between points that stand for the prior: a row for each true answer, the nearest first."""

    weights: Floats
    far: Floats
    ends: Floats
    complete: bool
    """Whether the points are all values of the prior, so that what is computed from them is no approximation."""

    @classmethod
    def of(cls, prior: Prior, distance: Distance) -> Outlook:
        """From the prior and the distance; no true answer takes part."""
        quick = isinstance(distance, Absolute | Norm)
        values, weights = prior.representatives(REPRESENTATIVES if quick else REPRESENTATIVES // 4)
        far = distance.matrix(values)
        nearest = np.argsort(far, axis=1, kind="stable")
        ends = np.minimum(np.cumsum(weights[nearest], axis=1), 1.0)
        ends[:, -1] = 1.0
        complete = prior.listed is not None and len(prior.listed) == len(values)
        return cls(weights, np.take_along_axis(far, nearest, axis=1), ends, complete)

    def mean(self, gain: Gain) -> float:
        """The mean distance of an answer from the truth when the truth follows the prior."""
        return float(self.weights @ (gain.shares(self.ends) * self.far).sum(axis=1))

    def best_up(self, ratio: Fraction) -> Fraction:
        """The factor up, with up/down = ratio, that makes the mean distance least.

        With p the raised mass, up = ratio/(1 + p (ratio − 1)) and the mean distance is
        (G(1) + (ratio − 1) G(p))/(1 + p (ratio − 1)), G(p) the mean of the p nearest. G is convex and linear between the
        ends of atoms, and there a quotient of linear functions is monotone: the least value is at an end of an atom.
        """
        steps = np.diff(self.far, axis=1, append=self.far[:, -1:]) * self.weights[:, None]
        order = np.argsort(self.ends, axis=None)
        marks = self.ends.ravel()[order]
        slopes = float(self.weights @ self.far[:, 0]) + np.cumsum(steps.ravel()[order])
        lengths = np.diff(marks, prepend=0.0)
        before = np.concatenate([[float(self.weights @ self.far[:, 0])], slopes[:-1]])
        reached = np.cumsum(lengths * before)
        growth = float(ratio) - 1
        costs = (reached[-1] + growth * reached) / (1 + marks * growth)
        least = int(np.argmin(costs))
        raised = Fraction(float(marks[least])) if costs[least] < reached[-1] else Fraction(1)
        return max(Fraction(1), min(ratio, ratio / (1 + raised * (ratio - 1))))
