"""The price of a question: the mechanism that would answer it, its cost and its error, from question, epsilon and prior alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.chance.source import Source
from shoal.engine.base import Table
from shoal.errors import ParameterError, PreconditionError, ShoalError, UsageError
from shoal.guarantee.differential import ApproxDP, DifferentialPrivacy, PureDP
from shoal.guarantee.noise import LARGEST_RHO, LARGEST_SIGMA, LEAST_SIGMA, ConcentratedDP, NoisyTablesDP
from shoal.guarantee.rounding import GUARD, Number, decimal, exact, exact_text, precise, text_down, text_up, up
from shoal.guarantee.safe_k.curve import check_delta
from shoal.guarantee.theorem import PremiseAnswer, PremiseStatus, theorem
from shoal.ledger.event import Cost, refuse_unwritable
from shoal.ledger.filter import LEFT_OUT, EventCost
from shoal.mechanism.base import Target, check_grid, check_multiples
from shoal.mechanism.fixed_total import FixedTotalNoise
from shoal.mechanism.gaussian import Gaussian
from shoal.mechanism.laplace import Laplace
from shoal.mechanism.noise import AdditiveNoise
from shoal.query.questions.base import CellEstimate, Query, Steps, VectorQuery

if TYPE_CHECKING:
    from shoal.mechanism.staircase.mechanism import Staircase
    from shoal.query.prior import AnalystPrior

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
    noisy: tuple[int, ...] | None = None
    """The noisy numbers in steps, where the value does not hold them: an interval at another level is computed from them."""


MECHANISMS = ("auto", "laplace", "fixed-total", "optimal", "gaussian", "refinement", "exponential")
LEAST_EPSILON = Fraction(1, 10**9)
MOST_EPSILON = 100
_FEW = 32
_EXTREME = Fraction(10) ** 290
"""The largest sensitivity, which leaves room in a float for the error at the least epsilon."""
_SQUARED = Fraction(10) ** 150
"""The largest sensitivity where it is squared."""
_MOST_CHANGED = 1_000
"""Numbers that one unit may change for the exact curve of their noise; beyond, the one by rho, which is as good there."""
_SHORT = 12
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
        ("quantile-share", PremiseStatus.CHECKED, "q is compared with 0, 1 and the largest denominator as a fraction"),
        ("fresh-samples", PremiseStatus.BUILT, "the value and each end are drawn with bits of their own"),
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

    def estimates(self, drawn: Outcome, level: float) -> Iterable[CellEstimate]:  # noqa: ARG002
        """Every number of an answer with its interval at a level; from what was drawn alone, no row is read."""
        return [CellEstimate(0, "value", (), drawn.value, None, None)]

    @property
    def cost(self) -> Cost:
        """The cost of the answer, charged by itself."""
        own = self.guarantee.own
        if own is None:
            raise UsageError("a guarantee without an (epsilon, delta) of its own", came=self.guarantee.kind)
        return Cost.of(own[0], own[1], [(self.curve, 1)], self.filtered)

    @property
    def filtered(self) -> EventCost | None:
        """What it costs in a privacy filter, where that is less than (epsilon, delta) say."""
        return None

    @property
    def curve(self) -> DifferentialPrivacy:
        """The whole curve, where more is known than (epsilon, delta); it composes to less."""
        return self.guarantee


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
        if not names or (self._vector and len(self.query.parts) == 1 and len(set(expected.tolist())) == 1):
            how: Literal["exact", "bound"] = "exact" if len(set(expected.tolist())) == 1 else "bound"
            most = float(expected.max()), float(within.max())
            all_of_them = None if at_once is None else float(at_once.max())
            return (Error(f"each of {count:,} numbers", *most, how, all_of_them),)
        return tuple(
            Error(name, float(expected[i]), float(within[i]), "exact", None if at_once is None else float(at_once[i]))
            for i, name in enumerate(names)
        )

    @property
    def filtered(self) -> EventCost | None:
        noise = self.noise
        if not isinstance(noise, Gaussian) or self.guarantee.own is None:
            return None
        moved = noise.sensitivity.l2_squared_on(noise.grid)
        rest = Fraction(noise.scale) ** 2 - LEFT_OUT * max(noise.grid) ** 2
        return EventCost.discrete_gaussian(*self.guarantee.own, moved, rest, noise.sensitivity.l0)

    @property
    def curve(self) -> DifferentialPrivacy:
        noise = self.noise
        if not isinstance(noise, Gaussian):
            return self.guarantee
        sensitivity, sigma = noise.sensitivity, Fraction(noise.scale) / noise.grid[0]
        one_step = len(noise.grid) == 1 and max(sensitivity.linf_steps(noise.grid)) == 1
        if one_step and LEAST_SIGMA <= sigma <= LARGEST_SIGMA and sensitivity.l0 <= _MOST_CHANGED:
            return NoisyTablesDP([(sensitivity.l0, exact(text_down(sigma, _SHORT)))])
        rho = sensitivity.l2_squared_on(noise.grid) / (2 * Fraction(noise.scale) ** 2)
        return ConcentratedDP(exact(text_up(rho, _SHORT))) if rho <= LARGEST_RHO / 2 else self.guarantee

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
        whole = tuple(int(each) for each in noisy)
        if not any(part.statistic for part in self.query.parts):
            table = len(self.query.parts) == 1 and self.query.parts[0].has_cells
            return Outcome(value, self.errors, noisy=None if table else whole)
        found = list(self.query.estimates(noisy, partial(self._tails, CONFIDENCE)))
        values = value if len(self.query.parts) > 1 else [value]
        intervals, parts = [], []
        for place, part in enumerate(self.query.parts):
            own = [each for each in found if each.part == place]
            parts.append((own[0].noisy or None) if part.statistic and not part.has_cells else None)
            if part.statistic and part.has_cells:
                values[place] |= {
                    "low_95": [each.low for each in own],
                    "high_95": [each.high for each in own],
                    "usable": [each.usable for each in own],
                }
            elif part.statistic:
                intervals.append(Error(own[0].statistic, None, None, low=own[0].low, high=own[0].high))
        stated = [each for each in found if self.query.parts[each.part].statistic]
        alone = not any(part.has_cells for part in self.query.parts)
        useless = not all(each.usable for each in stated) if alone else not any(each.usable for each in stated)
        note = NO_USABLE_ANSWER if useless else None
        return Outcome(
            value, (*self._each, *intervals), parts if len(self.query.parts) > 1 else parts[0], note, noisy=whole
        )

    def estimates(self, drawn: Outcome, level: float) -> Iterable[CellEstimate]:
        noisy = drawn.noisy
        if noisy is None and isinstance(drawn.value, dict):
            noisy = drawn.value["counts"]
        if noisy is None:  # of a record without them
            return _stated(drawn, level)
        if len(noisy) != self.query.components:
            raise UsageError("an answer of another length", came=len(noisy), allowed=str(self.query.components))
        return self.query.estimates(np.array(noisy, dtype=object), partial(self._tails, level))

    def _tails(self, level: float, many: int) -> Steps:
        """The largest error of each component in steps, so that `many` of them hold at once at a level."""
        known, wanted = self._known_tails, (level, many)
        if wanted not in known:
            # The components of a fixed total are off by the same amount: one of them is within its tail where both are.
            apart = 1 if isinstance(self.noise, FixedTotalNoise) else many
            known[wanted] = self.noise.tail_steps(1 - (1 - level) / apart)
        return known[wanted]

    @cached_property
    def _known_tails(self) -> dict[tuple[float, int], Steps]:
        """The tails that were computed, by level and number."""
        return {}

    def _half_widths(self, many: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps = np.array([float(step) for step in self.query.grid])
        return np.asarray(self._tails(CONFIDENCE, many) * np.broadcast_to(steps, (self.query.components,)))

    @property
    def _linf(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        steps, linf = (np.array([float(x) for x in each]) for each in (self.query.grid, self.query.linf_steps))
        return np.broadcast_to(steps * linf, (self.query.components,))

    @property
    def _expected_errors(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        expected = self.noise.expected_error * (self._linf if self.scaled else 1.0)
        return np.maximum(0.0, expected)  # at a large epsilon nothing is left but rounding


def _stated(drawn: Outcome, level: float) -> list[CellEstimate]:
    """The values of an answer with the intervals that it states, where these hold at a level."""
    values = drawn.value if isinstance(drawn.value, list) else [drawn.value]
    ends: tuple[Any, Any] = (None, None)
    if len(values) == 1 and level <= CONFIDENCE:
        stated = [(each.low, each.high) for each in drawn.errors if each.low is not None]
        whole = [each.within for each in drawn.errors if each.within is not None]
        if stated:
            ends = stated[0]
        elif len(whole) == 1 and isinstance(values[0], int | float):
            ends = values[0] - whole[0], values[0] + whole[0]
    return [CellEstimate(place, "value", (), value, *ends, *ends) for place, value in enumerate(values)]


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
        raise refused or no_mechanism()
    least = min(each.score for each in found) * _SAME
    return next(each for each in found if each.score <= least)


def gaussian_offer(query: VectorQuery, mu_squared: Fraction, delta: Fraction) -> NoiseOffer:
    """Gaussian noise that costs this mu^2 in a privacy filter; its own epsilon is the one at delta, rounded up."""
    _refuse_extreme(query)
    sensitivity, grid = query.scaled_sensitivity, check_grid(query.scaled_grid, query.components)
    square = sensitivity.l2_squared_on(grid) / mu_squared + LEFT_OUT * max(grid) ** 2
    with precise():
        scale = up(decimal(square).sqrt() * (1 + GUARD))
    return gaussian_of_scale(query, scale, delta)


def gaussian_of_scale(query: VectorQuery, scale: float, delta: Fraction) -> NoiseOffer:
    """Gaussian noise of a known scale, such as that of an answer on record; its own epsilon is the one at delta, rounded up."""
    sensitivity, grid = query.scaled_sensitivity, check_grid(query.scaled_grid, query.components)
    return _noise_offer(query, "gaussian", Gaussian.of_scale(sensitivity, grid, scale, delta), scaled=True)


def _possible_offers(query: Query, target: Target, prior: AnalystPrior | None) -> dict[str, Callable[[], Offer]]:
    """The mechanisms that can answer this kind of query; nothing is calibrated yet."""
    if not isinstance(query, VectorQuery):
        from shoal.query.selection import possible_selections

        return possible_selections(query, target, prior)
    found: dict[str, Callable[[], Offer]] = {
        "laplace": lambda: _noise_offer(query, "laplace", _laplace(query, target), scaled=True),
        "optimal": lambda: _noise_offer(query, "optimal", _staircase(query, target), scaled=False),
        "gaussian": lambda: _noise_offer(query, "gaussian", _gaussian(query, target), scaled=True),
    }
    if query.has_fixed_total:
        found["fixed-total"] = lambda: _noise_offer(query, "fixed-total", _fixed_total(query, target), scaled=True)
    if prior is not None and query.components == 1:
        from shoal.query.selection import refine_prior

        found["refinement"] = lambda: refine_prior(query, target, prior)
    return found


def _laplace(query: VectorQuery, target: Target) -> Laplace:
    return Laplace.for_target(PureDP(target.epsilon), sensitivity=query.scaled_sensitivity, grid=query.scaled_grid)


def _fixed_total(query: VectorQuery, target: Target) -> FixedTotalNoise:
    return FixedTotalNoise.for_target(
        PureDP(target.epsilon), sensitivity=query.scaled_sensitivity, grid=query.scaled_grid
    )


def _staircase(query: VectorQuery, target: Target) -> Staircase:
    """The staircase noise with the least variance, each component measured in units of its L∞ sensitivity."""
    from shoal.mechanism.staircase.mechanism import Staircase

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


def no_mechanism() -> ShoalError:
    """What is said where no mechanism can answer a question."""
    return UsageError("no mechanism can answer this question")
