"""Histogram and contingency table: all declared cells, empty ones too, and each row in exactly one of them.

Cells cover the declared domain and depend on the policy and the question alone: declared values, a level of the hierarchy,
intervals, or listed values. A missing value has a cell of its own, and so have, where only some values were listed, all others.

One row changes one cell by one (add_remove), or two (replace_one); a person changes at most `max_rows` times as much, spread
over cells or all in one. So the whole table costs as much as one of its cells (SC13 Proposition 4), or the two largest under
replace_one. That rests on the cells being disjoint and covering every row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from shoal.data.domain import MOST_LISTED, Pattern, list_values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, OUTSIDE, Codes, TopLevel
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, spell, texts
from shoal.engine.base import Table
from shoal.errors import ParameterError, UsageError
from shoal.guarantee.unit import Unit
from shoal.policy.text.problem import excerpt
from shoal.query.condition import ranks as ladders
from shoal.query.condition.parse import Kind, Token
from shoal.query.condition.ranks import Array, attribute_of, domain_of, line_of, may_miss, typed_point
from shoal.query.questions.base import Part, Question, Single, Steps, checked, condition, spelled_where

MOST_CELLS = 4_000_000
"""A table with more cells is not made."""


@dataclass(frozen=True)
class Histogram(Question):
    """How many rows lie in each cell of one attribute: its values, a level of its hierarchy, between edges, or named values."""

    word: ClassVar[str] = "histogram"
    attribute: str
    level: int | None = None
    edges: tuple[str, ...] | None = None
    values: tuple[str, ...] | None = None
    where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = self.cells
        object.__setattr__(self, "edges", cells.edges)
        object.__setattr__(self, "values", cells.values)

    @property
    def cells(self) -> Cells:
        """The cells that were asked for."""
        return Cells(self.attribute, self.level, self.edges, self.values)

    def meant(self, schema: Schema) -> Self:
        spec = self.cells.axis(schema).spec
        return replace(self, edges=spec.edges, values=spec.values, where=spelled_where(self.where, schema))

    def plan(self, schema: Schema, unit: Unit) -> Single:
        part = _HistogramPart(condition(self.where, schema), checked(unit, schema), _axes(schema, (self.cells,)))
        return Single(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class Contingency(Question):
    """How many rows lie in each combination of cells of several attributes."""

    word: ClassVar[str] = "contingency"
    attributes: tuple[Cells, ...]
    where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.attributes
        if not isinstance(given, list | tuple) or not given:
            raise UsageError("contingency: 'attributes' is a list of attributes", came=excerpt(given))
        object.__setattr__(self, "attributes", tuple(_cells(each) for each in given))
        names = [cells.attribute for cells in self.attributes]
        if len(set(names)) != len(names):
            raise UsageError("contingency: an attribute comes twice", came=", ".join(names))

    def to_saved(self) -> dict[str, Any]:
        listed = [
            {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in asdict(cells).items()
                if value is not None
            }
            for cells in self.attributes
        ]
        return {**super().to_saved(), "attributes": listed}

    def meant(self, schema: Schema) -> Self:
        specs = tuple(axis.spec for axis in _axes(schema, self.attributes))
        return replace(self, attributes=specs, where=spelled_where(self.where, schema))

    def plan(self, schema: Schema, unit: Unit) -> Single:
        part = _CellsPart(condition(self.where, schema), checked(unit, schema), _axes(schema, self.attributes))
        return Single(self.canonical(schema), unit, (part,))


def _cells(given: object) -> Cells:
    """The cells of one attribute: by its name, or as a mapping."""
    if isinstance(given, Cells):
        return given
    if isinstance(given, str):
        return Cells(given)
    known = ("attribute", "level", "edges", "values")
    if not isinstance(given, dict) or "attribute" not in given or not set(given) <= set(known):
        raise UsageError(
            "contingency: an attribute in another form",
            came=excerpt(given),
            allowed=f"a name, or keys {', '.join(known)}",
        )
    return Cells(**given)


def _axes(schema: Schema, cells: Sequence[Cells]) -> tuple[Axis, ...]:
    axes = tuple(each.axis(schema) for each in cells)
    count = prod(map(len, axes))
    if count > MOST_CELLS:
        raise UsageError(
            "a table with too many cells",
            came=f"{count:,}",
            allowed=f"{MOST_CELLS:,}",
            fix="use coarser levels or edges",
        )
    return axes


@dataclass(frozen=True)
class _CellsPart(Part):
    """One component for each cell, the last attribute fastest."""

    axes: tuple[Axis, ...]
    steps: ClassVar[tuple[Fraction, ...]] = (Fraction(1),)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(sorted({*(axis.attribute.name for axis in self.axes), *self.where.columns}))

    @property
    def size(self) -> int:
        return prod(map(len, self.axes))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(", ".join(labels) for labels in product(*(axis.labels for axis in self.axes)))

    @property
    def reaches(self) -> tuple[int, ...]:
        return (self.unit.max_rows,)

    @property
    def moves(self) -> int:
        return self.unit.max_rows * (1 if self.unit.neighbours == "add_remove" else 2)

    @property
    def touched(self) -> int:
        return 1

    def truth(self, table: Table) -> Steps:
        counts = table.count_by(self.columns)
        cell = np.zeros(len(counts), dtype=np.int64)
        for axis in self.axes:
            place = self.columns.index(axis.attribute.name)
            cell = cell * len(axis) + axis.codes(counts.values[place], counts.codes[place])
        kept = self.where.over(counts)
        found = np.zeros(self.size, dtype=np.int64)
        np.add.at(found, cell[kept], counts.counts[kept])
        return found

    def finish(self, noisy: Sequence[int]) -> dict[str, Any]:
        """The labels of each attribute, and the counts cell by cell, the last attribute fastest."""
        labels = {axis.attribute.name: list(axis.labels) for axis in self.axes}
        return {"attributes": labels, "counts": list(noisy)}


@dataclass(frozen=True)
class _HistogramPart(_CellsPart):
    """The cells of one attribute."""

    def finish(self, noisy: Sequence[int]) -> dict[str, Any]:
        """The labels, and the count of each."""
        axis = self.axes[0]
        return {"attribute": axis.attribute.name, "labels": list(axis.labels), "counts": list(noisy)}


OTHER = "(other)"
"""The label of every value that was not named."""
PURPOSE = "make a histogram"
_LINES = (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME)


@dataclass(frozen=True)
class Cells:
    """Which cells were asked for: at most one of a level, edges, or values; none of them means all declared values."""

    attribute: str
    level: int | None = None
    edges: tuple[str, ...] | None = None
    values: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str):
            raise UsageError("an attribute is named by a text", came=excerpt(self.attribute))
        for key in ("edges", "values"):
            given = getattr(self, key)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, list | tuple):
                raise UsageError(f"the {key} of '{self.attribute}' are no list", came=excerpt(given))
            object.__setattr__(self, key, tuple(spell(value) for value in given))
        if self.level is not None and (isinstance(self.level, bool) or not isinstance(self.level, int)):
            raise UsageError(f"a level of '{self.attribute}' is no whole number", came=excerpt(self.level))
        if sum(given is not None for given in (self.level, self.edges, self.values)) > 1:
            raise UsageError(f"cells of '{self.attribute}' come one way", allowed="one of level, edges, values")

    def axis(self, schema: Schema) -> Axis:
        """The cells by what the policy declares; UsageError where it does not say what they are."""
        attribute = attribute_of(schema, self.attribute, PURPOSE)
        if self.level is not None:
            return _by_level(attribute, self.level)
        if self.edges is not None:
            return _by_edges(schema, self.attribute, self.edges)
        return _by_values(attribute, self.values) if self.values is not None else _by_domain(attribute)


def at_level(text: str) -> dict[str, Any]:
    """`age@2` as people type it: an attribute, and a level of its hierarchy."""
    name, at, level = text.strip().rpartition("@")
    if at and level.isascii() and level.isdigit():
        return {"attribute": name.strip(), "level": int(level)}
    return {"attribute": text.strip()}


@dataclass(frozen=True)
class Axis(ABC):
    """Cells in order, each with its label; `spec` names them in one spelling."""

    attribute: Attribute
    spec: Cells

    @property
    @abstractmethod
    def named(self) -> tuple[str, ...]:
        """The labels, without that of a missing value."""

    @abstractmethod
    def place(self, values: Array) -> Codes:
        """The cell of each value; missing ones are not asked about."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels; that of a missing value comes last."""
        return (*self.named, MISSING) if self.has_missing else self.named

    @property
    def has_missing(self) -> bool:
        """Whether a missing value has a cell of its own."""
        return may_miss(self.attribute)

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, values: Array, codes: Codes) -> Codes:
        """The cell of each tuple, given the distinct values and their codes; ABSENT is the last cell."""
        of_value = np.append(self.place(values), len(self) - 1)
        return np.asarray(of_value[codes], dtype=np.int64)


@dataclass(frozen=True)
class ByLevel(Axis):
    """Labels of a level of the hierarchy."""

    hierarchy: Hierarchy
    index: int
    named: tuple[str, ...] = ()

    @property
    def has_missing(self) -> bool:
        return may_miss(self.attribute) and not isinstance(self.hierarchy.level(self.index), TopLevel)

    def place(self, values: Array) -> Codes:
        return self.hierarchy.encode(self.index, values)


@dataclass(frozen=True)
class ByEdges(Axis):
    """Intervals between edges, and what lies before the first and after the last."""

    cuts: tuple[Any, ...]
    named: tuple[str, ...] = ()

    def place(self, values: Array) -> Codes:
        cuts = np.array(self.cuts, dtype=object).astype(values.dtype)
        return np.searchsorted(cuts, values, side="right").astype(np.int32)


@dataclass(frozen=True)
class ByNames(Axis):
    """Single values by their text; with `other`, the last named cell holds all the rest."""

    listed: tuple[str, ...]
    other: bool

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.listed, OTHER) if self.other else self.listed

    @cached_property
    def _place(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.listed)}

    def place(self, values: Array) -> Codes:
        rest = len(self.listed) if self.other else OUTSIDE
        place = self._place
        return np.fromiter((place.get(value, rest) for value in texts(values)), dtype=np.int32, count=len(values))


def _by_level(attribute: Attribute, index: int) -> Axis:
    hierarchy = attribute.hierarchy
    if hierarchy is None:
        raise UsageError(
            f"attribute '{attribute.name}' has no hierarchy", came=f"level {index}", fix="use edges or values"
        )
    if not 0 <= index < len(hierarchy):
        raise UsageError(
            f"attribute '{attribute.name}' has no such level", came=index, allowed=f"0 to {len(hierarchy) - 1}"
        )
    labels = hierarchy.labels(index)
    if labels is None:
        raise UsageError(
            f"attribute '{attribute.name}': the labels of level {index} cannot be listed",
            fix="use a coarser level, or edges or values",
        )
    return ByLevel(attribute, Cells(attribute.name, level=index), hierarchy, index, labels)


def _by_edges(schema: Schema, name: str, edges: tuple[str, ...]) -> Axis:
    attribute, line = line_of(schema, name, "make intervals", _LINES)
    kind = Kind.TIME if attribute.type in (Type.DATE, Type.DATETIME) else Kind.NUMBER
    at = [typed_point(attribute, Token(kind, edge, 1)) for edge in edges]
    if len(at) < 2:
        raise UsageError(f"attribute '{name}': too few edges", came=len(at), allowed="two or more")
    if any(not a < b for a, b in pairwise(at)):
        raise ParameterError(f"attribute '{name}': the edges do not rise", came=excerpt(list(edges)))
    if at[0] < line.low or at[-1] > line.high:
        allowed = f"{line.text(line.low)}..{line.text(line.high)}"
        raise ParameterError(
            f"attribute '{name}': an edge lies outside its domain", came=excerpt(list(edges)), allowed=allowed
        )
    labels = [line.between(a, b) for a, b in pairwise(at)]
    inner = list(at[1:])
    if at[0] > line.low:
        labels.insert(0, f"< {line.text(at[0])}")
        inner.insert(0, at[0])
    if at[-1] < line.high:
        labels.append(f">= {line.text(at[-1])}")
    else:
        inner.pop()
        labels[-1] = f"[{line.text(at[-2])}, {line.text(at[-1])}]"
    spec = Cells(name, edges=tuple(line.text(each) for each in at))
    return ByEdges(attribute, spec, tuple(line.edge(each) for each in inner), tuple(labels))


def _by_values(attribute: Attribute, values: tuple[str, ...]) -> Axis:
    name = attribute.name
    if attribute.type in (Type.DECIMAL, Type.DATETIME):
        raise UsageError(f"attribute '{name}' has values too close to list", came=attribute.type.value, fix="use edges")
    if not values:
        raise UsageError(f"attribute '{name}': a histogram without values", fix="name at least one value")
    whole = None
    if attribute.type is Type.BOOLEAN or attribute.domain is not None:
        values = tuple(_declared(attribute, value) for value in values)
        rungs = ladders.ladder(attribute, PURPOSE)
        whole = None if rungs is None else rungs.high - rungs.low + 1
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise UsageError(f"attribute '{name}': a value is named twice", came=excerpt(twice[0]))
    return ByNames(attribute, Cells(name, values=values), values, other=whole != len(values))


def _declared(attribute: Attribute, value: str) -> str:
    """A value that the policy declares, in its one spelling."""
    rungs = ladders.ladder(attribute, PURPOSE)
    if rungs is None:
        domain = domain_of(attribute, PURPOSE)
        if isinstance(domain, Pattern) and not ladders.matches(domain, value):
            raise ladders.outside(attribute, value)
        return value
    kinds = {Type.INTEGER: Kind.NUMBER, Type.DATE: Kind.TIME, Type.BOOLEAN: Kind.TRUTH}
    rung = rungs.rung(Token(kinds.get(attribute.type, Kind.TEXT), value, 1))
    return rungs.values[rung] if isinstance(rungs, ladders.Listed) else rungs.text(rung)


def _by_domain(attribute: Attribute) -> Axis:
    domain = domain_of(attribute, PURPOSE)
    found = list_values(attribute.type, domain)
    if found is None:
        raise UsageError(
            f"attribute '{attribute.name}' has a domain whose values cannot be listed",
            came=domain.words(),
            allowed=f"up to {MOST_LISTED:,} values",
            fix="use edges, or a level of its hierarchy, or name the values",
        )
    if attribute.type not in (Type.ORDINAL, *_LINES):
        found = tuple(sorted(found))  # whose order means nothing
    return ByNames(attribute, Cells(attribute.name), found, other=False)
