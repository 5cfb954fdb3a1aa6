"""The cells of one attribute: declared values, a level of the hierarchy, intervals, or listed values.

Cells cover the declared domain, are disjoint, and depend on the policy and the question alone. A missing value has a cell of its
own, and so have, where only some values were listed, all others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
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
    bins: int | None = None
    """How many intervals of equal width divide the domain, or the bounds."""
    bounds: tuple[str, ...] | None = None
    """Where the first bin begins and the last one ends; what lies beyond has cells of its own."""

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str):
            raise UsageError("an attribute is named by a text", came=excerpt(self.attribute))
        for key in ("level", "bins"):
            given = getattr(self, key)
            if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
                what = "a level" if key == "level" else "the number of bins"
                raise UsageError(f"{what} of '{self.attribute}' is not a whole number", came=excerpt(given))
        for key in ("edges", "values", "bounds"):
            given = getattr(self, key)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, list | tuple):
                raise UsageError(f"the {key} of '{self.attribute}' are not a list", came=excerpt(given))
            object.__setattr__(self, key, tuple(spell(value) for value in given))
        if sum(given is not None for given in (self.level, self.edges, self.values, self.bins)) > 1:
            raise UsageError(
                f"the cells of '{self.attribute}' are given in more than one way",
                allowed="one of level, edges, values, bins",
            )
        if self.bounds is not None and (self.bins is None or len(self.bounds) != 2):
            raise UsageError(
                f"the bounds of the bins of '{self.attribute}' are not two numbers beside `bins`",
                came=excerpt(self.bounds),
                allowed="bins and bounds: [low, high]",
            )

    def axis(self, schema: Schema) -> TableAxis:
        """The axis of these cells under a policy; UsageError where the policy does not define them."""
        attribute = attribute_of(schema, self.attribute, PURPOSE)
        if self.level is not None:
            return _by_level(attribute, self.level)
        if self.edges is not None:
            return _by_edges(schema, self.attribute, self.edges)
        if self.bins is not None:
            return _by_edges(schema, self.attribute, _equal_edges(schema, self.attribute, self.bins, self.bounds))
        return _by_values(attribute, self.values) if self.values is not None else _by_domain(attribute)

    def to_saved(self) -> dict[str, Any]:
        """The cells as plain values."""
        found = {key: getattr(self, key) for key in ("attribute", "level", "edges", "values", "bins", "bounds")}
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in found.items() if value is not None
        }


KEYS = ("attribute", "level", "edges", "values", "bins", "bounds")
"""The keys of the cells of one attribute."""


def read_cells(given: object) -> CellSpec:
    """The cells of one attribute: a name, `name@level`, or a mapping with the key `attribute`.

    >>> read_cells("age@2")
    CellSpec(attribute='age', level=2, edges=None, values=None, bins=None, bounds=None)
    """
    if isinstance(given, CellSpec):
        return given
    if isinstance(given, str):
        return CellSpec(**parse_level(given))
    if not isinstance(given, Mapping) or "attribute" not in given or not set(given) <= set(KEYS):
        raise UsageError(
            "the cells of an attribute in an unknown form",
            came=excerpt(given),
            allowed=f"a name, name@level, or keys {', '.join(KEYS)}",
        )
    return CellSpec(**given)


def read_groups(given: object) -> tuple[CellSpec, ...] | None:
    """The attributes to group by: one, a list, or a text with commas; None for no groups."""
    if given is None:
        return None
    listed: Any = [given] if isinstance(given, CellSpec | Mapping) else given
    listed = listed.split(",") if isinstance(listed, str) else listed
    if not isinstance(listed, list | tuple) or not listed:
        raise UsageError(
            "'by' is not a list of attributes", came=excerpt(given), allowed="a name, name@level, or a list of them"
        )
    found = tuple(read_cells(each) for each in listed)
    names = [cells.attribute for cells in found]
    if len(set(names)) != len(names):
        raise UsageError("'by' names an attribute twice", came=", ".join(names))
    return found


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


MOST_BINS = 10_000


def _equal_edges(schema: Schema, name: str, bins: int, bounds: tuple[str, ...] | None) -> tuple[str, ...]:
    """The edges of bins of equal width, of whole values as equal as they can be; by the domain and the bounds alone."""
    attribute, line = line_of(schema, name, "make bins", _LINES)
    low, high = line.low, line.high
    if bounds is not None:
        kind = TokenKind.TIME if attribute.type in (Type.DATE, Type.DATETIME) else TokenKind.NUMBER
        low, high = (parse_point(attribute, Token(kind, end, 1)) for end in bounds)
    whole = attribute.type is not Type.DECIMAL
    most = min(MOST_BINS, int(high - low)) if whole else MOST_BINS
    if low >= high:
        raise ParameterError(f"attribute '{name}': the bounds are not in increasing order", came=excerpt(bounds))
    if not 1 <= bins <= most:
        raise UsageError(f"attribute '{name}': a number of bins out of range", came=bins, allowed=f"1 to {most:,}")
    width = (line.end if bounds is None else high) - low
    if whole:
        inner = [low + width * i // bins for i in range(1, bins)]
    else:
        step = Fraction(1)
        while step * 10**7 > width:
            step /= 10
        while step * 10**8 <= width:
            step *= 10
        inner = [round((low + width * i / bins) / step) * step for i in range(1, bins)]
    return tuple(line.text(each) for each in (low, *inner, high))


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
