"""What a tree knows about a table: masses of sides within boxes, from surveys that were paid for.

At first every attribute by itself: shares of its cells, heard through noise. Boxes are then counted again, and what was
heard corrects what was expected. All of this is post-processing of noisy counts; no record is seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.anonymize.generalize.tree.sides import Sides, sides
from shoal.anonymize.kernel import grow
from shoal.data.cells import Cells

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]

USUALLY_MISSING = 0.02
"""The share of missing values that is expected before anything was heard."""


@dataclass(frozen=True)
class Layout:
    """The sides of all attributes in one row of nodes, for the kernels."""

    sides: tuple[Sides, ...]

    @cached_property
    def offsets(self) -> list[int]:
        """Where each attribute's nodes begin."""
        return [0, *np.cumsum([len(each) for each in self.sides]).tolist()]

    @cached_property
    def kids(self) -> Codes:
        """The kids of each node by their number in the row."""
        parts = [
            np.where(each.kids >= 0, each.kids + offset, -1)
            for each, offset in zip(self.sides, self.offsets, strict=False)
        ]
        return np.concatenate(parts).astype(np.int32)

    @cached_property
    def starts(self) -> Codes:
        """The first cell of each node, along its attribute."""
        return np.concatenate([each.start for each in self.sides])

    @cached_property
    def stops(self) -> Codes:
        """The cell after the last of each node."""
        return np.concatenate([each.stop for each in self.sides])

    @cached_property
    def last(self) -> Codes:
        """The node after the last one below each node."""
        sizes = np.ones(len(self.kids), dtype=np.int32)
        for node in range(len(self.kids) - 1, -1, -1):
            for kid in self.kids[node]:
                if kid >= 0:
                    sizes[node] += sizes[kid]
        return np.asarray(np.arange(len(self.kids)) + sizes, dtype=np.int32)

    def losses(self, weights: Sequence[float]) -> Floats:
        """The loss of each node, weighted so that the whole domain loses 1."""
        total = sum(weights)
        parts = [each.losses * weight / total for each, weight in zip(self.sides, weights, strict=True)]
        return np.concatenate(parts)

    def attribute(self, node: int) -> int:
        """Which attribute a node belongs to."""
        return int(np.searchsorted(self.offsets, node, side="right")) - 1


def projected(heard: npt.NDArray[np.int64], total: float) -> Floats:
    """Noisy counts moved to the nearest ones that are not negative and add up to `total`.

    All are lowered by the same amount and what falls below zero is zero, so that the noise on many empty cells does not
    add up to people who are not there.
    """
    falling = np.sort(heard.astype(np.float64))[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    kept = np.flatnonzero(falling > excess)
    level = excess[kept[-1]] if len(kept) else 0.0
    return np.asarray(np.maximum(heard - level, 0.0))


def smoothed(cells: Cells, told: npt.NDArray[np.int64], count: float, epsilon: Fraction, surprise: float) -> Floats:
    """The shares of an attribute's cells in the whole table, from a noisy histogram and what the domain suggests.

    The domain is divided step by step as if its cells were as common as they are large, and each step believes what was
    heard as far as the noise on the cells that it sums allows: a thousand cells with little behind them stay even, where
    noise alone would make a few of them look common.
    """
    sizes = np.array([float(size) for size in cells.sizes])
    if cells.missing is not None:
        sizes[cells.missing] = USUALLY_MISSING * sizes.sum()
    sizes /= sizes.sum()
    plain = sides(cells, sizes)
    heard = projected(told, count)[plain.order]
    within, whole = plain.sums(sizes)[np.newaxis, :], np.zeros((1, 1), dtype=np.int32)
    fresh = listen(Layout((plain,)), within, whole, np.array([count]), [[heard]], epsilon, surprise)[0]
    ends = np.flatnonzero(plain.kids[:, 0] < 0)
    shares = np.empty(len(cells))
    shares[plain.order[plain.start[ends]]] = fresh[ends]
    shares = shares * count + 0.5  # half a record, so that nothing is thought impossible
    return np.asarray(shares / shares.sum())


def corrected(expected: Floats, heard: Floats, noise: Floats | float, stray: float) -> tuple[Floats, Floats]:
    """Counts from what was expected and what was heard with so much variance, and the variance that is left.

    A count is expected to be off by `stray` times itself.
    """
    own = (stray * expected) ** 2 + 1.0
    return np.maximum(1.0, (heard * own + expected * noise) / (own + noise)), own * noise / (own + noise)


def listen(
    layout: Layout,
    masses: Floats,
    faces: Codes,
    counts: Floats,
    heard: Sequence[Sequence[Floats]],
    epsilon: Fraction,
    trust: float,
) -> Floats:
    """The masses within boxes after a survey: `masses[i]` is what was expected within box i, `heard[j][i]` the noisy
    counts of the cells of its side along attribute j.

    A share is expected to stray from what was expected by `trust`, as a part of p(1 − p).
    """
    correct = grow.refiner(masses.size)
    fresh = masses.copy()
    noise = 2.0 / float(epsilon) ** 2
    for i, face in enumerate(faces.tolist()):
        for j, side in enumerate(face):
            if layout.kids[side, 0] >= 0:
                correct(
                    fresh[i], int(layout.starts[side]), side, int(layout.last[side]), layout.kids, layout.starts,
                    layout.stops, heard[j][i], float(counts[i]), noise, trust,
                )  # fmt: skip
    return fresh
