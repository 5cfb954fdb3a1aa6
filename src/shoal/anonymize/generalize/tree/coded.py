"""A table as cell numbers: its distinct tuples of cells and how often each occurs, for growing trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.data.cells import Cells
from shoal.data.type import texts
from shoal.engine.base import ABSENT, Counts
from shoal.errors import DomainError


@dataclass(frozen=True)
class Coded:
    """`cells[j][i]` is the cell of tuple i along attribute j, and `counts[i]` how many records have that tuple."""

    pieces: tuple[Cells, ...]
    cells: tuple[npt.NDArray[np.int32], ...]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, counted: Counts, pieces: Sequence[Cells]) -> Coded:
        """From the counts of a table that was recoded to the cells; a missing value falls into its declared cell too."""
        found = []
        for each, values, codes in zip(pieces, counted.values, counted.codes, strict=True):
            number = {label: i for i, label in enumerate(each.labels)}
            places = np.array([number.get(text, -1) for text in texts(values)], dtype=np.int32)
            # ABSENT is the last place: a missing value that was kept as it is.
            places = np.append(places, each.missing if each.missing is not None else -1).astype(np.int32)
            held = places[np.where(codes == ABSENT, len(places) - 1, codes)]
            if len(held) and held.min() < 0:
                raise DomainError(
                    f"attribute '{each.name}': some values are in no cell of its declared domain",
                    fix="declare every value that may occur",
                )
            found.append(held)
        return cls(tuple(pieces), tuple(found), counted.counts)

    @property
    def rows(self) -> int:
        """How many records were counted."""
        return int(self.counts.sum())

    def histogram(self, j: int) -> npt.NDArray[np.int64]:
        """How many records each cell of an attribute holds."""
        return _added(self.cells[j], self.counts, len(self.pieces[j]))

    def totals(self, home: npt.NDArray[np.int64], boxes: int) -> npt.NDArray[np.int64]:
        """How many records each box holds; `home[i]` is the box of tuple i."""
        return _added(home, self.counts, boxes)

    def table(
        self, j: int, rank: npt.NDArray[np.int32], home: npt.NDArray[np.int64], boxes: int
    ) -> npt.NDArray[np.int64]:
        """How many records each cell of an attribute holds within each box, cells in the order of their rank."""
        width = len(self.pieces[j])
        return _added(home * width + rank[self.cells[j]], self.counts, boxes * width).reshape(boxes, width)


def _added(
    places: npt.NDArray[np.int64] | npt.NDArray[np.int32], counts: npt.NDArray[np.int64], size: int
) -> npt.NDArray[np.int64]:
    """Whole numbers added up by place; sums below 2^53 are exact in the floats that bincount adds in."""
    if len(counts) and counts.max() == 1:  # every tuple once: nothing to weigh
        return np.bincount(places, minlength=size)
    return np.bincount(places, weights=counts, minlength=size).astype(np.int64)
