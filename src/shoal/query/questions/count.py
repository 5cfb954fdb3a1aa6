"""Counts of rows, the lightest question: a process that is asked for nothing else loads no other kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from shoal.data.schema import Schema
from shoal.engine.base import Counts, Table
from shoal.guarantee.unit import Unit
from shoal.language.cells import CellSpec
from shoal.query.questions.base import (
    Question,
    RowSums,
    SingleQuery,
    Steps,
    check_unit,
    normalize_groups,
    normalize_where,
    parse_condition,
)

Groups = tuple[CellSpec, ...] | None
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Count(Question):
    """The number of rows that satisfy a condition.

    One row changes a count by at most 1, under add_remove and under replace_one.

    Arguments  where: a condition on the attributes of the policy, such as "age >= 65 and region@1 = 'North'"; every row counts if
               not given.
               by: attributes to group by, each a name, name@level, or a mapping with the key attribute and one of level,
               edges, values and bins; the answer is one count for each group.
    Raises     UsageError where `where` is not a text; when it is priced or asked, UsageError where the condition cannot be read
               or the policy does not declare what it names.

    >>> Count("age >= 65").to_saved()
    {'kind': 'count', 'where': 'age >= 65'}
    """

    word: ClassVar[str] = "count"
    where: str | None = None
    by: Groups = None

    def normalize(self, schema: Schema) -> Self:
        return replace(self, where=normalize_where(self.where, schema), by=normalize_groups(self.by, schema))

    def resolve(self, schema: Schema, unit: Unit) -> SingleQuery:
        where = parse_condition(self.where, schema)
        if self.by is not None:
            from shoal.query.questions.tables import table_query

            return SingleQuery(self.canonical(schema), unit, (table_query(where, unit, schema, self.by),))
        return SingleQuery(self.canonical(schema), unit, (CountQuery(where, check_unit(unit, schema)),))


@dataclass(frozen=True)
class CountQuery(RowSums):
    """The number of rows: each row adds one. Under replace_one the number of all rows is public, which is not used here."""

    size: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ("count",)
    steps: ClassVar[tuple[Fraction, ...]] = (Fraction(1),)
    ends: ClassVar[tuple[tuple[int, int], ...]] = ((1, 1),)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.where.columns

    def amounts(self, counts: Counts) -> tuple[list[Steps], Mask]:
        return [np.ones(len(counts), dtype=np.int64)], self.where.mask(counts)

    def truth(self, table: Table) -> Steps:
        return super().truth(table) if self.columns else np.array([table.rows()])

    def finish(self, noisy: Sequence[int]) -> int:
        return int(noisy[0])
