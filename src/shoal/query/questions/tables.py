"""Histogram and contingency table: all declared cells, empty ones too, and each row in exactly one of them.

Cells cover the declared domain and depend on the policy and the question alone: declared values, a level of the hierarchy,
intervals, or listed values. A missing value has a cell of its own, and so have, where only some values were listed, all others.

One row changes one cell by one (add_remove), or two (replace_one); a person changes at most `max_rows` times as much, spread
over cells or all in one. So the whole table costs as much as one of its cells (SC13 Proposition 4), or the two largest under
replace_one. That rests on the cells being disjoint and covering every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np

from shoal.data.schema import Schema
from shoal.engine.base import Table
from shoal.errors import UsageError
from shoal.guarantee.unit import Unit
from shoal.language.cells import CellSpec, TableAxis, read_cells
from shoal.language.condition.predicate import Predicate
from shoal.policy.text.problem import excerpt
from shoal.query.questions.base import (
    LinearQuery,
    Question,
    SingleQuery,
    Steps,
    axes_of,
    cell_of_rows,
    check_unit,
    labels_of,
    normalize_where,
    parse_condition,
)


@dataclass(frozen=True)
class Histogram(Question):
    """The number of rows in each cell of one attribute.

    The cells are the declared values, the labels of a level of the hierarchy, intervals between edges, or listed values. They are
    disjoint and cover the domain, so all counts together cost as much as one.

    Arguments  attribute: the attribute.
               level: a level of its hierarchy; edges: two or more edges in increasing order; values: the values to
               count, all others in one cell; bins: how many intervals of equal width. At most one of the four; every declared
               value has a cell if none is given. where: a condition, as for `Count`; every row if not given.
               bounds: with `bins`, where the first begins and the last ends; what lies beyond has cells of its own.
    Raises     UsageError where more than one of level, edges, values and bins is given or one has the wrong type; when it is
               priced or asked, UsageError or ParameterError where they do not fit the declared domain.

    >>> Histogram("age", edges=[18, 65]).to_saved()
    {'kind': 'histogram', 'attribute': 'age', 'edges': ['18', '65']}
    """

    word: ClassVar[str] = "histogram"
    attribute: str
    level: int | None = None
    edges: tuple[str, ...] | None = None
    values: tuple[str, ...] | None = None
    where: str | None = None
    bins: int | None = None
    bounds: tuple[str | None, str | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = self.cells
        object.__setattr__(self, "edges", cells.edges)
        object.__setattr__(self, "values", cells.values)

    @property
    def cells(self) -> CellSpec:
        """The cells of the histogram, as they were asked for."""
        return CellSpec(self.attribute, self.level, self.edges, self.values, self.bins, self.bounds)  # type: ignore[arg-type]

    def normalize(self, schema: Schema) -> Self:
        spec = self.cells.axis(schema).spec
        where = normalize_where(self.where, schema)
        return replace(self, edges=spec.edges, values=spec.values, where=where, bins=None, bounds=None)

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = _HistogramQuery(
            parse_condition(self.where, schema), check_unit(unit, schema), axes_of(schema, (self.cells,))
        )
        return SingleQuery(self.canonical(schema), unit, (part,))


@dataclass(frozen=True)
class Contingency(Question):
    """The number of rows in each combination of cells of several attributes.

    Arguments  attributes: a list of attributes; each a name, or a mapping with the keys attribute and at most one of level, edges
               and values, as for `Histogram`.
               where: a condition, as for `Count`; every row if not given.
    Raises     UsageError where the list is empty, lists an attribute twice or has an unknown form; when it is priced or asked,
               UsageError where the table would have more than 4,000,000 cells.

    >>> Contingency(["sex", {"attribute": "age", "level": 2}]).to_saved()["attributes"]
    [{'attribute': 'sex'}, {'attribute': 'age', 'level': 2}]
    """

    word: ClassVar[str] = "contingency"
    attributes: tuple[CellSpec, ...]
    where: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given: object = self.attributes
        if not isinstance(given, list | tuple) or not given:
            raise UsageError("contingency: 'attributes' is not a list of attributes", came=excerpt(given))
        object.__setattr__(self, "attributes", tuple(_cells(each) for each in given))
        names = [cells.attribute for cells in self.attributes]
        if len(set(names)) != len(names):
            raise UsageError("contingency: an attribute comes twice", came=", ".join(names))

    def normalize(self, schema: Schema) -> Self:
        specs = tuple(axis.spec for axis in axes_of(schema, self.attributes))
        return replace(self, attributes=specs, where=normalize_where(self.where, schema))

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        part = table_query(parse_condition(self.where, schema), unit, schema, self.attributes)
        return SingleQuery(self.canonical(schema), unit, (part,))


def _cells(given: object) -> CellSpec:
    """The cells of one attribute: by its name, or as a mapping."""
    if isinstance(given, str):
        return CellSpec(given)
    try:
        return read_cells(given)
    except UsageError as error:
        raise UsageError(f"contingency: {error.wrong}", came=error.came, allowed=error.allowed) from None


def table_query(where: Predicate, unit: Unit, schema: Schema, cells: Sequence[CellSpec]) -> LinearQuery:
    """The counts of all cells of several attributes together."""
    return _TableQuery(where, check_unit(unit, schema), axes_of(schema, cells))


@dataclass(frozen=True)
class _TableQuery(LinearQuery):
    """One component for each cell, the last attribute fastest."""

    axes: tuple[TableAxis, ...]
    has_cells: ClassVar[bool] = True
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
    def linf(self) -> tuple[int, ...]:
        return (self.unit.max_rows,)

    def l1(self, lengths: tuple[Fraction, ...]) -> Fraction:
        return self.unit.max_rows * (1 if self.unit.neighbours == "add_remove" else 2) * lengths[0]

    @property
    def l0_of_row(self) -> int:
        return 1

    def truth(self, table: Table) -> Steps:
        counts = table.count_by(self.columns)
        kept = self.where.mask(counts)
        found = np.zeros(self.size, dtype=np.int64)
        np.add.at(found, cell_of_rows(self.axes, counts)[kept], counts.counts[kept])
        return found

    @property
    def cell_labels(self) -> Iterator[tuple[tuple[str, str], ...]]:
        return labels_of(self.axes)

    @property
    def cell_size(self) -> int:
        return 1

    def finish(self, noisy: Sequence[int]) -> dict[str, Any]:
        """The labels of each attribute, and the counts cell by cell, the last attribute fastest."""
        labels = {axis.attribute.name: list(axis.labels) for axis in self.axes}
        return {"attributes": labels, "counts": list(noisy)}


@dataclass(frozen=True)
class _HistogramQuery(_TableQuery):
    """The cells of one attribute."""

    def finish(self, noisy: Sequence[int]) -> dict[str, Any]:
        """The labels, and the count of each."""
        axis = self.axes[0]
        return {"attribute": axis.attribute.name, "labels": list(axis.labels), "counts": list(noisy)}
