"""A column that questions measure: an attribute, or arithmetic on numeric attributes, with the interval of its values.

The interval follows from the declared domains and from the condition of the question: of rows that satisfy `income < 50000` no
income is larger. Only the policy and the question decide it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, point
from shoal.engine.base import Counts
from shoal.errors import UsageError
from shoal.language.arithmetic import Expression, Floats, Range, parse_arithmetic
from shoal.language.condition.predicate import Predicate
from shoal.language.condition.ranks import (
    Array,
    DoubleRanks,
    ListedRanks,
    describe_treatment,
    double_at,
    line_of,
    may_be_missing,
    ranked_domain,
)
from shoal.policy.text.problem import excerpt

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MeasuredColumn:
    """A column to measure: values lie between `low` and `high` in all rows that satisfy the condition and have a value."""

    text: str
    type: Type
    low: Fraction
    high: Fraction
    attributes: tuple[Attribute, ...]
    expression: Expression | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that it reads, sorted."""
        return tuple(sorted(each.name for each in self.attributes))

    @property
    def may_be_missing(self) -> bool:
        """Whether a row may have no value, because one of the attributes has none."""
        return any(may_be_missing(each) for each in self.attributes)

    @property
    def scope(self) -> tuple[str, ...]:
        """What is done to values that are missing or outside the domain."""
        return tuple(dict.fromkeys(said for each in self.attributes for said in describe_treatment(each)))

    def present(self, counts: Counts) -> Mask:
        """Which distinct tuples have a value."""
        places = [counts.columns.index(name) for name in self.names]
        return np.asarray(np.logical_and.reduce([counts.codes[place] >= 0 for place in places]))

    def values(self, counts: Counts) -> tuple[Array, npt.NDArray[np.int32] | None]:
        """The values, and the position among them for each tuple; of arithmetic one value for each tuple, and no positions."""
        if self.expression is None:
            place = counts.columns.index(self.attributes[0].name)
            return counts.values[place], counts.codes[place]
        return self._computed(counts, self.expression), None

    def _computed(self, counts: Counts, expression: Expression) -> Floats:
        """The value of each tuple in double precision; whatever is no number lies at the lower end."""
        own = {}
        for name in self.names:
            place = counts.columns.index(name)
            known = np.append(counts.values[place].astype(np.float64), 0.0)  # ABSENT is -1: the last
            own[name] = known[counts.codes[place]]
        with np.errstate(all="ignore"):
            found = expression.evaluate(own)
        ends = float(self.low), float(self.high)
        return np.clip(np.nan_to_num(found, nan=ends[0], posinf=ends[1], neginf=ends[0]), *ends)


def column_of(
    schema: Schema, text: str, purpose: str, allowed: tuple[Type, ...], where: Predicate | None = None
) -> MeasuredColumn:
    """The column that a text names: an attribute of an allowed type, or arithmetic on numeric attributes.

    Raises     UsageError where it cannot be read, an attribute has no bounded domain, or no row that satisfies the condition has
               a value.
    """
    condition = Predicate.everything() if where is None else where
    if text in schema.by_name or _is_name(text):
        attribute, _ = line_of(schema, text, purpose, allowed)
        return MeasuredColumn(text, attribute.type, *_range(schema, text, purpose, allowed, condition), (attribute,))
    expression = parse_arithmetic(text, schema, purpose)
    names = sorted(expression.names)
    if not names:
        raise UsageError("arithmetic without an attribute", came=excerpt(text), fix="name an attribute, or count rows")
    numbers = (Type.INTEGER, Type.DECIMAL)
    if expression.terms[0][1].text == expression.text and not expression.terms[0][1].parts:
        return column_of(schema, names[0], purpose, allowed, where)
    found = expression.interval({name: _range(schema, name, purpose, numbers, condition) for name in names})
    kind = Type.INTEGER if expression.whole else Type.DECIMAL
    return MeasuredColumn(expression.text, kind, *found, tuple(schema[name] for name in names), expression)


def _is_name(text: str) -> bool:
    """Whether a text has no sign of arithmetic, so that it can only be meant as a name."""
    return not any(letter in '+-*/()`"' or letter.isdigit() for letter in text)


def _range(schema: Schema, name: str, purpose: str, allowed: tuple[Type, ...], where: Predicate) -> Range:
    """The ends of an attribute's values in rows that satisfy a condition; one that leaves a single value narrows nothing."""
    attribute, line = line_of(schema, name, purpose, allowed)
    span = where.hull(name)
    if span is None:
        return line.low, line.high
    low, high = (_point(attribute, rank) for rank in span)
    return (line.low, line.high) if low == high else (max(line.low, low), min(line.high, high))


def _point(attribute: Attribute, rank: int) -> Fraction:
    """The point of the line at a rank."""
    domain = ranked_domain(attribute, "measure")
    if isinstance(domain, ListedRanks):
        return point(attribute.type, domain.values[rank])
    return Fraction(double_at(rank)) if isinstance(domain, DoubleRanks) else Fraction(rank)
