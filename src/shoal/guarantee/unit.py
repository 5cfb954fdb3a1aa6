"""Whose contribution a guarantee hides: the unit of privacy, and what it means for two tables to be neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.guarantee.rounding import whole

Neighbours = Literal["add_remove", "replace_one"]
NEIGHBOURS: tuple[Neighbours, ...] = ("add_remove", "replace_one")


@dataclass(frozen=True)
class Unit:
    """The unit of privacy: one row, or all rows (at most `max_rows`) with one value of a column, and the neighbouring relation.

    There is no default: a guarantee that does not say whose data it hides is no guarantee.

    Choose `row` when every row is about somebody else, or when rows and not people are to be hidden: it is the cheapest unit,
    and it says nothing about a person who has two rows. Choose a person, by the column that names them, when one person (or
    household, or machine) may have several rows: then at most `max_rows` rows of each take part, a larger `max_rows` keeps
    more rows and costs more privacy, and `max_rows=1` keeps one row of each at random and costs no more than `row`.
    Choose `add_remove` when it is secret who is in the table: neighbours differ by one unit that is there or not, and the number
    of units is hidden too. Choose `replace_one` when the number of units is public, or when the method's theorem is about
    it: neighbours differ by one unit that is replaced by any other. Replacing is removing and adding, so the same release has
    a larger epsilon or delta under `replace_one`.

    Arguments  `whose` is `row` or `person` (`Unit.row` and `Unit.person` fill it in); `neighbours` is `add_remove` or
               `replace_one`; `column` names a person, and is None for a row; `max_rows` is the most rows of one person that
               take part, 1 for a row
    Raises     UsageError for a relation or a unit that is not known, and for a row with a column; ParameterError where
               `max_rows` is not a whole number from 1 up

    >>> Unit.person("patient_id", 3, "add_remove").words()
    "all rows (at most 3) of one 'patient_id', added or removed"
    >>> Unit.row("replace_one").words()
    'one row replaced by any other'
    """

    whose: Literal["row", "person"]
    neighbours: Neighbours
    column: str | None
    max_rows: int

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            raise UsageError("unknown neighbouring relation", came=self.neighbours, allowed=" or ".join(NEIGHBOURS))
        whole(self.max_rows, "the number of rows of one unit")
        if self.whose not in ("row", "person"):
            raise UsageError("unknown unit", came=self.whose, allowed="row or person")
        if self.whose == "row" and (self.column is not None or self.max_rows != 1):
            raise UsageError("a row is one row and has no column", came=f"{self.column}, {self.max_rows} rows")
        if self.column == "":
            raise _without_column()

    @classmethod
    def row(cls, neighbours: Neighbours) -> Unit:
        """The unit that is one row of the table."""
        return cls("row", neighbours, None, 1)

    @classmethod
    def person(cls, column: str, max_rows: int, neighbours: Neighbours) -> Unit:
        """The unit that is all rows with one value of `column`, at most `max_rows` of them."""
        if not column:
            raise _without_column()
        return cls("person", neighbours, column, max_rows)

    @classmethod
    def of_rows(cls, max_rows: int, neighbours: Neighbours) -> Unit:
        """A unit with up to `max_rows` rows of a table that nobody has named yet: enough to solve for the four numbers."""
        whole(max_rows, "the number of rows of one unit")
        return cls.row(neighbours) if max_rows == 1 else cls("person", neighbours, None, max_rows)

    # --- what the theorems need to know ------------------------------------------------------------------------------

    @property
    def is_one_step(self) -> bool:
        """Whether this is the theorems' own unit: one row, added or removed."""
        return self.max_rows == 1 and self.neighbours == "add_remove"

    @property
    def steps(self) -> int:
        """How many rows come or go, one after another, between neighbours."""
        return self.max_rows * (2 if self.neighbours == "replace_one" else 1)

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorems that lead from one row added or removed to this unit."""
        names = ("group-privacy",) if self.max_rows > 1 else ()
        return (*names, "replace-one") if self.neighbours == "replace_one" else names

    def has_same_steps(self, other: Unit) -> bool:
        """Whether both have as many rows under the same relation, so that one promise holds for both."""
        return (self.max_rows, self.neighbours) == (other.max_rows, other.neighbours)

    # --- in words ----------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What one of them is called, without saying what it is: a column may name people, households or machines."""
        if self.whose == "row":
            return "row"
        return "unit" if self.column is None else f"'{self.column}'"

    @property
    def rows(self) -> str:
        """The rows that are hidden together, in plain words."""
        if self.whose == "row":
            return "one row"
        rows = "the row" if self.max_rows == 1 else f"all rows (at most {self.max_rows})"
        return f"{rows} of one {self.name}"

    def words(self) -> str:
        """The unit and its neighbouring relation, in plain words."""
        change = "added or removed" if self.neighbours == "add_remove" else "replaced by any other"
        return f"{self.rows} {change}" if self.whose == "row" else f"{self.rows}, {change}"

    # --- in files ----------------------------------------------------------------------------------------------------

    def to_saved(self) -> dict[str, Any]:
        """The unit as plain values, for a file."""
        return {
            "whose": self.whose,
            "neighbours": self.neighbours,
            "column": self.column,
            "max_rows": self.max_rows,
        }

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Unit:
        """The unit that `to_saved` wrote; in a file a person is always named by a column."""
        if saved["whose"] == "person" and not saved["column"]:
            raise _without_column()
        return cls(saved["whose"], saved["neighbours"], saved["column"], saved["max_rows"])


ONE_ROW = Unit.row("add_remove")
"""The theorems' own unit: one row, added or removed."""


def _without_column() -> UsageError:
    return UsageError("a person is found by a column", fix="name the column that identifies a person")
