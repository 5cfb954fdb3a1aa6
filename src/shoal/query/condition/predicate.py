"""A condition on rows in a small safe language over declared attributes: parsed, typed, and never handed to an engine.

age >= 65 and (sex = 'female' or diagnosis in ('A11', 'A12')) and not visit < 2025-01-01
weight between 50 and 80.5 or weight is missing
`date of birth` != 1980-02-29 and smoker = true

Logic has two values. Every comparison is false where the value is missing, `!=`, `not in` and `not between` too; `not`
turns false into true, so `not age >= 65` holds for the missing ages and `age < 65` does not.

Values must lie in the domain that the policy declares, and what no row could satisfy (`age > 70 and age < 60`) is refused.
Both follow from the condition and the policy alone, as every message here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Pattern
from shoal.data.schema import Attribute, Schema
from shoal.engine.base import Counts
from shoal.errors import UsageError
from shoal.query.condition.parse import Comparison, Kind, Negation, Shape, shape
from shoal.query.condition.ranks import (
    Array,
    Ladder,
    attribute_of,
    domain_of,
    ladder,
    matches,
    may_miss,
    mistyped,
    outside,
)
from shoal.query.condition.sets import Mask, Names, Region, Span, Spans, merged

PURPOSE = "filter by it"


@dataclass(frozen=True)
class Atom:
    """Rows whose value of one attribute lies in a region."""

    region: Region

    @property
    def name(self) -> str:
        """The attribute's."""
        return self.region.attribute.name

    @cached_property
    def text(self) -> str:
        """As a condition."""
        return " or ".join(self.region.alternatives())

    @property
    def loose(self) -> bool:
        """Whether it needs parentheses inside `and`."""
        return len(self.region.alternatives()) > 1


@dataclass(frozen=True)
class Join:
    """All parts, or any of them; parts are sorted, and one attribute is in one atom at most. All of none: everything."""

    every: bool
    parts: tuple[Node, ...]

    @cached_property
    def text(self) -> str:
        """As a condition."""
        if not self.parts:
            return "everything"
        inner = (
            f"({part.text})" if part.loose and (self.every or isinstance(part, Join)) else part.text
            for part in self.parts
        )
        return (" and " if self.every else " or ").join(inner)

    @property
    def loose(self) -> bool:
        """Whether it needs parentheses inside another."""
        return len(self.parts) > 1


Node = Atom | Join
EVERYTHING = Join(every=True, parts=())


@dataclass(frozen=True)
class Predicate:
    """A typed condition in normal form: conditions that mean the same are mostly equal, and print as one text."""

    root: Node

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Predicate:
        """Read a condition on the attributes of a schema; UsageError where it is none."""
        if not isinstance(text, str):
            raise UsageError("a condition is a text", came=type(text).__name__, allowed="such as 'age >= 65'")
        return cls(_node(shape(text), schema, negated=False))

    @classmethod
    def everything(cls) -> Predicate:
        """What holds for every row."""
        return cls(EVERYTHING)

    @property
    def always(self) -> bool:
        """Whether it holds for every row, whatever the rows."""
        return self.root == EVERYTHING

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Its comparisons, each a region of one attribute."""
        return tuple(_atoms(self.root))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The attributes it looks at, sorted."""
        return tuple(sorted({atom.name for atom in self.atoms}))

    @cached_property
    def comparisons(self) -> int:
        """How many regions it has."""
        return len(self.atoms)

    def canonical(self) -> str:
        """One text for one meaning, as far as sorting, merging and one spelling go; it reads back as the same."""
        return self.root.text

    def apart(self, other: Predicate) -> bool:
        """Whether no row can satisfy both, as far as single attributes tell; False where they do not."""
        return _apart(self.root, other.root)

    def mask(self, values: Mapping[str, Array]) -> Mask:
        """For which rows it holds, given the columns as arrays of equal length, masked where something is missing."""
        rows = len(next(iter(values.values()))) if values else 0

        def holds(atom: Atom) -> Mask:
            column = values[atom.name]
            absent = np.ma.getmaskarray(column)
            if not absent.any():
                return atom.region.holds(np.ma.getdata(column))
            found = np.full(len(column), atom.region.missing, dtype=np.bool_)
            found[~absent] = atom.region.holds(np.ma.getdata(column)[~absent])
            return found

        return _evaluated(self.root, holds, rows)

    def over(self, counts: Counts) -> Mask:
        """For which distinct tuples it holds; each distinct value is looked at once."""

        def holds(atom: Atom) -> Mask:
            place = counts.columns.index(atom.name)
            of_value = np.append(atom.region.holds(counts.values[place]), atom.region.missing)
            return np.asarray(of_value[counts.codes[place]])  # ABSENT is -1: the last

        return _evaluated(self.root, holds, len(counts))


def _atoms(node: Node) -> Iterable[Atom]:
    if isinstance(node, Atom):
        yield node
    else:
        for part in node.parts:
            yield from _atoms(part)


def _apart(one: Node, other: Node) -> bool:
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Join) and not a.every:
            return all(_apart(part, b) for part in a.parts)
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Join):
            return any(_apart(part, b) for part in a.parts)
    assert isinstance(one, Atom)  # noqa: S101 - joins were met above
    assert isinstance(other, Atom)  # noqa: S101
    return one.name == other.name and one.region.met(other.region).empty


def _evaluated(node: Node, holds: Callable[[Atom], Mask], rows: int) -> Mask:
    if isinstance(node, Atom):
        return holds(node)
    found: npt.NDArray[np.bool_] = np.full(rows, node.every, dtype=np.bool_)
    for part in node.parts:
        one = _evaluated(part, holds, rows)
        found = found & one if node.every else found | one
    return found


# --- from shape to meaning ------------------------------------------------------------------------------------------


def _node(form: Shape, schema: Schema, *, negated: bool) -> Node:
    """The normal form of a shape, or of its opposite: `not` goes down to the comparisons and vanishes there."""
    if isinstance(form, Negation):
        return _node(form.part, schema, negated=not negated)
    if isinstance(form, Comparison):
        region = _region(form, schema)
        return _atom(region.turned() if negated else region)
    if not form.parts and negated:
        raise UsageError("a condition that holds for no row", came="not everything")
    parts = [_node(part, schema, negated=negated) for part in form.parts]
    return _joined(parts, every=form.every != negated)


def _atom(region: Region) -> Node:
    if region.empty:
        name = region.attribute.name
        raise UsageError(
            f"contradictory bounds: no value of attribute '{name}' satisfies the condition",
            allowed=domain_of(region.attribute, PURPOSE).words(),
            fix=None if may_miss(region.attribute) else "the policy allows no missing values here",
        )
    return EVERYTHING if region.full else Atom(region)


def _joined(parts: Sequence[Node], *, every: bool) -> Node:
    """Parts as one node: flat, each attribute once, sorted, without repetition."""
    flat: list[Node] = []
    for part in parts:
        same = isinstance(part, Join) and part.every == every
        flat.extend(part.parts if isinstance(part, Join) and same else [part])
    if not every and any(part == EVERYTHING for part in flat):
        return EVERYTHING
    regions: dict[str, Region] = {}
    others: dict[str, Node] = {}
    for part in flat:
        if isinstance(part, Join):
            others[part.text] = part
        elif part.name in regions:
            known = regions[part.name]
            regions[part.name] = known.met(part.region) if every else known.joined(part.region)
        else:
            regions[part.name] = part.region
    merged_atoms = [_atom(region) for region in regions.values()]
    if not every and EVERYTHING in merged_atoms:
        return EVERYTHING
    for atom in merged_atoms:
        if atom != EVERYTHING:
            others[atom.text] = atom
    found = tuple(others[text] for text in sorted(others))
    return found[0] if len(found) == 1 else Join(every, found) if found else EVERYTHING


def _region(form: Comparison, schema: Schema) -> Region:
    """The values that satisfy one comparison."""
    attribute = attribute_of(schema, form.name, PURPOSE)
    rungs = ladder(attribute, PURPOSE)
    if form.operator == "missing":
        nothing: Region = (
            Names(attribute, may_miss(attribute), frozenset(), inside=True)
            if rungs is None
            else Spans(attribute, may_miss(attribute), rungs, ())
        )
        return nothing.turned() if form.negated else nothing
    if form.operator not in ("=", "!=", "in") and (rungs is None or not rungs.ordered):
        raise UsageError(
            f"attribute '{attribute.name}' is of type {attribute.type.value}, whose values have no order",
            came=form.operator,
            allowed="=, !=, in, is missing",
        )
    region = _names(attribute, form) if rungs is None else Spans(attribute, False, rungs, _spans(rungs, form))
    return _present(region.turned()) if form.negated or form.operator == "!=" else region


def _present(region: Region) -> Region:
    """Without what is missing: a comparison never holds there."""
    if isinstance(region, Spans):
        return Spans(region.attribute, False, region.ladder, region.spans)
    assert isinstance(region, Names)  # noqa: S101 - there are two kinds
    return Names(region.attribute, False, region.texts, region.inside)


def _spans(rungs: Ladder, form: Comparison) -> tuple[Span, ...]:
    at = [rungs.rung(value) for value in form.values]
    low, high = rungs.low, rungs.high
    if form.operator in ("=", "!=", "in"):
        return merged((rung, rung) for rung in at)
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


def _names(attribute: Attribute, form: Comparison) -> Names:
    domain = domain_of(attribute, PURPOSE)
    for value in form.values:
        if value.kind is not Kind.TEXT:
            raise mistyped(attribute, value.text, "a text, as in 'A11'")
        if isinstance(domain, Pattern) and not matches(domain, value.text):
            raise outside(attribute, value.text)
    return Names(attribute, False, frozenset(value.text for value in form.values), inside=True)
