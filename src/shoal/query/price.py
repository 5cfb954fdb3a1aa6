"""The price of a question: the mechanism that would answer it, its cost and its error, from question, epsilon and prior alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
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
from shoal.ledger.event import Cost, refuse_unwritable
from shoal.mechanism.base import Sensitivity, Target, check_multiples
from shoal.mechanism.exponential import Exponential
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise
from shoal.mechanism.refinement.mechanism import KnowledgeRefinement
from shoal.mechanism.staircase.mechanism import Staircase
from shoal.query.prior import Known
from shoal.query.questions.base import Added, Asked, Chosen, Steps
from shoal.query.questions.person import Individual

CONFIDENCE = 0.95
HARDLY = "no usable answer: the count does not stand out from its own noise"


@dataclass(frozen=True)
class Error:
    """How far one number of an answer lies from what it is the answer to (the offer's `scope` says what that is).

    Chance is that of the noise alone. `within` and `low` to `high` hold with a probability of at least 95 %, whatever the
    table is, for each number by itself; `at_once` for all numbers of the answer together.
    """

    name: str
    expected: float | None
    within: float | None
    how: Literal["exact", "bound", "digits", "later"] = field(default="exact", repr=False)
    """Whether the expected error is what it says, at most that, or right to three digits; or comes with the answer."""
    at_once: float | None = field(default=None, repr=False)
    """How far at most any number of the answer lies off, in 95 of 100 cases, in the units of this one."""
    low: Any = field(default=None, repr=False)
    high: Any = field(default=None, repr=False)
    """Between these the truth lies, by what was drawn; if any row takes part."""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
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
        """As it was recorded."""
        told = (saved["of"], saved["expected"], saved["within_95"], saved.get("how", "exact"))
        return cls(*told, saved.get("all_within_95"), saved.get("low_95"), saved.get("high_95"))


@dataclass(frozen=True)
class Drawn:
    """An answer with the noisy numbers that it was computed from, its errors as they are now known, and a warning."""

    value: Any
    errors: tuple[Error, ...]
    parts: Any = None
    note: str | None = None


MECHANISMS = ("auto", "laplace", "optimal", "gaussian", "refinement", "exponential")
LEAST_EPSILON = Fraction(1, 10**9)
MOST_EPSILON = 100
_FEW = 32
_EXTREME = Fraction(10) ** 290
"""What one person moves at most, which leaves room in a float for the error at the least epsilon."""
_SQUARED = Fraction(10) ** 150
"""What one person moves at most where it is squared."""
_SAME = 1 + 1e-6
"""Expected errors that differ by less are the same, and the simpler mechanism is taken."""


@dataclass(frozen=True)
class Offer(ABC):
    """A mechanism for one question, calibrated; nothing has been drawn."""

    mechanism: str
    guarantee: DifferentialPrivacy
    theorems: tuple[str, ...]

    @property
    @abstractmethod
    def score(self) -> float:
        """What `auto` makes small: the expected error in units of what one person can change, averaged over components."""

    @property
    @abstractmethod
    def errors(self) -> tuple[Error, ...]:
        """One for each number that is drawn, or one for all where they are alike or many."""

    @property
    def scope(self) -> tuple[str, ...]:
        """What the answer and its errors are about, where that is not every row and value as it is."""
        return ()

    @abstractmethod
    def draw(self, table: Table, source: Source) -> Drawn:
        """One answer as plain values; the only place where rows are looked at."""

    @property
    def cost(self) -> Cost:
        """What it is charged at, by itself."""
        own = self.guarantee.own
        if own is None:
            raise UsageError("a guarantee without an (epsilon, delta) of its own", came=self.guarantee.kind)
        return Cost.of(own[0], own[1], [(self.guarantee, 1)])


@dataclass(frozen=True)
class Noisy(Offer):
    """Noise on a vector of numbers."""

    asked: Added
    noise: AdditiveNoise
    even: bool
    """Whether the noise measures each component in units of its reach."""

    @property
    def score(self) -> float:
        return float(np.mean(self._expected / self._reaches))

    @property
    def errors(self) -> tuple[Error, ...]:
        later = dict.fromkeys(part.computed for part in self.asked.parts if part.computed is not None)
        return (*self._each, *(Error(name, None, None, "later") for name in later))

    @property
    def _each(self) -> tuple[Error, ...]:
        """Of the numbers to which noise is added."""
        expected, within, at_once = self._expected, self._half_widths(1), None
        count, names = self.asked.components, self.asked.names if self.asked.components <= _FEW else ()
        if count == 1:
            return (Error(names[0], float(expected[0]), float(within[0])),)
        if self._vector:
            at_once = self._half_widths(count)
        if not names or (len(self.asked.parts) == 1 and len(set(expected.tolist())) == 1):
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
        return len(self.asked.parts) > 1 or self.asked.disjoint

    @property
    def scope(self) -> tuple[str, ...]:
        return self.asked.scope

    def draw(self, table: Table, source: Source) -> Drawn:
        noisy = whole_steps(self.asked, table, self.noise.theorem) + self.noise.noise(source, 1)[0]
        return self.drawn(noisy)

    def drawn(self, noisy: Steps) -> Drawn:
        """The answer that these numbers with noise give; no row is looked at."""
        value = self.asked.finish(noisy)
        found = self.asked.behind(noisy, cache(self._tails))  # of all components, once for each confidence
        computed = [each for each in found if each is not None]
        if not computed:
            return Drawn(value, self.errors)
        intervals = tuple(Error(each.name, None, None, low=each.low, high=each.high) for each in computed)
        parts = [None if each is None else each.parts for each in found]
        note = None if all(each.enough for each in computed) else HARDLY
        return Drawn(value, (*self._each, *intervals), parts if len(self.asked.parts) > 1 else parts[0], note)

    def _tails(self, many: int) -> Steps:
        """By how many steps each component is off at most, so that `many` of them hold at once in 95 of 100 cases."""
        return self.noise.tail_steps(1 - (1 - CONFIDENCE) / many)

    def _half_widths(self, many: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps = np.array([float(step) for step in self.asked.grid])
        return np.asarray(self._tails(many) * np.broadcast_to(steps, (self.asked.components,)))

    @property
    def _reaches(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps, reaches = (np.array([float(x) for x in each]) for each in (self.asked.grid, self.asked.reaches))
        return np.broadcast_to(steps * reaches, (self.asked.components,))

    @property
    def _expected(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        expected = self.noise.expected_error * (self._reaches if self.even else 1.0)
        return np.maximum(0.0, expected)  # at a large epsilon nothing is left but rounding


@dataclass(frozen=True)
class Picked(Offer):
    """One of many candidates, by the exponential mechanism."""

    asked: Chosen
    choice: Exponential

    @property
    def score(self) -> float:
        return float(self.choice.spread) / float(self.choice.epsilon)

    @property
    def errors(self) -> tuple[Error, ...]:
        """Pr[the score is below the best by (spread/epsilon)(ln candidates + t)] <= e^-t, for every table.

        The best score is 0 where every value that may occur is a candidate; else only the difference is known.
        """
        most = self.score * (math.log(self.asked.candidates) - math.log(1 - CONFIDENCE))
        share = getattr(self.asked, "q", Fraction(1))  # a quantile's score falls by its denominator with each rank
        return (Error(self.asked.error_name, None, most / share.denominator),)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.asked.scope

    def draw(self, table: Table, source: Source) -> Drawn:
        return Drawn(self.asked.finish(self.choice.draw(self.asked.scores(table), source)), self.errors)


@dataclass(frozen=True)
class Refining(Offer):
    """A sample of what the analyst knew, raised near the truth."""

    asked: Added | Individual
    refinement: KnowledgeRefinement
    known: Known

    @property
    def score(self) -> float:
        if isinstance(self.asked, Individual):
            return self.refinement.expected_error
        return self.refinement.expected_error / float(self.asked.grid[0] * self.asked.reaches[0])

    @property
    def errors(self) -> tuple[Error, ...]:
        how: Literal["exact", "digits"] = (
            "exact" if self.refinement.exact_error and self.known.grid is None else "digits"
        )
        return (Error("distance from the truth, if it follows the prior", self.refinement.expected_error, None, how),)

    @property
    def scope(self) -> tuple[str, ...]:
        return self.asked.scope

    def draw(self, table: Table, source: Source) -> Drawn:
        if isinstance(self.asked, Individual):
            truth = self.asked.truth(table)
        else:
            truth = self.asked.values(whole_steps(self.asked, table, self.refinement.theorems[0]))[0]
        return Drawn(self.known.settled(_plain(self.refinement.draw(truth, source))), self.errors)


def whole_steps(asked: Added, table: Table, theorem: str) -> Steps:
    """The exact answer, checked to be what its sensitivity was worked out for: whole steps, one number a component."""
    found = asked.truth(table)
    if found.shape != (asked.components,) or found.dtype.kind not in "iO":
        raise PreconditionError(
            theorem, "an answer is not the vector of whole steps that its sensitivity was worked out for"
        )
    check_multiples(found, (Fraction(1),))
    return found


def offer(
    asked: Asked, epsilon: Number, delta: Number = 0, mechanism: str = "auto", prior: Known | None = None
) -> Offer:
    """The mechanism that was named, or the one with the smallest expected error; refused where none can keep epsilon."""
    target = _target(epsilon, delta)
    if mechanism not in MECHANISMS:
        raise UsageError("no such mechanism", came=mechanism, allowed=", ".join(MECHANISMS))
    if isinstance(asked, Added):
        _refuse_extreme(asked)
    able = _able(asked, target, prior)
    if mechanism != "auto":
        if mechanism not in able:
            raise UsageError(
                "this mechanism cannot answer this question",
                came=mechanism,
                allowed=", ".join(["auto", *able]),
                fix="give a prior" if mechanism == "refinement" and prior is None else None,
            )
        return able[mechanism]()
    if isinstance(asked, Added) and target.own[1] == 0:
        able.pop("gaussian", None)
    if isinstance(asked, Added) and asked.disjoint and asked.components > 1:
        able.pop("optimal", None)  # a box moves as a whole, and one person moves few of the cells
    found, refused = [], None
    for make in able.values():
        try:
            found.append(make())
        except (ParameterError, UsageError) as error:  # too wide for its grid, too many components
            refused = error
    if not found:
        raise refused or _no_way()
    least = min(each.score for each in found) * _SAME
    return next(each for each in found if each.score <= least)


def _able(asked: Asked, target: Target, prior: Known | None) -> dict[str, Callable[[], Offer]]:
    """What can answer this kind of question; nothing is calibrated yet."""
    if isinstance(asked, Individual):
        return {"refinement": lambda: _individual(asked, target, prior)}
    if isinstance(asked, Chosen):
        return {"exponential": lambda: _picked(asked, target)}
    if not isinstance(asked, Added):
        raise _no_way()
    found: dict[str, Callable[[], Offer]] = {
        "laplace": lambda: _noisy(asked, "laplace", _laplace(asked, target), even=True),
        "optimal": lambda: _noisy(asked, "optimal", _staircase(asked, target), even=False),
        "gaussian": lambda: _noisy(asked, "gaussian", _gaussian(asked, target), even=True),
    }
    if prior is not None and asked.components == 1:
        found["refinement"] = lambda: _statistical(asked, target, prior)
    return found


def _laplace(asked: Added, target: Target) -> Laplace:
    return Laplace.for_target(PureDP(target.epsilon), sensitivity=asked.even_sensitivity, grid=asked.even_grid)


def _staircase(asked: Added, target: Target) -> Staircase:
    """With the least variance, each component measured in units of its reach."""
    sides = asked.sensitivity.linf
    if not all(1 / _SQUARED <= side <= _SQUARED for side in sides):
        raise UsageError("the optimal noise squares what one person moves, which is beyond a number here")
    weights = [1 / side**2 for side in (sides if len(sides) == asked.components else sides * asked.components)]
    return Staircase.for_target(PureDP(target.epsilon), sensitivity=asked.sensitivity, grid=asked.grid, weights=weights)


def _gaussian(asked: Added, target: Target) -> Gaussian:
    if not target.own[1]:
        raise UsageError(
            "Gaussian noise keeps no pure epsilon", came="no delta", allowed="0 < delta < 1", fix="give --delta"
        )
    return Gaussian.for_target(target, sensitivity=asked.even_sensitivity, grid=asked.even_grid)


def _noisy(asked: Added, name: str, noise: AdditiveNoise, *, even: bool) -> Noisy:
    return Noisy(name, noise.guarantee, (noise.theorem,), asked, noise, even)


def _picked(asked: Chosen, target: Target) -> Picked:
    sensitivity = Sensitivity(asked.reach, asked.unit)
    choice = Exponential.for_target(PureDP(target.epsilon), sensitivity=sensitivity)
    return Picked("exponential", choice.guarantee, (choice.theorem,), asked, choice)


def _individual(asked: Individual, target: Target, prior: Known | None) -> Refining:
    """Under replace_one a person is taken away and another put in: each at half of epsilon."""
    if prior is None:
        raise UsageError("a question about one person refines what you know", fix="give a prior, such as uniform")
    replaced = asked.unit.neighbours == "replace_one"
    if replaced and target.own[1]:
        raise UsageError(
            "under replace_one a question about one person has no delta", came=float(target.own[1]), allowed="0"
        )
    refinement = KnowledgeRefinement(
        prior.law, target.epsilon / (2 if replaced else 1), "individual", prior.distance, target.own[1]
    )
    return Refining(
        "refinement", refinement.guarantee_under(asked.unit.neighbours), refinement.theorems, asked, refinement, prior
    )


def _statistical(asked: Added, target: Target, prior: Known) -> Refining:
    refinement = KnowledgeRefinement(prior.law, target.epsilon, "statistical", prior.distance, target.own[1])
    return Refining("refinement", refinement.guarantee, refinement.theorems, asked, refinement, prior)


def _target(epsilon: Number, delta: Number) -> Target:
    asked, other = exact(epsilon, "epsilon"), check_delta(delta)
    for name, value in (("epsilon", asked), ("delta", other)):
        refuse_unwritable(name, value)
    if not LEAST_EPSILON <= asked <= MOST_EPSILON:
        raise ParameterError("epsilon is out of range", came=exact_text(asked), allowed=f"from 1e-9 to {MOST_EPSILON}")
    if other >= 1:
        raise ParameterError("delta = 1 promises nothing", came=delta, allowed="0 <= delta < 1")
    return ApproxDP(asked, other) if other else PureDP(asked)


def _refuse_extreme(asked: Added) -> None:
    """What one person moves, and so every error and answer, has to be a number that can be told, by the policy alone."""
    for reach, step in zip(*_even(asked.reaches, asked.grid), strict=True):
        if not 1 / _EXTREME <= reach * step <= _EXTREME:
            raise UsageError(
                "one person can move this answer farther, or less far, than a number can tell",
                came=f"by {text_up(reach * step)}",
                allowed=f"from {text_up(1 / _EXTREME)} to {text_up(_EXTREME)}",
                fix="narrow the domain in the policy, or ask in other units",
            )


def _even(reaches: tuple[int, ...], grid: tuple[Fraction, ...]) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    count = max(len(reaches), len(grid))
    return (reaches if len(reaches) == count else reaches * count), (grid if len(grid) == count else grid * count)


def _no_way() -> ShoalError:
    return UsageError("no mechanism answers this question")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
