"""Bins: unions of an attribute's cells in which wide tables are counted, divided by published counts alone.

A cell of a wide table with fewer records than its noise says nothing, so cells with few records are counted together. A bin of
several cells costs what it hides (the square of its records), and every bin costs what its noise hides; the division with the
smallest cost is taken. Frequent values stay alone, the others form runs of neighbours, or groups of the hierarchy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.boxes import rule_of_unions
from shoal.anonymize.generalize.tree.sides import (
    DomainPiece,
    hierarchy_over,
    label_fits,
    name_pieces,
    pieces_label_fits,
)
from shoal.data.cells import AttributeCells

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
GROWTH = 1.25
"""The size of a bin grows by this factor until there are few enough bins."""


@dataclass(frozen=True)
class AttributeBins:
    """The bins of one attribute: the bin of each cell, and the label of each bin."""

    cells: AttributeCells
    of_cell: Numbers
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.cells.name

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The cells of each bin, in their declared order."""
        held: list[list[int]] = [[] for _ in self.labels]
        for cell, number in enumerate(self.of_cell.tolist()):
            held[number].append(cell)
        return tuple(map(tuple, held))

    def sums(self, counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The count of each bin, from the counts of the cells."""
        return np.bincount(self.of_cell, weights=counts, minlength=len(self)).astype(counts.dtype)

    def rule(self) -> dict[str, Any]:
        """The labels, and the cells that each stands for, as plain values that a stranger can check; made once for all tables."""
        return self._rule

    @cached_property
    def _rule(self) -> dict[str, Any]:
        losses = [self.cells.loss(held) for held in self.members]
        return rule_of_unions(self.cells, self.labels, self.members, losses)


def declared_bins(cells: AttributeCells) -> AttributeBins:
    """Every cell as a bin of its own."""
    return AttributeBins(cells, np.arange(len(cells), dtype=np.int64), cells.labels)


def merged_bins(cells: AttributeCells, counts: Floats, size: float, most: int, noise: float = 0.0) -> AttributeBins:
    """The bins of an attribute, from estimated counts of its cells; nothing else is read.

    `size` is the number of records that a bin of several cells should have, and `most` the largest number of bins. `noise` is
    the standard deviation of a count: a cell stands out where it has more records than the largest of so many noises is
    expected to be. The missing value is always a bin of its own.
    """
    masses = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
    over = hierarchy_over(cells)
    divide = _divide_runs if cells.ordered else _divide_groups
    if len(over.cells) <= 1:
        return declared_bins(cells)
    size, least = max(size, 1.0), noise * math.sqrt(2 * math.log(len(cells)))
    while len(found := divide(cells, over, masses, size, least)) > max(most, 1):
        size *= GROWTH
    parts = sorted(found, key=lambda part: part[1][0])
    if cells.missing is not None:
        parts.append((cells.labels[cells.missing], [cells.missing]))
    of_cell = np.empty(len(cells), dtype=np.int64)
    labels: list[str] = []
    for number, (label, members) in enumerate(parts):
        of_cell[members] = number
        labels.append(" or ".join(cells.labels[cell] for cell in members) if label in labels else label)
    return AttributeBins(cells, of_cell, tuple(labels))


Parts = list[tuple[str, list[int]]]
"""The label and the cells of each bin."""


def _divide_runs(cells: AttributeCells, over: DomainPiece, masses: Floats, size: float, least: float) -> Parts:
    """Runs of neighbouring cells of an ordered attribute."""
    own = sorted(over.cells)
    ends = [0, *best_runs(masses[own], size, least)]
    return [
        (cells.labels[own[first]] if last == first + 1 else cells.span(own[first], own[last - 1] + 1), own[first:last])
        for first, last in pairwise(ends)
    ]


def _divide_groups(cells: AttributeCells, over: DomainPiece, masses: Floats, size: float, least: float) -> Parts:
    """Frequent values alone, frequent groups of the hierarchy divided further, and what is left of each as runs of siblings."""
    found: Parts = []
    waiting = [over]
    while waiting:
        parent = waiting.pop()
        few: list[DomainPiece] = []
        for item in parent.items:
            if masses[item.cells].sum() < max(size / 2, least * math.sqrt(len(item.cells))):
                few.append(item)
            elif item.items:
                waiting.append(item)
            else:
                found.append((item.label, list(item.cells)))
        ends = [0, *best_runs(np.array([masses[item.cells].sum() for item in few]), size, math.inf)] if few else [0]
        for first, last in pairwise(ends):
            pieces = few[first:last]
            label = pieces[0].label if len(pieces) == 1 else name_pieces(cells, pieces, parent)
            found.append((label, sorted(cell for piece in pieces for cell in piece.cells)))
    return found


def best_runs(masses: Floats, size: float, least: float = 0.0) -> list[int]:
    """Where runs end that divide a row of masses with the smallest cost: the last is the number of masses.

    A run costs the square of its mass, unless it is a single one of at least `least`, and every run costs the square of
    `size`; found by dynamic programming.
    """
    count = len(masses)
    sums = np.concatenate([[0.0], np.cumsum(masses)])
    best = np.zeros(count + 1)
    start = np.zeros(count + 1, dtype=np.int64)
    for last in range(1, count + 1):
        costs = best[:last] + (sums[last] - sums[:last]) ** 2
        if masses[last - 1] >= least:
            costs[last - 1] = best[last - 1]
        # Of equal costs the longest run: cells without records are put together.
        start[last] = int(np.argmin(costs))
        best[last] = costs[start[last]] + size * size
    ends = [count]
    while start[ends[-1]] > 0:
        ends.append(int(start[ends[-1]]))
    return ends[::-1]


def bin_label_fits(cells: AttributeCells, label: str, members: Sequence[int], over: DomainPiece | None = None) -> bool:
    """Whether a bin of these cells may carry this label; for whoever checks a recoding that somebody else applied.

    Along an ordered attribute a bin is any run of cells, also one that begins in a group of the hierarchy and ends in another.
    Where no value may be missing, one bin may hold all cells, and is named like any other.
    """
    held = sorted(members)
    if not cells.ordered and len(held) == len(cells) > 1:
        whole = hierarchy_over(cells) if over is None else over
        return pieces_label_fits(cells, label, whole.items, whole) or label_fits(cells, label, list(held), over)
    run = held == list(range(held[0], held[-1] + 1)) and cells.missing not in held
    if cells.ordered and run and len(held) > 1 and label == cells.span(held[0], held[-1] + 1):
        return True
    return label_fits(cells, label, list(held), over)
