"""What an analyst says to know already, read for one question: a prior with the distance that suits it, and one text for it.

uniform                                      every declared value alike (of one person)
uniform:0:500                                every number between two ends alike
{flu: 0.5, cold: 0.3, rare: 0.2}             values with their probabilities
{edges: [0, 40, 110], probabilities: [.4, .6]}   numbers in bins
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal.data.domain import Interval
from shoal.data.line import Line
from shoal.data.type import Type
from shoal.errors import UsageError
from shoal.guarantee.rounding import exact, exact_text
from shoal.mechanism.prior import MOST_VALUES, Discrete, Prior
from shoal.mechanism.prior_joint import prior_of
from shoal.mechanism.prior_steps import Histogram, Uniform
from shoal.query.asked import Added, Asked, Individual
from shoal.query.measure import number

_BINS = {"edges", "probabilities"}
_FORMS = "uniform, uniform:LOW:HIGH, {value: probability, ...}, {edges: [...], probabilities: [...]}"
_ORDERED = (Type.ORDINAL, Type.DATE, Type.DATETIME)


@dataclass(frozen=True)
class Known:
    """A prior; `text` is None where two that mean the same cannot be told to."""

    law: Prior
    text: str | None
    distance: str | None = None


def known(given: object, asked: Asked) -> Known | None:
    """The prior that was given for a question; None for none."""
    if given is None or isinstance(given, Known):
        return given
    if not isinstance(asked, Added | Individual) or (isinstance(asked, Added) and asked.components != 1):
        raise UsageError("only a question with one number, or about one person, takes a prior", fix="leave it out")
    if isinstance(given, str):
        return _by_name(given, asked)
    if isinstance(given, Mapping):
        return _bins(given) if set(given) == _BINS else _listed(given, asked)
    return Known(prior_of(given), None)


def _by_name(given: str, asked: Asked) -> Known:
    word, *ends = given.strip().split(":")
    if word != "uniform" or len(ends) not in (0, 2):
        raise UsageError("this is no prior", came=given, allowed=_FORMS)
    if ends:
        low, high = (exact(end.strip(), "an end of the prior") for end in ends)
        return Known(Uniform(low, high), f"uniform:{exact_text(low)}:{exact_text(high)}")
    if not isinstance(asked, Individual):
        raise UsageError(
            "a count or sum has no declared range", came=given, allowed="uniform:LOW:HIGH", fix="name the ends"
        )
    return Known(_uniform(asked), "uniform", _distance(asked))


def _uniform(asked: Individual) -> Prior:
    """Over the declared domain."""
    kind, domain = asked.attribute.type, asked.domain
    values: Sequence[Any] | None = asked.values
    if kind in (Type.INTEGER, Type.DECIMAL) and isinstance(domain, Interval):
        line = Line.of(kind, domain)
        count = int(line.high - line.low) + 1
        if kind is Type.DECIMAL or count > MOST_VALUES:
            return Uniform(line.low, line.high)
        values = range(int(line.low), int(line.high) + 1)
    if values is None or len(values) > MOST_VALUES:
        raise UsageError(
            f"the values of attribute '{asked.attribute.name}' cannot be listed",
            came="uniform",
            fix="list what you know",
        )
    return Discrete({_value(value, asked): Fraction(1, len(values)) for value in values})


def _bins(given: Mapping[Any, Any]) -> Known:
    edges, masses = given["edges"], given["probabilities"]
    if not all(isinstance(each, Sequence) and not isinstance(each, str) for each in (edges, masses)):
        raise UsageError("the edges and probabilities of a prior are lists", allowed=_FORMS)
    law = Histogram(edges, masses)
    told = [[exact_text(exact(each)) for each in listed] for listed in (edges, masses)]
    return Known(law, json.dumps(["histogram", *told]))


def _listed(given: Mapping[Any, Any], asked: Asked) -> Known:
    """In the declared order of its values, so that what lies near is told by it."""
    typed = [(_value(value, asked), mass) for value, mass in given.items()]
    if len({value for value, _ in typed}) < len(typed):
        raise UsageError("a value of the prior comes twice")
    declared = list(asked.values or ()) if isinstance(asked, Individual) and asked.attribute.type in _ORDERED else []
    places = {value: place for place, value in enumerate(declared)}
    unknown = [value for value, _ in typed if declared and value not in places]
    if unknown:
        raise UsageError("a value of the prior is not declared", came=unknown[0])
    typed.sort(key=lambda pair: (places.get(pair[0], 0), str(pair[0])))
    law = Discrete(dict(typed))
    told = [[str(value), exact_text(exact(mass))] for value, mass in typed]
    return Known(law, json.dumps(["listed", *told]), _distance(asked) if isinstance(asked, Individual) else None)


def _distance(asked: Individual) -> str | None:
    return "ordinal" if asked.attribute.type in _ORDERED and asked.values is not None else None


def _value(value: Any, asked: Asked) -> Any:
    """A value as the answer would have it."""
    if isinstance(asked, Individual) and asked.attribute.type not in (Type.INTEGER, Type.DECIMAL):
        return ("true" if value else "false") if isinstance(value, bool) else str(value)
    return number(exact(value, "a value of the prior"))
