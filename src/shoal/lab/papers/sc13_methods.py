"""The three methods of SC13 §3.4 as the thesis ran them, on tables of numbers in their own units.

Its text says less than is needed, and something else: "MDAV is run on the quasi-identifier attributes". Table 3.7 shows that
all attributes were grouped together, without standardizing (the intruders are informed: whoever looks for one attribute knows
all the others), and Table 3.11 that swapping goes attribute by attribute, the groups of each made from all the others
as they are by then. Individual ranking left its remainder in the middle, as MDAV of one attribute does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.anonymize.aggregate import centroid
from shoal.anonymize.aggregate.shuffle import shuffle
from shoal.anonymize.cluster.mdav import Labels, mdav
from shoal.anonymize.kernel.remaining_points import Flat
from shoal.chance.source import Source

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trial:
    """A table whose columns from `first` on are confidential, and masked versions of it without end."""

    table: Floats
    first: int

    def identical(self, k: int, columns: list[int] | None = None, *, standardized: bool = False) -> Floats:
        """MDAV-ID: every attribute by its group's mean; the groups may be made from some `columns`, on z-scores."""
        points = self.table / self.table.std(axis=0) if standardized else self.table
        labels = _groups(points if columns is None else points[:, columns], k)
        return np.column_stack([centroid.mean(column, labels) for column in self.table.T])

    def swapped(self, k: int, source: Source) -> Iterator[Floats]:
        """MDAV-SWAP: each confidential attribute permuted in groups near in all other attributes, one after the other."""
        while True:
            masked = self.table.copy()
            for j in range(self.first, masked.shape[1]):
                masked[:, j] = shuffle(masked[:, j], _groups(np.delete(masked, j, axis=1), k), source)
            yield masked

    def ranked(self, k: int, source: Source) -> Iterator[Floats]:
        """IR-SWAP: each confidential attribute permuted in groups near in itself."""
        labels = {j: _groups(self.table[:, [j]], k) for j in range(self.first, self.table.shape[1])}
        while True:
            masked = self.table.copy()
            for j, own in labels.items():
                masked[:, j] = shuffle(masked[:, j], own, source)
            yield masked


def _groups(points: Floats, k: int) -> Labels:
    centred = np.ascontiguousarray(points - points.mean(axis=0))
    return mdav(centred, k, among=Flat(centred))
