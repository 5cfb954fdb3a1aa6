"""Answers that refine what the analyst already knows (SC13 chapter 5)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.chance.source import Source
from shoal.errors import ParameterError, PreconditionError, UsageError
from shoal.guarantee.differential import ApproxDP, PureDP
from shoal.guarantee.rounding import Number, exact, whole
from shoal.guarantee.safe_k.curve import check_delta
from shoal.guarantee.unit import Neighbours
from shoal.mechanism.base import Mechanism, positive
from shoal.mechanism.refinement import factors as gains
from shoal.mechanism.refinement.distance import Absolute, Distance, distance_of
from shoal.mechanism.refinement.factors import KINDS, Gain, Kind
from shoal.mechanism.refinement.prior import REPRESENTATIVES, Prior, prior_of
from shoal.mechanism.refinement.response import Refined

LEAST_EPSILON = Fraction(1, 10**12)
MOST_EPSILON = 12
"""One answer takes e^epsilon draws from the prior on average."""


@dataclass(frozen=True, init=False, eq=False)
class KnowledgeRefinement(Mechanism):
    """The prior, raised near the true answer and lowered elsewhere; one sample of that is the answer.

    Promise   PureDP by theorem `knowledge-refinement`; with a delta ApproxDP by `knowledge-refinement-delta`.
              `individual`: about one person, against the prior, which answers for an absent person; add_remove,
              twice as much under replace_one. `statistical`: between any two true answers.
    Requires  prior, distance and alpha_u fixed without the data. Every value that the prior allows may come out, and
              no other. A true value of None (absent), or one that the distance cannot place, gives the prior.
              Each further draw costs the promise again.
    Time      how many draws an answer takes does not depend on the true answer; the steps of a single draw are not
              hardened against somebody who measures the processor.
    """

    prior: Prior
    epsilon: Fraction
    delta: Fraction
    kind: Kind
    distance: Distance
    gain: Gain
    theorem: ClassVar[str] = "knowledge-refinement"

    def __init__(
        self,
        prior: Any,
        epsilon: Number = 1,
        kind: Kind = "individual",
        distance: Any = None,
        delta: Number = 0,
        alpha_u: Number | None = None,
    ) -> None:
        if kind not in KINDS:
            raise UsageError("unknown kind of question", came=kind, allowed=" or ".join(KINDS))
        known = prior_of(prior)
        fields = {"prior": known, "epsilon": _epsilon(epsilon), "delta": _delta(delta), "kind": kind}
        for name, value in {**fields, "distance": _suitable(distance, known)}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "gain", self._gain(alpha_u))
        check_gain(self.gain, self.epsilon, self.delta, kind)

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """For add_remove; statistical questions keep it under replace_one."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def guarantee_under(self, neighbours: Neighbours) -> PureDP | ApproxDP:
        """The promise for a neighbouring relation; delta · (e^epsilon + e^−epsilon) for an individual replaced."""
        if neighbours == "add_remove" or self.kind == "statistical":
            return self.guarantee
        if not self.delta:
            return PureDP(2 * self.epsilon)
        below, above = gains.inverse_growth(self.epsilon)
        return ApproxDP(2 * self.epsilon, min(Fraction(1), self.delta * (1 / below + above)))

    @property
    def theorems(self) -> tuple[str, ...]:
        """The proof pages of the promise."""
        return (self.theorem, "knowledge-refinement-delta") if self.delta else (self.theorem,)

    @property
    def alpha_u(self) -> float:
        """What is near becomes at most this much likelier."""
        return float(self.gain.up)

    @property
    def alpha_d(self) -> float:
        """What is far keeps at least this part of its probability, before anything is moved for delta."""
        return float(self.gain.down)

    @cached_property
    def expected_error(self) -> float:
        """The mean distance from the truth if the truth follows the prior; exact for up to 256 listed values.

        Beyond, and on a line, a thousand points stand for the prior, which gives three digits or more.
        """
        return self._outlook.mean(self.gain)

    @property
    def exact_error(self) -> bool:
        """Whether the expected error is exact; else it is right to three digits or more."""
        return self._outlook.complete

    def distribution(self, true_value: Any) -> Refined:
        """The law of the answer, for the holder alone: it tells the true value."""
        here = true_value.item() if isinstance(true_value, np.ndarray) and not true_value.ndim else true_value
        return Refined(self.prior, self.gain, self.prior.order(self.distance, here))

    def draw(self, values: Any, source: Source) -> Any:
        """One answer for the analyst; what may leave the house."""
        drawn = self.sample(values, source)[0]
        return drawn.item() if isinstance(drawn, np.generic) else drawn

    def sample(self, true_value: Any, source: Source | None = None, size: int = 1) -> NDArray[Any]:
        """Independent answers, each of which costs the promise; from a fresh secure source unless one is given."""
        count = whole(size, "the number of answers")
        if source is not None:
            return self.distribution(true_value).sample(source, count)
        with Source.secure() as fresh:
            return self.distribution(true_value).sample(fresh, count)

    @cached_property
    def _outlook(self) -> Outlook:
        return Outlook.of(self.prior, self.distance)

    def _gain(self, alpha_u: Number | None) -> Gain:
        ratio = 1 / gains.inverse_growth(self.epsilon)[1]
        if self.kind == "individual":
            if alpha_u is not None:
                raise UsageError("an individual question has its factors", came=alpha_u, allowed="no alpha_u")
            return gains.individual(self.epsilon, self.delta)
        up = self._outlook.best_up(ratio) if alpha_u is None else exact(alpha_u, "alpha_u")
        if not 1 <= up <= ratio:
            raise ParameterError("alpha_u is out of range", came=alpha_u, allowed="from 1 to e^epsilon")
        return gains.statistical(self.epsilon, self.delta, up)


def check_gain(gain: Gain, epsilon: Fraction, delta: Fraction, kind: Kind) -> None:
    """The premises of both theorems, on the exact factors."""
    below, above = gains.inverse_growth(epsilon)
    wide = gain.down < gain.up * above if kind == "statistical" else gain.up * above > 1 or gain.down < above
    if wide or not gain.down <= 1 <= gain.up:
        raise PreconditionError("knowledge-refinement", "the factors are wider than epsilon allows")
    share = below if kind == "individual" else below / (1 + below)
    if not 0 <= gain.moved <= delta * share:
        raise PreconditionError("knowledge-refinement-delta", "more is moved than delta allows")
    if gain(Fraction(1)) + gain.moved != 1:
        raise PreconditionError("knowledge-refinement", "the refined probabilities do not sum to one")


def _epsilon(epsilon: Number) -> Fraction:
    value = positive(epsilon, "epsilon")
    if not LEAST_EPSILON <= value <= MOST_EPSILON:
        raise ParameterError("epsilon is out of range", came=epsilon, allowed=f"from 1e-12 to {MOST_EPSILON}")
    return value


def _delta(delta: Number) -> Fraction:
    value = check_delta(delta)
    if value >= Fraction(1, 2):
        raise ParameterError("delta is out of range", came=delta, allowed="from 0 to less than a half")
    return value


def _suitable(asked: Any, prior: Prior) -> Distance:
    """The distance asked for, if the prior can be put in order by it."""
    distance = distance_of(asked, prior.listed)
    if not prior.suits(distance):
        raise UsageError(
            "this distance does not suit the prior",
            came=type(distance).__name__,
            allowed="absolute, or a function of two numbers",
        )
    _try_out(distance, prior)
    return distance


def _try_out(distance: Distance, prior: Prior) -> None:
    """A distance is tried on possible answers before any true one is known, so that its mistakes tell nothing."""
    values, _ = prior.representatives(16)
    everything = prior.listed or values
    tried = [distance.between(values[0], everything), *(distance.between(value, values) for value in values)]
    if not all(isfinite(far) for row in tried for far in row):
        raise ParameterError("a distance is no number for possible answers", allowed="a finite number from 0 up")


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
        quick = isinstance(distance, Absolute)
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
