"""What an analyst says to know already, read for one question: a prior with the distance that suits it, and one text for it.

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
from shoal.guarantee.rounding import exact, exact_text
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
from shoal.query.condition import ranks as ladders
from shoal.query.condition.parse import Kind, Token
from shoal.query.condition.ranks import number
from shoal.query.questions.base import Added, Asked
from shoal.query.questions.person import Individual

_BINS = {"edges", "probabilities"}
_FORMS = "uniform, uniform:LOW:HIGH, {value: probability, ...}, {edges: [...], probabilities: [...]}"
_NUMBERS = (Type.INTEGER, Type.DECIMAL)
_ORDERED = (Type.ORDINAL, Type.DATE, Type.DATETIME)


@dataclass(frozen=True)
class Known:
    """A prior; `text` is None where two that mean the same cannot be told to.

    Where the law is too long to be listed, its draws are brought to the `grid` afterwards, which costs nothing.
    """

    law: Prior
    text: str | None
    distance: str | None = None
    grid: Grid | None = None

    def settled(self, drawn: Any) -> Any:
        """What was drawn, on the grid of the answer."""
        return drawn if self.grid is None else self.grid.nearest(drawn)


def known(given: object, asked: Asked) -> Known | None:
    """The prior that was given for a question; None for none."""
    if given is None or isinstance(given, Known):
        return given
    if not isinstance(asked, Added | Individual) or (isinstance(asked, Added) and asked.components != 1):
        raise UsageError("only a question with one number, or about one person, takes a prior", fix="leave it out")
    if isinstance(given, str):
        return _by_name(given, asked)
    if isinstance(given, Mapping):
        return _bins(given, asked) if set(given) == _BINS else _listed(given, asked)
    return _of_law(as_prior(given), asked)


# --- uniform --------------------------------------------------------------------------------------------------------


def _by_name(given: str, asked: Added | Individual) -> Known:
    word, *ends = given.strip().split(":")
    if word != "uniform" or len(ends) not in (0, 2):
        raise UsageError("this is no prior", came=excerpt(given), allowed=_FORMS)
    if ends:
        return _between(ends[0].strip(), ends[1].strip(), asked)
    if not isinstance(asked, Individual):
        raise UsageError(
            "a count or sum has no declared range", came=given, allowed="uniform:LOW:HIGH", fix="name the ends"
        )
    domain = asked.domain
    if asked.attribute.type in _NUMBERS and isinstance(domain, Interval):
        law, grid = Grid.of(asked).uniform(*_ends(asked))
        return Known(law, "uniform", None, grid)
    return Known(_each_alike(list(asked.values or ()), "uniform", asked), "uniform", _distance(asked))


def _between(first: str, last: str, asked: Added | Individual) -> Known:
    """Every value of the grid from one end to the other."""
    if isinstance(asked, Individual) and asked.attribute.type is Type.DATE:
        low, high = (_declared(end, asked) for end in (first, last))
        days = [value for value in asked.values or () if low <= value <= high] if low < high else []
        return Known(_each_alike(days, f"{low}:{high}", asked), f"uniform:{low}:{high}", _distance(asked))
    if isinstance(asked, Individual) and asked.attribute.type not in _NUMBERS:
        raise UsageError(
            f"attribute '{asked.attribute.name}' has no numbers to lie between two ends",
            came=asked.attribute.type.value,
            allowed="uniform, or {value: probability, ...}",
        )
    start, end = exact(first, "an end of the prior"), exact(last, "an end of the prior")
    if isinstance(asked, Individual):
        for each in (start, end):
            _refuse_beyond(each, asked)
        line = Line.of(asked.attribute.type, asked.domain)
        if line.listed is not None:
            some = [at for at in line.listed if start <= at <= end]
            text = f"uniform:{exact_text(start)}:{exact_text(end)}"
            return Known(_each_alike(some, text, asked), text)
    law, grid = Grid.of(asked).uniform(start, end)
    return Known(law, f"uniform:{exact_text(start)}:{exact_text(end)}", None, grid)


def _each_alike(values: Sequence[Any], came: str, asked: Individual) -> Prior:
    if not values or len(values) > MOST_VALUES:
        raise UsageError(
            f"the values of attribute '{asked.attribute.name}' cannot be listed",
            came=came,
            allowed=f"1 to {MOST_VALUES:,} values",
            fix="list what you know",
        )
    return DiscretePrior({_value(value, asked): Fraction(1, len(values)) for value in values})


# --- bins, lists and laws -----------------------------------------------------------------------------------------------


def _bins(given: Mapping[Any, Any], asked: Added | Individual) -> Known:
    edges, masses = given["edges"], given["probabilities"]
    if not all(isinstance(each, Sequence) and not isinstance(each, str) for each in (edges, masses)):
        raise UsageError("the edges and probabilities of a prior are lists", allowed=_FORMS)
    law, grid = _laid([exact(each, "an edge of the prior") for each in edges], HistogramPrior(edges, masses), asked)
    told = [[exact_text(exact(each)) for each in listed] for listed in (edges, masses)]
    return Known(law, json.dumps(["histogram", *told]), None, grid)


def _laid(edges: Sequence[Fraction], law: HistogramPrior, asked: Added | Individual) -> tuple[Prior, Grid | None]:
    """Bins on the grid of the answer."""
    _refuse_no_numbers(asked)
    if isinstance(asked, Individual):
        for end in (edges[0], edges[-1]):
            _refuse_beyond(end, asked)
    return Grid.of(asked).bins(edges, law)


def _listed(given: Mapping[Any, Any], asked: Added | Individual) -> Known:
    """In the declared order of its values, so that what lies near is told by it."""
    typed = [(_declared(value, asked), mass) for value, mass in given.items()]
    if len({value for value, _ in typed}) < len(typed):
        raise UsageError("a value of the prior comes twice")
    declared = asked.values if isinstance(asked, Individual) and asked.attribute.type in _ORDERED else None
    places = {value: place for place, value in enumerate(declared or ())}
    typed.sort(key=lambda pair: (places.get(pair[0], 0), str(pair[0])))
    law = DiscretePrior(dict(typed))
    told = [[str(value), exact_text(exact(mass))] for value, mass in typed]
    return Known(law, json.dumps(["listed", *told]), _distance(asked) if isinstance(asked, Individual) else None)


def _of_law(law: Prior, asked: Added | Individual) -> Known:
    """A law from Python: listed, or on a line; what a law without ends has beyond the domain counts as the domain's end."""
    if isinstance(law, DiscretePrior):
        return _listed(dict(zip(law.listed, law.masses, strict=True)), asked)
    if not isinstance(law, QuantilePrior):
        raise UsageError("a prior over several answers, for one", came=type(law).__name__, allowed=_FORMS)
    if isinstance(law, HistogramPrior):
        laid, grid = _laid([exact(edge) for edge in law.edges.tolist()], law, asked)
        return Known(laid, None, None, grid)
    _refuse_no_numbers(asked)
    if isinstance(asked, Individual):
        _refuse_beyond(exact(law.center), asked)
    return Known(law, None, None, Grid.of(asked))


# --- what may come out ----------------------------------------------------------------------------------------------------


def _distance(asked: Individual) -> str | None:
    return "ordinal" if asked.attribute.type in _ORDERED and asked.values is not None else None


def _value(value: Any, asked: Asked) -> Any:
    """A value as the answer would have it."""
    if isinstance(asked, Individual) and asked.attribute.type not in _NUMBERS:
        return ("true" if value else "false") if isinstance(value, bool) else str(value)
    return number(exact(value, "a value of the prior"))


def _declared(value: Any, asked: Asked) -> Any:
    """The same, and one that the policy declares."""
    found = _value(value, asked)
    if not isinstance(asked, Individual):
        if isinstance(found, float) and isinstance(asked, Added) and asked.grid[0] == 1:
            raise UsageError("a value of the prior is no whole number", came=excerpt(value), allowed="0, 1, 2, …")
        return found
    attribute, domain = asked.attribute, asked.domain
    if attribute.type in _NUMBERS:
        at, listed = exact(value), Line.of(attribute.type, domain).listed
        if (listed is not None and at not in listed) or (attribute.type is Type.INTEGER and at.denominator != 1):
            raise ladders.outside(attribute, exact_text(at))
        _refuse_beyond(at, asked)
    elif isinstance(domain, Pattern):
        if not ladders.matches(domain, found):
            raise ladders.outside(attribute, found)
    elif attribute.type is Type.DATETIME:
        at = ladders.typed_point(attribute, Token(Kind.TIME, found, 1))
        low, high = _ends(asked)
        if not low <= at <= high:
            raise ladders.outside(attribute, found)
    elif asked.values is not None and found not in asked.values:
        raise ladders.outside(attribute, found)
    return found


def _refuse_beyond(at: Fraction, asked: Individual) -> None:
    """A number beyond the ends of the domain."""
    low, high = _ends(asked)
    if not low <= at <= high:
        raise ladders.outside(asked.attribute, exact_text(at))


def _refuse_no_numbers(asked: Asked) -> None:
    """A law on a line for values that are listed, or no numbers."""
    if not isinstance(asked, Individual):
        return
    if asked.attribute.type not in _NUMBERS or not isinstance(asked.domain, Interval):
        raise UsageError(
            f"a prior over numbers on a line does not suit attribute '{asked.attribute.name}'",
            came=asked.domain.words(),
            allowed="{value: probability, ...}",
        )


def _ends(asked: Individual) -> tuple[Fraction, Fraction]:
    line = Line.of(asked.attribute.type, asked.domain)
    return line.low, line.high


LISTED = 4096
"""With more points a law is kept as one on a line, and what is drawn from it goes to the nearest point."""
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Grid:
    """Multiples of `step`, or every number without one; from `low` to `high` where the answer has ends."""

    step: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None

    @classmethod
    def of(cls, asked: Added | Individual) -> Grid:
        """The grid of the answer to a question with one number."""
        if isinstance(asked, Added):
            return cls(asked.grid[0])
        line = Line.of(asked.attribute.type, asked.domain)
        return cls(Fraction(1) if asked.attribute.type is Type.INTEGER else None, line.low, line.high)

    def nearest(self, drawn: Any) -> int | float:
        """The point that is nearest to a number."""
        at = exact(drawn)
        if self.step is not None:
            at = floor(at / self.step + _HALF) * self.step
        at = at if self.low is None else max(at, self.low)
        return number(at if self.high is None else min(at, self.high))

    def uniform(self, low: Fraction, high: Fraction) -> tuple[Prior, Grid | None]:
        """All points between two ends alike, and the grid to which draws still have to go."""
        if self.step is None or high <= low:
            return UniformPrior(low, high), self  # which refuses ends that do not rise
        first, last = ceil(low / self.step), floor(high / self.step)
        if last < first:
            raise UsageError(
                "the prior holds no possible answer",
                came=f"uniform:{exact_text(low)}:{exact_text(high)}",
                allowed=f"multiples of {exact_text(self.step)}",
            )
        count = last - first + 1
        if count <= LISTED:
            return DiscretePrior({number(self.step * at): Fraction(1, count) for at in range(first, last + 1)}), None
        ends = self.step * first, self.step * last
        return UniformPrior(ends[0] - self.step / 2, ends[1] + self.step / 2), Grid(self.step, *ends)

    def bins(self, edges: Sequence[Fraction], law: HistogramPrior) -> tuple[Prior, Grid | None]:
        """The mass of each bin spread over its points; the last bin holds its upper edge too."""
        step = self.step
        if step is None or floor((edges[-1] - edges[0]) / step) >= LISTED:
            return law, self
        found: dict[Any, Fraction] = {}
        for place, ((low, high), mass) in enumerate(zip(pairwise(edges), law.masses, strict=True)):
            last = floor(high / step) if place == len(law.masses) - 1 else ceil(high / step) - 1
            points = range(ceil(low / step), last + 1)
            if mass and not points:
                raise UsageError(
                    "a bin of the prior holds no possible answer",
                    came=f"{exact_text(low)} to {exact_text(high)}",
                    allowed=f"multiples of {exact_text(step)}",
                )
            found |= {number(step * at): mass / len(points) for at in points}
        return DiscretePrior(found), None
