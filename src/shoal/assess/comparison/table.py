"""A table by the parts of its columns: rows whose cells are distributions, and the marginals that they add up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from shoal.assess.comparison.parts import AttributeParts, Floats, Ints, Mask, ReadColumn
from shoal.assess.release.labels import Label
from shoal.errors import UsageError

BLOCK = 1 << 16
"""Distinct tuples whose distributions are multiplied at once."""
MOST_CELLS = 1 << 22
"""Tuples of labels that are counted by place; of more, those that occur are sorted."""


class MarginalModel(Protocol):
    """What is known of a table by other means than its rows; None where these have nothing to say."""

    def marginal(self, names: tuple[str, ...], /) -> Floats | None:
        """The records of each cell of some attributes, or numbers in proportion to them."""
        ...  # pragma: no cover

    def moments(self, name: str, /) -> tuple[float, float] | None:
        """The mean and the mean square of a column of numbers."""
        ...  # pragma: no cover


@dataclass(frozen=True, eq=False)
class ComparableColumn:
    """One column: the label of each row, and for each label its distribution over the parts, its mean and its mean square."""

    parts: AttributeParts
    codes: Ints
    shares: Floats
    """One row for each label, one column for each part; rows add up to 1."""
    means: Floats
    squares: Floats
    coverage: Floats
    """The share of the domain that each label leaves open."""
    points: Floats | None = None
    """The numbers themselves, where cells are values."""
    unread: Mask | None = None
    """Which labels could not be read, and count as every value; None where all could."""
    cells: ReadColumn | None = None
    """The values themselves, where cells are values."""
    labels: tuple[Label, ...] | None = None
    """What each label stands for, where cells are labels."""

    @classmethod
    def of_values(cls, parts: AttributeParts, column: ReadColumn) -> ComparableColumn:
        """A column of values."""
        width = len(parts)
        nothing = np.full(width, np.nan)
        codes, closed = parts.parts_of(column), np.zeros(width)
        return cls(parts, codes, np.eye(width), nothing, nothing, closed, column.points, cells=column)

    @classmethod
    def of_labels(
        cls, parts: AttributeParts, codes: Ints, labels: Sequence[Label], unread: Sequence[bool] | None = None
    ) -> ComparableColumn:
        """A column of labels; `codes` are numbers of labels, `unread` which of these could not be read."""
        shares = np.array([parts.shares(label) for label in labels]).reshape(len(labels), len(parts))
        moments = np.array([parts.moments(label) for label in labels]).reshape(len(labels), 2)
        coverage = np.array([parts.coverage(label) for label in labels])
        lost = None if unread is None else np.array(unread, dtype=np.bool_)
        held = tuple(labels)
        return cls(parts, codes, shares, moments[:, 0], moments[:, 1], coverage, unread=lost, labels=held)

    def by_parts(self, parts: AttributeParts) -> ComparableColumn | None:
        """The same column by other parts of its domain; None where only its distributions are known."""
        if self.cells is not None:
            return ComparableColumn.of_values(parts, self.cells)
        if self.labels is None:
            return None
        unread = None if self.unread is None else self.unread.tolist()
        return ComparableColumn.of_labels(parts, self.codes, self.labels, unread)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def certain(self) -> bool:
        """Whether every label lies in one part."""
        return bool((self.shares.max(axis=1) == 1.0).all())

    @cached_property
    def likeliest(self) -> Ints:
        """The part in which most of each row's label lies."""
        return np.asarray(self.shares.argmax(axis=1))[self.codes]

    @property
    def numbers(self) -> Floats:
        """The expected number of each row; NaN where missing, and for names."""
        return self.means[self.codes] if self.points is None else self.points

    @property
    def square_numbers(self) -> Floats:
        """The expected square of each row's number."""
        return self.squares[self.codes] if self.points is None else self.points**2

    def take(self, rows: Ints) -> ComparableColumn:
        """The same column of some rows."""
        points = None if self.points is None else self.points[rows]
        cells = None if self.cells is None else self.cells.take(rows)
        return replace(self, codes=self.codes[rows], points=points, cells=cells)


@dataclass(frozen=True, eq=False)
class ComparableTable:
    """Rows with comparable columns. Every row counts the same.

    `words` says what the rows are. Where `model` is given it answers for marginals first: a release of several tables says more
    about them than rows drawn from it do.
    """

    columns: Mapping[str, ComparableColumn]
    words: str
    real: bool = True
    """Whether rows are those of people, masked or not; else they were drawn."""
    aligned: bool = False
    """Whether row i is the record i of the original, masked."""
    model: MarginalModel | None = None
    drawn: ComparableTable | None = None
    """Rows that the model draws, which say more of the relations of columns than these rows do; None where there are none."""
    notes: tuple[str, ...] = ()
    _kept: dict[tuple[str, ...], Floats] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise UsageError("the columns of a table have different lengths")

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()))) if self.columns else 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    def __getitem__(self, name: str) -> ComparableColumn:
        return self.columns[name]

    def take(self, rows: Ints) -> ComparableTable:
        """The same table with some of its rows, and without a model."""
        return replace(
            self, columns={name: own.take(rows) for name, own in self.columns.items()}, model=None, drawn=None, _kept={}
        )

    def select(self, names: Sequence[str]) -> ComparableTable:
        """The same table with some of its columns."""
        drawn = None if self.drawn is None else self.drawn.select(names)
        return replace(self, columns={name: self.columns[name] for name in names}, drawn=drawn, _kept={})

    def marginal(self, *names: str) -> Floats:
        """The share of records in each cell of some attributes, one axis for each; all zero where there is no row."""
        if names not in self._kept:
            found = self.model.marginal(names) if self.model is not None else None
            self._kept[names] = self._from_rows(names) if found is None else _normalized(found)
        return self._kept[names]

    def moments(self, name: str) -> tuple[float, float]:
        """The mean and the variance of a column of numbers, missing ones left out; NaN where there is none."""
        found = self.model.moments(name) if self.model is not None else None
        if found is None:
            numbers = self.columns[name].numbers
            known = ~np.isnan(numbers)
            if not known.any():
                return float("nan"), float("nan")
            found = float(numbers[known].mean()), float(self.columns[name].square_numbers[known].mean())
        return found[0], max(0.0, found[1] - found[0] ** 2)

    def _from_rows(self, names: tuple[str, ...]) -> Floats:
        columns = [self.columns[name] for name in names]
        widths = [len(column.parts) for column in columns]
        if all(column.certain for column in columns):
            flat = np.zeros(self.rows, dtype=np.int64)
            for column, width in zip(columns, widths, strict=True):
                flat = flat * width + column.likeliest
            return _normalized(np.bincount(flat, minlength=int(np.prod(widths))).reshape(widths).astype(np.float64))
        codes, counts = count_tuples([column.codes for column in columns], [len(each.shares) for each in columns])
        found = np.zeros((int(np.prod(widths[:-1])), widths[-1]))
        for start in range(0, len(counts), BLOCK // max(1, found.shape[0] // 256)):
            block = slice(start, start + BLOCK // max(1, found.shape[0] // 256))
            left = counts[block, None].astype(np.float64)
            for own, column in zip(codes[:-1], columns[:-1], strict=True):
                left = (left[:, :, None] * column.shares[own[block]][:, None, :]).reshape(len(left), -1)
            found += left.T @ columns[-1].shares[codes[-1][block]]
        return _normalized(found.reshape(widths))


def _normalized(counts: Floats) -> Floats:
    kept = np.maximum(counts, 0.0)
    total = kept.sum()
    return kept / total if total > 0 else kept


def count_tuples(columns: Sequence[Ints], widths: Sequence[int]) -> tuple[list[Ints], Ints]:
    """The distinct tuples of some columns of codes, column by column, and how often each occurs.

    >>> [own.tolist() for own in count_tuples([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])[0]]
    [[0, 1], [0, 2]]
    """
    cells = 1
    flat = np.zeros(len(columns[0]), dtype=np.int64)
    for own, width in zip(columns, widths, strict=True):
        if cells > (1 << 62) // max(width, 1):
            _, flat = np.unique(flat, return_inverse=True)
            cells = int(flat.max(initial=0)) + 1
        flat, cells = flat * width + own, cells * width
    if cells <= MOST_CELLS:
        counted = np.bincount(flat, minlength=1)
        present = np.flatnonzero(counted)
        counts = counted[present]
        first = np.zeros(int(present[-1]) + 1 if len(present) else 1, dtype=np.int64)
        first[flat[::-1]] = np.arange(len(flat))[::-1]
        rows = first[present]
    else:
        _, rows, counts = np.unique(flat, return_index=True, return_counts=True)
    return [own[rows] for own in columns], counts
