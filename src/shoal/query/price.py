"""The price of a question: the mechanism that would answer it, its cost and its error, from question, epsilon and prior alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np

from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import ParameterError, PreconditionError, ShoalError, UsageError
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy, PureDP
from shoal.guarantee.rounding import Number, exact, exact_text, text_up
from shoal.guarantee.safe_k.curve import check_delta
from shoal.guarantee.theorem import PremiseAnswer, PremiseStatus, theorem
from shoal.ledger.event import Cost, refuse_unwritable
from shoal.mechanism.base import Target, check_multiples
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.staircase.mechanism import Staircase
from shoal.query.prior import AnalystPrior
from shoal.query.questions.base import Query, SelectionQuery, Steps, VectorQuery
from shoal.query.questions.person import PersonQuery

CONFIDENCE = 0.95
NO_USABLE_ANSWER = "no usable answer: the count does not stand out from its own noise"


@dataclass(frozen=True)
class Error:
    """The error of one number of an answer, measured from the exact number (the offer's `scope` says of what).

    Chance is that of the noise alone. `within` and `low` to `high` hold with a probability of at least 95 %, whatever the
    table is, for each number by itself; `at_once` for all numbers of the answer together.
    """

    name: str
    expected: float | None
    within: float | None
    how: Literal["exact", "bound", "digits", "later"] = field(default="exact", repr=False)
    """Whether the expected error is what it says, at most that, or right to three digits; or comes with the answer."""
    at_once: float | None = field(default=None, repr=False)
    """The largest error of all numbers of the answer at once, in 95 of 100 cases, in the units of this one."""
    low: Any = field(default=None, repr=False)
    high: Any = field(default=None, repr=False)
    """The ends of the confidence interval for the true value, from the noisy numbers alone; if any row takes part."""

    def to_json(self) -> dict[str, Any]:
        """The error as plain values."""
        return {
            "of": self.name,
            "expected": self.expected,
            "within_95": self.within,
            "all_within_95": self.at_once,
            "low_95": self.low,
            "high_95": self.high,
            "how": self.how,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Error:
        """The error from its plain values."""
        first = (saved["of"], saved["expected"], saved["within_95"], saved.get("how", "exact"))
        return cls(*first, saved.get("all_within_95"), saved.get("low_95"), saved.get("high_95"))


@dataclass(frozen=True)
class Outcome:
    """What a mechanism drew: the value, its errors, the noisy sums that it was computed from, and a warning."""

    value: Any
    errors: tuple[Error, ...]
    parts: Any = None
    note: str | None = None


MECHANISMS = ("auto", "laplace", "optimal", "gaussian", "refinement", "exponential")
LEAST_EPSILON = Fraction(1, 10**9)
MOST_EPSILON = 100
_FEW = 32
_EXTREME = Fraction(10) ** 290
"""The largest sensitivity, which leaves room in a float for the error at the least epsilon."""
_SQUARED = Fraction(10) ** 150
"""The largest sensitivity where it is squared."""
_SAME = 1 + 1e-6
"""Expected errors that differ by less are the same, and the simpler mechanism is taken."""


_POLICY = (
    "follows from the question and the policy alone; that the policy was written without the data, the custodian says"
)
PREMISES: Mapping[str, PremiseAnswer] = {
    key: PremiseAnswer(how, detail)
    for key, how, detail in (
        ("positive-epsilon", PremiseStatus.CHECKED, "epsilon is compared with 0 when the mechanism is calibrated"),
        (
            "noise-scale",
            PremiseStatus.CHECKED,
            "the scale is compared with the L1 sensitivity on the grid over epsilon",
        ),
        ("multiples", PremiseStatus.CHECKED, "the exact answer is checked to be whole steps before noise is added"),
        ("sides", PremiseStatus.CHECKED, "the boxes are compared with the L-infinity sensitivity in whole steps"),
        ("inner-box", PremiseStatus.CHECKED, "the inner box is compared with the sensitivity in whole steps"),
        ("noise-delta", PremiseStatus.CHECKED, "the delta that is proved for the scale is computed and compared"),
        ("sensitivity-declared", PremiseStatus.STATED, f"the sensitivity and the grid: each {_POLICY}"),
        ("no-factor-two", PremiseStatus.BUILT, "the factor 2 is never left out for a question"),
        ("options-fixed", PremiseStatus.STATED, f"the candidates and the sensitivity of their scores: each {_POLICY}"),
        ("factors", PremiseStatus.CHECKED, "the exact factors are compared with exp(epsilon)"),
        ("refined-total", PremiseStatus.CHECKED, "the refined probabilities are added up as fractions"),
        ("moved-mass", PremiseStatus.CHECKED, "the mass that is moved is compared with what delta allows"),
        ("prior-total", PremiseStatus.CHECKED, "the probabilities of the prior are added up as fractions"),
        (
            "prior-fixed",
            PremiseStatus.BUILT,
            "the prior comes with the question; distance and factors follow from it before a row is read",
        ),
        (
            "one-person",
            PremiseStatus.BUILT,
            "a question about one person reads that person's row, and an absent one gives the prior",
        ),
    )
}
"""How an answer meets each premise of each theorem that a mechanism of a session cites."""


def premises_met(theorems: Sequence[str]) -> list[dict[str, str]]:
    """Each premise of these theorems, with how an answer of a session meets it; a premise without an answer is an error.

    >>> premises_met(["laplace-grid"])[0]["how"]
    'checked by the program'
    """
    found = []
    for name in theorems:
        for premise in theorem(name).premises:
            answer = PREMISES.get(premise.key)
            if answer is None:
                raise PreconditionError(name, "no answer says how this premise is met", came=premise.text)
            found.append(
                {
                    "theorem": name,
                    "id": premise.key,
                    "text": premise.text,
                    "how": answer.how.value,
                    "checked": answer.detail,
                }
            )
    return found


@dataclass(frozen=True)
class Offer(ABC):
    """A calibrated mechanism for one question, with its guarantee and its error; nothing has been drawn."""

    mechanism: str
    guarantee: DifferentialPrivacy
    theorems: tuple[str, ...]

    @property
    @abstractmethod
    def score(self) -> float:
        """The expected error in units of the L∞ sensitivity, averaged over components, which `auto` makes small."""

    @property
    @abstractmethod
    def errors(self) -> tuple[Error, ...]:
        """One for each number that is drawn, or one for all where they are alike or many."""

    @property
    def scope(self) -> tuple[str, ...]:
        """What the answer and its errors are about, where that is not every row and value as it is."""
        return ()

    @abstractmethod
    def draw(self, table: Table, source: Source) -> Outcome:
        """One answer as plain values; the only place where rows are looked at."""

    @property
    def cost(self) -> Cost:
        """The cost of the answer, charged by itself."""
        own = self.guarantee.own
        if own is None:
            raise UsageError("a guarantee without an (epsilon, delta) of its own", came=self.guarantee.kind)
        return Cost.of(own[0], own[1], [(self.guarantee, 1)])


@dataclass(frozen=True)
class NoiseOffer(Offer):
    """An answer that is a vector of numbers with additive noise."""

    query: VectorQuery
    noise: AdditiveNoise
    scaled: bool
    """Whether the noise measures each component in units of its L∞ sensitivity."""

    @property
    def score(self) -> float:
        return float(np.mean(self._expected_errors / self._linf))

    @property
    def errors(self) -> tuple[Error, ...]:
        later = dict.fromkeys(part.statistic for part in self.query.parts if part.statistic is not None)
        return (*self._each, *(Error(name, None, None, "later") for name in later))

    @property
    def _each(self) -> tuple[Error, ...]:
        """The errors of the numbers to which noise is added."""
        expected, within, at_once = self._expected_errors, self._half_widths(1), None
        count, names = self.query.components, self.query.names if self.query.components <= _FEW else ()
        if count == 1:
            return (Error(names[0], float(expected[0]), float(within[0])),)
        if self._vector:
            at_once = self._half_widths(count)
        if not names or (len(self.query.parts) == 1 and len(set(expected.tolist())) == 1):
            how: Literal["exact", "bound"] = "exact" if len(set(expected.tolist())) == 1 else "bound"
            most = float(expected.max()), float(within.max())
            all_of_them = None if at_once is None else float(at_once.max())
            return (Error(f"each of {count:,} numbers", *most, how, all_of_them),)
        return tuple(
            Error(name, float(expected[i]), float(within[i]), "exact", None if at_once is None else float(at_once[i]))
            for i, name in enumerate(names)
        )

    @property
    def _vector(self) -> bool:
        """Whether the numbers themselves are the answer, and not a mean or a variance of them."""
        return len(self.query.parts) > 1 or self.query.is_table

    @property
    def scope(self) -> tuple[str, ...]:
        return self.query.scope

    def draw(self, table: Table, source: Source) -> Outcome:
        noisy = exact_steps(self.query, table, self.noise.theorem) + self.noise.noise(source, 1)[0]
        return self.outcome(noisy)

    def outcome(self, noisy: Steps) -> Outcome:
        """The answer that these noisy numbers give; no row is read."""
        value = self.query.finish(noisy)
        found = self.query.estimates(noisy, cache(self._tails))  # of all components, once for each confidence
        estimates = [each for each in found if each is not None]
        if not estimates:
            return Outcome(value, self.errors)
        intervals = tuple(Error(each.name, None, None, low=each.low, high=each.high) for each in estimates)
        parts = [None if each is None else each.parts for each in found]
        note = None if all(each.usable for each in estimates) else NO_USABLE_ANSWER
        return Outcome(value, (*self._each, *intervals), parts if len(self.query.parts) > 1 else parts[0], note)

    def _tails(self, many: int) -> Steps:
        """The largest error of each component in steps, so that `many` of them hold at once in 95 of 100 cases."""
        return self.noise.tail_steps(1 - (1 - CONFIDENCE) / many)

    def _half_widths(self, many: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps = np.array([float(step) for step in self.query.grid])
        return np.asarray(self._tails(many) * np.broadcast_to(steps, (self.query.components,)))

    @property
    def _linf(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps, linf = (np.array([float(x) for x in each]) for each in (self.query.grid, self.query.linf_steps))
        return np.broadcast_to(steps * linf, (self.query.components,))

    @property
    def _expected_errors(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        expected = self.noise.expected_error * (self._linf if self.scaled else 1.0)
        return np.maximum(0.0, expected)  # at a large epsilon nothing is left but rounding


@dataclass(frozen=True)
class SelectionOffer(Offer):
    """An answer that is one of many candidates, drawn by the exponential mechanism."""

    query: SelectionQuery
    choice: Exponential

    @property
    def score(self) -> float:
        return float(self.choice.spread) / float(self.choice.epsilon)

    @property
    def errors(self) -> tuple[Error, ...]:
        """Pr[the score is below the best by (spread/epsilon)(ln candidates + t)] <= e^-t, for every table.

        The best score is 0 where every value that may occur is a candidate; else only the difference is known.
        """
        most = self.score * (math.log(self.query.candidates) - math.log(1 - CONFIDENCE))
        share = getattr(self.query, "q", Fraction(1))  # a quantile's score falls by its denominator with each rank
        return (Error(self.query.error_name, None, most / share.denominator),)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.query.scope

    def draw(self, table: Table, source: Source) -> Outcome:
        return Outcome(self.query.finish(self.choice.draw(self.query.scores(table), source)), self.errors)


@dataclass(frozen=True)
class RefinementOffer(Offer):
    """An answer that is a sample of the analyst's prior, refined near the true answer."""

    query: VectorQuery | PersonQuery
    refinement: KnowledgeRefinement
    prior: AnalystPrior

    @property
    def score(self) -> float:
        if isinstance(self.query, PersonQuery):
            return self.refinement.expected_error
        return self.refinement.expected_error / float(self.query.grid[0] * self.query.linf_steps[0])

    @property
    def errors(self) -> tuple[Error, ...]:
        how: Literal["exact", "digits"] = (
            "exact" if self.refinement.exact_error and self.prior.grid is None else "digits"
        )
        return (Error("distance from the truth, if it follows the prior", self.refinement.expected_error, None, how),)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.query.scope

    def draw(self, table: Table, source: Source) -> Outcome:
        if isinstance(self.query, PersonQuery):
            truth = self.query.truth(table)
        else:
            truth = self.query.values(exact_steps(self.query, table, self.refinement.theorems[0]))[0]
        return Outcome(self.prior.to_grid(_plain(self.refinement.draw(truth, source))), self.errors)


def exact_steps(query: VectorQuery, table: Table, theorem: str) -> Steps:
    """The exact answer, checked to be what its sensitivity holds for: whole steps, one number for each component."""
    found = query.truth(table)
    if found.shape != (query.components,) or found.dtype.kind not in "iO":
        raise PreconditionError(theorem, "an answer is not the vector of whole steps that its sensitivity holds for")
    check_multiples(found, (Fraction(1),))
    return found


def offer(
    query: Query, epsilon: Number, delta: Number = 0, mechanism: str = "auto", prior: AnalystPrior | None = None
) -> Offer:
    """The mechanism that was named, or the one with the smallest expected error; refused where none can satisfy epsilon."""
    target = _target(epsilon, delta)
    if mechanism not in MECHANISMS:
        raise UsageError("no such mechanism", came=mechanism, allowed=", ".join(MECHANISMS))
    if isinstance(query, VectorQuery):
        _refuse_extreme(query)
    able = _possible_offers(query, target, prior)
    if mechanism != "auto":
        if mechanism not in able:
            raise UsageError(
                "this mechanism cannot answer this question",
                came=mechanism,
                allowed=", ".join(["auto", *able]),
                fix="give a prior" if mechanism == "refinement" and prior is None else None,
            )
        return able[mechanism]()
    if isinstance(query, VectorQuery) and target.own[1] == 0:
        able.pop("gaussian", None)
    if isinstance(query, VectorQuery) and query.is_table and query.components > 1:
        able.pop("optimal", None)  # a box moves as a whole, and one person moves few of the cells
    found, refused = [], None
    for make in able.values():
        try:
            found.append(make())
        except (ParameterError, UsageError) as error:  # too wide for its grid, too many components
            refused = error
    if not found:
        raise refused or _no_mechanism()
    least = min(each.score for each in found) * _SAME
    return next(each for each in found if each.score <= least)


def _possible_offers(query: Query, target: Target, prior: AnalystPrior | None) -> dict[str, Callable[[], Offer]]:
    """The mechanisms that can answer this kind of query; nothing is calibrated yet."""
    if isinstance(query, PersonQuery):
        return {"refinement": lambda: _individual(query, target, prior)}
    if isinstance(query, SelectionQuery):
        return {"exponential": lambda: _selection_offer(query, target)}
    if not isinstance(query, VectorQuery):
        raise _no_mechanism()
    found: dict[str, Callable[[], Offer]] = {
        "laplace": lambda: _noise_offer(query, "laplace", _laplace(query, target), scaled=True),
        "optimal": lambda: _noise_offer(query, "optimal", _staircase(query, target), scaled=False),
        "gaussian": lambda: _noise_offer(query, "gaussian", _gaussian(query, target), scaled=True),
    }
    if prior is not None and query.components == 1:
        found["refinement"] = lambda: _statistical(query, target, prior)
    return found


def _laplace(query: VectorQuery, target: Target) -> Laplace:
    return Laplace.for_target(PureDP(target.epsilon), sensitivity=query.scaled_sensitivity, grid=query.scaled_grid)


def _staircase(query: VectorQuery, target: Target) -> Staircase:
    """The staircase noise with the least variance, each component measured in units of its L∞ sensitivity."""
    sides = query.sensitivity.linf
    if not all(1 / _SQUARED <= side <= _SQUARED for side in sides):
        raise UsageError("the square of the sensitivity is beyond what a float can hold, so there is no optimal noise")
    weights = [1 / side**2 for side in (sides if len(sides) == query.components else sides * query.components)]
    return Staircase.for_target(PureDP(target.epsilon), sensitivity=query.sensitivity, grid=query.grid, weights=weights)


def _gaussian(query: VectorQuery, target: Target) -> Gaussian:
    if not target.own[1]:
        raise UsageError(
            "Gaussian noise satisfies no pure epsilon", came="no delta", allowed="0 < delta < 1", fix="give --delta"
        )
    return Gaussian.for_target(target, sensitivity=query.scaled_sensitivity, grid=query.scaled_grid)


def _noise_offer(query: VectorQuery, name: str, noise: AdditiveNoise, *, scaled: bool) -> NoiseOffer:
    return NoiseOffer(name, noise.guarantee, (noise.theorem,), query, noise, scaled)


def _selection_offer(query: SelectionQuery, target: Target) -> SelectionOffer:
    choice = Exponential.for_target(PureDP(target.epsilon), sensitivity=query.sensitivity)
    return SelectionOffer("exponential", choice.guarantee, (choice.theorem,), query, choice)


def _individual(query: PersonQuery, target: Target, prior: AnalystPrior | None) -> RefinementOffer:
    """The refinement for a question about one person; under replace_one with half of epsilon, since two steps compose."""
    if prior is None:
        raise UsageError("a question about one person needs a prior", fix="give a prior, such as uniform")
    replaced = query.unit.neighbours == "replace_one"
    if replaced and target.own[1]:
        raise UsageError(
            "under replace_one a question about one person takes no delta", came=float(target.own[1]), allowed="0"
        )
    refinement = KnowledgeRefinement(
        prior.distribution, target.epsilon / (2 if replaced else 1), "individual", prior.distance, target.own[1]
    )
    return RefinementOffer(
        "refinement", refinement.guarantee_under(query.unit.neighbours), refinement.theorems, query, refinement, prior
    )


def _statistical(query: VectorQuery, target: Target, prior: AnalystPrior) -> RefinementOffer:
    refinement = KnowledgeRefinement(prior.distribution, target.epsilon, "statistical", prior.distance, target.own[1])
    return RefinementOffer("refinement", refinement.guarantee, refinement.theorems, query, refinement, prior)


def _target(epsilon: Number, delta: Number) -> Target:
    pure, other = exact(epsilon, "epsilon"), check_delta(delta)
    for name, value in (("epsilon", pure), ("delta", other)):
        refuse_unwritable(name, value)
    if not LEAST_EPSILON <= pure <= MOST_EPSILON:
        raise ParameterError("epsilon is out of range", came=exact_text(pure), allowed=f"from 1e-9 to {MOST_EPSILON}")
    if other >= 1:
        raise ParameterError("delta = 1 promises nothing", came=delta, allowed="0 <= delta < 1")
    return ApproxDP(pure, other) if other else PureDP(pure)


def _refuse_extreme(query: VectorQuery) -> None:
    """Refuse a sensitivity, and so errors and answers, beyond what a float can hold, by the policy alone."""
    for largest, step in zip(*_broadcast(query.linf_steps, query.grid), strict=True):
        if not 1 / _EXTREME <= largest * step <= _EXTREME:
            raise UsageError(
                "the sensitivity of this answer is out of range",
                came=f"{text_up(largest * step)}",
                allowed=f"from {text_up(1 / _EXTREME)} to {text_up(_EXTREME)}",
                fix="narrow the domain in the policy, or ask in other units",
            )


def _broadcast(linf: tuple[int, ...], grid: tuple[Fraction, ...]) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    count = max(len(linf), len(grid))
    return (linf if len(linf) == count else linf * count), (grid if len(grid) == count else grid * count)


def _no_mechanism() -> ShoalError:
    return UsageError("no mechanism can answer this question")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
