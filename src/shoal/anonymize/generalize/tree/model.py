"""What a tree knows about a table: noisy counts that were paid for, and the masses of sides within boxes that follow.

The first measurement gives the shares of each attribute's cells. Boxes are then measured again, and the noisy counts
correct what was expected of them. All of this is post-processing of noisy counts; `CellRecords` alone give true ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.boxes import BoxTree, SideLayout
from shoal.anonymize.generalize.tree.sides import build_sides
from shoal.anonymize.kernel import grow
from shoal.data.cells import AttributeCells
from shoal.data.type import texts
from shoal.engine.base import Assignment, ClassCounts, Counts, Table
from shoal.engine.tuple_counts import sum_by_code
from shoal.errors import DomainError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

USUALLY_MISSING = 0.02
"""The share of missing values that is expected before anything was measured."""


class CellRecords(Protocol):
    """The records of a table by cells; they answer with true counts, and whoever asks pays for noise."""

    def count_table(self) -> ClassCounts:
        """The number of records, and of those in each cell of each attribute: those of one box that is the whole domain."""

    def count_boxes(self, tree: BoxTree, *, histograms: bool = False) -> ClassCounts:
        """The number of records in each box of a tree and, where asked for, in each cell of each attribute within each box."""


@dataclass(frozen=True)
class CellCounts:
    """The true counts of a table: tuple i has the cell `cells[j][i]` along attribute j, and occurs `counts[i]` times."""

    pieces: tuple[AttributeCells, ...]
    cells: tuple[npt.NDArray[np.unsignedinteger[Any]], ...]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counted: Counts, pieces: Sequence[AttributeCells]) -> CellCounts:
        """The cell counts of a table that was recoded to the cells; a missing value falls into its declared cell."""
        found = []
        for each, values, codes in zip(pieces, counted.values, counted.codes, strict=True):
            number = {label: i for i, label in enumerate(each.labels)}
            places = np.array([number.get(text, -1) for text in texts(values)], dtype=np.int32)
            # ABSENT is the last place: a missing value that was kept as it is.
            places = np.append(places, each.missing if each.missing is not None else -1).astype(np.int32)
            there = np.zeros(len(places), dtype=np.bool_)
            there[codes] = True
            if (places[there] < 0).any():
                raise DomainError(
                    f"attribute '{each.name}': some values are in no cell of its declared domain",
                    fix="declare every value that may occur",
                )
            found.append(places.astype(np.min_scalar_type(len(each)))[codes])
        return cls(tuple(pieces), tuple(found), counted.counts)

    def count_table(self) -> ClassCounts:
        home = np.zeros(len(self.counts), dtype=np.int64)
        return self._count(home, 1, histograms=True)

    def count_boxes(self, tree: BoxTree, *, histograms: bool = False) -> ClassCounts:
        return self._count(tree.box_finder()(self.cells), len(tree.leaves), histograms=histograms)

    def _count(self, home: npt.NDArray[np.integer[Any]], boxes: int, *, histograms: bool) -> ClassCounts:
        """The number of records in each box, and of the cells of each attribute within it; `home[i]` is the box of tuple i."""
        tables = []
        for each, cells in zip(self.pieces, self.cells, strict=True) if histograms else ():
            keys = home.astype(np.int64) * len(each) + cells
            tables.append(sum_by_code(keys, self.counts, boxes * len(each)).reshape(boxes, len(each)))
        return ClassCounts(sum_by_code(home, self.counts, boxes), tuple(tables))


@dataclass(frozen=True)
class CellTable:
    """A table that was recoded to the cells: an engine counts its records, and no tuple of theirs is held here."""

    pieces: tuple[AttributeCells, ...]
    recoded: Table

    def count_table(self) -> ClassCounts:
        return self._count(lambda cells: np.zeros(len(cells[0]), dtype=np.int32), 1, histograms=True)

    def count_boxes(self, tree: BoxTree, *, histograms: bool = False) -> ClassCounts:
        return self._count(tree.box_finder(), len(tree.leaves), histograms=histograms)

    def _count(self, assign: Assignment, boxes: int, *, histograms: bool) -> ClassCounts:
        columns = self.recoded.columns if histograms else ()
        return self.recoded.count_classes([each.labels for each in self.pieces], assign, boxes, columns)


# --- what was measured against what was expected ------------------------------------------------------------------------


def project(noisy: npt.NDArray[np.int64], total: float) -> Floats:
    """The counts nearest to noisy ones that are not negative and add up to `total`.

    All are lowered by the same amount and what falls below zero is zero, so that the noise on many empty cells does not
    add up to people who are not there.
    """
    falling = np.sort(noisy.astype(np.float64))[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = np.flatnonzero(falling > excess)
    level = excess[kept[-1]] if len(kept) else 0.0
    return np.asarray(np.maximum(noisy - level, 0.0))


def smooth(
    cells: AttributeCells, noisy: npt.NDArray[np.int64], count: float, epsilon: Fraction, share_variance: float
) -> Floats:
    """The shares of an attribute's cells in the whole table, from a noisy histogram and from the domain.

    The domain is divided step by step as if its cells were as common as they are large. Each step weighs the noisy counts
    by the noise on the cells that it sums: a thousand cells that hold few records stay even, where noise alone would make
    a few of them look common.
    """
    sizes = np.array([float(size) for size in cells.sizes])
    if cells.missing is not None:
        sizes[cells.missing] = USUALLY_MISSING * sizes.sum()
    sizes /= sizes.sum()
    plain = build_sides(cells, sizes)
    counts = project(noisy, count)[plain.order]
    within, whole = plain.sums(sizes)[np.newaxis, :], np.zeros((1, 1), dtype=np.int32)
    fresh = update_masses(SideLayout((plain,)), within, whole, np.array([count]), [[counts]], epsilon, share_variance)[
        0
    ]
    ends = np.flatnonzero(plain.kids[:, 0] < 0)
    shares = np.empty(len(cells))
    shares[plain.order[plain.start[ends]]] = fresh[ends]
    shares = shares * count + 0.5  # half a record, so that no cell has probability zero
    return np.asarray(shares / shares.sum())


def correct(expected: Floats, noisy: Floats, variance: Floats | float, error: float) -> tuple[Floats, Floats]:
    """Counts from expected and noisy ones, each weighed by its variance, and the variance of the result.

    `variance` is that of the noise; an expected count has a standard deviation of `error` times itself.
    """
    own = (error * expected) ** 2 + 1.0
    return np.maximum(1.0, (noisy * own + expected * variance) / (own + variance)), own * variance / (own + variance)


def update_masses(
    layout: SideLayout,
    masses: Floats,
    faces: Codes,
    counts: Floats,
    noisy: Sequence[Sequence[Floats]],
    epsilon: Fraction,
    share_variance: float,
) -> Floats:
    """The masses within boxes after a measurement of their cells.

    `masses[i]` is what was expected within box i, `noisy[j][i]` the noisy counts of the cells of its side along attribute j.
    A share p has the variance `share_variance` · p(1 − p) around what was expected.
    """
    refine = grow.refiner(masses.size)
    fresh = masses.copy()
    noise = 2.0 / float(epsilon) ** 2
    for i, face in enumerate(faces.tolist()):
        for j, side in enumerate(face):
            if layout.kids[side, 0] >= 0:
                refine(
                    fresh[i], int(layout.starts[side]), side, int(layout.last[side]), layout.kids, layout.starts,
                    layout.stops, noisy[j][i], float(counts[i]), noise, share_variance,
                )  # fmt: skip
    return fresh
