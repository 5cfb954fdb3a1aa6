"""A codebook: what is written about the columns of a table beside its rows; labels, codes, missing codes, ranges, formats.

A codebook comes from a file of its own, or from the labels that a statistical file carries. It says nothing of which rows
there are, so what is taken from it is declared and not read off the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shoal.data.type import Type, point
from shoal.errors import UsageError


@dataclass(frozen=True)
class CodedValue:
    """One value as it is spelled in the table, and what it stands for.

    >>> CodedValue("1", "Male").words
    '1 (Male)'
    """

    value: str
    label: str | None = None

    @property
    def words(self) -> str:
        """The value with its meaning."""
        return self.value if self.label is None else f"{self.value} ({self.label})"


@dataclass(frozen=True)
class ColumnDescription:
    """What a codebook says of one column; what it does not say is None or empty.

    `values` are the values that the column may take (None where they are not listed), `missing` the codes that stand for a
    missing value, `interval` the lowest and the highest value as texts, `format` how dates are spelled.

    Raises     UsageError where a value stands twice or is both a value and a missing code, or the interval ends before it begins.

    >>> sex = ColumnDescription(
    ...     "sex", "Sex of the patient", Type.CATEGORY, (CodedValue("1", "Male"), CodedValue("2", "Female"))
    ... )
    >>> sex.label_of("2"), sex.label_of("3")
    ('Female', None)
    """

    name: str
    label: str | None = None
    type: Type | None = None
    values: tuple[CodedValue, ...] | None = None
    missing: tuple[CodedValue, ...] = ()
    interval: tuple[str, str] | None = None
    format: str | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for each in (*(self.values or ()), *self.missing):
            if each.value in seen:
                raise UsageError(
                    f"column '{self.name}': a value stands twice in its codebook",
                    came=each.value,
                    allowed="each value once, as a value or as a missing code",
                    fix="take one of the two lines out",
                )
            seen.add(each.value)
        if self.interval is None or (self.type is not None and not self.type.numeric):
            return
        low, high = (point(self.type or Type.DECIMAL, each) for each in self.interval)
        if low > high:
            raise UsageError(
                f"column '{self.name}': its range ends before it begins",
                came=" to ".join(self.interval),
                allowed="the lowest value, then the highest",
            )

    def label_of(self, value: str) -> str | None:
        """What a value or a missing code stands for; None where the codebook does not say."""
        return next((each.label for each in (*(self.values or ()), *self.missing) if each.value == value), None)


@dataclass(frozen=True)
class Codebook:
    """The columns that a codebook describes, and where it was read.

    Raises     UsageError where a column is described twice.

    >>> book = Codebook(
    ...     (ColumnDescription("age", "Age in years", Type.INTEGER, interval=("0", "110")),), "codebook.csv"
    ... )
    >>> book.get("age").label, book.get("Age")
    ('Age in years', None)
    """

    columns: tuple[ColumnDescription, ...]
    source: str
    unread: tuple[str, ...] = ()
    """What its file holds besides and was not understood: heads of a CSV file that name nothing a codebook says."""

    def __post_init__(self) -> None:
        names = [each.name for each in self.columns]
        twice = next((name for name in names if names.count(name) > 1), None) if len({*names}) < len(names) else None
        if twice is not None:
            raise UsageError(
                "a codebook describes a column twice",
                came=f"'{twice}' in {self.source}",
                fix="describe each column once",
            )

    def get(self, name: str) -> ColumnDescription | None:
        """What is said of a column of this very name; None where nothing is."""
        return next((each for each in self.columns if each.name == name), None)

    def __iter__(self) -> Iterator[ColumnDescription]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)
