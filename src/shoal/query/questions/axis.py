"""The cells of an attribute in a histogram: declared values, a level of its hierarchy, intervals, or values that were named.

Cells cover the declared domain and depend on the policy and the question alone; a missing value has a cell of its own, and
so have, where only some values were named, all the others. So every row lies in one cell, and in one only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.data.domain import MOST_LISTED, Pattern, list_values
from shoal.data.hierarchy.base import Hierarchy
from shoal.data.hierarchy.level import MISSING, OUTSIDE, Codes, TopLevel
from shoal.data.schema import Attribute, Schema
from shoal.data.type import Type, spell, texts
from shoal.errors import ParameterError, UsageError
from shoal.policy.text.problem import shown
from shoal.query.condition import ranks as ladders
from shoal.query.condition.ranks import Array, attribute_of, domain_of, may_miss, typed_point
from shoal.query.condition.tokens import Kind, Token
from shoal.query.questions.measure import line_of

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
            raise UsageError("an attribute is named by a text", came=shown(self.attribute))
        for key in ("edges", "values"):
            given = getattr(self, key)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, list | tuple):
                raise UsageError(f"the {key} of '{self.attribute}' are no list", came=shown(given))
            object.__setattr__(self, key, tuple(spell(value) for value in given))
        if self.level is not None and (isinstance(self.level, bool) or not isinstance(self.level, int)):
            raise UsageError(f"a level of '{self.attribute}' is no whole number", came=shown(self.level))
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
        raise ParameterError(f"attribute '{name}': the edges do not rise", came=shown(list(edges)))
    if at[0] < line.low or at[-1] > line.high:
        allowed = f"{line.text(line.low)}..{line.text(line.high)}"
        raise ParameterError(
            f"attribute '{name}': an edge lies outside its domain", came=shown(list(edges)), allowed=allowed
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
        raise UsageError(f"attribute '{name}': a value is named twice", came=shown(twice[0]))
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
