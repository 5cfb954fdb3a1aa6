"""Equivalence classes and the values they hold: from the distinct tuples of a table to the distribution of values by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.data.domain import Values
from shoal.data.hierarchy.level import MISSING, GroupLevel, IntervalLevel
from shoal.data.schema import Attribute, Type
from shoal.engine.base import ABSENT

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class EncodedColumn:
    """A column as codes into `values`; the code after the last stands for a missing cell. Every value occurs."""

    codes: Ints
    values: Array
    has_missing: bool

    @property
    def count(self) -> int:
        """How many different values there are, missing among them."""
        return len(self.values) + self.has_missing


def encode(values: Array, codes: Codes, order: tuple[str, ...] | None = None) -> EncodedColumn:
    """Encode a column from an engine's codes, which may list values that do not occur; `order` ranks values that do not sort
    by themselves.
    """
    occurs = np.zeros(len(values) + 1, dtype=np.bool_)
    occurs[codes] = True  # ABSENT is -1: the last
    kept = np.flatnonzero(occurs[:-1])
    if order is not None:
        rank = {value: i for i, value in enumerate(order)}
        kept = np.array(sorted(kept.tolist(), key=lambda i: rank.get(str(values[i]), len(rank))), dtype=np.int64)
    place = np.full(len(values) + 1, len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return EncodedColumn(place[codes], values[kept], bool(occurs[-1]))


def order_of(attribute: Attribute, values: Array) -> tuple[str, ...] | None:
    """Give the order of texts that have one: values of an ordinal attribute, or the labels of intervals.

    None where the schema declares no order, or values sort by themselves.
    """
    if not _is_text(values):
        return None
    hierarchy = attribute.hierarchy
    candidates = [level.labels for level in hierarchy.levels if isinstance(level, IntervalLevel)] if hierarchy else []
    if attribute.type is Type.ORDINAL:
        candidates += [level.labels for level in hierarchy.levels if isinstance(level, GroupLevel)] if hierarchy else []
        candidates += [attribute.domain.values] if isinstance(attribute.domain, Values) else []
    shown = {value for value in values.tolist() if not _is_silent(value)}
    return next((order for order in candidates if shown <= set(order)), None)


def has_order(values: Array) -> bool:
    """Whether values sort by themselves: numbers, dates and times."""
    return values.dtype.kind in "iufmM"


def hides(values: Array, codes: Codes) -> Mask:
    """Say which cells are missing or suppressed: missing, labelled as missing, or nothing but stars."""
    if not _is_text(values):
        return np.asarray(codes == ABSENT)
    silent = np.array([_is_silent(value) for value in values.tolist()], dtype=np.bool_)
    return np.append(silent, True)[codes]


def _is_text(values: Array) -> bool:
    return values.dtype.kind in "OTU"


def _is_silent(value: str) -> bool:
    return value == MISSING or (value != "" and not value.strip("*"))


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassDistributions:
    """The distribution of one confidential attribute in each class, as counts; only values that occur are stored.

    Class i owns the entries starts[i] to starts[i + 1], with rising `values`; `overall[v]` counts value v in
    the whole table. Every class has an entry. A missing value is a value like any other.
    """

    starts: Ints
    values: Ints
    counts: Ints
    overall: Ints

    @cached_property
    def width(self) -> Ints:
        """How many different values each class has."""
        return np.diff(np.append(self.starts, len(self.values)))

    @cached_property
    def sizes(self) -> Ints:
        """How many rows each class has."""
        return total(self.counts, self.starts)

    @cached_property
    def owner(self) -> Ints:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.starts)), self.width)

    @cached_property
    def inside(self) -> Floats:
        """p: the share of the value in its class."""
        return np.asarray(self.counts / self.sizes[self.owner])

    @cached_property
    def outside(self) -> Floats:
        """q: the share of the value in the whole table."""
        return np.asarray((self.overall / self.overall.sum())[self.values])

    def condense(self, others: Ints | None = None, levels: Sequence[Ints] = ()) -> ClassDistributions:
        """Keep classes with several values, and those with one value that can be worst by some measure.

        In raw tables most classes have one value, and a column of numbers with many digits has nearly as many values as rows.

        `others` are the values of more such classes, which were left out; `levels` are the values' nodes in a tree, as
        `t_hierarchical` takes them.
        """
        mixed = self.width > 1
        shown = np.zeros(len(self.overall), dtype=np.bool_)
        if others is not None:
            shown[others] = True
        shown[self.values[self.starts[~mixed]]] = True
        alone = self._worst(np.flatnonzero(shown), levels)
        kept = np.repeat(mixed, self.width)
        width = np.concatenate([self.width[mixed], np.ones(len(alone), dtype=np.int64)])
        return ClassDistributions(
            np.cumsum(width) - width,
            np.concatenate([self.values[kept], alone]),
            np.concatenate([self.counts[kept], np.ones(len(alone), dtype=np.int64)]),
            self.overall,
        )

    def _worst(self, alone: Ints, levels: Sequence[Ints]) -> Ints:
        """Choose, of values that a class may hold alone, those that some measure is worst for, in order.

        With p = 1 a measure that knows no order is worst for the value with the smallest q. Moving along the order changes the
        ordered distance by 2 Q − 1, which rises with Q, so it is largest at an end. The distance in a tree is 1 minus the mean
        of q over the value's nodes.
        """
        if len(alone) <= 2:
            return alone
        worst = [alone[0], alone[-1], alone[np.argmin(self.overall[alone])]]
        if levels:
            shares = sum(np.bincount(level, weights=self.overall)[level[alone]] for level in levels)
            worst.append(alone[np.argmin(shares)])
        return np.unique(worst)

    def merge_values(self, code_of: Ints) -> ClassDistributions:
        """Give the distributions after a recoding of the values: value v becomes code_of[v]."""
        merged = np.bincount(code_of, weights=self.overall).astype(np.int64)  # exact below 2^53
        return gather(self.owner, code_of[self.values], self.counts, merged)


def total(numbers: Array, starts: Ints) -> Array:
    """Add numbers up over the entries of each class."""
    return np.add.reduceat(numbers, starts)


def gather(owner: Ints, values: Ints, counts: Ints, overall: Ints) -> ClassDistributions:
    """Make distributions of (class, value, count) entries in any order, where a pair may occur more than once; classes are
    0, 1, 2, …
    """
    key = owner * len(overall) + values
    if not bool(np.all(key[1:] > key[:-1])):
        order = np.argsort(key, kind="stable")
        key, counts = key[order], counts[order]
        first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        key, counts = key[first], total(counts, first)
    owner, values = np.divmod(key, len(overall))
    return ClassDistributions(np.flatnonzero(np.append(True, owner[1:] != owner[:-1])), values, counts, overall)


MOST = 1 << 62
"""Mixed-radix numbers below this fit into 64 bits."""


def row_numbers(codes: Ints) -> Ints:
    """Number rows so that rows with equal codes, and no others, have equal numbers; the numbers are not consecutive."""
    key, room = np.zeros(len(codes), dtype=np.int64), 1
    for column in codes.T:
        low = int(column.min())
        size = int(column.max()) - low + 1
        if room * size >= MOST:
            key = np.unique(key, return_inverse=True)[1].ravel()
            room = int(key.max()) + 1
        key, room = key * size + (column - low), room * size
    return key


def classes_of(quasi: Sequence[Codes], tuples: int) -> Ints:
    """Give the class of each distinct tuple; tuples come sorted, so equal quasi-identifiers are neighbours.

    Matching is strict: a missing cell equals a missing cell and nothing else, a star equals a star.
    """
    new = np.zeros(tuples, dtype=np.bool_)
    for codes in quasi:
        new[1:] |= codes[1:] != codes[:-1]
    return np.cumsum(new)


def by_class(owner: Ints, column: EncodedColumn, counts: Ints) -> ClassDistributions:
    """Give the distribution of one confidential attribute in each class."""
    return gather(owner, column.codes, counts, _overall(column, counts))


@dataclass(frozen=True)
class CondensedClasses:
    """What measures need of the classes of a table: the distributions that some measure can be worst for, and how many classes
    have one value only, with their rows.
    """

    distributions: ClassDistributions
    homogeneous: int
    homogeneous_rows: int


@dataclass(frozen=True)
class ClassTuples:
    """The distinct tuples of a table by class, sorted: class i has those from `starts[i]` on, and `rows[i]` rows.

    In raw tables most classes have one tuple, so one value of every confidential attribute: nothing of them is sorted.
    """

    starts: Ints
    counts: Ints
    rows: Ints

    @cached_property
    def tuples(self) -> Ints:
        """How many tuples each class has."""
        return np.diff(self.starts, append=len(self.counts))

    @cached_property
    def single(self) -> Mask:
        """Whether a class has one tuple."""
        return np.asarray(self.tuples == 1)

    @cached_property
    def kept(self) -> Ints:
        """The tuples of the classes that have several."""
        return np.flatnonzero(np.repeat(~self.single, self.tuples))

    @cached_property
    def alone(self) -> Ints:
        """The tuple of each class that has one."""
        return self.starts[self.single]

    @cached_property
    def kept_counts(self) -> Ints:
        """How often each tuple in `kept` occurs."""
        return self.counts[self.kept]

    @cached_property
    def several_rows(self) -> Ints:
        """The rows of each class that has several tuples."""
        return self.rows[~self.single]

    @cached_property
    def single_rows(self) -> int:
        """The rows of all classes that have one tuple."""
        return int(self.rows.sum()) - int(self.several_rows.sum())

    @cached_property
    def owner(self) -> Ints:
        """The class, counted among those with several tuples, of each tuple in `kept`."""
        several = self.tuples[~self.single]
        return np.repeat(np.arange(len(several)), several)

    def condense(self, column: EncodedColumn, levels: Sequence[Ints] = ()) -> CondensedClasses:
        """Give the classes of one confidential attribute, condensed."""
        overall = _overall(column, self.counts)
        none = np.zeros(0, dtype=np.int64)
        found = ClassDistributions(none, none, none, overall)
        if len(self.kept):
            found = gather(self.owner, column.codes[self.kept], self.kept_counts, overall)
        one = found.width == 1
        return CondensedClasses(
            found.condense(column.codes[self.alone], levels),
            len(self.alone) + int(one.sum()),
            self.single_rows + int(self.several_rows[one].sum()),
        )


def _overall(column: EncodedColumn, counts: Ints) -> Ints:
    """How many rows have each value; sums below 2^53 are exact in the floats that bincount adds in."""
    return np.bincount(column.codes, weights=counts, minlength=column.count).astype(np.int64)
