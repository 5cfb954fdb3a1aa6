"""A condition on rows in a small safe language over declared attributes: parsed, typed, and never handed to an engine.

age >= 65 and (sex = 'female' or diagnosis in ('A11', 'A12')) and not visit < 2025-01-01
weight between 50 and 80.5 or weight is missing
`date of birth` != 1980-02-29 and smoker = true
region@1 = 'North' and age@2 in ('[40, 50)', '[50, 60)')

Logic has two values. Every comparison is false where the value is missing, `!=`, `not in` and `not between` too; `not`
makes false true, so `not age >= 65` holds for the missing ages and `age < 65` does not. `region@1` compares the label of
the value at that level of the attribute's hierarchy, and means the declared values under the label.

Values must lie in the domain that the policy declares, and what no row could satisfy (`age > 70 and age < 60`) is refused.
Both follow from the condition and the policy alone, as every message here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Pattern
from shoal.data.schema import Attribute, Schema
from shoal.engine.base import Counts
from shoal.errors import UsageError
from shoal.language.condition.labels import check_level, values_under
from shoal.language.condition.parse import Comparison, Expression, Negation, TokenKind, parse_expression
from shoal.language.condition.ranks import (
    RankedDomain,
    attribute_of,
    domain_of,
    matches,
    may_be_missing,
    outside_domain_error,
    ranked_domain,
    wrong_type_error,
)
from shoal.language.condition.sets import Mask, RankSet, Span, TextSet, ValueSet, merge_spans

PURPOSE = "filter by it"


@dataclass(frozen=True)
class Atom:
    """The rows whose value of one attribute lies in a set of values."""

    value_set: ValueSet

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.value_set.attribute.name

    @cached_property
    def text(self) -> str:
        """The text of the condition."""
        return " or ".join(self.value_set.alternatives())

    @property
    def loose(self) -> bool:
        """Whether it needs parentheses inside `and`."""
        return len(self.value_set.alternatives()) > 1


@dataclass(frozen=True)
class Junction:
    """A conjunction (`every`) or a disjunction of parts, sorted; a conjunction of no parts is true for every row."""

    every: bool
    parts: tuple[Node, ...]

    @cached_property
    def text(self) -> str:
        """The text of the condition."""
        if not self.parts:
            return "everything"
        inner = (
            f"({part.text})" if part.loose and (self.every or isinstance(part, Junction)) else part.text
            for part in self.parts
        )
        return (" and " if self.every else " or ").join(inner)

    @property
    def loose(self) -> bool:
        """Whether it needs parentheses inside another."""
        return len(self.parts) > 1


Node = Atom | Junction
EVERYTHING = Junction(every=True, parts=())


@dataclass(frozen=True)
class Predicate:
    """A typed condition in normal form: conditions that mean the same are mostly equal, and print as one text."""

    root: Node

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Predicate:
        """Read a condition on the attributes of a schema; UsageError where it cannot be read."""
        if not isinstance(text, str):
            raise UsageError("a condition is not a text", came=type(text).__name__, allowed="such as 'age >= 65'")
        return cls(_node(parse_expression(text), schema, negated=False))

    @classmethod
    def of_sets(cls, alternatives: Sequence[Sequence[ValueSet]]) -> Predicate:
        """The condition that a row lies in all sets of one of the alternatives; UsageError where no row can."""
        return cls(_join([_join([_atom(each) for each in sets], every=True) for sets in alternatives], every=False))

    def and_also(self, other: Predicate) -> Predicate:
        """The condition that both hold; UsageError where no row can satisfy both."""
        return Predicate(_join([self.root, other.root], every=True))

    def or_else(self, other: Predicate) -> Predicate:
        """The condition that one of them holds, or both."""
        return Predicate(_join([self.root, other.root], every=False))

    def hull(self, name: str) -> tuple[int, int] | None:
        """The least and the largest rank that a row with a value of this attribute can have; None where nothing is said of it.

        Raises     UsageError where no row that satisfies the condition has a value of the attribute.
        """
        found: tuple[int, int] | None = _hull(self.root, name)
        if found is not None and not found:
            raise UsageError(f"no row that satisfies the condition has a value of attribute '{name}'")
        return found

    @classmethod
    def everything(cls) -> Predicate:
        """The condition that every row satisfies."""
        return cls(EVERYTHING)

    @property
    def always(self) -> bool:
        """Whether every row satisfies it, whatever the rows are."""
        return self.root == EVERYTHING

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The comparisons of the condition, each a set of values of one attribute."""
        return tuple(_atoms(self.root))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The attributes that the condition reads, sorted."""
        return tuple(sorted({atom.name for atom in self.atoms}))

    @cached_property
    def comparisons(self) -> int:
        """How many comparisons the condition has."""
        return len(self.atoms)

    def canonical(self) -> str:
        """One text for one meaning, as far as sorting, merging and one spelling go; it reads back as the same."""
        return self.root.text

    def is_disjoint_from(self, other: Predicate) -> bool:
        """Whether no row can satisfy both, as far as single attributes tell; False where they do not."""
        return _are_disjoint(self.root, other.root)

    def mask(self, counts: Counts) -> Mask:
        """Which distinct tuples satisfy the condition; each distinct value is tested once."""

        def holds(atom: Atom) -> Mask:
            place = counts.columns.index(atom.name)
            of_value = np.append(atom.value_set.contains(counts.values[place]), atom.value_set.missing)
            return np.asarray(of_value[counts.codes[place]])  # ABSENT is -1: the last

        return _evaluate(self.root, holds, len(counts))


def _atoms(node: Node) -> Iterable[Atom]:
    if isinstance(node, Atom):
        yield node
    else:
        for part in node.parts:
            yield from _atoms(part)


def _hull(node: Node, name: str) -> Any:
    """The smallest span that has every rank of an attribute; None where it is not limited, () where there is no rank."""
    if isinstance(node, Atom):
        value_set = node.value_set
        if node.name != name or not isinstance(value_set, RankSet):
            return None
        return (value_set.spans[0][0], value_set.spans[-1][1]) if value_set.spans else ()
    parts = [_hull(part, name) for part in node.parts]
    if node.every:
        known = [part for part in parts if part is not None]
        if () in known:
            return ()
        if not known:
            return None
        low, high = max(part[0] for part in known), min(part[1] for part in known)
        return (low, high) if low <= high else ()
    if None in parts:
        return None
    spans = [part for part in parts if part]
    return (min(part[0] for part in spans), max(part[1] for part in spans)) if spans else ()


def _are_disjoint(one: Node, other: Node) -> bool:
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Junction) and not a.every:
            return all(_are_disjoint(part, b) for part in a.parts)
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Junction):
            return any(_are_disjoint(part, b) for part in a.parts)
    assert isinstance(one, Atom)  # noqa: S101 - joins were met above
    assert isinstance(other, Atom)  # noqa: S101
    return one.name == other.name and one.value_set.intersection(other.value_set).empty


def _evaluate(node: Node, holds: Callable[[Atom], Mask], rows: int) -> Mask:
    if isinstance(node, Atom):
        return holds(node)
    found: npt.NDArray[np.bool_] = np.full(rows, node.every, dtype=np.bool_)
    for part in node.parts:
        one = _evaluate(part, holds, rows)
        found = found & one if node.every else found | one
    return found


# --- from an expression to its meaning ------------------------------------------------------------------------------------------


def _node(form: Expression, schema: Schema, *, negated: bool) -> Node:
    """The normal form of an expression, or of its negation: `not` goes down to the comparisons and vanishes there."""
    if isinstance(form, Negation):
        return _node(form.part, schema, negated=not negated)
    if isinstance(form, Comparison):
        value_set = _region(form, schema)
        return _atom(value_set.complement() if negated else value_set)
    if not form.parts and negated:
        raise UsageError("a condition that no row satisfies", came="not everything")
    parts = [_node(part, schema, negated=negated) for part in form.parts]
    return _join(parts, every=form.every != negated)


def _atom(value_set: ValueSet) -> Node:
    if value_set.empty:
        name = value_set.attribute.name
        raise UsageError(
            f"contradictory bounds: no value of attribute '{name}' satisfies the condition",
            allowed=domain_of(value_set.attribute, PURPOSE).words(),
            fix=None if may_be_missing(value_set.attribute) else "the policy allows no missing values here",
        )
    return EVERYTHING if value_set.full else Atom(value_set)


def _join(parts: Sequence[Node], *, every: bool) -> Node:
    """The conjunction or disjunction of parts in normal form: flat, each attribute once, sorted, without repetition."""
    flat: list[Node] = []
    for part in parts:
        same = isinstance(part, Junction) and part.every == every
        flat.extend(part.parts if isinstance(part, Junction) and same else [part])
    if not every and any(part == EVERYTHING for part in flat):
        return EVERYTHING
    declared_values: dict[str, ValueSet] = {}
    others: dict[str, Node] = {}
    for part in flat:
        if isinstance(part, Junction):
            others[part.text] = part
        elif part.name in declared_values:
            known = declared_values[part.name]
            declared_values[part.name] = known.intersection(part.value_set) if every else known.union(part.value_set)
        else:
            declared_values[part.name] = part.value_set
    merged_atoms = [_atom(value_set) for value_set in declared_values.values()]
    if not every and EVERYTHING in merged_atoms:
        return EVERYTHING
    for atom in merged_atoms:
        if atom != EVERYTHING:
            others[atom.text] = atom
    found = tuple(others[text] for text in sorted(others))
    return found[0] if len(found) == 1 else Junction(every, found) if found else EVERYTHING


def _region(form: Comparison, schema: Schema) -> ValueSet:
    """The values that satisfy one comparison."""
    attribute = attribute_of(schema, form.name, PURPOSE)
    domain = ranked_domain(attribute, PURPOSE)
    if form.level is not None:
        check_level(attribute, form.level)
    if form.operator == "missing":
        nothing: ValueSet = (
            TextSet(attribute, may_be_missing(attribute), frozenset(), inside=True)
            if domain is None
            else RankSet(attribute, may_be_missing(attribute), domain, ())
        )
        return nothing.complement() if form.negated else nothing
    if form.level:
        return _at_level(attribute, form, form.level)
    if form.operator not in ("=", "!=", "in") and (domain is None or not domain.is_ordered):
        raise UsageError(
            f"attribute '{attribute.name}' is of type {attribute.type.value}, whose values have no order",
            came=form.operator,
            allowed="=, !=, in, is missing",
        )
    value_set = _names(attribute, form) if domain is None else RankSet(attribute, False, domain, _spans(domain, form))
    return _without_missing(value_set.complement()) if form.negated or form.operator == "!=" else value_set


def _at_level(attribute: Attribute, form: Comparison, level: int) -> ValueSet:
    """The values whose label at a level of the hierarchy satisfies a comparison."""
    if form.operator not in ("=", "!=", "in"):
        raise UsageError(
            f"the labels of '{attribute.name}@{level}' have no order",
            came=form.operator,
            allowed="=, !=, in, is missing",
        )
    found = values_under(attribute, level, [value.text for value in form.values])
    return _without_missing(found.complement()) if form.negated or form.operator == "!=" else found


def _without_missing(value_set: ValueSet) -> ValueSet:
    """The set without missing values, for which no comparison is true."""
    if isinstance(value_set, RankSet):
        return RankSet(value_set.attribute, False, value_set.domain, value_set.spans)
    assert isinstance(value_set, TextSet)  # noqa: S101 - there are two kinds
    return TextSet(value_set.attribute, False, value_set.texts, value_set.inside)


def _spans(domain: RankedDomain, form: Comparison) -> tuple[Span, ...]:
    at = [domain.rank_of(value) for value in form.values]
    low, high = domain.low, domain.high
    if form.operator in ("=", "!=", "in"):
        return merge_spans((rank, rank) for rank in at)
    if form.operator == "between":
        if at[0] > at[1]:
            came = f"between {form.values[0].text} and {form.values[1].text}"
            raise UsageError(f"contradictory bounds for attribute '{form.name}'", came=came, allowed="low and high")
        return ((at[0], at[1]),)
    span = {
        "<": (low, at[0] - 1),
        "<=": (low, at[0]),
        ">": (at[0] + 1, high),
        ">=": (at[0], high),
    }[form.operator]
    return (span,) if span[0] <= span[1] else ()


def _names(attribute: Attribute, form: Comparison) -> TextSet:
    domain = domain_of(attribute, PURPOSE)
    for value in form.values:
        if value.kind is not TokenKind.TEXT:
            raise wrong_type_error(attribute, value.text, "a text, as in 'A11'")
        if isinstance(domain, Pattern) and not matches(domain, value.text):
            raise outside_domain_error(attribute, value.text)
    return TextSet(attribute, False, frozenset(value.text for value in form.values), inside=True)
