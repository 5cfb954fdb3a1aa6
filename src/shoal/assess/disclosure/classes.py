"""Classes and what they hold: from the distinct tuples of a table to a sparse table of classes by values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.assess.disclosure.encode import Coded, Codes

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """How often each value of one confidential attribute occurs in each class; only what occurs is stored.

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

    def condensed(self) -> Shares:
        """Classes that show one value only, once for each value: they look alike, and in raw tables they are most."""
        mixed = self.width > 1
        shown = np.zeros(len(self.overall), dtype=np.bool_)
        shown[self.values[self.starts[~mixed]]] = True
        alone = np.flatnonzero(shown)
        kept = np.repeat(mixed, self.width)
        width = np.concatenate([self.width[mixed], np.ones(len(alone), dtype=np.int64)])
        return Shares(
            np.cumsum(width) - width,
            np.concatenate([self.values[kept], alone]),
            np.concatenate([self.counts[kept], np.ones(len(alone), dtype=np.int64)]),
            self.overall,
        )

    def grouped(self, code_of: Ints) -> Shares:
        """The same classes with values merged: value v becomes code_of[v]."""
        merged = np.zeros(int(code_of.max()) + 1, dtype=np.int64)
        np.add.at(merged, code_of, self.overall)
        return gather(self.owner, code_of[self.values], self.counts, merged)


def total(numbers: Array, starts: Ints) -> Array:
    """Sums over classes."""
    return np.add.reduceat(numbers, starts)


def gather(owner: Ints, values: Ints, counts: Ints, overall: Ints) -> Shares:
    """Shares from (class, value, count) entries in any order, the same pair several times or not; classes are 0, 1, 2, …"""
    key = owner * len(overall) + values
    if not bool(np.all(key[1:] > key[:-1])):
        order = np.argsort(key, kind="stable")
        key, counts = key[order], counts[order]
        first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
        key, counts = key[first], total(counts, first)
    owner, values = np.divmod(key, len(overall))
    return Shares(np.flatnonzero(np.append(True, owner[1:] != owner[:-1])), values, counts, overall)


def classes_of(quasi: Sequence[Codes], tuples: int) -> Ints:
    """The class of each distinct tuple; tuples come sorted, so equal quasi-identifiers lie together.

    Strict: a missing cell equals a missing cell and nothing else, a star equals a star.
    """
    new = np.zeros(tuples, dtype=np.bool_)
    for codes in quasi:
        new[1:] |= codes[1:] != codes[:-1]
    return np.cumsum(new)


def by_class(owner: Ints, column: Coded, counts: Ints) -> Shares:
    """What the classes hold of one confidential attribute."""
    overall = np.zeros(column.count, dtype=np.int64)
    np.add.at(overall, column.codes, counts)
    return gather(owner, column.codes, counts, overall)
