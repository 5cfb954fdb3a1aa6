"""A condition as plain Python values, the second spelling of the language of conditions.

{"age": (40, 65), "sex": "female"}                     from 40 up to, but not including, 65; and female
{"diagnosis": {"A11", "A12"}}                          one of several: a set, a list or a range
{"age": (65, None)}, {"age": None}                     no upper end; missing
{"size": 3}, {"size": "3-9"}                           a number is a value; a text that is a label of the hierarchy is that label
{"drug": {"label": "A"}}, {"drug": {"value": "A"}}     where a text is both: the label; the value alone
{"region@1": "North"}                                  a label of this level
[{"age": (65, None)}, {"department": "Oncology"}]      one or the other, or both

It is turned into the one normal form that texts have, by the policy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import Any

from shoal.data.domain import Pattern
from shoal.data.hierarchy.level import MISSING
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, point, spell
from shoal.errors import PolicyError, UsageError
from shoal.guarantee.rounding import exact_text
from shoal.language.condition.labels import check_level, label_sets, values_under
from shoal.language.condition.parse import Token, TokenKind
from shoal.language.condition.predicate import PURPOSE, Predicate
from shoal.language.condition.ranks import (
    DoubleRanks,
    ListedRanks,
    RankedDomain,
    attribute_of,
    domain_of,
    matches,
    may_be_missing,
    outside_domain_error,
    rank_of_double,
    ranked_domain,
)
from shoal.language.condition.sets import RankSet, TextSet, ValueSet
from shoal.policy.text.problem import excerpt

Where = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A condition in either spelling."""


def read_condition(where: Where | None, schema: Schema) -> Predicate:
    """The condition that a text or plain values mean; None is satisfied by every row.

    Raises     UsageError where it cannot be read, or names what the policy does not declare.
    """
    if where is None:
        return Predicate.everything()
    if isinstance(where, str):
        return Predicate.parse(where, schema)
    given: Any = [where] if isinstance(where, Mapping) else where
    if not isinstance(given, list | tuple) or not all(isinstance(each, Mapping) for each in given):
        raise UsageError(
            "a condition of an unknown form",
            came=type(where).__name__,
            allowed="a text; a mapping from attributes to a value, a set of values or (low, high); a list of such mappings",
        )
    if not given:
        raise UsageError("the list of conditions is empty", fix="give at least one mapping; {} is everything")
    return Predicate.of_sets([[values_of_entry(schema, name, value) for name, value in each.items()] for each in given])


def condition_text(where: Where | None, schema: Schema) -> str | None:
    """A condition in its one spelling, for the `where` of a question; None where every row satisfies it.

    Raises     UsageError as `read_condition` does.
    """
    found = read_condition(where, schema)
    return None if found.always else found.canonical()


def values_of_entry(schema: Schema, name: object, value: object) -> ValueSet:
    """The values of one attribute that an entry of a mapping allows."""
    if not isinstance(name, str):
        raise UsageError("an attribute is named by a text", came=excerpt(name))
    bare, at, digits = name.rpartition("@")
    if name not in schema.by_name and at and digits.isascii() and digits.isdigit() and len(digits) <= 3:
        return _labels(attribute_of(schema, bare, PURPOSE), int(digits), value)
    attribute = attribute_of(schema, name, PURPOSE)
    if isinstance(value, tuple):
        return _between(attribute, value)
    several = list(value) if isinstance(value, set | frozenset | list | range) else [value]
    if not several:
        raise UsageError(f"attribute '{name}': the set of values is empty", fix="name at least one value")
    return reduce(lambda one, other: one.union(other), [_single(attribute, each) for each in several])


def _labels(attribute: Attribute, level: int, value: object) -> ValueSet:
    check_level(attribute, level)
    several = list(value) if isinstance(value, set | frozenset | list | range) else [value]
    if not several or isinstance(value, tuple):
        raise UsageError(
            f"attribute '{attribute.name}': no label of level {level}", came=excerpt(value), allowed="a label, or a set"
        )
    if level == 0:
        return reduce(lambda one, other: one.union(other), [declared_value(attribute, each) for each in several])
    return values_under(attribute, level, [spell(each) for each in several])


def _nothing(attribute: Attribute, *, missing: bool) -> ValueSet:
    domain = ranked_domain(attribute, PURPOSE)
    if domain is None:
        return TextSet(attribute, missing, frozenset(), inside=True)
    return RankSet(attribute, missing, domain, ())


def _between(attribute: Attribute, value: tuple[Any, ...]) -> ValueSet:
    """From low up to, but not including, high."""
    name = attribute.name
    domain = ranked_domain(attribute, PURPOSE)
    if domain is None or not attribute.type.numeric or len(value) != 2:
        raise UsageError(
            f"attribute '{name}': (low, high) is for numbers, dates and times, and has two ends",
            came=excerpt(value),
            fix="give a set of values",
        )
    try:
        low, high = (None if end is None else point(_continuous(attribute), end) for end in value)
    except PolicyError as error:
        raise UsageError(f"attribute '{name}': {error.wrong}", came=error.came, allowed=error.allowed) from None
    if low is not None and high is not None and low >= high:
        raise UsageError(
            f"attribute '{name}': an empty interval", came=excerpt(value), allowed="low < high; high is not included"
        )
    first = domain.low if low is None else max(domain.low, _first_rank(attribute, domain, low))
    last = domain.high if high is None else min(domain.high, _first_rank(attribute, domain, high) - 1)
    if first > last:
        raise UsageError(
            f"attribute '{name}': an interval outside its declared domain",
            came=excerpt(value),
            allowed=domain_of(attribute, PURPOSE).words(),
        )
    return RankSet(attribute, False, domain, ((first, last),))


def _continuous(attribute: Attribute) -> Type:
    """The type in which ends are read: of whole numbers an end may lie between two of them."""
    return Type.DECIMAL if attribute.type is Type.INTEGER else attribute.type


def _first_rank(attribute: Attribute, domain: RankedDomain, at: Fraction) -> int:
    """The rank of the first value at or above a point."""
    if isinstance(domain, ListedRanks):
        points = [point(attribute.type, value) for value in domain.values]
        return sum(each < at for each in points)
    if not isinstance(domain, DoubleRanks):
        return ceil(at)
    try:
        return rank_of_double(float(at))  # the double that the number is read as, here and in the data
    except OverflowError:
        return domain.high + 1 if at > 0 else domain.low


def _single(attribute: Attribute, given: object) -> ValueSet:
    """One value or label.

    A text that is a label of the hierarchy is that label; numbers, dates, truth values and other texts are declared values. Where
    a text of a category is a value and also a label that stands for more, it has to be said which.
    """
    value, as_label, as_value = _explicit(attribute.name, given)
    if value is None or value == MISSING:
        if not may_be_missing(attribute):
            raise UsageError(f"attribute '{attribute.name}': the policy allows no missing values", came="None")
        return _nothing(attribute, missing=True)
    labels = label_sets(attribute, value) if as_label and isinstance(value, str) else []
    own: ValueSet | None = None
    refused: UsageError | None = None
    if as_value:
        try:
            own = declared_value(attribute, value)
        except UsageError as error:
            refused = error
    if len(labels) > 1:
        raise UsageError(
            f"attribute '{attribute.name}': a label that stands for different values at different levels",
            came=excerpt(value),
            fix=f"name the level, as in '{attribute.name}@1'",
        )
    if not labels:
        if own is not None:
            return own
        raise refused or UsageError(f"attribute '{attribute.name}' has no such label", came=excerpt(value))
    if own is None or own == labels[0] or attribute.type.numeric:
        return labels[0]
    raise UsageError(
        f"attribute '{attribute.name}': a declared value, and also a label that stands for other values too",
        came=excerpt(value),
        allowed="{'label': …} for all values under the label, {'value': …} for the value alone",
    )


def _explicit(name: str, given: object) -> tuple[object, bool, bool]:
    """The value that an entry names, and whether it may be a label, and whether a declared value."""
    if not isinstance(given, Mapping):
        return given, True, True
    if len(given) != 1 or not set(given) <= {"label", "value"}:
        raise UsageError(
            f"attribute '{name}': a condition of an unknown form",
            came=f"a mapping with {', '.join(map(repr, given)) or 'nothing'}",
            allowed="{'label': …} or {'value': …}",
        )
    ((kind, value),) = given.items()
    return value, kind == "label", kind == "value"


def declared_value(attribute: Attribute, value: object) -> ValueSet:
    """A declared value; UsageError for one that no row can have."""
    domain = ranked_domain(attribute, PURPOSE)
    if domain is None:
        text, own = spell(value), domain_of(attribute, PURPOSE)
        if isinstance(own, Pattern) and not matches(own, text):
            raise outside_domain_error(attribute, text)
        return TextSet(attribute, False, frozenset({text}), inside=True)
    rank = domain.rank_of(_token(attribute, value))
    return RankSet(attribute, False, domain, ((rank, rank),))


def _token(attribute: Attribute, value: object) -> Token:
    """A plain value as it would be typed."""
    if isinstance(value, bool):
        return Token(TokenKind.TRUTH, spell(value), 1)
    if attribute.type in (Type.INTEGER, Type.DECIMAL):
        written = exact_text(value) if isinstance(value, Fraction) else spell(value)
        return Token(TokenKind.NUMBER, written, 1)
    if attribute.type in (Type.DATE, Type.DATETIME):
        return Token(TokenKind.TIME, spell(value), 1)
    return Token(TokenKind.TRUTH if attribute.type is Type.BOOLEAN else TokenKind.TEXT, spell(value), 1)
