"""Two tables of the same records, original and masked, paired column by column: the distances of their cells.

    column    distance of two cells                      spread (SST): least sum of squares that one value for all leaves
    numbers   their difference                           around the mean
    names     Eq 6.6 of SC13 with a taxonomy, else 0/1   around the best of the values that occur

None, NaN, NaT and masked cells are missing. Two missing cells are alike. Beside a value, a missing number counts as one
standard deviation, so that suppressing a column loses as much as publishing its mean; a missing name counts as 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.taxonomy import Taxonomy
from shoal.errors import DataError, UsageError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LARGEST = 1e150
"""Squares of larger numbers are infinite."""


@dataclass(frozen=True, eq=False)
class ColumnPair(ABC):
    """One attribute of all records, original and masked."""

    name: str

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the attribute holds: numbers or names."""

    @property
    @abstractmethod
    def squares(self) -> Floats:
        """The squared distance of each masked cell from its original, in the attribute's own units."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the original cells, SST / n; 0 if they do not vary."""

    @abstractmethod
    def keys(self) -> tuple[Array, Array]:
        """Give original and masked cells as numbers that are equal where the cells are."""

    @abstractmethod
    def between(self, masked: Array, original: Array) -> Floats:
        """Give the squared distances of some masked cells (rows) from some original ones (columns), given by their keys."""


@dataclass(frozen=True, eq=False)
class NumericPair(ColumnPair):
    """Columns of numbers, NaN where missing; both measured from one origin, so that a large offset costs no digits."""

    original: Floats
    masked: Floats

    @property
    def kind(self) -> str:
        return "numbers"

    @cached_property
    def variance(self) -> float:
        present = self.original[~np.isnan(self.original)]
        if not len(present) or (present == present[0]).all():
            return 0.0
        moved = present - fsum(present.tolist()) / len(present)
        return fsum((moved * moved).tolist()) / len(present)

    @cached_property
    def squares(self) -> Floats:
        gone, absent = np.isnan(self.masked), np.isnan(self.original)
        found = (self.masked - self.original) ** 2
        found[gone ^ absent] = self.variance
        found[gone & absent] = 0.0
        return found

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not (np.isnan(self.original).any() or np.isnan(self.masked).any())

    def keys(self) -> tuple[Array, Array]:
        return self.original, self.masked

    def between(self, masked: Array, original: Array) -> Floats:
        gone, absent = np.isnan(masked), np.isnan(original)
        squares: Floats = np.where(gone, 0.0, masked)[:, None] - np.where(absent, 0.0, original)[None, :]
        squares *= squares
        squares[gone] = self.variance
        squares[:, absent] = self.variance
        squares[np.ix_(gone, absent)] = 0.0
        return squares


@dataclass(frozen=True, eq=False)
class NominalPair(ColumnPair):
    """Columns of nominal values, as codes; the table holds all squared distances, also those of a missing cell."""

    original: Ints
    masked: Ints
    table: Floats

    @property
    def kind(self) -> str:
        return "names"

    @cached_property
    def variance(self) -> float:
        counts = np.bincount(self.original, minlength=len(self.table))
        occurs = np.flatnonzero(counts)
        return float((self.table[occurs] @ counts).min()) / len(self.original)

    @cached_property
    def squares(self) -> Floats:
        return np.asarray(self.table[self.masked, self.original])

    def keys(self) -> tuple[Array, Array]:
        return self.original, self.masked

    def between(self, masked: Array, original: Array) -> Floats:
        return np.take(self.table[masked], original, axis=1)


def pair_columns(
    original: Any, masked: Any, taxonomies: Mapping[str, Taxonomy] | None = None
) -> tuple[ColumnPair, ...]:
    """Pair the columns of two tables: arrays, mappings of columns, or pandas, Polars or PyArrow frames.

    Columns are matched by name, or by position for arrays, whose columns are named 1, 2, and so on. Row i of the masked
    table is the masked version of row i of the original.
    """
    before, after = columns_of(original), columns_of(masked)
    trees = taxonomies or {}
    if list(before) != list(after):
        raise UsageError(
            "the two tables have different columns",
            came=", ".join(after),
            allowed=", ".join(before),
            fix="choose the same",
        )
    strangers = [name for name in trees if name not in before]
    if strangers:
        raise UsageError("taxonomies for columns that the tables do not have", came=", ".join(strangers))
    lengths = {len(column) for column in (*before.values(), *after.values())}
    if len(lengths) > 1:
        raise UsageError(
            "the two tables have different numbers of rows",
            came=", ".join(str(length) for length in sorted(lengths)),
            allowed="one masked record for each original, in the same order",
            fix="compare before suppressed records are dropped",
        )
    if not before or lengths == {0}:
        raise DataError("there is nothing to compare", allowed="at least one column and one row")
    return tuple(_pair(name, before[name], after[name], trees.get(name)) for name in before)


def columns_of(table: Any) -> dict[str, Array]:
    """Give the columns of a table by name."""
    if isinstance(table, Mapping):
        return {str(name): _column(values) for name, values in table.items()}
    if not isinstance(table, np.ndarray | list | tuple):
        import narwhals as nw

        frame: Any = nw.from_native(table, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        if isinstance(frame, nw.DataFrame):
            return {name: _column(frame[name].to_numpy()) for name in frame.columns}
    values = np.ma.asanyarray(table) if isinstance(table, np.ma.MaskedArray) else np.asarray(table)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise UsageError("a table has one or two dimensions", came=f"shape {values.shape}", allowed="rows and columns")
    return {str(j + 1): values[:, j] for j in range(values.shape[1])}


def refuse_unknown_columns(pairs: Sequence[ColumnPair], names: Sequence[str]) -> None:
    """Raise UsageError for names that are no columns."""
    known = {pair.name for pair in pairs}
    strangers = [name for name in names if name not in known]
    if strangers:
        raise UsageError("no such columns", came=", ".join(strangers), allowed=", ".join(pair.name for pair in pairs))


def _column(values: Any) -> Array:
    column = values if isinstance(values, np.ndarray) else np.asarray(values)
    if column.ndim != 1:
        raise UsageError("a column has another shape", came=f"shape {column.shape}", allowed="one value for each row")
    return column


def _pair(name: str, original: Array, masked: Array, tree: Taxonomy | None) -> ColumnPair:
    absent, gone = _absent(original), _absent(masked)
    before, after = np.ma.getdata(original), np.ma.getdata(masked)
    if tree is None:
        numbers = _numbers(before, absent), _numbers(after, gone)
        if numbers[0] is not None and numbers[1] is not None:
            return _numeric(name, numbers[0], numbers[1])
    known = {value: i for i, value in enumerate(dict.fromkeys(_texts(before, absent) + _texts(after, gone)))}
    squares = 1.0 - np.eye(len(known) + 1)
    if tree is not None:
        squares[:-1, :-1] = tree.distances(list(known), list(known)) ** 2
    return NominalPair(name, _codes(before, absent, known), _codes(after, gone, known), squares)


def _numeric(name: str, before: Array, after: Array) -> NumericPair:
    """Pair two columns of numbers, measured from a value of the original."""
    if max(np.abs(before[~np.isnan(before)]).max(initial=0), np.abs(after[~np.isnan(after)]).max(initial=0)) > LARGEST:
        raise DataError(f"attribute '{name}': values are too large", allowed=f"up to {LARGEST:g} in size")
    present = before[~np.isnan(before)]
    origin = present[0] if len(present) else 0.0
    return NumericPair(name, before - origin, after - origin)


def _absent(values: Array) -> npt.NDArray[np.bool_]:
    gone = np.array(np.ma.getmaskarray(values))
    plain = np.ma.getdata(values)
    if plain.dtype.kind == "f":
        gone |= np.isnan(plain)
    elif plain.dtype.kind in "mM":
        gone |= np.isnat(plain)
    elif plain.dtype.kind == "O":
        gone |= np.fromiter((v is None or v != v for v in plain), np.bool_, len(plain))  # noqa: PLR0124
    return gone


def _numbers(values: Array, absent: npt.NDArray[np.bool_]) -> Floats | None:
    """Give a column as numbers, NaN where missing; None where it holds something else. Dates and times count in days."""
    if values.dtype.kind in "mM":
        unit = "timedelta64[D]" if values.dtype.kind == "m" else None
        days = values.astype(unit) if unit else values.astype("datetime64[D]")
        found = days.astype(np.int64).astype(np.float64)
    elif values.dtype.kind in "biuf":
        found = values.astype(np.float64)
    else:
        if not all(isinstance(v, int | float | np.number) for v in values[~absent].tolist()):
            return None
        found = np.array([np.nan if gone else v for v, gone in zip(values, absent, strict=True)], dtype=np.float64)
    found[absent] = np.nan
    return found


def _texts(values: Array, absent: npt.NDArray[np.bool_]) -> list[str]:
    return [str(value) for value in values[~absent].tolist()]


def _codes(values: Array, absent: npt.NDArray[np.bool_], known: Mapping[str, int]) -> Ints:
    missing = len(known)
    return np.array(
        [missing if gone else known[str(v)] for v, gone in zip(values.tolist(), absent, strict=True)], dtype=np.int64
    )
