"""What a model is fitted to: attributes as numbers of cells, and noisy tables of counts with their variances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import numpy.typing as npt

from shoal.errors import ParameterError, UsageError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Box = tuple[Mask | None, ...]
"""A part of the domain: for each attribute the cells that belong to it, or None for all of them."""

MOST_ENTRIES = 20_000_000
"""The most entries of a table that is computed."""


@dataclass(frozen=True)
class Axis:
    """One attribute of a model: its name, the number of its cells, and whether neighbours among them are alike."""

    name: str
    cells: int
    ordered: bool

    def __post_init__(self) -> None:
        if self.cells < 1:
            raise ParameterError(
                f"attribute '{self.name}' of a model has no cells", came=self.cells, allowed="a whole number from 1"
            )


@dataclass(frozen=True)
class Measurement:
    """A noisy table: published counts of the bins of some attributes, and the variance of the noise in each.

    `bins[i][c]` is the bin of cell c of attribute `axes[i]`; bins are numbered from 0 without a gap. The variance is one
    number for all entries, or an array of the shape of `values`.
    """

    axes: tuple[int, ...]
    bins: tuple[Ints, ...] = field(repr=False)
    values: Floats = field(repr=False)
    variance: Floats | float = field(repr=False)

    def __post_init__(self) -> None:
        if not self.axes or len({*self.axes}) < len(self.axes) or len(self.bins) != len(self.axes):
            raise UsageError(
                "a measurement needs attributes, each once, with the bins of each",
                came=f"attributes {self.axes} and {len(self.bins)} divisions",
            )
        for bins in self.bins:
            if bins.ndim != 1 or not len(bins) or not np.issubdtype(bins.dtype, np.integer):
                raise UsageError("the bins of a measurement are one whole number for each cell")
            if (bins < 0).any() or len(np.unique(bins)) != int(bins.max()) + 1:
                raise UsageError("the bins of a measurement are not numbered from 0 without a gap")
        shape = tuple(int(bins.max()) + 1 for bins in self.bins)
        if self.values.shape != shape:
            raise UsageError(
                "a measurement has another shape than its bins", came=self.values.shape, allowed=str(shape)
            )
        if np.shape(self.variance) not in {(), shape}:
            raise UsageError(
                "the variance of a measurement has another shape than its values",
                came=np.shape(self.variance),
                allowed=f"one number, or {shape}",
            )
        if not np.isfinite(self.values).all():
            raise ParameterError("a measurement holds a value that is not a number")
        if not (np.isfinite(self.variance).all() and (np.asarray(self.variance) >= 0).all()):
            raise ParameterError("the variance of a measurement is not a number from 0")


def check_input(axes: Sequence[Axis], measurements: Sequence[Measurement], forbidden: Sequence[Box]) -> None:
    """Refuse measurements or boxes that do not belong to these attributes, and a box that is the whole domain."""
    if not axes:
        raise UsageError("a model without attributes", allowed="one at least")
    if not measurements:
        raise UsageError("a model without measurements", fix="measure one table at least")
    for each in measurements:
        for axis, bins in zip(each.axes, each.bins, strict=True):
            if not 0 <= axis < len(axes):
                raise UsageError("a measurement of an attribute that is not there", came=axis)
            if len(bins) != axes[axis].cells:
                raise UsageError(
                    f"a measurement divides attribute '{axes[axis].name}' otherwise than it is",
                    came=f"{len(bins)} cells",
                    allowed=f"{axes[axis].cells} cells",
                )
    for box in forbidden:
        if len(box) != len(axes):
            raise UsageError("a forbidden box has another number of attributes", came=len(box), allowed=str(len(axes)))
        for own, mask in zip(axes, box, strict=True):
            if mask is not None and (mask.shape != (own.cells,) or mask.dtype != np.bool_):
                raise UsageError(f"a forbidden box does not say which cells of '{own.name}' belong to it")
        if all(mask is None or bool(mask.all()) for mask in box):
            raise UsageError("a forbidden box is the whole domain, so no row could exist")


def check_size(shape: Sequence[int]) -> None:
    """Refuse a table that is too large to be held."""
    if prod(shape) > MOST_ENTRIES:
        raise UsageError(
            "a table of a model is too large", came=f"{prod(shape):,} entries", allowed=f"at most {MOST_ENTRIES:,}",
            fix="ask for fewer attributes, or for bins of their cells",
        )  # fmt: skip
