"""Whose contribution a guarantee hides, and what it means for two tables to be neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shoal.errors import UsageError
from shoal.guarantee.rounding import whole

Neighbours = Literal["add_remove", "replace_one"]
NEIGHBOURS: tuple[Neighbours, ...] = ("add_remove", "replace_one")


@dataclass(frozen=True)
class Unit:
    """One row, or all rows (at most `max_rows`) with the same value of the column that names a unit: a person, say.

    There is no default: a guarantee that does not say whose is no guarantee.
    """

    whose: Literal["row", "person"]
    neighbours: Neighbours
    column: str | None
    max_rows: int

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            raise UsageError("unknown neighbouring relation", came=self.neighbours, allowed=" or ".join(NEIGHBOURS))
        whole(self.max_rows, "the number of rows of one person")
        if self.whose == "person" and not self.column:
            raise UsageError("a person is found by a column", fix="name the column that identifies a person")
        if self.whose == "row" and (self.column is not None or self.max_rows != 1):
            raise UsageError("a row is one row and has no column", came=f"{self.column}, {self.max_rows} rows")
        if self.whose not in ("row", "person"):
            raise UsageError("unknown unit", came=self.whose, allowed="row or person")

    @classmethod
    def row(cls, neighbours: Neighbours) -> Unit:
        """One row of the table."""
        return cls("row", neighbours, None, 1)

    @classmethod
    def person(cls, column: str, max_rows: int, neighbours: Neighbours) -> Unit:
        """All rows of one person, at most `max_rows` of them."""
        return cls("person", neighbours, column, max_rows)

    @property
    def name(self) -> str:
        """What one of them is called, without saying what it is: a column may name people, households or machines."""
        return "row" if self.whose == "row" else f"unit named by column '{self.column}'"

    @property
    def rows(self) -> str:
        """The rows that are hidden together, in plain words."""
        if self.whose == "row":
            return "one row"
        rows = "the one row" if self.max_rows == 1 else f"all rows (at most {self.max_rows})"
        return f"{rows} of one {self.name}"

    def words(self) -> str:
        """In plain words."""
        change = "added or removed" if self.neighbours == "add_remove" else "replaced by any other"
        return f"{self.rows} {change}" if self.whose == "row" else f"{self.rows}, {change}"

    def to_saved(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return {
            "whose": self.whose,
            "neighbours": self.neighbours,
            "column": self.column,
            "max_rows": self.max_rows,
        }

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Unit:
        """Back from a file."""
        return cls(saved["whose"], saved["neighbours"], saved["column"], saved["max_rows"])
