"""Contribution bounding: at most so many rows of each person, found by names that reading cannot have merged."""

from __future__ import annotations

from shoal.engine.base import RowWords, Table
from shoal.errors import PreconditionError
from shoal.guarantee.unit import Unit


def bound_contributions(table: Table, unit: Unit, words: RowWords, theorem: str) -> Table:
    """At most `max_rows` rows of each person, those with the smallest words; the table itself where rows are hidden.

    A reading that gives two people one name would let one of them crowd the other out, so that more than one person's rows
    change when one person comes or goes. `theorem` is the result that rests on this.
    """
    if unit.column is None:
        return table
    attribute = table.schema.by_name.get(unit.column)
    if attribute is None or not attribute.names:
        raise PreconditionError(
            theorem,
            "the column that tells people apart was not read as their names, so two people may have become one",
            came=unit.column,
            fix="open the table by the schema of the plan (`Schema.with_names`)",
        )
    return table.at_most_per(unit.column, unit.max_rows, words)
