"""Histogram and contingency table: all declared cells, empty ones too, and each row in one of them.

One row moves one cell by one (add_remove), or two (replace_one); a person moves at most `max_rows` times as much, spread over
cells or all in one. So the whole table costs as much as one of its cells (SC13 Proposition 4), or the two largest under
replace_one. That rests on the cells being disjoint and covering every row: `Axis` gives each value one cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
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
from shoal.policy.text.problem import shown
from shoal.query.questions.axis import Axis, Cells
from shoal.query.questions.base import Question, checked, condition, spelled_where
from shoal.query.questions.meaning import Part, Single, Steps

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
            raise UsageError("contingency: 'attributes' is a list of attributes", came=shown(given))
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
            came=shown(given),
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
