"""Tables of a model in one row of numbers, as the loops that change rows take them.

For every ordered pair of attributes (j, k) there is a matrix of (atoms of k) x (atoms of j), which starts at `where[j, k]`: so
what a change of attribute j does, given another's atom, stands side by side. A measured table of three attributes or more
stands there once, the last attribute fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.model.measurement import Floats, Ints, Mask

if TYPE_CHECKING:
    from shoal.model.fit import FittedModel

MOST_ENTRIES = 60_000_000
"""The most entries of all pairs, twice, and of wider tables: half a gigabyte."""
MOST_OF_TRIPLES = 8_000_000
"""The most entries where all triples are among them."""
MOST_TRIPLES = 2_500
"""The most tables of three attributes or more where all triples are among them: those of 24 attributes."""


class WiderTables(NamedTuple):
    """Where the measured tables of three attributes or more stand, as arrays that loops can read.

    Table t starts at `start[t]`; its attributes are `axis[end[t]:end[t + 1]]`, and an atom more of each is `stride` further.
    Attribute j is in the tables `table[begin[j]:begin[j + 1]]`.
    """

    begin: Ints
    table: Ints
    start: Ints
    end: Ints
    axis: Ints
    stride: Ints


@dataclass(frozen=True)
class Layout:
    """Where the tables of a model stand, and the boxes that no row may lie in."""

    sizes: Ints
    where: Ints = field(repr=False)
    wider: WiderTables = field(repr=False)
    groups: tuple[tuple[int, ...], ...]
    """The attributes of each wider table."""
    entries: int
    first: Ints = field(repr=False)
    closed: Mask = field(repr=False)
    """`closed[b, first[j] + v]` says whether atom v of attribute j belongs to forbidden box b."""

    def wanted(self, model: FittedModel, rows: int) -> Floats:
        """Give the counts that so many rows should have."""
        found = np.empty(self.entries)
        scale = rows / model.total
        for j, k in combinations(range(len(self.sizes)), 2):
            table = model.table_of_atoms((j, k)) * scale
            found[self.where[k, j] : self.where[k, j] + table.size] = table.ravel()
            found[self.where[j, k] : self.where[j, k] + table.size] = table.T.ravel()
        for start, group in zip(self.wider.start.tolist(), self.groups, strict=True):
            table = model.table_of_atoms(group) * scale
            found[start : start + table.size] = table.ravel()
        return found

    def values_of(self, group: tuple[int, ...]) -> slice:
        """Where the entries of one of the wider tables stand."""
        start = int(self.wider.start[self.groups.index(group)])
        return slice(start, start + prod(self.sizes[list(group)].tolist()))

    @property
    def pairs(self) -> slice:
        """Where the entries of all pairs stand."""
        return slice(0, int(self.wider.start[0]) if self.groups else self.entries)

    @property
    def additions(self) -> float:
        """How many numbers are added up when every value of one row is looked at once."""
        tables = len(self.sizes) - 1 + np.diff(self.wider.begin)
        return float(tables @ self.sizes)

    def count(self, codes: Ints) -> Floats:
        """Give the counts that these rows have."""
        found = np.zeros(self.entries)
        for j, own in enumerate(self.sizes.tolist()):
            others = np.arange(len(self.sizes)) != j
            if not others.any():
                continue
            places = self.where[j, others] + codes[:, others] * own + codes[:, j, None]
            low = int(self.where[j, others].min())
            counts = np.bincount((places - low).ravel())
            found[low : low + len(counts)] += counts
        for number, start in enumerate(self.wider.start.tolist()):
            part = slice(int(self.wider.end[number]), int(self.wider.end[number + 1]))
            places = start + codes[:, self.wider.axis[part]] @ self.wider.stride[part]
            counts = np.bincount(places - start)
            found[start : start + len(counts)] += counts
        return found


def layout_of(model: FittedModel, masks: list[tuple[Mask, ...]]) -> Layout | None:
    """Give the layout of a model's tables; None where they are too large."""
    sizes = np.array([atoms.many for atoms in model.atoms], dtype=np.int64)
    closed = np.array([np.concatenate(box) for box in masks], dtype=np.bool_).reshape(len(masks), int(sizes.sum()))
    groups = tuple(sorted(group for group in model.settled if len(group) > 2))
    return _laid_out(sizes, groups, closed) if _entries(sizes, groups) <= MOST_ENTRIES else None


def with_triples(layout: Layout) -> Layout | None:
    """Give a layout that also has a table for every three attributes; None where there are too many entries."""
    triples = combinations(range(len(layout.sizes)), 3)
    groups = tuple(sorted({*layout.groups, *triples}))
    few = len(groups) <= MOST_TRIPLES and _entries(layout.sizes, groups) <= MOST_OF_TRIPLES
    return _laid_out(layout.sizes, groups, layout.closed) if few else None


def _entries(sizes: Ints, groups: Sequence[tuple[int, ...]]) -> int:
    wide: list[int] = [prod(sizes[list(group)].tolist()) for group in groups]
    return int(sizes.sum()) ** 2 - int((sizes**2).sum()) + sum(wide)


def _laid_out(sizes: Ints, groups: tuple[tuple[int, ...], ...], closed: Mask) -> Layout:
    width = len(sizes)
    wide = [prod(sizes[list(group)].tolist()) for group in groups]
    where = np.zeros((width, width), dtype=np.int64)
    entries = 0
    for j in range(width):
        for k in range(width):
            if j != k:
                where[j, k] = entries
                entries += int(sizes[j] * sizes[k])
    start = entries + np.cumsum([0, *wide], dtype=np.int64)
    strides = [np.cumprod([1, *sizes[list(group)][:0:-1]])[::-1] for group in groups]
    homes = [[number for number, group in enumerate(groups) if axis in group] for axis in range(width)]
    wider = WiderTables(
        np.cumsum([0, *map(len, homes)], dtype=np.int64),
        np.array([number for home in homes for number in home], dtype=np.int64),
        start[:-1].copy(),
        np.cumsum([0, *map(len, groups)], dtype=np.int64),
        np.array([axis for group in groups for axis in group], dtype=np.int64),
        np.array([step for own in strides for step in own], dtype=np.int64),
    )
    return Layout(sizes, where, wider, groups, int(start[-1]), np.cumsum(sizes) - sizes, closed)
