"""The prior of an analyst for one question, with the distance that suits it, and one text that identifies it.

uniform                                      every declared value alike (of one person)
uniform:0:500                                every value between two ends alike
{flu: 0.5, cold: 0.3, rare: 0.2}             values with their probabilities
{edges: [0, 40, 110], probabilities: [.4, .6]}   numbers in bins

A prior lies on the grid of the answer: whole numbers for counts and integers, days for dates. What it holds to be possible
has to be declared by the policy; anything else is refused here, before a charge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

from shoal.data.domain import Interval, Line, Pattern
from shoal.data.type import Type
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact, exact_text, read_number
from shoal.language.condition.parse import Token, TokenKind
from shoal.language.condition.ranks import matches, number, outside_domain_error, parse_point
from shoal.mechanism.refinement.prior import (
    MOST_VALUES,
    DiscretePrior,
    HistogramPrior,
    Prior,
    QuantilePrior,
    UniformPrior,
    as_prior,
)
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import Query, VectorQuery
from shoal.query.questions.person import PersonQuery

_BINS = {"edges", "probabilities"}
_FORMS = "uniform, uniform:LOW:HIGH, {value: probability, ...}, {edges: [...], probabilities: [...]}"
_NUMBERS = (Type.INTEGER, Type.DECIMAL)
_ORDERED = (Type.ORDINAL, Type.DATE, Type.DATETIME)


@dataclass(frozen=True)
class AnalystPrior:
    """A prior for one question; `text` identifies it, and is None where equal priors cannot be recognised.

    Where the prior has too many values to be listed, its draws are rounded to the `grid` afterwards, which costs nothing.
    """

    distribution: Prior
    text: str | None
    distance: str | None = None
    grid: AnswerGrid | None = None

    def to_grid(self, drawn: Any) -> Any:
        """A draw, rounded to the grid of the answer."""
        return drawn if self.grid is None else self.grid.nearest(drawn)


def resolve_prior(given: object, query: Query) -> AnalystPrior | None:
    """The prior that was given for a query; None where none was given."""
    if given is None or isinstance(given, AnalystPrior):
        return given
    if not isinstance(query, VectorQuery | PersonQuery) or (isinstance(query, VectorQuery) and query.components != 1):
        raise UsageError(
            "this question takes no prior",
            allowed="a prior for a question with one number, or about one person",
            fix="leave the prior out",
        )
    if isinstance(given, str):
        return _by_name(given, query)
    if isinstance(given, Mapping):
        return _bins(given, query) if set(given) == _BINS else _listed_prior(given, query)
    return _of_distribution(as_prior(given), query)


# --- uniform --------------------------------------------------------------------------------------------------------


def _by_name(given: str, query: VectorQuery | PersonQuery) -> AnalystPrior:
    word, *ends = given.strip().split(":")
    if word != "uniform" or len(ends) not in (0, 2):
        raise UsageError("a prior of an unknown form", came=excerpt(given), allowed=_FORMS)
    if ends:
        return _between(ends[0].strip(), ends[1].strip(), query)
    if not isinstance(query, PersonQuery):
        raise UsageError(
            "the answer to a count or a sum has no declared range",
            came=given,
            allowed="uniform:LOW:HIGH",
            fix="give the two ends",
        )
    domain = query.domain
    if query.attribute.type in _NUMBERS and isinstance(domain, Interval):
        prior, grid = AnswerGrid.of(query).uniform(*_ends(query))
        return AnalystPrior(prior, "uniform", None, grid)
    return AnalystPrior(_uniform_over(list(query.values or ()), "uniform", query), "uniform", _distance(query))


def _between(first: str, last: str, query: VectorQuery | PersonQuery) -> AnalystPrior:
    """The uniform prior over every value of the grid from one end to the other."""
    if isinstance(query, PersonQuery) and query.attribute.type is Type.DATE:
        low, high = (_check_declared(end, query) for end in (first, last))
        days = [value for value in query.values or () if low <= value <= high] if low < high else []
        return AnalystPrior(_uniform_over(days, f"{low}:{high}", query), f"uniform:{low}:{high}", _distance(query))
    if isinstance(query, PersonQuery) and query.attribute.type not in _NUMBERS:
        raise UsageError(
            f"attribute '{query.attribute.name}' is not numeric, so a prior between two ends does not suit it",
            came=query.attribute.type.value,
            allowed="uniform, or {value: probability, ...}",
        )
    start, end = (read_number(each, "an end of the prior") for each in (first, last))
    if isinstance(query, PersonQuery):
        for each in (start, end):
            _refuse_beyond(each, query)
        line = Line.of(query.attribute.type, query.domain)
        if line.listed is not None:
            some = [at for at in line.listed if start <= at <= end]
            text = f"uniform:{exact_text(start)}:{exact_text(end)}"
            return AnalystPrior(_uniform_over(some, text, query), text)
    prior, grid = AnswerGrid.of(query).uniform(start, end)
    return AnalystPrior(prior, f"uniform:{exact_text(start)}:{exact_text(end)}", None, grid)


def _uniform_over(values: Sequence[Any], came: str, query: PersonQuery) -> Prior:
    if not values or len(values) > MOST_VALUES:
        raise UsageError(
            f"the values of attribute '{query.attribute.name}' cannot be listed",
            came=came,
            allowed=f"1 to {MOST_VALUES:,} values",
            fix="list what you know",
        )
    return DiscretePrior({_value(value, query): Fraction(1, len(values)) for value in values})


# --- bins, lists and distributions ------------------------------------------------------------------------------------


def _bins(given: Mapping[Any, Any], query: VectorQuery | PersonQuery) -> AnalystPrior:
    edges, masses = given["edges"], given["probabilities"]
    if not all(isinstance(each, Sequence) and not isinstance(each, str) for each in (edges, masses)):
        raise UsageError("the edges and probabilities of a prior must be lists", allowed=_FORMS)
    prior, grid = _bins_on_grid(
        [exact(each, "an edge of the prior") for each in edges], HistogramPrior(edges, masses), query
    )
    texts = [[exact_text(exact(each)) for each in listed] for listed in (edges, masses)]
    return AnalystPrior(prior, json.dumps(["histogram", *texts]), None, grid)


def _bins_on_grid(
    edges: Sequence[Fraction], prior: HistogramPrior, query: VectorQuery | PersonQuery
) -> tuple[Prior, AnswerGrid | None]:
    """A histogram prior on the grid of the answer."""
    _refuse_no_numbers(query)
    if isinstance(query, PersonQuery):
        for end in (edges[0], edges[-1]):
            _refuse_beyond(end, query)
    return AnswerGrid.of(query).bins(edges, prior)


def _listed_prior(given: Mapping[Any, Any], query: VectorQuery | PersonQuery) -> AnalystPrior:
    """A listed prior, its values in their declared order, which the distance between them follows."""
    typed = [(_check_declared(value, query), mass) for value, mass in given.items()]
    if len({value for value, _ in typed}) < len(typed):
        raise UsageError("a value of the prior is listed twice")
    declared = query.values if isinstance(query, PersonQuery) and query.attribute.type in _ORDERED else None
    places = {value: place for place, value in enumerate(declared or ())}
    typed.sort(key=lambda pair: (places.get(pair[0], 0), str(pair[0])))
    prior = DiscretePrior(dict(typed))
    texts = [[str(value), exact_text(exact(mass))] for value, mass in typed]
    return AnalystPrior(
        prior, json.dumps(["listed", *texts]), _distance(query) if isinstance(query, PersonQuery) else None
    )


def _of_distribution(prior: Prior, query: VectorQuery | PersonQuery) -> AnalystPrior:
    """A prior from Python: listed, or over numbers on a line; what lies beyond the domain counts as the nearest end of it."""
    if isinstance(prior, DiscretePrior):
        return _listed_prior(dict(zip(prior.listed, prior.masses, strict=True)), query)
    if not isinstance(prior, QuantilePrior):
        raise UsageError("a prior of an unknown form", came=type(prior).__name__, allowed=_FORMS)
    if isinstance(prior, HistogramPrior):
        laid, grid = _bins_on_grid([exact(edge) for edge in prior.edges.tolist()], prior, query)
        return AnalystPrior(laid, None, None, grid)
    _refuse_no_numbers(query)
    if isinstance(query, PersonQuery):
        _refuse_beyond(exact(prior.center), query)
    return AnalystPrior(prior, None, None, AnswerGrid.of(query))


# --- what may come out ----------------------------------------------------------------------------------------------------


def _distance(query: PersonQuery) -> str | None:
    return "ordinal" if query.attribute.type in _ORDERED and query.values is not None else None


def _value(value: Any, query: Query) -> Any:
    """A value of the prior in the type of the answer."""
    if isinstance(query, PersonQuery) and query.attribute.type not in _NUMBERS:
        return ("true" if value else "false") if isinstance(value, bool) else str(value)
    return number(exact(value, "a value of the prior"))


def _check_declared(value: Any, query: Query) -> Any:
    """A value of the prior in the type of the answer, refused where the policy does not declare it."""
    found = _value(value, query)
    if not isinstance(query, PersonQuery):
        if isinstance(found, float) and isinstance(query, VectorQuery) and query.grid[0] == 1:
            raise UsageError("a value of the prior is not a whole number", came=excerpt(value), allowed="0, 1, 2, …")
        return found
    attribute, domain = query.attribute, query.domain
    if attribute.type in _NUMBERS:
        at, listed = exact(value), Line.of(attribute.type, domain).listed
        if (listed is not None and at not in listed) or (attribute.type is Type.INTEGER and at.denominator != 1):
            raise outside_domain_error(attribute, exact_text(at))
        _refuse_beyond(at, query)
    elif isinstance(domain, Pattern):
        if not matches(domain, found):
            raise outside_domain_error(attribute, found)
    elif attribute.type is Type.DATETIME:
        at = parse_point(attribute, Token(TokenKind.TIME, found, 1))
        low, high = _ends(query)
        if not low <= at <= high:
            raise outside_domain_error(attribute, found)
    elif query.values is not None and found not in query.values:
        raise outside_domain_error(attribute, found)
    return found


def _refuse_beyond(at: Fraction, query: PersonQuery) -> None:
    """Refuse a number beyond the ends of the domain."""
    low, high = _ends(query)
    if not low <= at <= high:
        raise outside_domain_error(query.attribute, exact_text(at))


def _refuse_no_numbers(query: Query) -> None:
    """Refuse a prior over numbers on a line for values that are listed, or no numbers."""
    if not isinstance(query, PersonQuery):
        return
    if query.attribute.type not in _NUMBERS or not isinstance(query.domain, Interval):
        raise UsageError(
            f"a prior over numbers on a line does not suit attribute '{query.attribute.name}'",
            came=query.domain.words(),
            allowed="{value: probability, ...}",
        )


def _ends(query: PersonQuery) -> tuple[Fraction, Fraction]:
    line = Line.of(query.attribute.type, query.domain)
    return line.low, line.high


LISTED = 4096
"""With more points a prior is kept as one over numbers on a line, and a draw is rounded to the nearest point."""
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class AnswerGrid:
    """The grid on which an answer lies: multiples of `step`, or every number; from `low` to `high` where it is bounded."""

    step: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None

    @classmethod
    def of(cls, query: VectorQuery | PersonQuery) -> AnswerGrid:
        """The grid of the answer to a question with one number."""
        if isinstance(query, VectorQuery):
            return cls(query.grid[0])
        line = Line.of(query.attribute.type, query.domain)
        return cls(Fraction(1) if query.attribute.type is Type.INTEGER else None, line.low, line.high)

    def nearest(self, drawn: Any) -> int | float:
        """The point of the grid that is nearest to a number."""
        at = exact(drawn)
        if self.step is not None:
            at = floor(at / self.step + _HALF) * self.step
        at = at if self.low is None else max(at, self.low)
        return number(at if self.high is None else min(at, self.high))

    def uniform(self, low: Fraction, high: Fraction) -> tuple[Prior, AnswerGrid | None]:
        """The uniform prior over all points between two ends, and the grid to which draws still have to be rounded."""
        if self.step is None or high <= low:
            return UniformPrior(low, high), self  # which refuses ends that do not rise
        first, last = ceil(low / self.step), floor(high / self.step)
        if last < first:
            raise UsageError(
                "the prior contains no possible answer",
                came=f"uniform:{exact_text(low)}:{exact_text(high)}",
                allowed=f"multiples of {exact_text(self.step)}",
            )
        count = last - first + 1
        if count <= LISTED:
            return DiscretePrior({number(self.step * at): Fraction(1, count) for at in range(first, last + 1)}), None
        ends = self.step * first, self.step * last
        return UniformPrior(ends[0] - self.step / 2, ends[1] + self.step / 2), AnswerGrid(self.step, *ends)

    def bins(self, edges: Sequence[Fraction], prior: HistogramPrior) -> tuple[Prior, AnswerGrid | None]:
        """The prior with the probability of each bin spread over its points; the last bin contains its upper edge."""
        step = self.step
        if step is None or floor((edges[-1] - edges[0]) / step) >= LISTED:
            return prior, self
        found: dict[Any, Fraction] = {}
        for place, ((low, high), mass) in enumerate(zip(pairwise(edges), prior.masses, strict=True)):
            last = floor(high / step) if place == len(prior.masses) - 1 else ceil(high / step) - 1
            points = range(ceil(low / step), last + 1)
            if mass and not points:
                raise UsageError(
                    "a bin of the prior contains no possible answer",
                    came=f"{exact_text(low)} to {exact_text(high)}",
                    allowed=f"multiples of {exact_text(step)}",
                )
            found |= {number(step * at): mass / len(points) for at in points}
        return DiscretePrior(found), None
