"""Knowledge refinement: answers that refine the prior of an analyst (SC13 chapter 5)."""

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
from shoal.mechanism.refinement import factors
from shoal.mechanism.refinement.distance import AbsoluteDistance, Distance, resolve_distance
from shoal.mechanism.refinement.factors import KINDS, Kind, RefinementCurve
from shoal.mechanism.refinement.prior import REPRESENTATIVES, Prior, as_prior
from shoal.mechanism.refinement.response import RefinedDistribution

LEAST_EPSILON = Fraction(1, 10**12)
MOST_EPSILON = 12
"""One answer takes e^epsilon draws from the prior on average."""


@dataclass(frozen=True, init=False, eq=False)
class KnowledgeRefinement(Mechanism):
    """Knowledge refinement: one sample of the analyst's prior, raised near the true answer and lowered elsewhere.

    Promise    PureDP by theorem `knowledge-refinement`; with a delta ApproxDP by `knowledge-refinement-delta`.
               individual: about one person, compared with the prior, which answers for an absent person; under add_remove, and
               twice as much under replace_one. statistical: between any two true answers.
    Requires   prior, distance and alpha_u fixed without the data. Every value that the prior allows may come out, and no other.
               Each further draw costs the guarantee again.
    Reads      the true answer that it is given, and no table. None (an absent person), or an answer without a distance from the
               values of the prior, gives a sample of the prior.
    Arguments  prior: a mapping of values to probabilities, a frozen scipy.stats distribution, or a prior of
               `shoal.mechanism.refinement.prior`.
               epsilon: from 1e-12 to 12.
               kind: "individual" for the value of one person, "statistical" for a count or a sum.
               distance: "absolute", "nominal", "ordinal", a Taxonomy, or a function of two values; by the values if not given.
               delta: from 0 to less than a half.
               alpha_u: the factor near the true answer, for "statistical" alone; if not given, the one with the least expected
               error.
    Raises     ParameterError where a number is out of range or the prior does not sum to one; UsageError where the kind, the
               prior or the distance is unknown, or does not suit.
    Time       the number of draws that an answer takes does not depend on the true answer; the time of a single draw is not
               hardened against somebody who measures the processor.

    >>> blood = KnowledgeRefinement({"0": "0.45", "A": "0.40", "B": "0.11", "AB": "0.04"}, epsilon=1)
    >>> blood.guarantee, round(blood.expected_error, 3)
    (PureDP(epsilon=Fraction(1, 1)), 0.292)
    """

    prior: Prior
    epsilon: Fraction
    delta: Fraction
    kind: Kind
    distance: Distance
    curve: RefinementCurve
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
            raise UsageError("unknown kind of refinement", came=kind, allowed=" or ".join(KINDS))
        known = as_prior(prior)
        fields = {"prior": known, "epsilon": _epsilon(epsilon), "delta": _delta(delta), "kind": kind}
        for name, value in {**fields, "distance": _suitable(distance, known)}.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "curve", self._curve(alpha_u))
        check_curve(self.curve, self.epsilon, self.delta, kind)

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """The guarantee under add_remove; a statistical question has it under replace_one, too."""
        return ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)

    def guarantee_under(self, neighbours: Neighbours) -> PureDP | ApproxDP:
        """The guarantee under a neighbouring relation; for an individual question under replace_one, two steps compose.

        The epsilon doubles, and the delta becomes delta · (e^epsilon + e^−epsilon).
        """
        if neighbours == "add_remove" or self.kind == "statistical":
            return self.guarantee
        if not self.delta:
            return PureDP(2 * self.epsilon)
        below, above = factors.inverse_growth(self.epsilon)
        return ApproxDP(2 * self.epsilon, min(Fraction(1), self.delta * (1 / below + above)))

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorems that prove the guarantee."""
        return (self.theorem, "knowledge-refinement-delta") if self.delta else (self.theorem,)

    @property
    def alpha_u(self) -> float:
        """The factor by which the prior is raised near the true answer."""
        return float(self.curve.up)

    @property
    def alpha_d(self) -> float:
        """The factor by which the prior is lowered elsewhere, before any mass is moved for delta."""
        return float(self.curve.down)

    @cached_property
    def expected_error(self) -> float:
        """The mean distance from the truth if the truth follows the prior; exact for up to 256 listed values.

        Beyond, and on a line, a thousand points stand for the prior, which gives three digits or more.
        """
        return self._distances.mean(self.curve)

    @property
    def exact_error(self) -> bool:
        """Whether the expected error is exact; else it is right to three digits or more."""
        return self._distances.complete

    def distribution(self, true_value: Any) -> RefinedDistribution:
        """The distribution of the answer, for the custodian alone: it reveals the true value."""
        here = true_value.item() if isinstance(true_value, np.ndarray) and not true_value.ndim else true_value
        return RefinedDistribution(self.prior, self.curve, self.prior.order(self.distance, here))

    def draw(self, values: Any, source: Source) -> Any:
        """One answer for the analyst, the only value that may be published."""
        drawn = self.sample(values, source)[0]
        return drawn.item() if isinstance(drawn, np.generic) else drawn

    def sample(self, true_value: Any, source: Source | None = None, size: int = 1) -> NDArray[Any]:
        """Independent answers, each of which costs the guarantee again; from a fresh secure source unless one is given."""
        count = whole(size, "the number of answers")
        if source is not None:
            return self.distribution(true_value).sample(source, count)
        with Source.secure() as fresh:
            return self.distribution(true_value).sample(fresh, count)

    @cached_property
    def _distances(self) -> ExpectedDistance:
        return ExpectedDistance.of(self.prior, self.distance)

    def _curve(self, alpha_u: Number | None) -> RefinementCurve:
        ratio = 1 / factors.inverse_growth(self.epsilon)[1]
        if self.kind == "individual":
            if alpha_u is not None:
                raise UsageError(
                    "the factors of an individual question follow from epsilon", came=alpha_u, allowed="no alpha_u"
                )
            return factors.individual_curve(self.epsilon, self.delta)
        up = self._distances.best_up(ratio) if alpha_u is None else exact(alpha_u, "alpha_u")
        if not 1 <= up <= ratio:
            raise ParameterError("alpha_u is out of range", came=alpha_u, allowed="from 1 to e^epsilon")
        return factors.statistical_curve(self.epsilon, self.delta, up)


def check_curve(curve: RefinementCurve, epsilon: Fraction, delta: Fraction, kind: Kind) -> None:
    """The premises of both theorems, on the exact factors."""
    below, above = factors.inverse_growth(epsilon)
    wide = curve.down < curve.up * above if kind == "statistical" else curve.up * above > 1 or curve.down < above
    if wide or not curve.down <= 1 <= curve.up:
        raise PreconditionError("knowledge-refinement", "the factors are wider than epsilon allows")
    share = below if kind == "individual" else below / (1 + below)
    if not 0 <= curve.moved <= delta * share:
        raise PreconditionError("knowledge-refinement-delta", "more is moved than delta allows")
    if curve(Fraction(1)) + curve.moved != 1:
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
    distance = resolve_distance(asked, prior.listed)
    if not prior.suits(distance):
        raise UsageError(
            "the prior cannot be ordered by this distance",
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
        raise ParameterError("a distance between possible answers is not a number", allowed="a finite number from 0 up")


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ExpectedDistance:
    """The expected distance of an answer, from the prior alone: distances between points that represent it, nearest first."""

    weights: Floats
    far: Floats
    ends: Floats
    complete: bool
    """Whether the points are all values of the prior, so that what is computed from them is no approximation."""

    @classmethod
    def of(cls, prior: Prior, distance: Distance) -> ExpectedDistance:
        """The distances between representatives of the prior; no true answer is used."""
        quick = isinstance(distance, AbsoluteDistance)
        values, weights = prior.representatives(REPRESENTATIVES if quick else REPRESENTATIVES // 4)
        far = distance.matrix(values)
        nearest = np.argsort(far, axis=1, kind="stable")
        ends = np.minimum(np.cumsum(weights[nearest], axis=1), 1.0)
        ends[:, -1] = 1.0
        complete = prior.listed is not None and len(prior.listed) == len(values)
        return cls(weights, np.take_along_axis(far, nearest, axis=1), ends, complete)

    def mean(self, curve: RefinementCurve) -> float:
        """The mean distance of an answer from the truth when the truth follows the prior."""
        return float(self.weights @ (curve.shares(self.ends) * self.far).sum(axis=1))

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
