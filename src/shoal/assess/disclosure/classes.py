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

    def condense(self, others: Ints | None = None) -> ClassDistributions:
        """Keep classes with one value once for each value: all measures are equal for them, and in raw tables most are such.

        `others` are the values of more such classes, which were left out.
        """
        mixed = self.width > 1
        shown = np.zeros(len(self.overall), dtype=np.bool_)
        if others is not None:
            shown[others] = True
        shown[self.values[self.starts[~mixed]]] = True
        alone = np.flatnonzero(shown)
        kept = np.repeat(mixed, self.width)
        width = np.concatenate([self.width[mixed], np.ones(len(alone), dtype=np.int64)])
        return ClassDistributions(
            np.cumsum(width) - width,
            np.concatenate([self.values[kept], alone]),
            np.concatenate([self.counts[kept], np.ones(len(alone), dtype=np.int64)]),
            self.overall,
        )

    def merge_values(self, code_of: Ints) -> ClassDistributions:
        """Give the distributions after a recoding of the values: value v becomes code_of[v]."""
        merged = np.zeros(int(code_of.max()) + 1, dtype=np.int64)
        np.add.at(merged, code_of, self.overall)
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
    """What measures need of the classes of a table: their distributions, those with one value once for each value, and how many
    classes have one value only, with their rows.
    """

    distributions: ClassDistributions
    homogeneous: int
    homogeneous_rows: int


def condense_classes(starts: Ints, column: EncodedColumn, counts: Ints, rows: Ints) -> CondensedClasses:
    """Give the classes of one confidential attribute, condensed; class i has the tuples from `starts[i]` on, and `rows[i]` rows.

    In raw tables most classes have one tuple, so one value: nothing of them is sorted.
    """
    tuples = np.diff(np.append(starts, len(counts)))
    single = tuples == 1
    kept = np.repeat(~single, tuples)
    several = tuples[~single]
    overall = _overall(column, counts)
    none = np.zeros(0, dtype=np.int64)
    found = ClassDistributions(none, none, none, overall)
    if len(several):
        found = gather(np.repeat(np.arange(len(several)), several), column.codes[kept], counts[kept], overall)
    one = found.width == 1
    return CondensedClasses(
        found.condense(column.codes[starts[single]]),
        int(single.sum() + one.sum()),
        int(rows[single].sum() + rows[~single][one].sum()),
    )


def _overall(column: EncodedColumn, counts: Ints) -> Ints:
    """How many rows have each value; sums below 2^53 are exact in the floats that bincount adds in."""
    return np.bincount(column.codes, weights=counts, minlength=column.count).astype(np.int64)
