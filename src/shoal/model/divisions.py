"""Divisions of an attribute's cells: the ones that tables were measured in, and the finest that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.model.measurement import Axis, Box, Floats, Ints, Measurement


@dataclass(frozen=True)
class Atoms:
    """The atoms of one attribute: sets of cells that no wide table and no forbidden box tells apart."""

    of_cell: Ints
    many: int

    def bins_of(self, bins: Ints) -> Ints | None:
        """Give the bin of each atom, where each atom lies in one bin; else None."""
        found = np.full(self.many, -1, dtype=np.int64)
        found[self.of_cell] = bins
        return found if bool((found[self.of_cell] == bins).all()) else None

    def spread(self, shares: Floats, bins: Ints) -> Floats:
        """Give how much of each atom belongs to each bin, from the share of each cell in its atom."""
        many = int(bins.max()) + 1
        found = np.bincount(self.of_cell * many + bins, shares, self.many * many)
        return found.reshape(self.many, many).astype(np.float64)


def atoms_of(axes: Sequence[Axis], measurements: Sequence[Measurement], forbidden: Sequence[Box]) -> tuple[Atoms, ...]:
    """Give the atoms of every attribute; one that stands in no wide table and no box has a single atom.

    A table of the attribute alone divides atoms only where it has to: where its bins do not lie within them.
    """
    found = []
    for number, axis in enumerate(axes):
        own = [each for each in measurements if number in each.axes]
        label = np.zeros(axis.cells, dtype=np.int64)
        for each in own:
            if len(each.axes) > 1:
                label = _divide(label, each.bins[each.axes.index(number)])
        for box in forbidden:
            mask = box[number]
            if mask is not None:
                label = _divide(label, mask.astype(np.int64))
        for each in own:
            if len(each.axes) == 1 and not _lies_within(each.bins[0], label):
                label = _divide(label, each.bins[0])
        found.append(Atoms(_by_first_cell(label), int(label.max()) + 1))
    return tuple(found)


def _divide(label: Ints, other: Ints) -> Ints:
    return np.asarray(np.unique(label * (int(other.max()) + 1) + other, return_inverse=True)[1], dtype=np.int64).ravel()


def _lies_within(bins: Ints, label: Ints) -> bool:
    """Whether each bin has cells of one label alone."""
    seen = np.full(int(bins.max()) + 1, -1, dtype=np.int64)
    seen[bins] = label
    return bool((seen[bins] == label).all())


def _by_first_cell(label: Ints) -> Ints:
    """Number the sets by their first cell, so that atoms of an ordered attribute stand in order."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
