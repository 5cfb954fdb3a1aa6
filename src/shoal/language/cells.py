"""The cells of one attribute: declared values, a level of the hierarchy, intervals, or listed values.

Cells cover the declared domain, are disjoint, and depend on the policy and the question alone. A missing value has a cell of its
own, and so have, where only some values were listed, all others.
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
from shoal.language.condition.parse import Token, TokenKind
from shoal.language.condition.ranks import (
    Array,
    ListedRanks,
    attribute_of,
    domain_of,
    line_of,
    matches,
    may_be_missing,
    outside_domain_error,
    parse_point,
    ranked_domain,
)
from shoal.policy.text.problem import excerpt

OTHER = "(other)"
"""The label of every value that was not listed."""
PURPOSE = "make a histogram"
_LINES = (Type.INTEGER, Type.DECIMAL, Type.DATE, Type.DATETIME)


@dataclass(frozen=True)
class CellSpec:
    """The cells of one attribute, as asked for: by a level, edges, or values; by all declared values if none is given."""

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
                raise UsageError(f"the {key} of '{self.attribute}' are not a list", came=excerpt(given))
            object.__setattr__(self, key, tuple(spell(value) for value in given))
        if self.level is not None and (isinstance(self.level, bool) or not isinstance(self.level, int)):
            raise UsageError(f"a level of '{self.attribute}' is not a whole number", came=excerpt(self.level))
        if sum(given is not None for given in (self.level, self.edges, self.values)) > 1:
            raise UsageError(
                f"the cells of '{self.attribute}' are given in more than one way", allowed="one of level, edges, values"
            )

    def axis(self, schema: Schema) -> TableAxis:
        """The axis of these cells under a policy; UsageError where the policy does not define them."""
        attribute = attribute_of(schema, self.attribute, PURPOSE)
        if self.level is not None:
            return _by_level(attribute, self.level)
        if self.edges is not None:
            return _by_edges(schema, self.attribute, self.edges)
        return _by_values(attribute, self.values) if self.values is not None else _by_domain(attribute)


def parse_level(text: str) -> dict[str, Any]:
    """`age@2` as people type it: an attribute, and a level of its hierarchy."""
    name, at, level = text.strip().rpartition("@")
    if at and level.isascii() and level.isdigit():
        return {"attribute": name.strip(), "level": int(level)}
    return {"attribute": text.strip()}


@dataclass(frozen=True)
class TableAxis(ABC):
    """The cells of one attribute in order, each with its label; `spec` names them in one spelling."""

    attribute: Attribute
    spec: CellSpec

    @property
    @abstractmethod
    def value_labels(self) -> tuple[str, ...]:
        """The labels, without that of a missing value."""

    @abstractmethod
    def cells_of(self, values: Array) -> Codes:
        """The cell of each value; none of the values is missing."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All labels; the label of a missing value comes last."""
        return (*self.value_labels, MISSING) if self.has_missing else self.value_labels

    @property
    def has_missing(self) -> bool:
        """Whether a missing value has a cell of its own."""
        return may_be_missing(self.attribute)

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, values: Array, codes: Codes) -> Codes:
        """The cell of each tuple, given the distinct values and their codes; ABSENT is the last cell."""
        of_value = np.append(self.cells_of(values), len(self) - 1)
        return np.asarray(of_value[codes], dtype=np.int64)


@dataclass(frozen=True)
class LevelAxis(TableAxis):
    """Cells that are the labels of a level of the hierarchy."""

    hierarchy: Hierarchy
    index: int
    value_labels: tuple[str, ...] = ()

    @property
    def has_missing(self) -> bool:
        return may_be_missing(self.attribute) and not isinstance(self.hierarchy.level(self.index), TopLevel)

    def cells_of(self, values: Array) -> Codes:
        return self.hierarchy.encode(self.index, values)


@dataclass(frozen=True)
class IntervalAxis(TableAxis):
    """Cells that are intervals between edges, and those before the first edge and after the last."""

    cuts: tuple[Any, ...]
    value_labels: tuple[str, ...] = ()

    def cells_of(self, values: Array) -> Codes:
        cuts = np.array(self.cuts, dtype=object).astype(values.dtype)
        return np.searchsorted(cuts, values, side="right").astype(np.int32)


@dataclass(frozen=True)
class ValueAxis(TableAxis):
    """Cells that are single values; with `other`, one more cell contains all other values."""

    listed: tuple[str, ...]
    other: bool

    @property
    def value_labels(self) -> tuple[str, ...]:
        return (*self.listed, OTHER) if self.other else self.listed

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.listed)}

    def cells_of(self, values: Array) -> Codes:
        rest = len(self.listed) if self.other else OUTSIDE
        place = self._positions
        return np.fromiter((place.get(value, rest) for value in texts(values)), dtype=np.int32, count=len(values))


def _by_level(attribute: Attribute, index: int) -> TableAxis:
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
    return LevelAxis(attribute, CellSpec(attribute.name, level=index), hierarchy, index, labels)


def _by_edges(schema: Schema, name: str, edges: tuple[str, ...]) -> TableAxis:
    attribute, line = line_of(schema, name, "make intervals", _LINES)
    kind = TokenKind.TIME if attribute.type in (Type.DATE, Type.DATETIME) else TokenKind.NUMBER
    at = [parse_point(attribute, Token(kind, edge, 1)) for edge in edges]
    if len(at) < 2:
        raise UsageError(f"attribute '{name}': too few edges", came=len(at), allowed="two or more")
    if any(not a < b for a, b in pairwise(at)):
        raise ParameterError(f"attribute '{name}': the edges are not in increasing order", came=excerpt(list(edges)))
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
    spec = CellSpec(name, edges=tuple(line.text(each) for each in at))
    return IntervalAxis(attribute, spec, tuple(line.edge(each) for each in inner), tuple(labels))


def _by_values(attribute: Attribute, values: tuple[str, ...]) -> TableAxis:
    name = attribute.name
    if attribute.type in (Type.DECIMAL, Type.DATETIME):
        raise UsageError(
            f"attribute '{name}' has a continuous domain, whose values cannot be listed",
            came=attribute.type.value,
            fix="use edges",
        )
    if not values:
        raise UsageError(f"attribute '{name}': a histogram without values", fix="name at least one value")
    whole = None
    if attribute.type is Type.BOOLEAN or attribute.domain is not None:
        values = tuple(_declared_value(attribute, value) for value in values)
        ranks = ranked_domain(attribute, PURPOSE)
        whole = None if ranks is None else ranks.high - ranks.low + 1
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise UsageError(f"attribute '{name}': a value is listed twice", came=excerpt(twice[0]))
    return ValueAxis(attribute, CellSpec(name, values=values), values, other=whole != len(values))


def _declared_value(attribute: Attribute, value: str) -> str:
    """A value that the policy declares, in its one spelling."""
    ranks = ranked_domain(attribute, PURPOSE)
    if ranks is None:
        domain = domain_of(attribute, PURPOSE)
        if isinstance(domain, Pattern) and not matches(domain, value):
            raise outside_domain_error(attribute, value)
        return value
    kinds = {Type.INTEGER: TokenKind.NUMBER, Type.DATE: TokenKind.TIME, Type.BOOLEAN: TokenKind.TRUTH}
    rank = ranks.rank_of(Token(kinds.get(attribute.type, TokenKind.TEXT), value, 1))
    return ranks.values[rank] if isinstance(ranks, ListedRanks) else ranks.text(rank)


def _by_domain(attribute: Attribute) -> TableAxis:
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
    return ValueAxis(attribute, CellSpec(attribute.name), found, other=False)
