"""Noisy tables: what was measured, with the bins of each axis and the size of the noise. Nothing here knows the records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.anonymize.measure.bins import AttributeBins
from shoal.data.cells import AttributeCells

if TYPE_CHECKING:
    from shoal.model.measurement import Axis, Measurement

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NoisyTable:
    """One contingency table with noise on every entry: entry (i, j, …) counts records in bin i of the first attribute, and so on.

    `sigma` is the parameter of the discrete Gaussian noise on each entry; the noise of different entries is independent.
    """

    bins: tuple[AttributeBins, ...]
    values: Numbers
    sigma: Fraction

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes, one for each axis."""
        return tuple(each.name for each in self.bins)

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels along each axis."""
        return tuple(each.labels for each in self.bins)

    @property
    def cells(self) -> int:
        """The number of entries."""
        return int(self.values.size)

    def rules(self) -> dict[str, dict[str, Any]]:
        """The rule of each attribute's labels in this table."""
        return {each.name: each.rule() for each in self.bins}


@dataclass(frozen=True)
class CandidateScore:
    """A group of attributes, and its noisy score: by how many records its table is from what was expected."""

    attributes: tuple[str, ...]
    score: int
    chosen: bool


@dataclass(frozen=True)
class MeasuredCounts:
    """All that was measured: the tables (one for each attribute first), and the noisy scores by which the others were chosen."""

    cells: tuple[AttributeCells, ...]
    bins: tuple[AttributeBins, ...]
    tables: tuple[NoisyTable, ...]
    scores: tuple[CandidateScore, ...] = ()
    """The noisy scores of all candidates, where tables were chosen once."""

    @property
    def singles(self) -> tuple[NoisyTable, ...]:
        """The tables of one attribute each, in which every cell is counted."""
        return tuple(each for each in self.tables if len(each.bins) == 1)

    def rules(self) -> dict[str, dict[str, Any]]:
        """The rule of the labels of each attribute's bins."""
        return {each.name: each.rule() for each in self.bins}

    def axes(self) -> tuple[Axis, ...]:
        """The attributes as a model sees them."""
        return axes_of(self.cells)

    def as_measurements(self) -> tuple[Measurement, ...]:
        """The tables as a model takes them: published numbers and their variance."""
        return measurements_of(self.cells, self.tables)


def axes_of(cells: Sequence[AttributeCells]) -> tuple[Axis, ...]:
    """Attributes as a model sees them."""
    from shoal.model.measurement import Axis

    return tuple(Axis(each.name, len(each), each.ordered) for each in cells)


def measurements_of(cells: Sequence[AttributeCells], tables: Sequence[NoisyTable]) -> tuple[Measurement, ...]:
    """Tables as a model takes them."""
    from shoal.model.measurement import Measurement

    place = {each.name: number for number, each in enumerate(cells)}
    return tuple(
        Measurement(
            tuple(place[name] for name in each.attributes),
            tuple(own.of_cell for own in each.bins),
            each.values.astype(np.float64),
            float(each.sigma) ** 2,
        )
        for each in tables
    )


def estimate_total(singles: Sequence[NoisyTable]) -> float:
    """The number of records, from the sums of tables of one attribute each, weighed by the number of noises in each sum."""
    weights = [1.0 / each.cells for each in singles]
    sums = [weight * float(each.values.sum()) for weight, each in zip(weights, singles, strict=True)]
    return max(1.0, math.fsum(sums) / math.fsum(weights))
